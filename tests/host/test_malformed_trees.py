"""Two hundred broken hosts: truncated files, binary junk, missing /proc, pipes, loops. None makes a subject raise."""
from __future__ import annotations

import json
import os
import random
import signal

import pytest

from probe import host, verdict
from probe.host import child
from probe.report import text

USER = {"name": "ada", "uid": 1000, "home": "/home/ada", "root": False}
# Files as they should be; what is made of them below is not.
WELL = {
    "/proc/self/status": "Name:\tx\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n",
    "/proc/self/mountinfo": "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n2 1 0:9 / /home rw - nfs4 a:/b rw\n",
    "/proc/self/uid_map": "0 0 4294967295\n",
    "/proc/self/cgroup": "0::/system.slice/agent.service\n",
    "/proc/self/environ": "A=b\0SNAP_NAME=code\0",
    "/proc/1/environ": "container=lxc\0",
    "/proc/self/attr/apparmor/current": "unconfined\n",
    "/proc/self/attr/current": "unconfined\n",
    "/proc/sys/kernel/osrelease": "6.8.0-31-generic\n",
    "/proc/sys/kernel/version": "#31\n",
    "/proc/version": "Linux\n",
    "/proc/cmdline": "root=/dev/sda1 lsm=yama,apparmor\n",
    "/proc/config.gz": "junk",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
    "/proc/sys/kernel/unprivileged_userns_clone": "1\n",
    "/proc/sys/user/max_user_namespaces": "100\n",
    "/proc/sys/kernel/yama/ptrace_scope": "1\n",
    "/proc/sys/fs/binfmt_misc/WSLInterop": "enabled\n",
    "/sys/module/user_namespace/parameters/enable": "Y\n",
    "/sys/kernel/security/lsm": "capability,yama,apparmor\n",
    "/sys/module/apparmor/parameters/enabled": "Y\n",
    "/sys/kernel/security/apparmor/profiles": "bwrap (enforce)\n",
    "/sys/fs/selinux/enforce": "1",
    "/boot/config-6.8.0-31-generic": 'CONFIG_SECURITY_LANDLOCK=y\nCONFIG_LSM="yama"\n',
    "/etc/apparmor.d/bwrap": "profile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n",
    "/etc/default/grub": 'GRUB_CMDLINE_LINUX_DEFAULT="quiet lsm=yama"\n',
    "/etc/default/grub.d/50-cloud.cfg": "",
    "/etc/environment": 'PATH="/usr/bin:/snap/bin"\n',
    "/etc/group": "docker:x:999:ada\n",
    "/etc/subuid": "ada:100000:65536\n",
    "/etc/subgid": "ada:100000:65536\n",
    "/snap/docker/current/meta/snap.yaml": "version: 1\nconfinement: strict\n",
    "/run/snap.docker/docker.pid": "12\n",
    "/proc/12/attr/current": "snap.docker.dockerd (enforce)\n",
    "/run/docker.pid": "12\n",
    "/var/lib/snapd/snaps/docker_1.snap": "",
    "/usr/bin/docker": "#!/bin/sh\nexec podman\n",
    "/usr/bin/bwrap": "x",
    "/home/ada/.docker/config.json": '{"currentContext": "x"}',
    "/.dockerenv": "",
    "/run/systemd/container": "docker\n",
    "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f": "\6\0\0\0G\0R\0",
}
TREES = 200


def _broken(content: bytes, chance: random.Random) -> bytes:
    return chance.choice((
        lambda: content[: chance.randrange(len(content) + 1)],
        lambda: chance.randbytes(chance.randrange(400)) if hasattr(chance, "randbytes") else os.urandom(40),
        lambda: content.replace(b"\n", chance.choice((b"\r\n", b"\0", b" ", b""))) * chance.randrange(3),
        lambda: bytes(byte ^ (chance.random() < 0.1) for byte in content),
        lambda: content + b"\xff\xfe" + "ÿ\u202e".encode() * 5 + b"\x1b[31m" + b"9" * 5000,
        lambda: b"[" * 20000,
    ))()


