"""Programs are found where clients look for them, and where they come from is told."""
from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from probe import users
from probe.host.docker import client_origin
from probe.host.programs import Programs, search_path

from .trees import plant

HOME = "/home/ada"


@pytest.fixture
def tree(tmp_path):
    def made(files):
        plant(tmp_path, files)
        return Programs(str(tmp_path), HOME)

    return made


@pytest.mark.parametrize("mount", ["/snap", "/var/lib/snapd/snap"])
def test_a_snap_is_known_by_where_its_name_leads(tree, mount):
    seen = tree({f"{mount}/bin/docker": "-> /usr/bin/snap", "/usr/bin/snap": "!"}).first("docker")["value"]
    assert seen["snap"] and seen["path"] == f"{mount}/bin/docker"


def test_a_snap_is_known_even_where_snap_itself_is_hidden(tree):
    assert tree({"/snap/bin/node": "-> /usr/bin/snap"}).first("node")["value"]["snap"]


def test_a_link_of_the_administrator_to_a_snap_counts_as_snap(tree):
    seen = tree(
        {"/usr/local/bin/docker": "-> /snap/bin/docker", "/snap/bin/docker": "-> /usr/bin/snap", "/usr/bin/snap": "!"}
    )
    assert seen.first("docker")["value"]["snap"]


def test_the_first_on_the_path_wins_and_the_others_are_named(tree):
    found = tree({"/usr/bin/docker": "!", "/snap/bin/docker": "-> /usr/bin/snap", "/usr/bin/snap": "!"}).all("docker")
    assert [row["snap"] for row in found] == [False, True]


def test_one_program_under_two_names_of_a_folder_counts_once(tree):
    found = tree({"/usr/bin/node": "!", "/bin": "-> usr/bin"}).all("node")
    assert len(found) == 1


def test_folders_and_texts_are_no_programs(tree):
    seen = tree({"/usr/local/bin/node/x": "", "/usr/bin/node": "not executable"})
    assert seen.first("node")["state"] == "absent"


def test_a_shim_of_a_version_manager_is_told(tree):
    path = f"{HOME}/.local/bin/node"
    seen = tree({path: f"-> {HOME}/.asdf/shims/node", f"{HOME}/.asdf/shims/node": "!"}).first("node")["value"]
    assert seen["shim"] and not seen["snap"]


@pytest.mark.parametrize("content, origin", [
    ("#!/bin/sh\n[ -e /etc/containers/nodocker ] || echo Emulate\nexec /usr/bin/podman \"$@\"\n", "podman"),
    ("#!/bin/sh\nexec /opt/real/docker \"$@\"\n", "package"), ("\x7fELF podman", "package")])
def test_a_docker_that_is_podman_is_told_by_what_it_starts(tmp_path, content, origin):
    plant(tmp_path, {"/usr/bin/docker": content})
    os.chmod(tmp_path / "usr/bin/docker", 0o755)
    found = Programs(str(tmp_path), HOME).first("docker")["value"]
    assert client_origin(str(tmp_path), found) == origin


def test_a_running_client_decides_the_search_path(person):
    if person.name == "root":
        pytest.skip("needs a user of its own")
    folder = person.folder("tools")
    program = f"{folder}/claude"
    shutil.copy("/bin/sleep", program)
    os.chmod(program, 0o755)
    user = users.named(person.name)
    assert folder not in users.run_as(user, search_path, "/", person.home)["value"]["folders"]
    become = {"user": user.uid, "group": user.gid} if os.geteuid() == 0 else {}
    client = subprocess.Popen([program, "60"], env={"PATH": f"{folder}:/usr/bin", "SECRET": "hunter2"}, **become)
    try:
        seen = users.run_as(user, search_path, "/", person.home)
    finally:
        client.kill()
        client.wait()
    assert seen["value"] == {"folders": [folder, "/usr/bin"], "of": ["running claude"]}
    assert "hunter2" not in str(seen)
