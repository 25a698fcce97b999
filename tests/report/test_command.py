"""`probe report`: many hosts' results into one report, or this host's own."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from probe.report import fleet
from tests.report.fleets import NOW, one

ROOT = Path(__file__).resolve().parents[2]


def probe(*words: str, **options) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, "-m", "probe", "report", *words], cwd=ROOT, capture_output=True, text=True,
                          check=False, **options)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_command_merges_what_hosts_left_and_says_by_its_status_whether_all_are_protected(tmp_path):
    for number in range(3):
        (tmp_path / f"ws{number}.json").write_text(json.dumps(fleet.document([one("protected", f"ws{number}")], NOW)))
    told = probe(str(tmp_path), "--html", str(tmp_path / "page.html"))
    assert told.returncode == 0 and told.stdout.startswith("3 of 3 hosts protected")
    assert "ws2" in (tmp_path / "page.html").read_text()
    (tmp_path / "ws9.json").write_text("")
    told = probe(str(tmp_path), "--json")
    assert told.returncode == 1
    assert {row["name"]: row["state"] for row in json.loads(told.stdout)["hosts"]}["ws9"] == "failed"


def test_without_a_name_it_is_about_this_host(tmp_path):
    told = probe("--json", "--metrics", str(tmp_path))
    [host] = json.loads(told.stdout)["hosts"]
    assert host["node"] == os.uname().nodename == host["name"] and host["verdict"]
    assert (tmp_path / "mcp_confine.prom").exists()


@pytest.mark.parametrize(("words", "status", "said"), [
    (["/no/such/file"], 20, "/no/such/file: No such file"),
    (["--check", "x.json"], 64, "about this host"),
    (["--metrics", "/no/such/folder"], 20, "make it"),
])
def test_a_call_that_cannot_work_says_why(words, status, said):
    told = probe(*words)
    assert told.returncode == status and said in told.stderr