def _grow(root, number: int) -> None:
    chance = random.Random(number)
    for name, content in WELL.items():
        path = root / name.lstrip("/")
        kind = chance.random()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind < 0.15:
                continue
            if kind < 0.2:
                path.mkdir()
            elif kind < 0.25:
                os.mkfifo(path)
            elif kind < 0.3:
                path.symlink_to(chance.choice((path.name, "/dev/zero", "/nowhere", "..", "/" + name)))
            elif kind < 0.6:
                path.write_bytes(content.encode())
            else:
                path.write_bytes(_broken(content.encode(), chance))
            if path.is_file() and "/bin/" in name:
                path.chmod(0o755)
        except OSError:
            continue  # a folder's name is already a file here: broken as well
    if number % 20 == 0 and (root / "proc").is_dir():
        (root / "proc").rename(root / "no-proc")


@pytest.mark.parametrize("first", range(0, TREES, 20))
def test_no_subject_raises_or_waits(tmp_path, first):
    signal.alarm(120)  # a subject that waits ends the test
    try:
        for number in range(first, first + 20):
            root = tmp_path / str(number)
            _grow(root, number)
            facts = {name: work.call() for name, work in host.subjects(USER, str(root), ["/home/ada"]).items()}
            facts = json.loads(json.dumps({"schema": 1, "user": USER, "distribution": {}, "problems": [], **facts}))
            judged = verdict.judge(facts, [])
            assert judged["verdict"] in verdict.EXIT
            shown = text.render(judged, 80, verbose=True)
            assert "\x1b" not in shown and max(len(line) for line in shown.splitlines()) <= 80
    finally:
        signal.alarm(0)


def test_the_same_tree_unbroken_is_understood(tmp_path):
    from .trees import plant

    plant(tmp_path, {name: content for name, content in WELL.items() if name != "/proc/config.gz"})
    facts = {name: work.call() for name, work in host.subjects(USER, str(tmp_path), []).items()}
    assert facts["context"]["status"]["value"]["bounding_set"] == 0x1FFFFFFFFFF
    assert facts["context"]["unit"]["value"]["name"] == "agent.service"
    assert facts["lsm"]["active"]["value"] == ["capability", "yama", "apparmor"]
    assert facts["lsm"]["built"]["value"]["CONFIG_LSM"] == "yama"
    assert facts["boot"]["parameters"]["value"] == {"lsm": "yama,apparmor"}
    assert facts["boot"]["settings"]["value"][0]["value"] == "yama"
    assert facts["namespaces"]["apparmor_restrict"]["value"] == 1
    assert facts["apparmor"]["profiles"]["value"][0]["unconfined"]
    assert facts["docker"]["group"]["value"]["in_database"]
    assert facts["docker"]["snap"]["daemon"]["value"]["confined"]
    assert facts["podman"]["subuid"]["value"] == 65536


def test_an_empty_tree_is_full_of_unknowns_and_not_of_noes(tmp_path):
    seen = host.observe({}, root=str(tmp_path), home="/home/ada", workspaces=[])
    assert seen["problems"] == []
    judged = verdict.judge({**seen, "user": USER}, [])
    assert judged["mechanisms"]["landlock"]["state"] == "unknown"
    assert judged["mechanisms"]["landlock"]["codes"] == ["PROBE_UNKNOWN"]


def test_a_subject_that_hangs_leaves_the_others_their_answers(monkeypatch):
    import time

    monkeypatch.setattr(host.boot, "facts", lambda root: time.sleep(60))
    monkeypatch.setattr(host, "READING", 0.5)
    seen = host.observe({}, workspaces=[])
    # On a busy machine others may be late too; the point is that the one is named and the rest is there.
    assert {"subject": "boot", "reason": "did not end within 0.5 s"} in seen["problems"]
    assert seen["boot"] == {}
    assert seen["landlock"]["abi"]["state"] in ("known", "unknown")
    codes = [entry["code"] for entry in verdict.judge(seen, [])["findings"]]
    assert "PROBE_INCOMPLETE" in codes


def test_where_no_process_can_be_started_everything_is_unknown(monkeypatch):
    def refuse() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(child.os, "fork", refuse)
    seen = host.observe({}, workspaces=[])
    assert {problem["subject"] for problem in seen["problems"]} >= {"kernel", "landlock"}
    judged = verdict.judge(seen, [])
    assert (judged["verdict"], verdict.exit_code(judged)) == ("unknown", 12)
