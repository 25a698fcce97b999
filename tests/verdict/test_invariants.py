"""What holds for every host: over all cases, all neighbours of them, and hosts with pieces missing."""
from __future__ import annotations

import copy
import itertools
import json

import pytest

from probe import verdict
from probe.verdict.catalogue import CODES
from probe.verdict.remedies import REMEDIES

from .cases import CASES, EPERM, NOT_ROOT_OF_ALL, OFF, ONE_LEVEL
from .cases import ENOSYS as NOT_BUILT
from .hosts import CONTAINER, HEALTHY, SNAP_DOCKER, UBUNTU, client, endpoint, host, known, program, server, status

OVERLAYS = {
    "ubuntu": UBUNTU,
    "snap": SNAP_DOCKER,
    "container": CONTAINER,
    "root": NOT_ROOT_OF_ALL,
    "off": OFF,
    "not built": NOT_BUILT,
    "filtered": EPERM,
    "one level": ONE_LEVEL,
    "no_new_privs": {"context.status": status(2, True)},
    "unit": {"context.unit": known({"name": "agent.service", "user": True})},
    "wsl": {"context.wsl": known(2)},
    "podman": {"podman.program": program("/usr/bin/podman"), "docker.clients": known([client("podman")])},
    "docker": {"docker.clients": known([client()]), "docker.endpoints": known([endpoint("EACCES")])},
}
SERVERS = [server("db", "docker", argv=["run", "--init", "-v", "/opt/x:/y", "image"]), server()]
HOSTS = [host(*case.host) for case in CASES if case.how == "facts"]
HOSTS += [host(*combination) for size in (1, 2, 3) for combination in itertools.combinations(OVERLAYS.values(), size)]


@pytest.fixture(scope="module")
def all_judged():
    return [verdict.judge(facts, SERVERS) for facts in HOSTS]


def test_no_mechanism_is_other_than_usable_without_a_code_that_says_why(all_judged):
    for answer in all_judged:
        for name, row in answer["mechanisms"].items():
            assert row["codes"], (name, row)
            if row["state"] not in ("usable", "absent"):
                assert any(CODES[code].severity != "info" for code in row["codes"]), (name, row)


def test_findings_carry_what_the_catalogue_says_and_no_more(all_judged):
    for answer in all_judged:
        for entry in answer["findings"]:
            row = CODES[entry["code"]]
            assert set(entry["evidence"]) <= set(row.evidence), entry
            assert entry["severity"] == row.severity and entry["title"] == row.title
            order = [row.remedies.index(cure["id"]) for cure in entry["remedies"]]
            assert order == sorted(order)


def test_remedies_have_no_gap_where_the_host_should_have_filled_one(all_judged):
    open_names = {
        "<file>",
        "<lsm>",
        "<path>",
        "<bwrap>",
        "<unit>",
        "<extra>",
        "<user>",
        "<home>",
        "<folder>",
        "<sockets>",
        "<socket>",
    }
    for answer in all_judged:
        text = json.dumps([entry["remedies"] for entry in answer["findings"]])
        assert not [name for name in open_names if name in text], text
        assert "None" not in text


def test_the_sysctl_that_opens_the_whole_host_never_comes_first(all_judged):
    for answer in all_judged:
        for entry in [*answer["findings"], *answer["mechanisms"].values()]:
            ids = [cure["id"] for cure in entry["remedies"]]
            for broad in ("apparmor_sysctl", "clone_sysctl"):
                assert broad not in ids[:-1], ids
            assert ids[:1] != ["apparmor_sysctl"]


def test_landlock_is_recommended_wherever_it_was_seen_to_work(all_judged):
    for answer in all_judged:
        works = answer["mechanisms"]["landlock"]["state"] in ("usable", "limited")
        assert (answer["recommended"] == "landlock") == works
        assert ("LANDLOCK_USABLE" in answer["mechanisms"]["landlock"]["codes"]) == works


def test_the_answer_is_json_and_depends_on_nothing_but_the_facts():
    for facts in HOSTS[:60]:
        before = copy.deepcopy(facts)
        first, second = verdict.judge(facts, SERVERS), verdict.judge(facts, SERVERS)
        assert first == second and facts == before
        assert json.loads(json.dumps(first)) == first


def _pieces():
    for subject, names in HEALTHY.items():
        yield subject, None
        if isinstance(names, dict):
            for name in names:
                yield subject, name


@pytest.mark.parametrize("overlay", OVERLAYS, ids=str)
def test_whatever_fact_is_missing_nothing_raises_and_nothing_becomes_better(overlay):
    whole = verdict.judge(host(OVERLAYS[overlay]), SERVERS)
    for subject, name in _pieces():
        facts = host(OVERLAYS[overlay])
        if name is None:
            facts.pop(subject)
        else:
            facts[subject].pop(name, None)
        answer = verdict.judge(facts, SERVERS)
        for mechanism, row in answer["mechanisms"].items():
            if row["state"] == "usable" and subject in ("landlock", "bubblewrap"):
                assert whole["mechanisms"][mechanism]["state"] in ("usable", "limited"), (subject, name)
    assert verdict.judge({}, [])["verdict"] == "unknown"
    assert verdict.exit_code(verdict.judge({}, [])) == 12


def test_every_row_of_the_catalogue_is_complete_and_every_remedy_belongs_to_a_code():
    used = set()
    for code, row in CODES.items():
        assert code.replace("_", "").isalnum() and code == code.upper()
        assert row.severity in ("error", "warning", "info")
        assert row.title and not row.title.endswith(".") and row.meaning.endswith(".") and "\n" not in row.meaning
        assert set(row.remedies) <= set(REMEDIES), code
        used |= set(row.remedies)
    assert used == set(REMEDIES)
    for name, cure in REMEDIES.items():
        assert cure.text and cure.scope and cure.risk and cure.undo, name
        assert cure.reboot or "and reboot" not in cure.text, name


def test_every_code_can_be_found():
    import re
    from pathlib import Path

    import probe.verdict

    source = "".join(
        path.read_text() for path in Path(probe.verdict.__file__).parent.glob("*.py") if path.name != "catalogue.py"
    )
    mentioned = set(re.findall(r'"([A-Z][A-Z0-9_]+)"', source))
    assert set(CODES) <= mentioned, set(CODES) - mentioned


@pytest.mark.parametrize(
    "state, status_", [("usable", 0), ("limited", 10), ("blocked", 11), ("unknown", 12), ("strange", 12)]
)
def test_exit_bands(state, status_):
    assert verdict.exit_code({"verdict": state}) == status_
