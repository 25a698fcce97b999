"""The wrapper leaves nothing behind: no process, no byte, no changed exit status, and few imports before it goes."""
from __future__ import annotations

import hashlib
import json
import os
import pwd
import random
import signal
import subprocess
import threading

import pytest

PYTHON = "/usr/bin/python3"
# Each costs a start more than the three system calls do.
SLOW = {"json", "re", "argparse", "pathlib", "subprocess", "enum", "typing", "dataclasses", "logging", "os", "ctypes",
        "socket", "threading", "tempfile", "shutil", "collections", "functools", "contextlib", "importlib.metadata"}
MEGABYTES = 100
ECHO = "import sys\nfor line in sys.stdin.buffer:\n sys.stdout.buffer.write(line)\n sys.stdout.buffer.flush()"


def start(person, argv, **options):
    entry = pwd.getpwnam(person.name)
    become = {} if entry.pw_uid == os.geteuid() else {
        "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return subprocess.Popen(argv, env=person.environment(), cwd=person.home, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **become, **options)


@pytest.mark.parametrize("status", [0, 1, 2, 77, 124, 125, 126, 127, 255])
def test_the_exit_status_is_the_commands_own(confine, person, status):
    done = person.run([*confine, "--", "sh", "-c", f"exit {status}"])
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_a_command_that_is_not_there_or_cannot_run_is_told_apart(confine, person):
    plain = person.file("plain.txt", "no program\n")
    broken = person.file("broken", "#!/no/such/interpreter\n", 0o755)
    for words, status in ((["no-such-command"], 127), ([plain], 126), ([broken], 126), (["/usr"], 126)):
        done = person.run([*confine, "--", *words])
        assert done.returncode == status and done.stdout == "" and done.stderr.count("\n") == 1, done
    done = person.run([*confine, "--ro"])
    assert done.returncode == 125 and done.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_of_the_client_reaches_the_server_itself(confine, person, number):
    program = ("import os, signal, sys\n"
               f"signal.signal({int(number)}, lambda *_: (os.write(1, b'asked to end\\n'), os._exit(9)))\n"
               "os.write(1, f'{os.getpid()} {os.getppid()}\\n'.encode())\nwhile True: signal.pause()")
    server = start(person, [*confine, "--", PYTHON, "-IS", "-c", program])
    assert server.stdout.readline().split() == [str(server.pid).encode(), str(os.getpid()).encode()]
    server.send_signal(number)
    out, err = server.communicate(timeout=20)
    assert (server.returncode, out, err) == (9, b"asked to end\n", b"")


def test_a_server_that_is_killed_is_seen_to_be(confine, person):
    server = start(person, [*confine, "--", "sleep", "60"])
    server.kill()
    server.communicate(timeout=20)
    assert server.returncode == -signal.SIGKILL


def test_the_end_of_input_reaches_the_server_and_the_end_of_the_server_the_client(confine, person):
    server = start(person, [*confine, "--", PYTHON, "-IS", "-c", "import sys; print(len(sys.stdin.read()))"])
    out, err = server.communicate(b"x" * 1000, timeout=20)
    assert (server.returncode, out, err) == (0, b"1000\n", b"")


def test_nothing_of_the_wrappers_is_ever_on_stdout(wrapper, person):
    # Accepted or refused, the first byte on stdout is the server's.
    for words in ([], ["--name", "x"], ["--rw", f"{person.home}"], ["--connect", "443"], ["--net", "none"],
                  ["--limit", "nofile=50"], ["--policy", "absent"], ["--require", "metadata"], ["--max-abi", "0"],
                  ["--home", "real"], ["--no-such-option"], ["--ro", "/no/such/path"], ["--unix", "/no/such/socket"]):
        done = person.run([wrapper, *words, "--", "printf", "{}"])
        assert done.stdout == ("{}" if done.returncode == 0 else ""), words
        assert (done.returncode == 0) == (done.stderr == ""), words


def test_each_byte_of_a_hundred_megabytes_of_json_rpc_comes_back_as_it_went(wrapper, person):
    server = start(person, [wrapper, "--", PYTHON, "-IS", "-c", ECHO])
    sent, lines, dice = hashlib.sha256(), [0], random.Random(20251201)
    alphabet = ["plain ", "ümläut ", "\u2028", "\\\\n", "\u0000", "日本語", "\U0001f980", "\t", '"quoted" ']
    chunks = ["".join(dice.choices(alphabet, k=size)) for size in (1, 20, 900, 20_000, 100_000)]

    def send():
        total = 0
        while total < MEGABYTES << 20:
            message = {"jsonrpc": "2.0", "id": lines[0], "method": "tools/call",
                       "params": {"text": dice.choice(chunks), "n": dice.random()}}
            line = json.dumps(message, ensure_ascii=dice.random() < 0.5).encode() + b"\n"
            server.stdin.write(line)
            sent.update(line)
            total += len(line)
            lines[0] += 1
        server.stdin.close()

    sender = threading.Thread(target=send)
    sender.start()
    came, count = hashlib.sha256(), 0
    for line in server.stdout:
        came.update(line)
        count += 1
    sender.join()
    assert server.wait(20) == 0 and server.stderr.read() == b""
    assert (count, came.hexdigest()) == (lines[0], sent.hexdigest())


@pytest.mark.parametrize("words", [[], ["--name", "x", "--net", "none"], ["--connect", "443"], ["--rw", "{home}/work"],
                                   ["--args", "rw"], ["--policy", "{home}/policy"], ["--max-abi", "1"]], ids=" ".join)
def test_a_start_imports_nothing_slow(wrapper, person, landlock_abi, words):
    with open(wrapper) as script:
        interpreter, flags = script.readline()[2:].split()
    person.folder("work")
    person.file("policy", "--ro /var\n--env X\n")
    if landlock_abi < 4 and "--connect" in words:
        words = [*words, "--allow-degraded", "tcp"]
    line = [interpreter, flags, "-X", "importtime", wrapper, *[word.format(home=person.home) for word in words]]
    done = person.run([*line, "--", "echo", "ran", f"{person.home}/work"])
    assert done.stdout == f"ran {person.home}/work\n"
    imported = {row.rpartition("|")[2].strip() for row in done.stderr.splitlines() if row.startswith("import time:")}
    assert "marshal" in imported or "errno" in imported, f"this does not list the imports: {done.stderr}"
    assert not imported & SLOW


def test_the_memory_of_a_server_is_its_own(wrapper, person):
    program = "print(*[row.split()[1] for row in open('/proc/self/status') if row.startswith(('VmHWM', 'Threads'))])"
    bare = person.run([PYTHON, "-IS", "-c", program]).stdout.split()
    confined = person.run([wrapper, "--ro", "/proc", "--", PYTHON, "-IS", "-c", program]).stdout.split()
    assert confined[1] == bare[1] == "1"
    assert int(confined[0]) < int(bare[0]) * 1.5  # KiB; a wrapper that stayed would double it
