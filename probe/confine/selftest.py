"""The proof: the same acts without and with confinement, as the user who starts servers, on the folders they use."""
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading

from . import acts, environment, landlock, plan, system
from .launch import REFUSED, Launch, why_no_landlock
from .policy import Refused

SCHEMA = 1
DEADLINE = 20  # seconds for one run of the acts
MUST_WORK = "use_private_folder"


def run(folder: str) -> dict:
    """The self-test of the default policy with its private folder and its canaries on the file system of `folder`.

    Returns {"passed": bool, "abi": int or None, "errno": name or None, "reason": str or None, "stages": [{"name",
    "wanted": "allowed" or "denied", "got": "allowed", "denied" or "error", "errno": name or None}]}. Forks for
    whatever can kill or restrict the caller; removes what it made. Never raises for what the kernel refuses.
    """
    answer: dict = {"passed": False, "abi": None, "errno": None, "reason": None, "stages": []}
    version, name = ask_kernel()
    answer["abi"] = version
    if version is None:
        answer["errno"] = name
        answer["reason"] = ("a filter around this process kills whoever asks for Landlock" if name == "SIGSYS"
                            else why_no_landlock(getattr(errno, name or "", 0)))
        return answer
    try:
        result = prove([("--name", "self-test")], [sys.executable], folder)
    except Refused as refusal:
        answer["reason"] = str(refusal)
        return answer
    except OSError as problem:
        answer["errno"] = error_name(problem)
        answer["reason"] = f"{problem.filename or folder}: {problem.strerror}"
        return answer
    answer["passed"], answer["reason"] = result["passed"], result["reason"]
    for row in result["acts"]:
        if row["state"] not in plan.ENFORCED and row["act"] != MUST_WORK:
            continue
        got = row["confined"]
        answer["stages"].append({
            "name": row["act"], "wanted": "allowed" if row["act"] == MUST_WORK else "denied",
            "got": "allowed" if got == "allowed" else "denied" if got in errno.errorcode.values() else "error",
            "errno": None if got == "allowed" else got})
    return answer


def ask_kernel() -> tuple:
    """(ABI, None), or (None, name of the errno or of the signal that a child got for asking)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(landlock.abi())
        except OSError as problem:
            said = error_name(problem)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 64).decode()
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if said.isdigit():
        return int(said), None
    return None, said or signal.Signals(os.WTERMSIG(status) or signal.SIGKILL).name


def error_name(problem: OSError) -> str:
    """The errno's name; ENOTSUP and EOPNOTSUPP are one number, and the kernel means the latter."""
    name = errno.errorcode.get(problem.errno or 0, str(problem.errno))
    return "EOPNOTSUPP" if name == "ENOTSUP" else name


def prove(options: list, command: list, folder: str = "") -> dict:
    """Tries the acts without and with the plan for `command`; {"passed", "reason", "after_exec", "plan", "acts"}.

    `folder` moves the private folder and the canaries there; without it they lie where the server's will. Raises
    `Refused` or `OSError` as the start itself would.
    """
    launch = Launch(options, command)
    root = folder or environment.state_root(launch.home)
    os.makedirs(root, 0o700, exist_ok=True)
    place = tempfile.mkdtemp(prefix=".self-test-", dir=root)
    try:
        if folder:
            launch.folders = environment.Folders(launch.home, "self-test", place)
        launch.prepare()
        with _Outside(place, launch.folders.data) as outside:
            readable = plan.Grant(outside.places["readable"], "read", "the self-test")
            readable.open()
            launch.plan.grants.append(readable)
            without, _ = _try(outside.places, None)
            outside.restore()
            confined, after_exec = _try(outside.places, launch)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return _judge(launch, without, confined, after_exec)


def _judge(launch: Launch, without: dict, confined: dict, after_exec: bool) -> dict:
    states = launch.plan.states()
    rows, wrong = [], []
    for act in [MUST_WORK, *acts.ACTS]:
        protection = acts.ACTS[act][0] if act in acts.ACTS else "files"
        state = states[protection][0]
        before, after = without.get(act, "not tried"), confined.get(act, "not tried")
        rows.append({"act": act, "protection": protection, "state": state, "without_us": before, "confined": after})
        if act == MUST_WORK:
            if after != "allowed":
                wrong.append(f"{launch.folders.data}: granted, and yet {after}")
        elif state in plan.ENFORCED and after not in errno.errorcode.values():
            wrong.append(f"{act}: {after} although {protection} is {state}")
        elif protection == "files" and before != "allowed":
            wrong.append(f"{act}: {before} without confinement already, so nothing is proven")
    return {"schema": SCHEMA, "passed": not wrong, "reason": "; ".join(wrong) or None, "after_exec": after_exec,
            "abi": launch.plan.abi, "acts": rows}


