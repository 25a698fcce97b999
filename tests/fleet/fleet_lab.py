"""Hosts for ssh on one machine: each with its own root, users, mounts, processes and network address.

A host is an overlay over a debootstrap tree, in its own mount, pid, host name and network namespaces, with an sshd as
its first process. All hosts and the controller hang on one bridge that leads nowhere else. The trees are built once, in
.lab/.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREES = ROOT / ".lab" / "trees"
# Debian release: the Python that it brings
RELEASES = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13"}
PACKAGES = "openssh-server,python3,sudo"
# A release that is no longer supported is signed with keys that the first of them may not have any more.
KEYRINGS = ("debian-archive-keyring", "debian-archive-removed-keys")
NETWORK = "10.77.0"
READY_SECONDS = 30


def mirror() -> str:
    """The Debian mirror that this machine's own apt uses."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Identifier: Packages"],
                            capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in listed.splitlines() if line.startswith("Debian "))


def tree(release: str) -> pathlib.Path:
    """The root of a minimal Debian of that release with Python and sshd; built where there is none."""
    place = TREES / release
    holds = place / "etc" / "lab-packages"
    if not holds.exists() or holds.read_text() != PACKAGES:
        TREES.mkdir(parents=True, exist_ok=True)
        building = pathlib.Path(tempfile.mkdtemp(prefix=f"{release}-", dir=TREES))
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", f"--keyring={keyring()}", release,
                        building, mirror()], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(building / "var" / "cache" / "apt", ignore_errors=True)
        os.chmod(building, 0o755)
        (building / holds.relative_to(place)).write_text(PACKAGES)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(building, place)
    return place


def keyring() -> pathlib.Path:
    """All of Debian's archive keys that this machine has, in one file."""
    place = pathlib.Path("/usr/share/keyrings")
    files = [file for name in KEYRINGS for file in sorted(place.glob(f"{name}.[gp][pg][pg]"))[:1]]
    together = TREES / "keyring.gpg"
    together.write_bytes(b"".join(file.read_bytes() for file in files))
    return together


class Kind(NamedTuple):
    """How a host differs: its release, shell lines in its namespaces before sshd (`$ROOT` its root), its sshd, and the
    user of the connection, who becomes root by sudo."""

    release: str = "bookworm"
    before: str = ""
    sshd: str = "/usr/sbin/sshd -D -e -f /etc/ssh/lab"
    user: str = "root"


