"""The report of a run: every host of the play is in it, it counts as no change, and it holds no secret."""
from __future__ import annotations

import json

import pytest

HUSH = "sesame-open-7431"
# A host without Landlock, by what the hosts beside it, which share its users here, have made of the files by then.
OPEN = ("unprotected", "partly", "failed")


@pytest.fixture
def developer(people):
    """A developer with a server that can be confined, one that cannot work confined, and secrets in both."""
    [person] = people()
    settings = person.write(f"settings-{HUSH}/settings.ini", "[x]\n")
    person.claude({
        "notes": person.server("--token", HUSH, env={"API_KEY": HUSH}),
        "far": {"type": "http", "url": f"https://example.invalid/{HUSH}", "headers": {"Authorization": HUSH}},
        "<script>alert(1)</script>": person.server(),
    })
    person.write(".cursor/mcp.json", json.dumps({"mcpServers": {"boxed": {
        "command": "docker", "args": ["run", "-e", f"TOKEN={HUSH}", "-v", "/opt/x:/x", "image"]}}}))
    return person, settings


def report(place) -> dict:
    text = (place / "reports/fleet.json").read_text()
    page = (place / "reports/fleet.html").read_text()
    assert HUSH not in text and HUSH not in page
    assert "<script>alert(1)" not in page
    return {host["name"]: host for host in json.loads(text)["hosts"]}


def test_each_playbook_leaves_the_report_of_its_run_and_a_run_without_a_change_is_one(developer, play, place):
    [person, _] = developer
    predicted = play("enable-landlock.yml", "--check", users=[person])
    assert predicted.status == 0, predicted.text
    assert not (place / "reports").exists()

    first = play("enable-landlock.yml", users=[person], mcp_confine_metrics_dir=str(place))
    assert first.status == 0, first.text
    assert f"report: {place}/reports/fleet.html" in first.text
    host = report(place)["this"]
    assert host["state"] == "protected" and "1 in containers" in host["why"]
    assert {row["server"]: (row["state"], row["isolation"]) for row in host["servers"]} == {
        "notes": ("confined", "landlock"), "far": ("remote", "not_applicable"), "boxed": ("never_wrapped", "docker"),
        "<script>alert(1)</script>": ("confined", "landlock")}
    assert all(row["proved"] and row["tools"] == 1 for row in host["servers"] if row["state"] == "confined")
    metrics = (place / "mcp_confine.prom").read_text()
    assert 'mcp_confine_state{state="protected"} 1' in metrics and HUSH not in metrics

    again = play("enable-landlock.yml", users=[person], mcp_confine_metrics_dir=str(place))
    assert (again.status, again.recap["this"]["changed"]) == (0, 0), again.text
    assert report(place)["this"]["state"] == "protected"

    proved = report(place)["this"]["proved"]
    assert play("diagnose.yml", users=[person]).status == 0
    seen = report(place)["this"]
    assert (seen["state"], seen["proved"]) == ("protected", proved), "a look does not undo a proof"
    assert play("verify-denial.yml", users=[person]).status == 0
    assert report(place)["this"]["proved"] >= proved

    gone = play("disable-landlock.yml", users=[person], mcp_confine_metrics_dir=str(place))
    assert gone.status == 0, gone.text
    assert report(place)["this"]["state"] in ("unprotected", "partly")
    assert not (place / "mcp_confine.prom").exists()


def test_a_server_that_is_set_back_and_one_that_verify_finds_open_are_told(developer, play, place):
    [person, settings] = developer
    person.claude({"needy": person.server("needs", str(settings))})
    assert play("enable-landlock.yml", users=[person]).status != 0
    [needy, _] = report_rows(place, masked=True)
    assert (needy["server"], needy["state"]) == ("needy", "rolled_back")
    person.claude({"new": person.server()})
    assert play("verify-denial.yml", users=[person]).status != 0
    assert report_rows(place)[0]["state"] == "unconfined"


def report_rows(place, masked: bool = False) -> list[dict]:
    """The servers of the one host; a reason may name the path that was denied, which here bears the secret's name."""
    [host] = json.loads((place / "reports/fleet.json").read_text())["hosts"]
    if not masked:
        report(place)
    return host["servers"]


def test_hosts_that_failed_that_did_not_answer_and_whose_turn_has_not_come_are_in_it(
        developer, play, place, sshd, without_landlock):
    [person, _] = developer
    hosts = {"good": sshd, "old": {**sshd, **without_landlock("EPERM")}, "away": {**sshd, "ansible_port": 1},
             "later": sshd}
    play("enable-landlock.yml", "--limit", "good,old,away", users=[person], hosts=hosts)
    found = report(place)
    assert {name: host["state"] for name, host in found.items() if name != "old"} == {
        "good": "protected", "away": "unreachable"}
    assert found["old"]["state"] in OPEN and found["old"]["proved"] is None and "Landlock" in found["old"]["why"]
    assert found["away"]["message"]
    # the host that is all of the first wave fails, which ends the run before the next
    play("enable-landlock.yml", users=[person], hosts={"old": hosts["old"], "good": sshd, "later": sshd},
         mcp_confine_serial=1)
    found = report(place)
    assert found["old"]["state"] in OPEN and "Landlock" in found["old"]["why"]
    assert (found["good"]["state"], found["later"]["state"]) == ("protected", "pending"), "what was known before stays"
    assert set(found) == {"old", "good", "later"}, "the inventory has the others no more"


def test_it_goes_where_the_inventory_says_or_nowhere_and_is_no_reason_to_fail(developer, play, place):
    [person, _] = developer
    assert play("diagnose.yml", users=[person], mcp_confine_report_dir="").status == 0
    assert not (place / "reports").exists()
    (place / "file").write_text("")
    done = play("diagnose.yml", users=[person], mcp_confine_report_dir=str(place / "file"))
    assert done.status == 0 and "no report" in done.text
    done = play("diagnose.yml", users=[person], mcp_confine_report_dir=str(place / "a/b"),
                mcp_confine_metrics_dir=str(place / "nowhere"))
    assert (place / "a/b/fleet.html").exists()
    assert done.status != 0 and "is no folder on this host" in done.text
