"""What happens at, and between, starts: the environment, links and races, helpers with privileges, nested wrappers."""
from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile

import pytest

from .conftest import newest
from .outside import PYTHON

ABIS = range(1, newest() + 1)
CLIENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
SESSION = {"GITHUB_TOKEN": "SECRET", "AWS_SECRET_ACCESS_KEY": "SECRET", "NPM_TOKEN": "SECRET",
           "SSH_AUTH_SOCK": "/run/SECRET", "GPG_AGENT_INFO": "SECRET", "DBUS_SESSION_BUS_ADDRESS": "unix:path=SECRET",
           "XDG_RUNTIME_DIR": "/run/SECRET", "DISPLAY": ":SECRET", "WAYLAND_DISPLAY": "SECRET", "XAUTHORITY": "SECRET",
           "DOCKER_HOST": "SECRET", "KUBECONFIG": "SECRET", "PULSE_SERVER": "SECRET", "TMUX": "SECRET",
           "GIT_SSH_COMMAND": "SECRET", "GIT_ASKPASS": "SECRET"}
# What makes a program run code or use libraries of the sender's choice.
STEERING = {"LD_PRELOAD": "/SECRET.so", "LD_LIBRARY_PATH": "/SECRET", "LD_AUDIT": "/SECRET.so",
            "NODE_OPTIONS": "--require=SECRET", "PYTHONPATH": "SECRET", "PYTHONSTARTUP": "SECRET",
            "PYTHONHOME": "SECRET", "BASH_ENV": "SECRET", "ENV": "SECRET",
            "PERL5OPT": "-MSECRET", "RUBYOPT": "-rSECRET"}


@pytest.fixture(params=["person", "root_person"])
def somebody(request):
    """An unprivileged user, and root, each with a home of their own."""
    return request.getfixturevalue(request.param)


def python(program, *arguments):
    return [PYTHON, "-IS", "-c", program, *arguments]


def test_what_the_session_holds_does_not_come_along(wrapper, somebody):
    session = somebody.environment(**SESSION)
    loose = somebody.run([*python(CLIENT), "/usr/bin/env"], env=session).stdout
    assert all(f"{name}=" in loose for name in SESSION)
    kept = somebody.run([*python(CLIENT), wrapper, "--", "/usr/bin/env"], env=session)
    assert kept.returncode == 0 and "PATH=" in kept.stdout and "SECRET" not in kept.stdout
    assert {line.partition("=")[0] for line in kept.stdout.splitlines()} & set(SESSION) == set()
    named = somebody.run([*python(CLIENT), wrapper, "--env", "GITHUB_TOKEN", "--", "/usr/bin/env"], env=session).stdout
    assert named.count("SECRET") == 1 and "GITHUB_TOKEN=SECRET" in named


def test_what_steers_loaders_and_interpreters_does_not_come_along_even_if_the_client_adds_it(wrapper, somebody):
    # The loader reads LD_* before the wrapper is there to forget them, so what it would load does not exist.
    client = ("import json, os, subprocess, sys; added = json.loads(sys.argv[1]);"
              "sys.exit(subprocess.call(sys.argv[2:], env={**os.environ, **added}))")
    line = [*python(client), json.dumps({**STEERING, "SETTING": "wanted"})]
    loose = somebody.run([*line, "/usr/bin/env"]).stdout
    assert all(f"{name}=" in loose for name in STEERING)
    kept = somebody.run([*line, wrapper, "--", "/usr/bin/env"]).stdout
    assert "SETTING=wanted" in kept and "SECRET" not in kept


def test_neither_variables_nor_the_working_directory_put_code_into_the_wrapper(wrapper, somebody):
    trap = "import os; os.write(2, b'TRAPPED'); os._exit(7)\n"
    for name in ("marshal", "confine", "sitecustomize", "usercustomize", "encodings", "pwd", "json"):
        somebody.file(f"trap/{name}.py", trap)
    folder = f"{somebody.home}/trap"
    environment = somebody.environment(PYTHONPATH=folder, PYTHONSTARTUP=f"{folder}/json.py", PYTHONUSERBASE=folder,
                                       PYTHONINSPECT="1", PYTHONBREAKPOINT="os.abort")
    assert "TRAPPED" in somebody.run([PYTHON, "-c", "import json"], env=environment, cwd=folder).stderr
    for more in ([], ["--rw", somebody.folder("work")], ["--show"], ["--show", "--json"]):
        done = somebody.run([wrapper, *more, "--", "echo", "ran"], env=environment, cwd=folder)
        assert done.returncode == 0 and done.stderr == "", done


