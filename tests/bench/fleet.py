"""What an enabling run over hosts without a change costs, against a play of four pings over the same hosts and forks.

    make bench-fleet [HOSTS='10 100']        as root; each size is a lab of its own, see tests/fleet/

Ratios of medians over interleaved runs, the growth from the smallest lab to the largest, and the controller's memory.
Prints; asserts nothing. All hosts share this machine's cores with the controller, so what they do counts in full.
"""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))

from fleet_lab import Kind, Lab
from plays import FORKS, furnished, play, start

ROUNDS = int(os.environ.get("MCP_CONFINE_BENCH_ROUNDS", "5"))
PINGS = [{"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.ping": {}}] * 4}]


def timed(lab: Lab, playbook: object) -> tuple[float, int]:
    """(seconds, peak resident KiB of the controller's largest process) of one run that must succeed."""
    began = time.perf_counter()
    run = start(lab, playbook, output=subprocess.DEVNULL)
    _, status, usage = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        raise SystemExit(f"{playbook}: exit {run.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss


def measure(count: int) -> dict[str, float]:
    with furnished({f"host{number}": Kind() for number in range(count)}) as lab:
        pings = lab.folder / "pings.yml"
        pings.write_text(json.dumps(PINGS))
        first = time.perf_counter()
        said, recap = play(lab, "enable-landlock.yml")
        first = time.perf_counter() - first
        if not all(counts["changed"] == 2 for counts in recap.values()):
            raise SystemExit(said)
        runs = [(timed(lab, pings), timed(lab, "enable-landlock.yml")) for _ in range(ROUNDS)]
    ping = statistics.median(ping[0] for ping, _ in runs)
    ours = statistics.median(ours[0] for _, ours in runs)
    pairs = sorted(ours[0] / ping[0] for ping, ours in runs)
    memory = statistics.median(ours[1] for _, ours in runs)
    print(f"{count} hosts, {FORKS} forks: four pings {ping:.1f} s, enable without a change {ours:.1f} s, "
          f"ratio {ours / ping:.2f} ({pairs[0]:.2f} to {pairs[-1]:.2f}); the first enable {first:.1f} s; "
          f"controller {memory / 1024:.0f} MiB", flush=True)
    return {"hosts": count, "ping": ping, "ours": ours, "memory": memory}


def main() -> None:
    sizes = sorted(int(word) for word in sys.argv[1:] or ["10", "100"])
    found = [measure(size) for size in sizes]
    small, large = found[0], found[-1]
    more = large["hosts"] - small["hosts"]
    if more:
        growth = {kind: large[kind] / small[kind] / (large["hosts"] / small["hosts"]) for kind in ("ping", "ours")}
        print(f"time for each host, {large['hosts']} hosts over {small['hosts']}: enable {growth['ours']:.2f}, "
              f"pings {growth['ping']:.2f}; the controller's memory grows by "
              f"{(large['memory'] - small['memory']) / more:.0f} KiB a host")


if __name__ == "__main__":
    main()
