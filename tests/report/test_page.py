"""The page: one file that asks nobody for anything, and into which no host can put markup or a secret."""
from __future__ import annotations

import copy
import os
import re
import sys
from html.parser import HTMLParser

import pytest

from probe.report import files, fleet, html, overview, record
from tests.report.fleets import NOW, of, one

pytest.importorskip("jinja2")
EVIL = '<script>alert(1)</script>"\'><img src=x onerror=alert(1)>&{{ 7*7 }}\u202egnp\x1b[2J\ud800'


class Tags(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def spoiled(value):
    """The value with every text in it replaced by what is hostile."""
    if isinstance(value, dict):
        return {key: spoiled(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [spoiled(entry) for entry in value]
    return EVIL if isinstance(value, str) else value


def hostile() -> dict:
    """A document in which all that comes from a host is hostile; what is ours stays."""
    hosts = []
    for kind in record.STATES:
        host = copy.deepcopy(one(kind))
        evil = spoiled(copy.deepcopy(host))
        evil.update(state=kind, seen=NOW, codes=sorted({row["code"] for row in evil["findings"]}))
        for before, after in zip(host["servers"], evil["servers"]):
            after.update(state=before["state"], isolation=before["isolation"])
        for before, after in zip(host["findings"], evil["findings"]):
            after.update(severity=before["severity"], mechanism=before["mechanism"])
        hosts.append(evil)
    return fleet.document(hosts, NOW)


def test_nothing_that_a_host_says_becomes_markup_or_steers_a_terminal():
    ours, evil = Tags(html.page(of(20))), Tags(html.page(hostile()))
    assert {tag for tag, _ in evil.found} <= {tag for tag, _ in ours.found}
    assert sum(tag == "script" for tag, _ in evil.found) == 1
    assert not [name for _, attributes in evil.found for name in attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in evil.text and "{{ 7*7 }}" in evil.text
    assert not {char for char in html.page(hostile()) if not char.isprintable() and char != "\n"}


def test_the_page_asks_nobody_for_anything():
    found = Tags(html.page(of(20))).found
    links = [value for _, attributes in found for name, value in attributes.items()
             if name in ("src", "href", "action", "srcset", "data", "poster", "background")]
    assert {link[0] for link in links if link != "data:,"} == {"#"}
    policy = next(attributes["content"] for tag, attributes in found if attributes.get("http-equiv"))
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|https?://", html.page(of(20)))


def test_every_host_is_on_the_page_with_its_reason():
    document = of(40)
    page = html.page(document)
    text = Tags(page).text
    for host in document["hosts"]:
        assert page.count(f'<th scope="row">{host["name"]}</th>') == 1 and host["why"] in text


def test_a_report_of_no_host_and_of_one_are_pages_too():
    for size in (0, 1):
        page = html.page(of(size))
        assert f"MCP servers of {size} host" in page


def test_without_jinja_the_data_is_written_and_the_way_to_the_page_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    html._parts.cache_clear()
    document, notices = files.leave(str(tmp_path), [one("protected")], [], NOW)
    assert os.listdir(tmp_path) == ["fleet.json"] and "python3-jinja2" in notices[0]
    assert document["summary"]["hosts"]["protected"] == 1


def test_the_files_are_their_owners_alone_until_somebody_opens_them_and_are_continued(tmp_path):
    files.leave(str(tmp_path / "reports"), [one("protected", "a"), one("partly", "b")], ["a", "b"], NOW)
    page = tmp_path / "reports/fleet.html"
    assert page.stat().st_mode & 0o777 == 0o600
    page.chmod(0o644)
    document, notices = files.leave(str(tmp_path / "reports"), [one("protected", "b")], ["a", "b"], NOW)
    assert [(row["name"], row["state"]) for row in document["hosts"]] == [("a", "protected"), ("b", "protected")]
    assert page.stat().st_mode & 0o777 == 0o644 and not notices
    assert sorted(os.listdir(tmp_path / "reports")) == ["fleet.html", "fleet.json"]
    (tmp_path / "reports/fleet.json").write_text("{")
    document, notices = files.leave(str(tmp_path / "reports"), [one("protected", "b")], ["a", "b"], NOW)
    assert len(document["hosts"]) == 1 and "not continued" in notices[0]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(files.NotWritten, match="file"):
        files.leave(str(tmp_path / "file"), [one("protected")], [], NOW)


def test_ten_thousand_hosts_fit_into_one_page():
    assert (len(html.page(of(220))) - len(html.page(of(20)))) / 200 < 5000, "bytes a host"


def test_the_terminal_gets_no_character_that_steers_it():
    assert not {char for char in overview.render(hostile()) if not char.isprintable() and char != "\n"}