@pytest.mark.parametrize("command", ["npx", "uvx", "node", "python3"])
def test_every_cache_that_holds_code_is_the_servers_own(wrapper, somebody, command):
    path = somebody.folder("tools")
    somebody.file(f"tools/{command}", "#!/bin/sh\nenv\n", 0o755)
    done = somebody.run([wrapper, "--name", "x", "--home", "real", "--", command, "-y", "some-server"],
                        env=somebody.environment(PATH=f"{path}:/usr/bin:/bin"))
    assert done.returncode == 0, done.stderr
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    private = f"{somebody.home}/.local/state/mcp-confine/servers/x/"
    caches = [name for name in told if name.lower().endswith(("cache", "cache_dir", "cache_home", "tool_dir", "tmpdir",
                                                              "data_home", "install_dir", "userconfig"))]
    assert "TMPDIR" in caches and "XDG_CACHE_HOME" in caches
    assert {"npx": "npm_config_cache", "uvx": "UV_CACHE_DIR"}.get(command, "TMPDIR") in caches
    for name in caches:
        assert told[name].startswith(private), f"{name}={told[name]}"


@pytest.mark.parametrize("abi", ABIS)
def test_links_that_a_server_leaves_in_its_folder_widen_none_of_its_later_starts(wrapper, somebody, abi):
    secret = somebody.file(".ssh/id_test", "SECRET\n")
    server = [wrapper, "--name", "trap", "--max-abi", str(abi), "--"]
    leave = """
import os, shutil, sys
home = os.environ["HOME"]
for folder in (home, os.path.dirname(home)):
    for name in [*os.listdir(folder), "link", "npmrc", "config", "data", "tmp", ".npm", ".cache", ".config", ".local"]:
        path = os.path.join(folder, name)
        try:
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            pass
        try:
            os.symlink(sys.argv[1], path)
            print("replaced", path)
        except OSError:
            pass
"""
    read = "import sys\nfor p in sys.argv[1:]:\n try: print(open(p).read())\n except OSError as e: print(e.errno)"
    private = f"{somebody.home}/.local/state/mcp-confine/servers/trap/data"
    first = somebody.run([*server, *python(leave, os.path.dirname(secret))])
    assert f"replaced {private}/link" in first.stdout and f"replaced {private}/tmp" in first.stdout, first
    assert f"replaced {os.path.dirname(private)}/config" not in first.stdout
    assert somebody.run(["cat", f"{private}/link/id_test"]).stdout == "SECRET\n"
    later = somebody.run([*server, *python(read, secret, f"{private}/link/id_test", f"{private}/tmp/id_test")])
    assert "SECRET" not in later.stdout
    assert later.returncode == 125 or later.stdout.split() == ["13"] * 3, later


@pytest.mark.parametrize("grants", [("--args", "rw"), ("--rw", "{work}", "--ro", "{work}/sub")], ids=" ".join)
def test_a_grant_inside_of_a_writable_one_is_not_led_elsewhere_between_two_starts(wrapper, somebody, grants):
    secret = somebody.file("documents/secret.txt", "SECRET\n")
    work, documents = somebody.folder("work"), os.path.dirname(secret)
    sub = somebody.folder("work/sub")
    server = [wrapper, "--name", "files", *[word.format(work=work) for word in grants], "--"]
    lead = "import shutil, os, sys; shutil.rmtree(sys.argv[2]); os.symlink(sys.argv[3], sys.argv[2]); print('led')"
    read = "import sys; print(open(sys.argv[2] + '/secret.txt').read())"
    # The first start does not name the documents, so that no argument grants them.
    assert somebody.run([*server, *python(lead.replace("sys.argv[3]", repr(documents)), work, sub)]).stdout == "led\n"
    assert "SECRET" in somebody.run(python(read, work, sub)).stdout
    assert "SECRET" not in somebody.run([*server, *python(read, work, sub)]).stdout


def test_what_a_server_wrote_into_its_own_program_grants_it_nothing(wrapper, somebody):
    # The first line of a script and a link name an interpreter, which is granted when it is the user's word.
    secret = somebody.file("documents/secret.txt", "SECRET\n", 0o755)
    work = somebody.folder("work")
    script = somebody.file("work/server", f"#!{secret}\n", 0o755)
    link, folder = f"{work}/linked", f"{work}/bin"
    os.symlink(secret, link)
    os.symlink(os.path.dirname(secret), folder)
    read = python("import sys; print(open(sys.argv[1]).read())", secret)
    assert somebody.run(read).stdout == "SECRET\n\n"
    for command in (script, link, f"{folder}/secret.txt"):
        own = [wrapper, "--name", "own", "--show", "--json"]
        loose = json.loads(somebody.run([*own, "--", command]).stdout)["grants"]
        assert [row for row in loose if row["target"] in (secret, os.path.dirname(secret))], "the user's word"
        told = json.loads(somebody.run([*own, "--rw", work, "--", command]).stdout)
        assert not [row for row in told["grants"] if row["target"].startswith(os.path.dirname(secret))], command
        assert [note for note in told["notes"] if "not granted, for the server may write what leads there" in note]


