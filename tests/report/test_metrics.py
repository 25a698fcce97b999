"""The textfile: a file that Prometheus reads, true to what was seen, and unchanged by a run that changes nothing."""
from __future__ import annotations

import os

import pytest

from probe.fleet import metrics
from probe.report import prometheus, record
from tests.report import fleets
from tests.report.fleets import NOW, one


def samples(text: str) -> dict[tuple, float]:
    """(name, label) of each sample, read by Prometheus' own client."""
    parser = pytest.importorskip("prometheus_client.parser")
    return {(sample.name, *sample.labels.values()): sample.value
            for family in parser.text_string_to_metric_families(text) for sample in family.samples}


@pytest.mark.parametrize("kind", record.STATES)
def test_every_kind_of_host_makes_a_file_that_can_be_read(kind):
    found = samples(prometheus.metrics(one(kind), "1.0"))
    assert found["mcp_confine_state", kind] == 1
    assert sum(value for name, value in found.items() if name[0] == "mcp_confine_state") == 1


def test_the_numbers_are_those_of_the_record_and_nothing_is_made_up():
    found = samples(prometheus.metrics(one("partly"), "1.0"))
    assert found["mcp_confine_usable", "landlock"] == 1 and found["mcp_confine_usable", "bubblewrap"] == 0
    assert found["mcp_confine_servers", "confined"] == 1 and found["mcp_confine_servers", "rolled_back"] == 1
    assert found["mcp_confine_servers_open",] == 1 and found["mcp_confine_landlock_abi",] == 4
    assert found["mcp_confine_proof_timestamp_seconds",] == record.epoch(NOW)
    nothing = samples(prometheus.metrics(one("unreachable"), "1.0"))
    assert not [name for name in nothing if name[0] in ("mcp_confine_usable", "mcp_confine_landlock_abi",
                                                        "mcp_confine_proof_timestamp_seconds", "mcp_confine_verdict")]


def test_a_label_cannot_break_out():
    evil = {**one("partly"), "codes": ['A"} 1\nevil 2\\']}
    assert samples(prometheus.metrics(evil, "1.0"))["mcp_confine_finding", 'A"} 1\nevil 2\\'] == 1


def test_only_what_is_not_a_time_counts_as_a_change_and_the_times_are_written_all_the_same(tmp_path):
    first = metrics.put(str(tmp_path), one("protected"))
    assert first["changed"] and os.stat(first["path"]).st_mode & 0o777 == 0o644
    before = open(first["path"]).read()
    later = one("protected")
    later.update(seen="2026-02-01T00:00:00Z", proved="2026-02-01T00:00:00Z")
    assert metrics.put(str(tmp_path), later, dry_run=True)["changed"] is False
    assert open(first["path"]).read() == before
    assert metrics.put(str(tmp_path), later)["changed"] is False
    assert samples(open(first["path"]).read())["mcp_confine_proof_timestamp_seconds",] == record.epoch(later["proved"])
    worse = metrics.put(str(tmp_path), one("partly"), dry_run=True)
    assert worse["changed"] and "timestamp_seconds 1" not in worse["diff"][0]["before"]
    assert os.listdir(tmp_path) == [metrics.NAME]
    assert metrics.remove(str(tmp_path))["changed"] and os.listdir(tmp_path) == []
    assert metrics.remove(str(tmp_path))["changed"] is False


def test_a_folder_that_is_not_there_and_a_link_in_place_of_the_file_are_refused(tmp_path):
    with pytest.raises(metrics.MetricsRefused, match="make it"):
        metrics.put(str(tmp_path / "none"), one("protected"))
    assert metrics.remove(str(tmp_path / "none"))["changed"] is False
    (tmp_path / "other").write_text("kept")
    (tmp_path / metrics.NAME).symlink_to(tmp_path / "other")
    with pytest.raises(metrics.MetricsRefused):
        metrics.put(str(tmp_path), one("protected"))
    assert (tmp_path / "other").read_text() == "kept"


def test_the_results_of_a_run_are_enough(tmp_path):
    made = metrics.leave(str(tmp_path), fleets.results("protected"))
    assert samples(open(made["path"]).read())["mcp_confine_servers_proved",] == 1
