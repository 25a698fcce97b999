"""What lies outside of a server's confinement: real files, sockets, terminals and processes, made once per user."""
from __future__ import annotations

import array
import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = "/usr/bin/python3"
SERVER = "escape"  # the name of the confined server
# What would start later, outside: any of these, written, is a way out.
PLANTS = (".bashrc", ".profile", ".config/autostart/x.desktop", ".config/systemd/user/x.timer", ".local/bin/npx",
          ".npmrc", ".gitconfig", ".ssh/authorized_keys", ".claude.json", ".cursor/mcp.json", ".npm/_npx/x/index.js",
          ".cache/uv/x", ".local/share/uv/tools/x", ".config/pip/pip.conf", ".config/mcp-confine/policies/escape",
          "project/.git/hooks/pre-commit", "project/.mcp.json")


class Outside:
    """The surroundings of one user. `places` is what an attempt is told of them; `home` is the user's home."""

    def __init__(self, user: str) -> None:
        entry = pwd.getpwnam(user)
        self.user, self.uid, self.gid = user, entry.pw_uid, entry.pw_gid
        root = os.geteuid() == 0
        # Beside the home and on its file system, so that a link or a rename fails for no other reason.
        self.top = tempfile.mkdtemp(prefix="mcp-confine-escape-", dir="/opt" if root else None)
        os.chmod(self.top, 0o755)
        self.home, self.folder = f"{self.top}/home", f"{self.top}/outside"
        self._keep: list = []
        self._folders()
        self.places: dict = {
            "canary": f"{self.folder}/canary", "readable_folder": f"{self.top}/readable",
            "readable": f"{self.top}/readable/text", "plants": [f"{self.home}/{name}" for name in PLANTS],
            "other_server": f"{self.home}/.local/state/mcp-confine/servers/other/data/secret",
            "of_somebody_else": f"{self.top}/readable/private", "bell": f"{self.folder}/bell",
            "queue": f"mcp-confine-escape-{os.path.basename(self.top)}",
            "shared": f"/dev/shm/{os.path.basename(self.top)}",
        }
        self._sockets()
        self._ports()
        self.master, self.terminal = os.openpty()
        self.places["terminal"] = os.ttyname(self.terminal)
        os.fchown(self.terminal, self.uid, -1)
        self._bystander()
        self.restore()

    def _folders(self) -> None:
        for name in ("home", "outside", "outside/run", "readable", "loose", "granted", "helpers",
                     *[f"home/{os.path.dirname(name)}" for name in PLANTS],
                     "home/.local/state/mcp-confine/servers/other/data"):
            path = Path(self.top, name)
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        Path(self.home, ".local/state/mcp-confine/servers/other/data/secret").write_text("SECRET of another server\n")
        Path(self.folder, "bell").touch()
        for folder, folders, files in os.walk(self.top):
            for name in [*folders, *files]:
                os.chown(os.path.join(folder, name), self.uid, self.gid)
        if os.geteuid() == 0:
            other = Path(self.top, "readable/private")
            other.write_text("of somebody else\n")
            other.chmod(0o600)
            os.chown(other, 65534, 65534)

    def restore(self) -> None:
        """Writes the canaries anew and empties what waits in the sockets; attempts that get through spoil them."""
        for path in (self.places["canary"], self.places["readable"]):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with open(path, "w") as stream:
                stream.write("SECRET\n")
            os.chmod(path, 0o600)
            os.chown(path, self.uid, self.gid)
        for server in self._keep:
            with contextlib.suppress(OSError):
                while True:
                    if server.type == socket.SOCK_DGRAM:
                        server.recv(64)
                    else:
                        server.accept()[0].close()
        self.process.stdin.write("queue\n")
        self.process.stdin.flush()
        self.queue_made = self.process.stdout.readline().strip()

    def _server(self, family: int, kind: int, address) -> socket.socket:
        server = socket.socket(family, kind)
        server.bind(address)
        if kind != socket.SOCK_DGRAM:
            server.listen(64)
        server.setblocking(False)
        if family == socket.AF_UNIX and not address.startswith("\0"):
            os.chmod(address, 0o777)
        self._keep.append(server)
        return server

    def _sockets(self) -> None:
        name = os.path.basename(self.top)
        kinds = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET, "datagram": socket.SOCK_DGRAM}
        for place, kind in kinds.items():
            self.places[place] = f"{self.folder}/run/{place}"
            self._server(socket.AF_UNIX, kind, self.places[place])
        for place, kind in (("abstract", socket.SOCK_STREAM), ("abstract_datagram", socket.SOCK_DGRAM)):
            self.places[place] = f"{name}-{place}"
            self._server(socket.AF_UNIX, kind, "\0" + self.places[place])
        self.places["stream_in_granted_folder"] = f"{self.top}/granted/stream"
        self._server(socket.AF_UNIX, socket.SOCK_STREAM, self.places["stream_in_granted_folder"])
        self.places["helper"] = f"{self.folder}/run/helper"
        helper = self._server(socket.AF_UNIX, socket.SOCK_STREAM, self.places["helper"])
        self._keep.remove(helper)
        helper.setblocking(True)
        self.helper = helper
        threading.Thread(target=self._hand_out, daemon=True).start()

    def _hand_out(self) -> None:
        """Gives the open canary to whoever connects, as an editor's or a container's helper may."""
        while True:
            try:
                client, _ = self.helper.accept()
            except OSError:
                return
            with client, open(self.places["canary"]) as canary, contextlib.suppress(OSError):
                client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [canary.fileno()]))])

    def _ports(self) -> None:
        listener = self._server(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.places["port"] = listener.getsockname()[1]
        self.places["udp_port"] = self._server(
            socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)).getsockname()[1]
        self.granted_port = self._server(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)).getsockname()[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.places["free_port"] = free.getsockname()[1]

    def _bystander(self) -> None:
        become = {"user": self.uid, "group": self.gid, "extra_groups": []} if os.geteuid() == 0 else {}
        self.process = subprocess.Popen(
            [PYTHON, "-IS", "-c", (HERE / "bystander.py").read_text(), self.places["bell"], self.places["queue"],
             self.places["shared"], "--token=SECRET"],
            env={"TOKEN": "SECRET"}, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True, **become)
        self.places.update(json.loads(self.process.stdout.readline()))

    @contextlib.contextmanager
    def inherited(self):
        """Descriptors as a client leaves them open, by what they are; all inheritable."""
        canary = os.open(self.places["canary"], os.O_RDONLY)
        connection = socket.create_connection(("127.0.0.1", self.places["port"]))
        listener = socket.create_server(("127.0.0.1", 0))
        memory = os.memfd_create("left open")
        os.write(memory, b"SECRET")
        kept = {"file": canary, "folder": os.open(self.folder, os.O_RDONLY), "terminal": os.dup(self.terminal),
                "connection": connection.detach(), "listener": listener.detach(), "memory": memory,
                "process": os.pidfd_open(self.places["bystander"]), "ring": _ring(), "high": _high(canary)}
        kept = {name: number for name, number in kept.items() if number is not None}
        try:
            for number in kept.values():
                os.set_inheritable(number, True)
            yield kept
        finally:
            for number in kept.values():
                os.close(number)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.helper.shutdown(socket.SHUT_RDWR)
        for server in [*self._keep, self.helper]:
            server.close()
        os.close(self.master)
        os.close(self.terminal)
        shutil.rmtree(self.top)


def _ring() -> int | None:
    import ctypes

    ring = ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120))
    return ring if ring >= 0 else None


def _high(descriptor: int) -> int:
    """The same file at a number far up."""
    import fcntl
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, min(limit, 1 << 16) - 100)
