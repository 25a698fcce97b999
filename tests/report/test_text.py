"""The report: the verdict first, then what to do, and nothing that a terminal or a narrow window chokes on."""
from __future__ import annotations

import pytest

from probe import verdict
from probe.report import text
from probe.verdict.catalogue import CODES
from tests.verdict.cases import CASES
from tests.verdict.hosts import SNAP_DOCKER, UBUNTU, host, known, run, server, unknown

SERVERS = [
    server("db", "docker", argv=["run", "-v", "/opt/x:/y", "image"]),
    server("files"),
    server("web", "", "remote", transport="remote"),
]


def shown(*overlays, **options) -> str:
    return text.render(verdict.judge(host(*overlays), SERVERS), **options)


def test_the_verdict_is_the_first_line_and_what_to_do_comes_before_the_details():
    lines = shown(UBUNTU, SNAP_DOCKER).splitlines()
    assert "usable" in lines[0] and "can be confined" in lines[0]
    assert "landlock" in lines[1] and "ada" in lines[1]
    order = [
        next(index for index, line in enumerate(lines) if piece in line)
        for piece in ("What to do", "bubblewrap", "scanners", "MCP servers:")
    ]
    assert order == sorted(order)


def test_the_founding_case_can_be_read_without_details():
    page = shown(UBUNTU, SNAP_DOCKER)
    assert "DOCKER_SNAP_PATHS" in page and "cursor:db: argument 2, -v: a path outside of the home folder" in page
    assert "Container-based scanners are degraded here" in page
    assert "probe wrap" in page and "1 remote (not applicable)" in page


def test_a_host_without_landlock_says_so_first():
    page = shown({"landlock.abi": unknown("ENOSYS"), "landlock.self_tests": []})
    assert page.splitlines()[0] == "◐ limited: Landlock does not work on this host as it is; bubblewrap does."


@pytest.mark.parametrize("case", [case for case in CASES if case.how == "facts"], ids=lambda case: case.id)
def test_it_fits_every_window_in_every_case(case):
    judged = verdict.judge(host(*case.host), SERVERS)
    for width in (1, 60, 80, 300):
        for verbose in (False, True):
            page = text.render(judged, width, ascii=True, verbose=verbose)
            limit = min(max(width, text.NARROWEST), text.WIDEST)
            assert page.isascii() and all(len(line) <= limit for line in page.splitlines())


def test_details_show_every_finding_with_its_evidence_and_its_remedies():
    judged = verdict.judge(host(UBUNTU, SNAP_DOCKER), SERVERS)
    page = text.render(judged, 100, ascii=True, verbose=True)
    squeezed = "".join(page.split())
    for entry in judged["findings"]:
        assert entry["code"] in page
        for cure in entry["remedies"]:
            assert "".join(cure["text"].replace("…", "...").split()) in squeezed


def test_colours_only_on_demand():
    assert "\x1b" not in shown()
    coloured = shown(color=True)
    assert coloured.count("\x1b[0m") * 2 == coloured.count("\x1b[")


def test_what_comes_from_the_host_cannot_speak_to_the_terminal():
    evil = "bwrap: \x1b]0;owned\x07 \u202e\n\r text"
    page = shown(
        UBUNTU,
        {"bubblewrap.run": run(False, evil), "user": {"name": "a\x1b[2Jb", "uid": 1, "home": "/x", "root": False}},
        verbose=True,
    )
    assert not {char for char in page if not char.isprintable() and char != "\n"}


def test_a_name_longer_than_the_window_is_broken():
    page = shown(
        {
            "sockets.reachable": known(
                [{"kind": "docker", "path": "/" + "x" * 500, "gives": "root", "state": "reachable"}]
            )
        },
        verbose=True,
    )
    assert max(len(line) for line in page.splitlines()) <= 80


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code):
    page = text.explain(code)
    assert page.startswith(code) and CODES[code].title in page
    assert page.isascii() and max(len(line) for line in page.splitlines()) <= 80
    assert "{" not in page.replace("{ userns, }", "").replace("{usr", "")


def test_an_unknown_code_is_a_key_error():
    with pytest.raises(KeyError):
        text.explain("NO_SUCH_CODE")
