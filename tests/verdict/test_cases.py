"""Each public report of the catalogue of cases gets the answer that it should have got."""
from __future__ import annotations

import pytest

from probe import host as observer
from probe import verdict
from tests.host.filters import observed_under
from tests.host.trees import plant

from .cases import CASES, Case
from .hosts import HEALTHY, host


def facts_of(case: Case, tmp_path) -> dict:
    if case.how == "tree":
        plant(tmp_path, case.tree)
        seen = observer.observe({}, root=str(tmp_path), home="/home/ada", workspaces=[])
        assert seen["problems"] == []
        # The tree says what files say; what no tree can say is as on the healthy host.
        behaviour = {"user": HEALTHY["user"], "bubblewrap.program": HEALTHY["bubblewrap"]["program"],
                     "bubblewrap.run": HEALTHY["bubblewrap"]["run"], "landlock.abi": HEALTHY["landlock"]["abi"],
                     "landlock.self_tests": HEALTHY["landlock"]["self_tests"],
                     "namespaces.stages": HEALTHY["namespaces"]["stages"]}
        return host(behaviour, *case.host, base=seen)
    if case.how == "filter":
        return host(observed_under(case.filter), *case.host)
    return host(*case.host)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id} {case.report}")
def test_the_report_gets_its_answer(case, tmp_path):
    judged = verdict.judge(facts_of(case, tmp_path), list(case.servers))
    codes = [entry["code"] for entry in judged["findings"]]
    assert set(case.codes) <= set(codes), codes
    assert not set(case.never) & set(codes), codes
    states = {name: judged["mechanisms"][name]["state"] for name in case.states}
    assert states == case.states, codes
    cures = [
        cure["text"] for entry in judged["findings"] if entry["code"] == case.codes[0] for cure in entry["remedies"]
    ]
    for piece in case.says:
        assert any(piece in cure for cure in cures), cures
    everything = [cure["text"] for entry in judged["findings"] for cure in entry["remedies"]]
    for piece in case.silent:
        assert not any(piece in cure for cure in everything), everything


def test_every_kind_of_case_is_really_made():
    assert {case.how for case in CASES} == {"facts", "tree", "filter"}
    assert all(
        bool(case.tree) == (case.how == "tree") and bool(case.filter) == (case.how == "filter") for case in CASES
    )
