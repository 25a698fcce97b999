"""What a run returned becomes one record a host: nothing is called protected without a proof, and nobody is missing."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe.report import fleet, html, overview, prometheus, record, saved
from tests.report import fleets
from tests.report.fleets import EARLIER, NOW, check, configured, observed, of, one, row

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/fleet.schema.json").read_text())


@pytest.mark.parametrize("kind", record.STATES)
def test_each_kind_of_host_is_told_apart_and_says_why(kind):
    found = one(kind)
    assert found["state"] == kind
    assert found["why"]
    assert (found["proved"] is not None) == (kind in ("protected", "partly"))


def test_the_document_is_as_the_schema_says_and_the_schema_refuses_what_we_would_not_say():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    document = of(40)
    document["hosts"].append(record.carried(one("unreachable", "away"), one("protected", "away")))
    assert [error.message for error in validator.iter_errors(document)] == []
    for spoil in ({"state": "fine"}, {"proved": 5}, {"secret": "x"}, {"servers": [{}]}):
        assert not validator.is_valid({**document, "hosts": [{**document["hosts"][0], **spoil}]})


def test_the_summary_counts_every_host_once_and_tells_why_the_others_are_not_protected():
    told = of(100)["summary"]
    assert told["hosts"]["total"] == 100 == sum(told["hosts"][state] for state in record.STATES)
    assert told["hosts"]["protected"] == 60
    assert told["by"] == {"landlock": 70, "docker": 5, "podman": 0}
    reasons = {reason["code"] or reason["text"]: reason["hosts"] for reason in told["reasons"]}
    assert reasons["LANDLOCK_OFF_AT_BOOT"] == 5 and reasons["No space left on device"] == 5
    assert reasons["could not be reached"] == 5 and reasons["line 3 is not JSON"] == 5
    assert reasons["it was denied /home/ada/x"] == 5


def test_a_server_that_failed_its_proof_is_open_whatever_its_entry_says():
    failed = {"observed": observed(), "configured": configured(row()), "proved": {"checks": [check(passed=False)]}}
    found = record.of_host("ws1", failed, NOW)
    assert (found["state"], found["servers"][0]["state"]) == ("unprotected", "failed")


def test_an_entry_that_would_be_confined_or_was_written_over_since_is_not_called_confined():
    foreseen = {"observed": observed(), "configured": configured(row(changed=True)), "proved": {"checks": []}}
    assert record.of_host("ws1", foreseen, NOW)["state"] == "unprotected"
    over = {"observed": observed(), "installed": {"changed": True}, "proved": {"checks": [check()]},
            "configured": configured(row(changed=True), row("other", changed=True))}
    assert [server["state"] for server in record.of_host("ws1", over, NOW)["servers"]] == ["confined", "unconfined"]


def test_a_container_is_no_proof_and_a_server_that_is_never_wrapped_is_open():
    boxed = {"observed": observed(servers=(fleets.server("db", "docker", argv=["run", "image"]),)),
             "configured": configured(row("db", "never_wrapped", "runs it in a container")), "proved": {"checks": []}}
    assert record.of_host("ws1", boxed, NOW)["state"] == "unproved"
    rooted = {"observed": observed(), "proved": {"checks": [check()]},
              "configured": configured(row(), row("root", "never_wrapped", "sudo starts it"))}
    found = record.of_host("ws1", rooted, NOW)
    assert found["state"] == "partly" and "sudo starts it" in found["why"]


def test_a_proof_keeps_its_time_where_nothing_was_proved_anew_but_not_where_landlock_stopped_working():
    before = {**fleets.results("protected"), "proved": {"checks": [check(proved_at=EARLIER)]}}
    proved = record.of_host("ws1", before, NOW)
    looked = {"observed": observed(servers=(fleets.server("notes", state="confined"),))}
    found = record.carried(record.of_host("ws1", looked, NOW), proved)
    assert (found["state"], found["proved"]) == ("protected", EARLIER)
    blocked = {"observed": observed(*fleets.NO_LANDLOCK, servers=(fleets.server("notes", state="confined"),))}
    found = record.carried(record.of_host("ws1", blocked, NOW), proved)
    assert (found["state"], found["proved"]) == ("unproved", None) and "boot" in found["why"]


def test_a_host_that_does_not_answer_says_what_it_was_also_after_many_runs():
    found = one("protected")
    for _ in range(3):
        found = record.carried(one("unreachable"), found)
    assert found["state"] == "unreachable"
    assert found["last_known"] == {"state": "protected", "seen": NOW}


def test_a_run_over_some_hosts_keeps_the_others_while_the_inventory_has_them():
    earlier = [one("protected", "kept"), one("partly", "again"), one("protected", "gone"), one("partly", "later")]
    run = [one("protected", "again"), one("pending", "later"), one("pending", "new")]
    found = {row["name"]: row["state"] for row in fleet.continued(run, earlier, ["kept", "again", "later", "new"])}
    assert found == {"kept": "protected", "again": "protected", "later": "partly", "new": "pending"}


def test_of_two_results_of_one_host_the_newer_counts(tmp_path):
    old = {**one("partly"), "seen": EARLIER}
    assert [row["state"] for row in fleet.merged([one("protected"), old])] == ["protected"]
    assert [row["state"] for row in fleet.merged([old, one("protected")])] == ["protected"]


def test_hosts_stand_in_the_order_in_which_people_count():
    assert [row["name"] for row in of(12)["hosts"]] == [f"ws{number}" for number in range(12)]


def test_what_hosts_left_in_files_comes_back_and_what_cannot_be_read_is_a_host_that_failed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/fleet.json").write_text(json.dumps(of(3)))
    (tmp_path / "a/ws8.json").write_text(json.dumps({**fleets.results("unproved")["observed"]["users"][0]["verdict"],
                                                     "facts": {"distribution": fleets.DISTRIBUTIONS[0]}}))
    (tmp_path / "ws9.json").write_text("")
    (tmp_path / "ws10.json").write_text("[]")
    found = {row["name"]: row for row in saved.read([str(tmp_path)])}
    assert {"ws0", "ws1", "ws2"} < set(found)
    assert (found["ws8"]["state"], found["ws8"]["distribution"]["id"]) == ("unproved", "debian")
    assert found["ws9"]["state"] == "failed" and "is empty" in found["ws9"]["why"]
    assert found["ws10"]["state"] == "failed"
    for content in ("", "[]", "{", '{"schema": 2, "hosts": []}', '{"schema": 1, "hosts": [{"name": "x"}]}'):
        (tmp_path / "ws9.json").write_text(content)
        with pytest.raises(saved.NotAResult, match=r"ws9\.json"):
            saved.read([str(tmp_path / "ws9.json")])


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], [{}], {"a": 1}, ["x"], [["x"]], True])
def test_a_file_that_a_host_made_up_is_refused_or_read_but_breaks_nothing(tmp_path, value):
    """The file of one host must not keep the others from being reported."""
    good = one("partly")
    for field in good:
        (tmp_path / f"made-up-{field}.json").write_text(json.dumps({**of(1), "hosts": [{**good, field: value}]}))
    found = saved.read([str(tmp_path)])
    assert len(found) == len(good)
    assert any(host["state"] == "failed" and host["name"].startswith("made-up-") for host in found)
    document = fleet.document(found, NOW)
    assert html.page(document) and overview.render(document)
    assert all(prometheus.metrics(host, "1.0") for host in found)