def _try(places: dict, launch: "Launch | None") -> tuple:
    """What came of each act, and whether it was tried after an exec, as a server is: only asked of the confined."""
    source = acts.__spec__.loader.get_source(acts.__name__)  # type: ignore[union-attr]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writing, 1)
            if launch:
                launch.confine()
                try:
                    os.execve(sys.executable, [sys.executable, "-IS", "-c", source, json.dumps(places)],
                              launch.variables)
                except PermissionError:
                    pass  # this interpreter lies where the policy grants nothing: the acts are tried without a new one
            os.write(1, b"same process\n" + json.dumps(acts.outcomes(places)).encode())
            os._exit(0)
        except BaseException as problem:
            os.write(2, f"mcp-confine: self-test: {problem}\n".encode())
        os._exit(1)
    os.close(writing)
    watchdog = threading.Timer(DEADLINE, os.kill, (child, signal.SIGKILL))
    watchdog.start()
    with open(reading, "rb") as stream:
        said = stream.read().decode()
    os.waitpid(child, 0)
    watchdog.cancel()
    mark, _, rest = said.partition("\n") if said.startswith("same process\n") else ("", "", said)
    try:
        return json.loads(rest), not mark
    except ValueError:
        raise Refused("the self-test gave no answer: its process was stopped before it could try anything") from None


class _Outside:
    """What a confined process may not reach: files, sockets and a process, real ones, for the length of a run."""

    def __init__(self, place: str, private: str) -> None:
        self.place, self.private = place, private
        self.memory = system.Pinned(b"outside!")

    def __enter__(self) -> "_Outside":
        self.places: dict = {
            "canary": f"{self.place}/canary", "emptied": f"{self.place}/emptied",
            "removable": f"{self.place}/removable", "readable": f"{self.place}/readable",
            "socket": f"{self.place}/socket", "datagram": f"{self.place}/datagram",
            "abstract": f"mcp-confine-self-test-{os.getpid()}", "private": self.private,
            "outside": os.getpid(), "address": self.memory.address,
        }
        self.restore()
        self.libc = ctypes.CDLL(None)
        self.places["segment"] = self.libc.shmget(0, 4096, 0o1600)  # IPC_PRIVATE; IPC_CREAT and mode 0600
        self.sockets = []
        for name, kind in (("socket", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)):
            self._socket(kind).bind(self.places[name])
        self._socket(socket.SOCK_STREAM).bind("\0" + self.places["abstract"])
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.sockets.append(listener)
        for server in self.sockets:
            if server.type == socket.SOCK_STREAM:
                server.listen(8)
        self.places["port"] = listener.getsockname()[1]
        try:
            self.master, self.places["terminal"] = os.openpty()
            os.set_inheritable(self.places["terminal"], True)
        except OSError:  # no /dev/pts here; the act then has nothing to inject into and says so
            self.master = self.places["terminal"] = -1
        return self

    def _socket(self, kind: int) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, kind)
        self.sockets.append(made)
        return made

    def restore(self) -> None:
        """Writes the canaries anew: without confinement, the acts spoil them."""
        for name in ("canary", "emptied", "removable", "readable"):
            with open(self.places[name], "wb") as stream:
                stream.write(b"canary\n")

    def __exit__(self, *_: object) -> None:
        for server in self.sockets:
            server.close()
        self.libc.shmctl(self.places["segment"], 0, None)  # IPC_RMID
        if self.master >= 0:
            os.close(self.master)
            os.close(self.places["terminal"])


def command(options: list, command: "list | None", as_json: bool) -> int:
    """`mcp-confine --self-test`: 0 when everything that is called enforced was seen to be, else 125."""
    version, name = ask_kernel()
    if version is None:
        result = {"schema": SCHEMA, "passed": False, "abi": None, "errno": name, "acts": [],
                  "reason": "a filter kills whoever asks" if name == "SIGSYS"
                  else why_no_landlock(getattr(errno, name or "", 0))}
    else:
        result = prove(options, command or [sys.executable])
    print(json.dumps(result, indent=2) if as_json else _render(result))
    return 0 if result["passed"] else REFUSED


def _render(result: dict) -> str:
    lines = [f"Landlock ABI {result['abi']}" if result["abi"] else f"no Landlock: {result['errno']}"]
    for row in result["acts"]:
        lines.append(f"  {row['act']:36} without us: {row['without_us']:14} confined: {row['confined']:16}"
                     f"{row['state']}")
    lines.append("passed: what is called enforced was seen to be" if result["passed"]
                 else f"FAILED: {result['reason']}")
    return "\n".join(lines)
