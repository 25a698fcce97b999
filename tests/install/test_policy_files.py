"""Policies that an operator hands out: read first, written whole, and taken away only if they are still ours."""
from __future__ import annotations

import pathlib

import pytest

from probe import policy_files
from probe.safety import InstallRefused

TEXT = "--rw ~/notes\n--net none\n"


@pytest.fixture
def places(tmp_path):
    return str(tmp_path / "prefix"), str(tmp_path / "etc" / "policies")


def hand_out(policies: dict, places: tuple) -> policy_files.PolicyPlan:
    wanted = policy_files.plan(policies, *places)
    policy_files.apply(wanted)
    return wanted


def test_a_policy_is_written_under_the_name_by_which_the_wrapper_looks_for_it(places):
    hand_out({"files": TEXT, "team/notes": TEXT}, places)
    names = {path.name for path in pathlib.Path(places[1]).iterdir()}
    assert names == {"files", policy_files.folder_name("team/notes")}
    assert (pathlib.Path(places[1]) / "files").read_text() == TEXT
    assert policy_files.plan({"files": TEXT, "team/notes": TEXT}, *places).changes == ()


def test_a_policy_that_leaves_the_inventory_leaves_the_host(places):
    hand_out({"files": TEXT, "git": TEXT}, places)
    hand_out({"git": TEXT}, places)
    assert [path.name for path in pathlib.Path(places[1]).iterdir()] == ["git"]


def test_a_policy_made_by_hand_stays(places):
    folder = pathlib.Path(places[1])
    folder.mkdir(parents=True)
    (folder / "own").write_text(TEXT)
    hand_out({"files": TEXT}, places)
    hand_out({}, places)
    assert [path.name for path in folder.iterdir()] == ["own"]


def test_a_policy_changed_by_hand_since_stays_and_is_told(places):
    hand_out({"files": TEXT}, places)
    path = pathlib.Path(places[1]) / "files"
    path.write_text(TEXT + "--ro /srv\n")
    wanted = hand_out({}, places)
    assert wanted.kept == (str(path),)
    assert path.exists()


def test_what_the_wrapper_would_not_read_is_refused_with_its_line_and_nothing_is_written(places):
    with pytest.raises(InstallRefused, match=r"policy bad:2: unknown|policy bad:2: '--rx'"):
        policy_files.plan({"good": TEXT, "bad": "--net none\n--rx /srv\n"}, *places)
    assert not pathlib.Path(places[1]).exists()


def test_a_value_that_a_policy_sets_is_not_shown(places):
    wanted = policy_files.plan({"files": "--setenv TOKEN=hush-hush\n--setenv=OTHER=hush-hush\n"}, *places)
    assert "hush" not in str(wanted.changes)
    assert "TOKEN=***" in wanted.changes[0].after and "OTHER=***" in wanted.changes[0].after


def test_an_empty_folder_goes_with_the_last_policy(places):
    hand_out({"files": TEXT}, places)
    hand_out({}, places)
    assert not pathlib.Path(places[1]).exists()
