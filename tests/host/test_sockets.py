"""Sockets that reach far are found, without waking a daemon that only a connection would start."""
from __future__ import annotations

import os
import socket

import pytest

from probe import users
from probe.host import sockets


@pytest.fixture
def listening(tmp_path):
    handle = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    handle.bind(str(tmp_path / "s"))
    handle.listen(4)
    handle.setblocking(False)
    yield handle, str(tmp_path / "s")
    handle.close()


def test_a_connection_tells_whether_somebody_listens(listening, tmp_path):
    handle, path = listening
    assert sockets.connect(path) == "reachable"
    handle.close()
    assert sockets.connect(path) == "ECONNREFUSED"
    assert sockets.connect(str(tmp_path / "none")) == "ENOENT"


def test_the_permission_is_told_without_a_connection(listening, tmp_path):
    handle, path = listening
    assert sockets.permission(path) == "reachable"
    with pytest.raises(BlockingIOError):
        handle.accept()
    (tmp_path / "file").write_text("")
    assert sockets.permission(str(tmp_path / "file")) == "ENOTSOCK"
    assert sockets.permission(str(tmp_path / "none")) == "ENOENT"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root and a user")
def test_a_socket_of_root_is_closed_to_a_user(person):
    path = f"{person.home}/s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as handle:
        handle.bind(path)
        handle.listen(1)
        os.chmod(path, 0o600)
        user = users.named(person.name)
        assert users.run_as(user, sockets.permission, path) == "EACCES"
        assert users.run_as(user, sockets.connect, path) == "EACCES"


def test_every_place_is_looked_at_below_this_users_folders(monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/4242")  # another user's, as left behind by su
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    paths = [path for _, path, _ in sockets.places("/home/ada")]
    assert f"/run/user/{os.geteuid()}/bus" in paths and "/home/ada/.docker/run/docker.sock" in paths
    assert not [path for path in paths if "4242" in path or "{" in path]
