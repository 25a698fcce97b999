"""The probe, started by a confined server, says where it is instead of blaming the host."""
from __future__ import annotations

import json

OBSERVE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from probe import host, verdict
facts = host.observe({}, workspaces=[])
judged = verdict.judge(facts, [])
print(json.dumps([facts, judged]))
"""


def test_it_knows_that_it_is_inside(wrapper, person, tree):
    done = person.run([wrapper, "--name", "probe", "--ro", tree, "--", "/usr/bin/python3", "-c", OBSERVE, tree])
    assert done.returncode == 0, done.stderr
    facts, judged = json.loads(done.stdout)
    assert facts["context"]["inside_wrapper"]["value"] is True
    assert facts["problems"] == []
    # /proc is closed to a server, so this is unknown, and not "no restriction".
    assert (facts["context"]["status"]["state"], facts["context"]["status"]["why"]) == ("unknown", "EACCES")
    codes = [entry["code"] for entry in judged["findings"]]
    assert "PROBE_INSIDE_WRAPPER" in codes
    outside = json.loads(person.run(["/usr/bin/python3", "-c", OBSERVE, tree]).stdout)[1]
    assert "PROBE_INSIDE_WRAPPER" not in [entry["code"] for entry in outside["findings"]]
