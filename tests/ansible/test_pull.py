"""Past one controller: a host that pulls the tree and runs it on itself; what an execution environment holds."""
from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
import yaml
from playground import ANSIBLE, ROOT


@pytest.fixture
def repository(place):
    """A git repository with this tree in it, as it is now."""
    folder = place / "tree"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    author = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "the tree"]):
        subprocess.run(["git", "-C", folder, *words], check=True)
    return f"file://{folder}"


def test_a_host_that_pulls_is_enabled_then_left_alone_then_given_back(repository, people, place):
    [person] = people()
    file = person.claude({"notes": person.server()})
    before = file.read_bytes()
    values = {"mcp_confine_prefix": str(place / "prefix"), "mcp_confine_users": [person.name]}

    def pull(playbook: str) -> str:
        done = subprocess.run(
            [ANSIBLE / "ansible-pull", "-U", repository, "-d", place / "checkout", "-i", "inventory/hosts.yml", "-e",
             json.dumps(values), f"playbooks/{playbook}"],
            capture_output=True, text=True, cwd=place, check=False, stdin=subprocess.DEVNULL,
            env={**{name: value for name, value in os.environ.items() if name != "ANSIBLE_CONFIG"},
                 "HOME": str(place), "PATH": f"{ANSIBLE}:{os.environ['PATH']}"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "1 confined, 0 not" in pull("enable-landlock.yml")
    assert file.read_bytes() != before
    again = pull("enable-landlock.yml")
    assert "1 proved in an earlier run" in again and "changed=0" in again
    assert "changed=" in pull("disable-landlock.yml")
    assert file.read_bytes() == before


def test_the_execution_environment_takes_the_archive_that_is_built():
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text())
    archive = "{namespace}-{name}-{version}.tar.gz".format(**galaxy)
    wanted = yaml.safe_load((ROOT / "execution-environment.yml").read_text())
    assert wanted["additional_build_files"] == [{"src": f"build/{archive}", "dest": "collections"}]
    assert wanted["dependencies"]["galaxy"]["collections"] == [{"name": f"collections/{archive}", "type": "file"}]
