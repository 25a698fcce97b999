"""What the wrapper adds to a start, as ratios of medians in one interleaved run. Prints; asserts nothing.

    make bench
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
TRIPS = 3000
ECHO = "import sys\nfor line in sys.stdin.buffer:\n sys.stdout.buffer.write(line)\n sys.stdout.buffer.flush()"


def start(argv: list[str], environment: dict[str, str]) -> float:
    """Seconds from spawn to end."""
    began = time.perf_counter()
    subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def round_trips(argv: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """(median seconds of one JSON-RPC line there and back, peak memory of the server in KiB)."""
    server = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": "x" * 99}}).encode() + b"\n"
    times = []
    for _ in range(TRIPS):
        began = time.perf_counter()
        server.stdin.write(line)
        server.stdin.flush()
        server.stdout.readline()
        times.append(time.perf_counter() - began)
    peak = next(int(row.split()[1]) for row in open(f"/proc/{server.pid}/status") if row.startswith("VmHWM"))
    server.stdin.close()
    server.wait()
    return statistics.median(times), peak


def main() -> None:
    home = tempfile.mkdtemp(prefix="bench-", dir="/opt" if os.geteuid() == 0 else Path.home())
    os.chmod(home, 0o755)
    environment = {"HOME": home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    try:
        plan = install.plan(os.path.join(home, "prefix"))
        install.apply(plan)
        python, wrapper = plan.interpreter, plan.command
        lines = {
            "python3 -IS -c pass": [python, "-IS", "-c", "pass"],
            "mcp-confine -- true": [wrapper, "--name", "bench", "--", "/bin/true"],
            "mcp-confine --rw -- true": [wrapper, "--name", "bench", "--rw", "/var/tmp", "--", "/bin/true"],
            "python3 -IS -c 'import ctypes'": [python, "-IS", "-c", "import ctypes"],
            "/bin/true": ["/bin/true"],
        }
        for peer, argv in {
            "bwrap": ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "true"],
            "setpriv": ["--no-new-privs", "true"],
            "firejail": ["--quiet", "--noprofile", "true"],
            "landrun": ["--best-effort", "--rox", "/usr", "true"],
        }.items():
            if shutil.which(peer):
                lines[f"{peer} true"] = [peer, *argv]
            else:
                print(f"{peer}: not installed here, so not compared")
        times: dict[str, list[float]] = {name: [] for name in lines}
        for name, argv in lines.items():
            try:
                start(argv, environment)
            except subprocess.CalledProcessError as problem:
                print(f"{name}: does not work here (exit {problem.returncode}), so not compared")
                times.pop(name)
        for _ in range(ROUNDS):
            for name in times:
                times[name].append(start(lines[name], environment))
        base = statistics.median(times["python3 -IS -c pass"])
        for name, seen in times.items():
            print(f"{statistics.median(seen) / base:5.2f}  {statistics.median(seen) * 1000:7.2f} ms  {name}")
        server = [python, "-IS", "-c", ECHO]
        bare = round_trips(server, environment)
        confined = round_trips([wrapper, "--name", "bench", "--", *server], environment)
        print(f"{confined[0] / bare[0]:5.2f}  a JSON-RPC round trip, confined against bare")
        print(f"{confined[1] / bare[1]:5.2f}  peak memory of the server, confined against bare")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
