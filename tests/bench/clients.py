"""Measures wrapping in a large ~/.claude.json against reading and writing it with the json module.

    python tests/bench/clients.py [MEGABYTES]

Prints ratios of time and memory; asserts nothing, since both depend on the machine. Each part runs in a process of its
own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
PROJECTS = 200
WORDS = ("fix", "the", "parser", "größe", "\U0001f600", 'say "hi"', "back\\slash", "line\nbreak", "{brace}", "test")


def document(size: int) -> bytes:
    """A file like the client's own: projects with their prompt history, a few servers in each."""
    rng = random.Random(1)
    one = size // PROJECTS
    projects = {}
    for number in range(PROJECTS):
        history: list[dict[str, object]] = []
        length = 0
        while length < one - 600:
            text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(3, 60)))
            history.append({"display": text, "pastedContents": {}})
            length += len(json.dumps(history[-1], ensure_ascii=False).encode()) + 50
        servers = {f"s{each}": {"type": "stdio", "command": "npx", "args": ["-y", f"pkg-{each}"]} for each in range(2)}
        projects[f"/home/dev/project-{number}"] = {"allowedTools": [], "history": history, "mcpServers": servers}
    whole = {"numStartups": 12, "mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"]}}, "projects": projects}
    return json.dumps(whole, indent=2, ensure_ascii=False).encode()


def wrap(home: str) -> None:
    from probe.clients import act

    answer = act.set_state(
        home, {"state": "confined", "wrapper": "/usr/local/bin/mcp-confine", "include_tracked": True}
    )
    assert answer["changed"] and not answer["problems"], answer["problems"]


def load_and_dump(home: str) -> None:
    path = os.path.join(home, ".claude.json")
    with open(path, "rb") as file:
        data = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())


def nothing(home: str) -> None:
    from probe.clients import act  # noqa: F401 - what the imports alone take


def peak() -> int:
    """The most memory that this process has had, in bytes; unlike ru_maxrss without what its parent had."""
    with open("/proc/self/status") as file:
        return int(re.findall(r"VmHWM:\s+(\d+) kB", file.read())[0]) * 1024


def measured(work: str, data: bytes) -> tuple[float, int]:
    """Seconds and peak bytes of one part, in a child of its own."""
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, ".claude.json"), "wb") as file:
            file.write(data)
        done = subprocess.run(
            [sys.executable, __file__, "--only", work, home],
            check=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "HOME": home},
        )
    seconds, most = done.stdout.split()
    return float(seconds), int(most)


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        work, home = sys.argv[2:]
        start = time.perf_counter()
        {"wrap": wrap, "load_and_dump": load_and_dump, "nothing": nothing}[work](home)
        seconds = time.perf_counter() - start
        print(seconds, peak())
        return
    data = document(int(float(sys.argv[1] if len(sys.argv) > 1 else 20) * 1e6))
    idle = measured("nothing", b"{}")
    base, ours = measured("load_and_dump", data), measured("wrap", data)
    print(f"file                  {len(data) / 1e6:8.1f} MB, {PROJECTS} projects")
    print(f"json.load + json.dump {base[0]:8.2f} s  {base[1] / 1e6:8.1f} MB peak")
    print(f"wrap                  {ours[0]:8.2f} s  {ours[1] / 1e6:8.1f} MB peak")
    print(f"time                  {ours[0] / base[0]:8.2f} x json.load + json.dump")
    print(
        f"memory                {ours[1] / len(data):8.2f} x the file"
        f" ({(ours[1] - idle[1]) / len(data):.2f} x without the interpreter)"
    )


if __name__ == "__main__":
    main()
