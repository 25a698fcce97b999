"""Ways out that need more than one call: each is shown to work without the wrapper, then tried with it."""
from __future__ import annotations

import json
import os
import platform
import socket
import subprocess

import pytest

PYTHON = "/usr/bin/python3"


@pytest.fixture(params=["person", "root_person"])
def somebody(request):
    """An unprivileged user, and root, each with a home of their own."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=[1, 3, 6, None], ids=lambda abi: f"abi-{abi or 'own'}")
def confined(request, wrapper, landlock_abi):
    """The wrapper's words, on old interfaces and the kernel's own."""
    if request.param and request.param > landlock_abi:
        pytest.skip("this kernel is older")
    return [wrapper, "--name", "escape", *(["--max-abi", str(request.param)] if request.param else [])]


def tries(program: str, *arguments: str) -> list[str]:
    return [PYTHON, "-IS", "-c", program, *arguments]


def test_descriptors_that_the_client_left_open_are_closed(confined, somebody):
    secret = somebody.file("secret.txt", "SECRET\n")
    program = "import os, sys\nfor n in range(3, 999):\n try: print(os.pread(n, 99, 0))\n except OSError: pass"
    with open(secret) as stream:
        os.set_inheritable(stream.fileno(), True)
        loose = somebody.run(tries(program), pass_fds=[stream.fileno()])
        kept = somebody.run([*confined, "--", *tries(program)], pass_fds=[stream.fileno()])
    assert "SECRET" in loose.stdout and kept.stdout == "" and kept.returncode == 0


def test_a_folder_left_open_leads_nowhere(confined, somebody):
    secret = somebody.file("secret.txt", "SECRET\n")
    program = ("import os\nfor n in range(3, 999):\n"
               " try: print(os.read(os.open('secret.txt', os.O_RDONLY, dir_fd=n), 99))\n except OSError: pass")
    folder = os.open(os.path.dirname(secret), os.O_RDONLY)
    os.set_inheritable(folder, True)
    try:
        assert "SECRET" in somebody.run(tries(program), pass_fds=[folder]).stdout
        assert somebody.run([*confined, "--", *tries(program)], pass_fds=[folder]).stdout == ""
    finally:
        os.close(folder)


def test_the_sessions_secrets_are_not_in_the_environment(confined, somebody):
    session = somebody.environment(GITHUB_TOKEN="SECRET", SSH_AUTH_SOCK="/run/agent", LD_LIBRARY_PATH="/x")
    # A client between the session and the server, as always: what it was started with is not what it added.
    client = tries("import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")
    loose = somebody.run([*client, "env"], env=session)
    assert "SECRET" in loose.stdout and "SSH_AUTH_SOCK" in loose.stdout
    kept = somebody.run([*client, *confined, "--", "env"], env=session)
    assert kept.returncode == 0 and "PATH=" in kept.stdout
    for name in ("SECRET", "SSH_AUTH_SOCK", "LD_LIBRARY_PATH"):
        assert name not in kept.stdout


def test_what_a_server_leaves_in_its_folder_widens_none_of_its_later_starts(confined, somebody):
    secret = somebody.file(".ssh/id_test", "SECRET\n")
    keys = os.path.dirname(secret)
    assert somebody.run(["cat", secret]).stdout == "SECRET\n"
    # The server turns everything that it may write into links to the keys, under every name a start could follow.
    trap = f"""
import os, shutil
home = os.environ["HOME"]
for name in ("tmp", ".npm", ".cache", ".config", ".local", "link", ".npmrc"):
    path = os.path.join(home, name)
    shutil.rmtree(path, ignore_errors=True)
    try: os.symlink({keys!r}, path)
    except OSError: pass
for path in (os.path.dirname(home) + "/config/npmrc", os.path.dirname(home) + "/data"):
    try: os.rename(path, path + ".old"); os.symlink({keys!r}, path); print("replaced", path)
    except OSError: pass
