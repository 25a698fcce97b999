"""What the wrapper adds to a start, to a round trip and to memory: ratios of medians over interleaved runs.

    make bench

Prints; asserts nothing. The base of the starts is the very interpreter that the wrapper runs on.
"""
from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from probe import install

ROUNDS = 60
SERVERS, TRIPS = 5, 1000  # servers of each kind, started in turn, and round trips with each
ECHO = "import sys\nfor line in sys.stdin.buffer:\n sys.stdout.buffer.write(line)\n sys.stdout.buffer.flush()"
PEERS = {
    "bwrap": ["--ro-bind", "/", "/", "--unshare-all", "true"],
    "setpriv": ["--no-new-privs", "true"],
    "firejail": ["--quiet", "--noprofile", "true"],
    "landrun": ["--best-effort", "--rox", "/usr", "true"],
}


# Clients are started by ordinary users: nobody does for one here.
AS_USER: dict = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"} if os.geteuid() == 0 else {"cwd": "/"}


def start(argv: list[str], environment: dict[str, str]) -> float:
    """Seconds from spawn to end."""
    began = time.perf_counter()
    subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, **AS_USER)
    return time.perf_counter() - began


def round_trips(argv: list[str], environment: dict[str, str]) -> tuple[list[float], int]:
    """(seconds of each JSON-RPC line there and back, peak memory of the server in KiB).

    Both ends share one CPU: left to the scheduler, a pair that lands on one is ten times as fast as a pair on two, and
    the ratio says which was which.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    server = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **AS_USER)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": "x" * 99}}).encode() + b"\n"
    times = []
    for _ in range(TRIPS):
        began = time.perf_counter()
        server.stdin.write(line)
        server.stdin.flush()
        server.stdout.readline()
        times.append(time.perf_counter() - began)
    with open(f"/proc/{server.pid}/status") as status:
        peak = next(int(row.split()[1]) for row in status if row.startswith("VmHWM"))
    server.stdin.close()
    server.wait()
    return times, peak


def starts(lines: dict[str, list[str]], environment: dict[str, str]) -> dict[str, float]:
    """Each line's median, over rounds in which every line has its turn; without those that do not work here."""
    times: dict[str, list[float]] = {}
    for name, argv in lines.items():
        try:
            start(argv, environment)
            times[name] = []
        except subprocess.CalledProcessError as problem:
            print(f"{name}: does not work here (exit {problem.returncode}), so not compared")
    for _ in range(ROUNDS):
        for name, seen in times.items():
            seen.append(start(lines[name], environment))
    return {name: statistics.median(seen) for name, seen in times.items()}


def main() -> None:
    home = tempfile.mkdtemp(prefix="bench-", dir="/opt" if os.geteuid() == 0 else Path.home())
    os.chmod(home, 0o755)
    environment = {"HOME": f"{home}/user", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    os.mkdir(f"{home}/user")
    os.chown(f"{home}/user", AS_USER.get("user", -1), -1)
    try:
        plan = install.plan(os.path.join(home, "prefix"))
        install.apply(plan)
        python, wrapper = plan.interpreter, [plan.command, "--name", "bench"]
        base = "python3 -IS -c pass"
        lines = {
            base: [python, "-IS", "-c", "pass"],
            "mcp-confine -- true": [*wrapper, "--", "true"],
            "mcp-confine --rw /var/tmp -- true": [*wrapper, "--rw", "/var/tmp", "--", "true"],
            "python3 -IS -c 'import ctypes'": [python, "-IS", "-c", "import ctypes"],
            "true": ["true"],
        }
        for peer, words in PEERS.items():
            if shutil.which(peer):
                lines[f"{peer} {' '.join(words)}"] = [peer, *words]
            else:
                print(f"{peer}: not installed here, so not compared")
        medians = starts(lines, environment)
        print(f"starts, medians of {ROUNDS}, against {base} ({python})")
        for name, median in medians.items():
            print(f"{median / medians[base]:5.2f}  {median * 1000:7.2f} ms  {name}")
        server = [python, "-IS", "-c", ECHO]
        kinds = {"bare": server, "confined": [*wrapper, "--", *server]}
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        peaks: dict[str, list[int]] = {kind: [] for kind in kinds}
        for _ in range(SERVERS):
            for kind, argv in kinds.items():
                seen, peak = round_trips(argv, environment)
                times[kind] += seen
                peaks[kind].append(peak)
        trip = {kind: statistics.median(seen) for kind, seen in times.items()}
        memory = {kind: statistics.median(seen) for kind, seen in peaks.items()}
        print(f"a JSON-RPC round trip and the server's peak memory, medians over {SERVERS} servers of each kind")
        print(f"{trip['confined'] / trip['bare']:5.2f}  {trip['confined'] * 1e6:7.2f} us  confined against bare")
        print(f"{memory['confined'] / memory['bare']:5.2f}  {memory['confined']:7.0f} KiB confined against bare")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
