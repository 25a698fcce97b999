"""What is published about the output is what comes out."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe import host as observer
from probe import report, verdict
from probe.report import pages
from probe.verdict.catalogue import CODES
from tests.verdict.cases import CASES
from tests.verdict.hosts import host, server

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "probe.schema.json").read_text())
SERVERS = [
    server(),
    server("db", "docker", argv=["run", "-v", "/opt/x:/y", "image"]),
    server("web", "", "remote", transport="remote"),
]


@pytest.fixture(scope="module")
def check():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def checked(document) -> list[str]:
        return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(document)]

    return checked


def test_the_page_of_codes_is_the_catalogue():
    assert (DOCS / "codes.md").read_text() == pages.codes(), "python3 -m probe.report.pages > docs/codes.md"


def test_every_code_has_a_section_of_its_own():
    page = (DOCS / "codes.md").read_text()
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(CODES)


def test_this_host_is_as_the_schema_says(check):
    facts = observer.observe({"id": "debian", "version": "12"})
    assert check(report.document(verdict.judge(facts, SERVERS), facts)) == []


@pytest.mark.parametrize("case", [case for case in CASES if case.how == "facts"], ids=lambda case: case.id)
def test_every_case_is_as_the_schema_says(check, case):
    facts = host(*case.host)
    assert check(report.document(verdict.judge(facts, list(case.servers) + SERVERS), facts)) == []


def test_a_host_of_which_nothing_is_known_is_as_the_schema_says(check, tmp_path):
    facts = observer.observe({}, root=str(tmp_path), home="/home/ada", workspaces=[])
    assert check(report.document(verdict.judge(facts, []), facts)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.update(verdict="fine"),
        lambda document: document.pop("scanner"),
        lambda document: document["mechanisms"]["landlock"].update(state="ok"),
        lambda document: document["facts"]["landlock"].update(abi=6),
        lambda document: document["findings"][0].update(note="x"),
        lambda document: document["servers"][0].update(isolation="remote"),
    ],
)
def test_the_schema_refuses_what_we_would_not_say(check, spoil):
    facts = host()
    document = json.loads(json.dumps(report.document(verdict.judge(facts, SERVERS), facts)))
    assert check(document) == []
    spoil(document)
    assert check(document) != []