def test_a_socket_that_a_server_may_replace_by_a_link_is_refused(wrapper, somebody):
    work, elsewhere = somebody.folder("work"), somebody.folder("agent")
    os.symlink(elsewhere, f"{work}/socket")
    line = [wrapper, "--unix", f"{work}/socket", "--allow-degraded", "unix"]
    assert somebody.run([*line, "--", "echo", "ran"]).stdout == "ran\n"
    done = somebody.run([*line, "--rw", work, "--", "echo", "ran"])
    assert done.returncode == 125 and f"grant {elsewhere} by that name" in done.stderr


def test_a_server_that_may_write_its_own_program_does_not_win_a_race_for_another_folder(wrapper, somebody):
    secret = somebody.file(".ssh/id_test", "SECRET\n")
    known = somebody.file(".ssh/known_hosts", "# no program, and yet readable as one\n")
    program = f"print(open({secret!r}).read())\n"
    work = somebody.folder("work")
    script, own = somebody.file("work/server.py", program), somebody.file("work/own.py", program)
    assert somebody.run([PYTHON, "-IS", script]).stdout == "SECRET\n\n"
    server = [wrapper, "--name", "race", "--rw", work, "--", PYTHON, "-IS"]
    # An earlier start of the same server has left a process that waits for the wrapper to look at the script.
    swap = """
import ctypes, os, select, sys, time
script, own, known = sys.argv[1:]
libc = ctypes.CDLL(None)
watcher = libc.inotify_init1(0)
assert libc.inotify_add_watch(watcher, known.encode(), 0x10) >= 0, "IN_CLOSE_NOWRITE"
for line in sys.stdin:
    os.symlink(known, script + ".new"); os.rename(script + ".new", script)
    print("armed", flush=True)
    if select.select([watcher], [], [], 0.5)[0]:
        os.read(watcher, 4096)
    time.sleep(0.001)
    os.link(own, script + ".new"); os.rename(script + ".new", script)
"""
    become = _become(somebody)
    left = subprocess.Popen([*server, "-c", swap, script, own, known], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env=somebody.environment(), cwd="/", **become)
    try:
        for _ in range(10):
            left.stdin.write("again\n")
            left.stdin.flush()
            assert left.stdout.readline() == "armed\n"
            assert "SECRET" not in somebody.run([*server, script], cwd="/").stdout
    finally:
        left.kill()
        left.communicate()


def test_a_running_server_that_swaps_folders_of_its_own_wins_nothing_for_the_next(wrapper, somebody):
    secret = somebody.file(".ssh/id_test", "SECRET\n")
    swap = """
import os, sys
home = os.environ["HOME"]
print("swapping", flush=True)
while True:
    for name in ("tmp", ".npm", ".cache"):
        path = f"{home}/{name}"
        try:
            os.symlink(sys.argv[1], path + ".link"); os.mkdir(path + ".folder", 0o700)
        except OSError: pass
        for kind in (".link", ".folder"):
            try: os.rename(path, path + ".old")
            except OSError: pass
            try: os.rename(path + kind, path)
            except OSError: pass
            for old in (path + ".old",):
                try: os.unlink(old)
                except OSError:
                    try: os.rmdir(old)
                    except OSError: pass
"""
    server = [wrapper, "--name", "swap", "--"]
    running = subprocess.Popen([*server, *python(swap, os.path.dirname(secret))], stdout=subprocess.PIPE, text=True,
                               env=somebody.environment(), cwd="/", **_become(somebody))
    try:
        assert running.stdout.readline() == "swapping\n"
        for _ in range(20):
            done = somebody.run([*server, "cat", secret], cwd="/")
            assert "SECRET" not in done.stdout and done.returncode in (1, 125), done
    finally:
        running.kill()
        running.communicate()


def test_a_seventeenth_layer_starts_nothing_and_says_why(wrapper, somebody):
    nested = [wrapper, "--name", "layers", "--ro", os.path.dirname(os.path.dirname(wrapper)), "--ro", "/proc", "--"]
    assert somebody.run([*nested * 16, "echo", "ran"]).stdout == "ran\n"
    refused = somebody.run([*nested * 17, "echo", "ran"])
    assert refused.returncode == 125 and refused.stdout == "" and refused.stderr.count("\n") == 1
    assert "16 Landlock rulesets are stacked already" in refused.stderr


def test_a_wrapper_starts_inside_of_another(wrapper, somebody):
    inner = [wrapper, "--name", "inner", "--", "echo", "ran"]
    assert somebody.run(inner).stdout == "ran\n"
    outer = [wrapper, "--name", "outer", "--ro", os.path.dirname(os.path.dirname(wrapper)), "--"]
    assert somebody.run([*outer, *inner]).stdout == "ran\n"


