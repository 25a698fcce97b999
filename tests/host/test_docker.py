"""Docker is asked over its socket, and whose daemon answered is told by what it says of itself."""
from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time

import pytest

from probe.host import docker, engine, snap
from probe.host.sockets import connect

from .trees import plant

VERSION = {"Version": "28.2.2", "Components": [{"Name": "Engine"}]}


@pytest.fixture
def serve(tmp_path):
    """A socket on which every request gets the same bytes."""
    stop = []

    def started(answer: bytes, delay: float = 0.0) -> str:
        path = str(tmp_path / f"{len(stop)}.sock")
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(path)
        server.listen(4)
        stop.append(server)

        def work() -> None:
            while True:
                try:
                    handle = server.accept()[0]
                except OSError:
                    return
                with handle:
                    handle.recv(4096)
                    time.sleep(delay)
                    try:
                        handle.sendall(answer)
                    except OSError:
                        pass

        threading.Thread(target=work, daemon=True).start()
        return path

    yield started
    for server in stop:
        server.close()


def http(content: object, status: int = 200) -> bytes:
    return f"HTTP/1.0 {status} OK\r\nContent-Type: application/json\r\n\r\n{json.dumps(content)}".encode()


def test_an_answer_is_read(serve):
    assert engine.ask(serve(http({"Version": "1"})), "/version") == ({"Version": "1"}, None)


@pytest.mark.parametrize(
    "answer, why",
    [
        (http({}, 404), "HTTP 404"),
        (b"", "no HTTP"),
        (b"SSH-2.0-x\r\n", "no HTTP"),
        (b"HTTP/1.0 200 OK\r\n\r\n{", "no JSON"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100000, "no JSON"),
        (os.urandom(3000), "no HTTP"),
    ],
)
def test_whatever_else_is_said_has_a_reason(serve, answer, why):
    assert engine.ask(serve(answer), "/version") == (None, why)


def test_who_does_not_answer_is_not_waited_for(serve, monkeypatch):
    monkeypatch.setattr(engine, "SECONDS", 0.2)
    assert engine.ask(serve(http({}), delay=5), "/version") == (None, "timeout")


def test_who_is_not_there_or_not_listening(tmp_path):
    path = str(tmp_path / "x.sock")
    assert engine.ask(path, "/version") == (None, "ENOENT")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as handle:
        handle.bind(path)
    assert engine.ask(path, "/version") == (None, "ECONNREFUSED")
    assert connect(path) == "ECONNREFUSED"


@pytest.mark.parametrize(
    "info, origin",
    [
        ({"DockerRootDir": "/var/snap/docker/common/var-lib-docker", "OperatingSystem": "Ubuntu Core 22"}, "snap"),
        ({"DockerRootDir": "/var/lib/docker", "OperatingSystem": "Docker Desktop"}, "desktop"),
        (
            {"DockerRootDir": "/home/ada/.local/share/docker", "SecurityOptions": ["name=seccomp", "name=rootless"]},
            "rootless",
        ),
        ({"DockerRootDir": "/var/lib/docker", "SecurityOptions": ["name=apparmor"]}, "package"),
        # What the client prints when no daemon answers it: zero values all over, and errors beside them.
        (
            {
                "DockerRootDir": "",
                "OperatingSystem": "",
                "SecurityOptions": None,
                "ServerErrors": ["permission denied"],
            },
            "unknown",
        ),
        ([], "unknown"),
        (None, "unknown"),
        ({"SecurityOptions": [1, None], "DockerRootDir": 7}, "package"),
    ],
)
def test_the_daemon_is_known_by_what_it_tells(info, origin):
    assert docker.engine(VERSION, info)["origin"] == origin


def test_podman_behind_dockers_socket_is_known():
    seen = docker.engine({"Version": "5.4.2", "Components": [{"Name": "Podman Engine"}]}, {"DockerRootDir": "/x"})
    assert (seen["origin"], seen["engine"]) == ("podman", "podman")


def test_snap_docker_by_every_sign_on_disk(tmp_path):
    nothing = snap.facts(str(tmp_path))
    assert [name for name, fact in nothing.items() if fact["value"]] == []
    plant(
        tmp_path,
        {
            "/snap/docker/current/meta/snap.yaml": "version: '29.3.1'\nconfinement: strict\napps:\n  version: 1\n",
            "/snap/docker_second/current/x": "",
            "/var/lib/snapd/snaps/docker_3265.snap": "",
            "/var/lib/snapd/snaps/docker_second_3265.snap": "",
            "/var/lib/snapd/snaps/docker-compose_1.snap": "",
            "/etc/systemd/system/snap.docker.dockerd.service": "",
            "/var/snap/docker/x": "",
            "/var/lib/snapd/apparmor/profiles/snap.docker.dockerd": "",
            "/run/snap.docker/docker.pid": "812\n",
            "/proc/812/attr/current": "snap.docker.dockerd (enforce)\n",
        },
    )
    seen = snap.facts(str(tmp_path))
    assert seen["mount"]["value"] == {"folder": "/snap/docker/current", "version": "29.3.1", "confinement": "strict"}
    assert seen["files"]["value"] == [
        "/var/lib/snapd/snaps/docker_3265.snap",
        "/var/lib/snapd/snaps/docker_second_3265.snap",
    ]
    assert seen["instances"]["value"] == ["docker_second"]
    assert seen["unit"]["value"] and seen["profile"]["value"] and seen["data"]["value"]
    assert seen["daemon"]["value"] == {"label": "snap.docker.dockerd (enforce)", "confined": True}


def test_the_snap_mount_of_other_distributions_counts_too(tmp_path):
    plant(tmp_path, {"/var/lib/snapd/snap/docker/current/meta/snap.yaml": "version: 1\n"})
    assert snap.facts(str(tmp_path))["mount"]["value"]["folder"] == "/var/lib/snapd/snap/docker/current"


def test_the_endpoint_that_the_user_chose_comes_first_and_its_address_stays_here(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://ada:hunter2@build.example:2376")
    rows = docker.facts("/", str(tmp_path), "ada")["endpoints"]["value"]
    assert (rows[0]["scheme"], rows[0]["path"], rows[0]["state"]) == ("tcp", None, "not asked")
    assert "hunter2" not in str(rows) and "build.example" not in str(rows)


def test_a_context_chosen_in_the_clients_file_counts(tmp_path, monkeypatch, serve):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    path = serve(http({"Version": "28", "DockerRootDir": "/var/lib/docker"}))
    meta = hashlib.sha256(b"mine").hexdigest()
    home = tmp_path / "home"
    plant(home, {"/.docker/config.json": json.dumps({"currentContext": "mine", "auths": {"x": {"auth": "hunter2"}}}),
                 f"/.docker/contexts/meta/{meta}/meta.json": json.dumps({"Endpoints": {"docker": {"Host": f"unix://{path}"}}})})
    rows = docker.facts("/", str(home), "ada")["endpoints"]["value"]
    assert (rows[0]["path"], rows[0]["chosen_by"], rows[0]["state"]) == (path, "the context mine", "answers")
    assert "hunter2" not in str(rows)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"currentContext": 7}', '{"currentContext": "../../x"}', "[" * 100000]
)
def test_a_broken_file_of_the_client_is_no_context(tmp_path, monkeypatch, content):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    plant(tmp_path, {"/.docker/config.json": content})
    rows = docker.facts("/", str(tmp_path), "ada")["endpoints"]["value"]
    assert "/var/run/docker.sock" in [row["path"] for row in rows]
