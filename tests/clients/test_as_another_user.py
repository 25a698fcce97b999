"""Root edits nobody's files: it becomes the user, so that a user's links lead root nowhere."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from probe import users
from probe.clients import act

CONFIG = json.dumps({"mcpServers": {"fs": {"command": "npx", "args": ["-y"]}}})
WISH = {"state": "confined", "wrapper": "/usr/local/bin/mcp-confine"}


@pytest.fixture
def user(person):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return users.named(person.name)


@pytest.mark.root
def test_the_file_stays_the_users_and_so_does_what_is_remembered(person, user):
    file = person.file(".cursor/mcp.json", CONFIG, mode=0o640)
    answer = users.run_as(user, act.set_state, person.home, WISH)
    assert answer["changed"] and answer["problems"] == []
    assert "mcp-confine" in Path(file).read_text()
    for path in [Path(file), *Path(person.home, ".local").rglob("*")]:
        assert path.stat().st_uid == pwd.getpwnam(person.name).pw_uid
    assert Path(file).stat().st_mode & 0o777 == 0o640
    assert users.run_as(user, act.set_state, person.home, {**WISH, "state": "unconfined"})["changed"]
    assert Path(file).read_text() == CONFIG


@pytest.mark.root
def test_a_link_to_a_file_of_roots_leads_nowhere(person, user, root_person):
    secret = root_person.file("secret.json", CONFIG)
    os.chmod(root_person.home, 0o755)
    os.chmod(secret, 0o644)
    person.folder(".cursor")
    os.symlink(secret, Path(person.home, ".cursor/mcp.json"))
    answer = users.run_as(user, act.set_state, person.home, WISH)
    assert not answer["changed"] and "belongs to uid 0" in answer["problems"][0]["reason"]
    assert Path(secret).read_text() == CONFIG


@pytest.mark.root
def test_a_link_in_place_of_the_state_folder_is_written_through_only_as_the_user(person, user, root_person):
    person.file(".cursor/mcp.json", CONFIG)
    person.folder(".local/state")
    os.symlink(root_person.home, Path(person.home, ".local/state/mcp-confine"))
    with pytest.raises(users.WorkFailed, match="PermissionError"):
        users.run_as(user, act.set_state, person.home, WISH)
    assert os.listdir(root_person.home) == []
    assert Path(person.home, ".cursor/mcp.json").read_text() == CONFIG