class Host:
    """One host of the lab."""

    def __init__(self, lab: Lab, name: str, number: int, kind: Kind) -> None:
        self.lab, self.name, self.kind = lab, name, kind
        self.address = f"{NETWORK}.{number + 2}"
        self.space = f"{lab.prefix}h{number}"
        self.link = f"{lab.prefix}v{number}"
        self.folder = lab.folder / name
        self.root = self.folder / "root"
        self.process: subprocess.Popen | None = None

    def build(self) -> None:
        """The overlay, its keys and its sshd settings, and the network; nothing runs yet."""
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        lower = tree(self.kind.release)
        _do("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={lower},upperdir={self.folder}/upper,workdir={self.folder}/work", self.root)
        (self.root / "etc/ssh/lab").write_text(textwrap.dedent("""\
            ListenAddress 0.0.0.0
            HostKey /etc/ssh/lab_key
            AuthorizedKeysFile /etc/ssh/lab_user.pub
            PermitRootLogin prohibit-password
            PasswordAuthentication no
            UsePAM no
            UseDNS no
            PidFile none
            """))
        shutil.copy(self.lab.folder / "host", self.root / "etc/ssh/lab_key")
        shutil.copy(self.lab.folder / "client.pub", self.root / "etc/ssh/lab_user.pub")
        os.chmod(self.root / "etc/ssh/lab_key", 0o600)
        _do("ip", "netns", "add", self.space)
        _do("ip", "link", "add", self.link, "netns", self.lab.space, "type", "veth",
            "peer", "name", "eth0", "netns", self.space)
        _do("ip", "-n", self.lab.space, "link", "set", self.link, "master", "bridge", "up")
        _do("ip", "-n", self.space, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _do("ip", "-n", self.space, "link", "set", device, "up")

    def start(self) -> None:
        script = f"""
            set -e
            hostname {self.name}
            mount -t proc proc $ROOT/proc
            mount -t sysfs sysfs $ROOT/sys
            mount -t tmpfs -o mode=755 tmpfs $ROOT/dev
            mkdir $ROOT/dev/pts $ROOT/dev/shm
            for node in null zero full random urandom tty; do
                touch $ROOT/dev/$node
                mount --bind /dev/$node $ROOT/dev/$node
            done
            mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts $ROOT/dev/pts
            ln -s pts/ptmx $ROOT/dev/ptmx
            ln -s /proc/self/fd $ROOT/dev/fd
            mount -t tmpfs -o mode=1777 tmpfs $ROOT/dev/shm
            mount -t tmpfs -o mode=1777 tmpfs $ROOT/tmp
            mount -t tmpfs -o mode=755 tmpfs $ROOT/run
            mkdir $ROOT/run/sshd
            {self.kind.before}
            exec chroot $ROOT {self.kind.sshd}
        """
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, "unshare", "--mount", "--pid", "--uts", "--ipc", "--fork",
             "--kill-child", "/bin/sh", "-c", script],
            env={"PATH": os.environ["PATH"], "ROOT": str(self.root)}, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "w"))

    def ready(self) -> None:
        end = time.monotonic() + READY_SECONDS
        while self.ssh("true").returncode:
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not answer: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Ends the host as a power failure would."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ssh(self, command: str, **options) -> subprocess.CompletedProcess:
        """`command` as root on the host, over ssh from the controller."""
        return subprocess.run(
            ["ip", "netns", "exec", self.lab.space, "ssh", *self.lab.ssh_options(), "-i", self.lab.folder / "client",
             f"root@{self.address}", command],
            capture_output=True, text=True, check=False, **{"stdin": subprocess.DEVNULL, **options})

    def variables(self) -> dict:
        return {"ansible_host": self.address, "ansible_user": self.kind.user,
                "ansible_ssh_private_key_file": str(self.lab.folder / "client"),
                "ansible_ssh_common_args": " ".join(self.lab.ssh_options())}


class Lab:
    """The controller's network, and the hosts on it. Use as a context; everything is gone afterwards."""

    def __init__(self, kinds: dict[str, Kind]) -> None:
        self.prefix = f"mcp{os.getpid() % 100000}"
        self.space = f"{self.prefix}c"
        (ROOT / ".lab").mkdir(exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=ROOT / ".lab"))
        os.chmod(self.folder, 0o755)
        self.hosts = {name: Host(self, name, number, kind) for number, (name, kind) in enumerate(kinds.items())}

    def ssh_options(self) -> list[str]:
        return ["-o", f"UserKnownHostsFile={self.folder}/known_hosts", "-o", "IdentitiesOnly=yes",
                "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]

    def __enter__(self) -> Lab:
        try:
            for name in ("host", "client"):
                _do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
            public = (self.folder / "host.pub").read_text()
            known = [f"{host.address} {public}" for host in self.hosts.values()]
            (self.folder / "known_hosts").write_text("".join(known))
            _do("ip", "netns", "add", self.space)
            _do("ip", "-n", self.space, "link", "add", "bridge", "type", "bridge")
            _do("ip", "-n", self.space, "address", "add", f"{NETWORK}.1/24", "dev", "bridge")
            for device in ("lo", "bridge"):
                _do("ip", "-n", self.space, "link", "set", device, "up")
            for host in self.hosts.values():
                host.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            host.stop()
            subprocess.run(["umount", "--lazy", host.root], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "delete", host.space], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", self.space], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def controller(self, *command: object, **options) -> subprocess.Popen:
        """A process on the controller's network."""
        return subprocess.Popen(["ip", "netns", "exec", self.space, *map(str, command)], **options)


def _do(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} {command[1]}: {done.stderr.strip()}")