@pytest.fixture
def helpers(person):
    """Copies of harmless programs, one setuid root and one with a file capability, for this person alone."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make such files")
    place = tempfile.mkdtemp(prefix="mcp-confine-helpers-", dir="/opt")
    os.chown(place, 0, pwd.getpwnam(person.name).pw_gid)
    os.chmod(place, 0o750)
    shutil.copy("/usr/bin/id", f"{place}/id")
    shutil.copy("/usr/bin/grep", f"{place}/grep")
    os.chmod(f"{place}/id", 0o4755)
    # struct vfs_cap_data, revision 2: effective, CAP_NET_RAW (13) permitted, as ping has it
    os.setxattr(f"{place}/grep", "security.capability", b"\x01\0\0\x02\0\x20\0\0" + bytes(12))
    yield place
    shutil.rmtree(place)


@pytest.mark.parametrize("abi", ABIS)
def test_helpers_with_privileges_have_none_inside(wrapper, person, helpers, abi):
    server = [wrapper, "--max-abi", str(abi), "--ro", helpers, "--ro", "/proc", "--"]
    whose = ["/bin/sh", "-c", f"{helpers}/id -u; {helpers}/grep CapEff /proc/self/status"]
    assert person.run(whose).stdout.split() == ["0", "CapEff:", "0000000000002000"]
    own = str(pwd.getpwnam(person.name).pw_uid)
    assert person.run([*server, *whose]).stdout.split() == [own, "CapEff:", "0" * 16]
    direct = person.run([*server, f"{helpers}/id", "-u"])
    assert direct.returncode == 125 and "setuid" in direct.stderr and direct.stdout == ""


@pytest.mark.parametrize("abi", ABIS)
def test_nothing_is_claimed_about_executing_and_nothing_holds(wrapper, somebody, abi):
    line = [wrapper, "--max-abi", str(abi), "--ro", "/proc"]
    told = json.loads(somebody.run([*line, "--show", "--json", "--", "true"]).stdout)["protections"]
    assert not [row for row in told if "exec" in f"{row['name']} {row['meaning']}"]
    memory = ("import os; f = os.memfd_create('x'); os.write(f, open('/bin/echo', 'rb').read());"
              "os.execv(f'/proc/self/fd/{f}', ['echo', 'executed'])")
    for words in (python(memory), [*line, "--", *python(memory)]):
        assert somebody.run(words).stdout == "executed\n"


@pytest.mark.parametrize("abi", ABIS)
def test_servers_meet_at_sockets_of_their_own_and_at_no_others(wrapper, somebody, abi):
    # A socket made inside is open to the same server, from the ABI that can tell; to another server it is closed.
    listen = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["HOME"] + "/socket")
server.listen()
with socket.socket(socket.AF_UNIX) as mine:
    mine.connect(os.environ["HOME"] + "/socket")
print("met", flush=True)
sys.stdin.read()
"""
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('met')"
    line = [wrapper, "--max-abi", str(abi)]
    for words, path in (([], f"{somebody.home}/socket"),
                        ([*line, "--name", "one", "--"],
                         f"{somebody.home}/.local/state/mcp-confine/servers/one/data/socket")):
        started = subprocess.Popen([*words, *python(listen)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=somebody.environment(), cwd="/",
                                   **_become(somebody))
        said = started.stdout.readline()
        try:
            if not words:
                assert said == "met\n" and somebody.run(python(connect, path)).stdout == "met\n"
            elif abi < 9:
                assert said == "" and "Permission denied" in started.stderr.read()
            else:
                assert said == "met\n"
                other = somebody.run([*line, "--name", "two", "--ro", os.path.dirname(path), "--",
                                      *python(connect, path)])
                assert other.stdout == "" and "Permission denied" in other.stderr
        finally:
            started.communicate("")


def test_a_client_that_starts_it_without_standard_streams_gives_nothing_away(wrapper, somebody):
    # Whatever the wrapper opens takes the free numbers 0 to 2; none of it may be left when the server starts.
    look = """
import os
for number in range(64):
    try: os.write(1, f"{number} {os.readlink(f'/proc/self/fd/{number}')}\\n".encode())
    except OSError: pass
"""
    script = 'exec "$@" <&- 2>&-'
    seen = somebody.run(["/bin/sh", "-c", script, "-", wrapper, "--ro", "/proc", "--", *python(look)]).stdout
    assert [line.split()[0] for line in seen.splitlines()] == ["1"], seen


def _become(somebody) -> dict:
    entry = pwd.getpwnam(somebody.name)
    return {} if entry.pw_uid == os.geteuid() else {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
