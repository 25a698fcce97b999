"""A fleet's day: predict, enable, run again, refuse what cannot work, verify, and give everything back."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from playground import ROOT, tree

from probe import install

HUSH = "sesame-open-7431"


@pytest.fixture
def developer(people):
    """A developer with two servers that can be confined, one remote, one in a container, and secrets in both places."""
    [person] = people()
    person.claude({
        "notes": person.server("--token", HUSH, env={"API_KEY": HUSH}),
        "more": person.server(),
        "far": {"type": "http", "url": f"https://example.invalid/{HUSH}", "headers": {"Authorization": HUSH}},
        "boxed": {"command": "docker", "args": ["run", "-i", "--rm", "image"]},
    })
    return person


def commands(person) -> dict[str, str]:
    servers = json.loads((person.home / ".claude.json").read_text())["mcpServers"]
    return {name: entry.get("command", "") for name, entry in servers.items()}


def test_enable_confines_what_can_be_and_proves_it_and_the_second_run_changes_nothing(developer, play, place):
    first = play("enable-landlock.yml", users=[developer])
    assert first.status == 0, first.text
    wrapper = str(place / "prefix" / "bin" / "mcp-confine")
    assert commands(developer) == {"notes": wrapper, "more": wrapper, "far": "", "boxed": "docker"}
    assert "this: usable; 2 confined, 2 not" in first.text
    assert "runs it in a container" in first.text
    assert first.recap["this"]["changed"] == 2
    second = play("enable-landlock.yml", users=[developer])
    assert second.status == 0, second.text
    assert second.recap["this"]["changed"] == 0


def test_disable_gives_every_file_back_byte_for_byte_and_takes_the_wrapper_away(developer, play, place):
    before = (developer.home / ".claude.json").read_bytes()
    assert play("enable-landlock.yml", users=[developer]).status == 0
    assert (developer.home / ".claude.json").read_bytes() != before
    done = play("disable-landlock.yml", users=[developer])
    assert done.status == 0, done.text
    assert (developer.home / ".claude.json").read_bytes() == before
    assert [path for path in (place / "prefix").rglob("*") if not path.is_dir()] == []
    again = play("disable-landlock.yml", users=[developer])
    assert (again.status, again.recap["this"]["changed"]) == (0, 0), again.text


def test_check_mode_predicts_the_run_and_writes_nothing(developer, play, place):
    before = tree(developer.home, place / "prefix")
    predicted = play("enable-landlock.yml", "--check", "--diff", users=[developer])
    assert predicted.status == 0, predicted.text
    assert tree(developer.home, place / "prefix") == before
    done = play("enable-landlock.yml", "--diff", users=[developer])
    assert predicted.changed_tasks() == done.changed_tasks() != []
    assert differences(predicted.text) == differences(done.text) != []
    before = tree(developer.home / ".claude.json", place / "prefix")
    predicted = play("disable-landlock.yml", "--check", "--diff", users=[developer])
    assert predicted.status == 0, predicted.text
    assert tree(developer.home / ".claude.json", place / "prefix") == before
    done = play("disable-landlock.yml", "--diff", users=[developer])
    assert predicted.changed_tasks() == done.changed_tasks() != []


def differences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("+", "-"))]


@pytest.mark.parametrize("options", [["--check", "--diff"], ["--diff", "-vvv"]])
def test_no_value_of_an_argument_a_variable_or_a_header_is_shown(developer, play, place, options):
    done = play("enable-landlock.yml", *options, users=[developer])
    assert done.status == 0, done.text
    assert "notes" in done.text and "API_KEY" in done.text
    assert HUSH not in done.text
    assert HUSH not in play("verify-denial.yml", "-vvv", users=[developer]).text
    assert HUSH not in play("diagnose.yml", "-vvv", users=[developer]).text
    assert HUSH not in play("disable-landlock.yml", *options, users=[developer]).text


def test_a_server_that_cannot_work_confined_goes_back_and_the_run_says_which_and_why(people, play):
    [person] = people()
    settings = person.write("settings.ini", "[x]\n")
    file = person.claude({"good": person.server(), "needy": person.server("needs", str(settings))})
    before = json.loads(file.read_text())["mcpServers"]
    done = play("enable-landlock.yml", users=[person])
    assert done.status != 0, "a host with an unconfined server must not end green"
    assert done.recap["this"]["failed"] == 1
    after = json.loads(file.read_text())["mcpServers"]
    assert after["needy"] == before["needy"]
    assert after["good"] != before["good"]
    assert str(settings) in done.text and "rolled back" in done.text
    again = play("enable-landlock.yml", users=[person])
    assert again.recap["this"]["changed"] == 0, again.text
    assert again.status != 0 and str(settings) in again.text
    tolerated = play("enable-landlock.yml", users=[person], mcp_confine_tolerate_refused=True)
    assert (tolerated.status, tolerated.recap["this"]["changed"]) == (0, 0), tolerated.text


def test_a_policy_from_the_inventory_lets_a_refused_server_work(people, play):
    [person] = people()
    settings = person.write("settings.ini", "[x]\n")
    name = f"needy-{person.name}"
    person.claude({name: person.server("needs", str(settings))})
    assert play("enable-landlock.yml", users=[person]).status != 0
    try:
        done = play("enable-landlock.yml", users=[person], mcp_confine_host_policies={name: "--ro ~/settings.ini\n"})
        assert done.status == 0, done.text
        assert "1 confined, 0 not" in done.text
    finally:
        play("disable-landlock.yml", users=[person])
    assert subprocess.run(["test", "-e", f"/etc/mcp-confine/policies/{name}"], check=False).returncode == 1


def test_one_users_broken_file_hides_no_other_user(people, play):
    good, bad = people(2)
    good.claude({"notes": good.server()})
    broken = bad.write(".claude.json", '{"mcpServers": {"notes": ')
    done = play("enable-landlock.yml", users=[good, bad])
    assert done.status != 0
    assert commands(good)["notes"].endswith("/bin/mcp-confine")
    assert broken.read_text() == '{"mcpServers": {"notes": '
    assert bad.name in done.text and ".claude.json" in done.text


def test_a_user_who_does_not_exist_is_named_and_hides_no_other(people, play):
    [person] = people()
    person.claude({"notes": person.server()})
    ghost = person._replace(name="nobody-of-that-name")
    done = play("enable-landlock.yml", users=[person, ghost], mcp_confine_tolerate_refused=True)
    assert "no user 'nobody-of-that-name' on this host" in done.text


@pytest.mark.parametrize("answer", ["ENOSYS", "EOPNOTSUPP", "EPERM", "kill"])
def test_without_landlock_the_run_stops_before_any_rewrite_with_code_and_remedy(
        developer, play, place, without_landlock, answer):
    before = tree(developer.home, place / "prefix")
    hosts = {"this": {"ansible_connection": "local", **without_landlock(answer)}}
    done = play("enable-landlock.yml", users=[developer], hosts=hosts)
    assert done.status != 0
    assert done.recap["this"]["failed"] == 1
    assert tree(developer.home, place / "prefix") == before
    assert "stopped before any rewrite" in done.text
    assert "LANDLOCK_" in done.text
    assert "Remedy:" in done.text


def test_verify_fails_where_a_server_is_not_confined_and_changes_nothing(developer, play, place):
    assert play("enable-landlock.yml", users=[developer]).status == 0
    good = play("verify-denial.yml", users=[developer])
    assert (good.status, good.recap["this"]["changed"]) == (0, 0), good.text
    file = developer.claude({"notes": developer.server(), "new": developer.server()})
    before = file.read_bytes()
    bad = play("verify-denial.yml", users=[developer])
    assert bad.status != 0
    assert "claude-code:new" in bad.text
    assert file.read_bytes() == before


def test_diagnose_shows_the_verdict_and_changes_nothing(developer, play, place):
    before = tree(developer.home, place / "prefix")
    done = play("diagnose.yml", users=[developer])
    assert (done.status, done.recap["this"]["changed"]) == (0, 0), done.text
    assert "landlock" in done.text.lower() and "usable" in done.text
    assert tree(developer.home, place / "prefix") == before


def test_the_wrapper_stays_while_an_entry_of_anybody_starts_through_it(people, play, place):
    one, other = people(2)
    for person in (one, other):
        person.claude({"notes": person.server()})
    assert play("enable-landlock.yml", users=[one, other]).status == 0
    done = play("disable-landlock.yml", users=[one])
    assert done.status != 0
    assert "is still in use and stays" in done.text and other.name in done.text
    assert (place / "prefix" / "bin" / "mcp-confine").exists()
    assert play("disable-landlock.yml", users=[one, other]).status == 0


def test_over_ssh_a_failed_and_an_unreachable_host_stop_no_other(developer, play, place, sshd, without_landlock):
    hosts = {"good": sshd, "old": {**sshd, **without_landlock("ENOSYS")}, "away": {**sshd, "ansible_port": 1}}
    done = play("enable-landlock.yml", users=[developer], hosts=hosts)
    assert done.status != 0
    assert done.recap["good"]["failed"] == 0 and done.recap["good"]["changed"] == 2, done.text
    assert done.recap["old"]["failed"] == 1
    assert done.recap["away"]["unreachable"] == 1
    for said in ("good: usable; 2 confined", r"old: \w+; stopped before any rewrite", "away: cannot be reached"):
        assert re.search(said, done.text), done.text
    again = play("enable-landlock.yml", users=[developer], hosts={"good": sshd})
    assert (again.status, again.recap["good"]["changed"]) == (0, 0), again.text
    assert play("disable-landlock.yml", users=[developer], hosts={"good": sshd}).status == 0


def test_the_checks_for_ci_containers_see_both_a_good_host_and_a_bad_one(developer, play, place, sshd):
    """They judge /usr/local, so this one test uses it, and leaves it as it was."""
    if os.path.lexists("/usr/local/bin/mcp-confine"):
        pytest.skip("needs a host without a wrapper in /usr/local")

    def judge(*hosts: str):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/testinfra", *hosts]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                              env={**os.environ, "MCP_CONFINE_USERS": developer.name})

    bad = judge()
    assert bad.returncode == 1 and "is missing" in bad.stdout
    assert play("enable-landlock.yml", users=[developer], mcp_confine_prefix="/usr/local").status == 0
    try:
        (place / "ssh_config").write_text(
            f"Host that\n HostName 127.0.0.1\n Port {sshd['ansible_port']}\n User root\n IdentitiesOnly yes\n"
            f" IdentityFile {place}/client\n UserKnownHostsFile {place}/known_hosts\n")
        for host in (["--hosts=local://"], ["--hosts=ssh://that", f"--ssh-config={place}/ssh_config"]):
            good = judge(*host)
            assert good.returncode == 0, good.stdout
        developer.claude({"notes": developer.server()})
        loose = judge()
        assert loose.returncode == 1 and "claude-code:notes" in loose.stdout and "1 failed" in loose.stdout
    finally:
        done = play("disable-landlock.yml", users=[developer], mcp_confine_prefix="/usr/local")
        install.apply(install.removal("/usr/local"))
    assert done.status == 0, done.text
