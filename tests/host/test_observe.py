"""The facts of this machine: as whom they were read, how, and that nothing secret is among them."""
from __future__ import annotations

import errno
import json
import os

import pytest

from probe import host, users, verdict
from probe.host import child

from . import filters
from .trees import plant

CANARY = "hunter2-canary"


def _facts(value):
    if isinstance(value, dict) and {"state", "value", "how", "why"} <= set(value):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _facts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _facts(entry)


def test_every_fact_says_how_it_was_read_and_every_unknown_why():
    seen = host.observe({"id": "debian"}, workspaces=[])
    facts = list(_facts(seen))
    assert len(facts) > 60
    for fact in facts:
        assert fact["how"] and fact["state"] in ("known", "absent", "unknown")
        assert (fact["state"] == "unknown") == (fact["why"] is not None)
    assert json.loads(json.dumps(seen)) == seen


def test_each_user_gets_an_answer_of_their_own(person, landlock_abi):
    seen = users.run_as(users.named(person.name), host.observe, {}, "/", None, [])
    assert seen["user"]["name"] == person.name and seen["user"]["home"] == person.home
    judged = verdict.judge(seen, [])
    assert judged["mechanisms"]["landlock"]["state"] in ("usable", "limited"), judged["mechanisms"]["landlock"]
    if person.name != "root":
        assert "PROBE_AS_ROOT" not in [entry["code"] for entry in judged["findings"]]


@pytest.mark.parametrize("answer, code", [
    (filters.ERRNO | errno.EPERM, "LANDLOCK_SECCOMP_EPERM"), (filters.ERRNO | errno.ENOSYS, "LANDLOCK_SECCOMP_ENOSYS"),
    (filters.KILL, "LANDLOCK_SECCOMP_KILL")])
def test_a_whole_look_from_below_a_filter_names_the_filter(answer, code):
    def work():
        filters.install([(number, None, answer) for number in filters.LANDLOCK_CALLS])
        return host.observe({}, workspaces=[])

    seen = child.gather({"work": child.Work(work, 60)})["work"]["result"]
    assert seen["problems"] == []
    judged = verdict.judge(seen, [])
    assert judged["mechanisms"]["landlock"]["codes"] == [code]
    assert judged["mechanisms"]["landlock"]["state"] == "blocked"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_result_of_root_is_labelled():
    judged = verdict.judge(host.observe({}, workspaces=[]), [])
    assert judged["user"]["root"]
    assert "PROBE_AS_ROOT" in [entry["code"] for entry in judged["findings"]]


def test_nothing_is_left_behind(person, landlock_abi):
    before = sorted(os.listdir(person.home))
    users.run_as(users.named(person.name), host.observe, {}, "/", None, [])
    assert sorted(os.listdir(person.home)) == before


def test_no_value_of_the_environment_or_of_a_file_with_secrets_gets_into_the_facts(tmp_path, monkeypatch):
    for name in ("DOCKER_HOST", "API_TOKEN", "container"):
        monkeypatch.setenv(name, f"tcp://{CANARY}" if name == "DOCKER_HOST" else CANARY)
    assert CANARY not in json.dumps(host.observe({}, workspaces=[]))
    plant(tmp_path, {
        "/proc/cmdline": f"cryptkey={CANARY} ds=nocloud;s=https://{CANARY}/ lsm=yama\n",
        "/proc/self/environ": f"TOKEN={CANARY}\0", "/etc/default/grub": f"GRUB_CMDLINE_LINUX=\"x={CANARY} lsm=yama\"\n",
        "/home/ada/.docker/config.json": json.dumps({"auths": {"x": {"auth": CANARY}}}),
        "/proc/self/mountinfo": f"1 0 0:9 / / rw - cifs //{CANARY}/share rw,password={CANARY}\n",
        "/etc/environment": f"TOKEN={CANARY}\n"})
    seen = host.observe({}, root=str(tmp_path), home="/home/ada", workspaces=["/home/ada"])
    assert seen["boot"]["settings"]["value"][0]["value"] == "yama"
    assert CANARY not in json.dumps(seen)
