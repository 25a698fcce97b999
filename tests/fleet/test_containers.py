"""The checks for CI containers, against real containers: a good one passes, a bad one fails for its reason."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest
from fleet_lab import ROOT, tree
from plays import SERVER

IMAGE = "mcp-confine-lab"
READY_SECONDS = 60


@pytest.fixture(scope="module")
def docker():
    """Runs `docker` against an engine of this test's own, which has a Debian with Python as its one image."""
    if os.geteuid() != 0 or not shutil.which("dockerd") or not shutil.which("docker"):
        pytest.skip("needs root and docker.io")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mcp-docker-"))
    socket = f"unix://{folder}/socket"
    engine = subprocess.Popen(
        ["dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs",
         f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid", f"--host={socket}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(folder / "log", "w"))

    def run(*words: object, **options) -> subprocess.CompletedProcess:
        return subprocess.run(["docker", *map(str, words)], env={**os.environ, "DOCKER_HOST": socket},
                              **{"check": True, "capture_output": True, "text": True, **options})

    try:
        end = time.monotonic() + READY_SECONDS
        while run("version", check=False).returncode:
            assert engine.poll() is None and time.monotonic() < end, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)
        packed = subprocess.Popen(["tar", "-C", tree("bookworm"), "-c", "."], stdout=subprocess.PIPE)
        run("import", "-", IMAGE, stdin=packed.stdout)
        packed.stdout.close()
        assert packed.wait() == 0
        run.socket = socket
        yield run
    finally:
        engine.terminate()
        engine.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def container(docker, request):
    """A running container with a developer who has one server in a client's file; its name."""
    name = f"mcp{os.getpid()}-{request.node.name[:20]}"
    docker("run", "--detach", "--network=none", "--name", name, IMAGE, "sleep", "infinity")
    entry = {"command": "/usr/bin/python3", "args": ["/home/dev/notes.py"]}
    docker("exec", name, "useradd", "--create-home", "--shell", "/bin/bash", "dev")
    for path, text in {"notes.py": SERVER, ".claude.json": json.dumps({"mcpServers": {"notes": entry}})}.items():
        docker("exec", "--interactive", "--user=dev", name, "sh", "-c", f"cat > /home/dev/{path}", input=text)
    yield name
    docker("rm", "--force", name)


def judge(docker, name: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/testinfra", f"--hosts=docker://{name}"],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "DOCKER_HOST": docker.socket})


def test_a_container_without_the_wrapper_fails_by_name(docker, container):
    judged = judge(docker, container)
    assert judged.returncode == 1
    assert "/usr/local/bin/mcp-confine is missing" in judged.stdout
    assert "claude-code:notes in /home/dev/.claude.json: unconfined" in judged.stdout


def test_a_container_with_every_server_confined_passes_and_one_loose_entry_fails_it(docker, container):
    docker("cp", ROOT / "probe", f"{container}:/srv/probe")
    probe = ["--workdir=/srv", container, "python3", "-m", "probe"]
    docker("exec", *probe, "install")
    docker("exec", "--user=dev", "--env=HOME=/home/dev", *probe, "wrap", "--yes")
    docker("exec", container, "rm", "-r", "/srv/probe")  # what stays is the wrapper alone
    good = judge(docker, container)
    assert good.returncode == 0, good.stdout
    loose = {"mcpServers": {"notes": {"command": "/usr/bin/python3", "args": ["/home/dev/notes.py"]}}}
    docker("exec", "--interactive", "--user=dev", container, "sh", "-c", "cat > /home/dev/.claude.json",
           input=json.dumps(loose))
    bad = judge(docker, container)
    assert bad.returncode == 1 and "claude-code:notes" in bad.stdout and "1 failed" in bad.stdout