"""
    first = somebody.run([*confined, "--", *tries(trap)])
    assert first.returncode == 0 and "replaced" not in first.stdout, first
    reading = "import sys\nfor p in sys.argv[1:]:\n try: print(open(p).read())\n except OSError as e: print(e.errno)"
    reads = tries(reading, secret, f"{somebody.home}/.local/state/mcp-confine/servers/escape/data/link/id_test")
    second = somebody.run([*confined, "--", *reads])
    assert "SECRET" not in second.stdout
    assert second.returncode == 125 or second.stdout.split() == ["13", "13"], second


@pytest.mark.parametrize("path", ["/proc/self/root/{home}/secret.txt", "/proc/self/cwd/secret.txt",
                                  "/proc/thread-self/root/{home}/secret.txt"])
def test_other_names_of_a_file_do_not_help(confined, somebody, path):
    somebody.file("secret.txt", "SECRET\n")
    name = path.format(home=somebody.home.lstrip("/"))
    assert somebody.run(["cat", name]).stdout == "SECRET\n"
    for more in ([], ["--ro", "/proc"]):
        assert "SECRET" not in somebody.run([*confined, *more, "--", "cat", name]).stdout


def test_a_descriptor_sent_by_nobody_cannot_be_asked_for(confined, somebody):
    # Without us a helper outside can hand descriptors over a socket by path; the confined side has no such socket.
    place = os.path.join(somebody.folder("run"), "helper")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        os.chmod(place, 0o777)
        server.listen(4)
        program = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected')"
        assert "connected" in somebody.run(tries(program, place)).stdout
        kept = somebody.run([*confined, "--", *tries(program, place)])
        assert "connected" not in kept.stdout and "Permission denied" in kept.stderr


def test_a_seventeenth_layer_starts_nothing(wrapper, person):
    nested = [wrapper, "--name", "layers", "--ro", os.path.dirname(os.path.dirname(wrapper)), "--"]
    started = person.run([*nested * 16, "echo", "ran"])
    assert started.stdout == "ran\n", started
    refused = person.run([*nested * 17, "echo", "ran"])
    assert refused.returncode == 125 and refused.stdout == ""
    assert "16 Landlock rulesets are stacked already" in refused.stderr


def test_privileges_cannot_be_gained_by_exec(confined, person):
    status = "import re; print(re.search('NoNewPrivs:.*', open('/proc/self/status').read())[0])"
    assert person.run(tries(status)).stdout.split() == ["NoNewPrivs:", "0"]
    kept = person.run([*confined, "--ro", "/proc", "--", *tries(status)])
    assert kept.stdout.split() == ["NoNewPrivs:", "1"]
    refused = person.run([*confined, "--", "su", "-c", "true"])
    assert refused.returncode == 125 and "setuid" in refused.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="32-bit and x32 calls are x86's")
def test_calls_through_the_back_doors_of_x86_are_closed(confined, person):
    # socket(AF_UNIX, SOCK_STREAM, 0) through int 0x80: number 359, then by the x32 number of socket.
    old = """
import ctypes, mmap
code = bytes.fromhex("b867010000" "bb01000000" "b901000000" "ba00000000" "cd80" "c3")
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(b"\\x53" + code[:-1] + b"\\x5b\\xc3")
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print("answer", call())
"""
    loose = person.run(tries(old))
    if "answer" not in loose.stdout:
        pytest.skip("this kernel takes no 32-bit calls anyway")
    kept = person.run([*confined, "--", *tries(old)])
    assert "answer" not in kept.stdout and kept.returncode < 0, (loose, kept)
    x32 = ("import ctypes; libc = ctypes.CDLL(None, use_errno=True);"
           "print('answer', libc.syscall(0x40000000 + 41, 1, 1, 0), ctypes.get_errno())")
    assert person.run([*confined, "--", *tries(x32)]).stdout.split()[1:] == ["-1", "38"]


def test_nothing_is_claimed_about_executing(wrapper, person):
    told = json.loads(person.run([wrapper, "--show", "--json", "--", "true"]).stdout)
    assert not any("exec" in row["name"] for row in told["protections"])
    # Executing from memory works with us as without, which is why nothing is claimed.
    memory = ("import os; f = os.memfd_create('x'); os.write(f, open('/bin/true', 'rb').read());"
              "os.execv(f'/proc/self/fd/{f}', ['x'])")
    for line in (tries(memory), [wrapper, "--ro", "/proc", "--", *tries(memory)]):
        assert person.run(line).returncode == 0


def test_a_server_outside_the_list_of_ports_is_not_reached_by_any_stream(wrapper, person, landlock_abi):
    if landlock_abi < 4:
        pytest.skip("ports are told apart from ABI 4")
    with socket.socket() as allowed, socket.socket() as other:
        for server in (allowed, other):
            server.bind(("127.0.0.1", 0))
            server.listen(8)
        ports = [str(server.getsockname()[1]) for server in (allowed, other)]
        program = ("import socket, sys\nfor port in sys.argv[1:]:\n for how in (6, 262):\n"
                   "  try:\n   s = socket.socket(2, 1, how); s.connect(('127.0.0.1', int(port))); print(port, how)\n"
                   "  except OSError: pass")
        assert len(person.run(tries(program, *ports)).stdout.splitlines()) >= 2
        kept = person.run([wrapper, "--connect", ports[0], "--", *tries(program, *ports)])
        assert kept.stdout.split() == [ports[0], "6"]


def test_the_command_is_the_process_that_the_client_started(wrapper, person):
    entry = subprocess.run(["id", "-u", person.name], capture_output=True, text=True).stdout.strip()
    become = {"user": int(entry)} if os.geteuid() == 0 else {}
    started = subprocess.Popen([wrapper, "--", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True,
                               env=person.environment(), cwd=person.home, **become)
    assert int(started.stdout.readline()) == started.pid
    started.terminate()
    assert started.wait(10) == -15
