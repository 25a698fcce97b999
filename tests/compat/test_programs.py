"""What servers are made of, with real programs: node, Python, shells, git and SQLite."""
from __future__ import annotations

import glob
import json
import shutil

import pytest

PYTHON = "/usr/bin/python3"
NODE = {
    "child with stdio ignored": """
        const c = require('child_process').spawn('sh', ['-c', 'exit 3'], {stdio: 'ignore'});
        c.on('error', e => console.log(e.code)); c.on('exit', code => console.log('exit', code));""",
    "child with pipes": """
        console.log(require('child_process').execFileSync('sh', ['-c', 'cat; echo err >&2'],
                    {input: 'through a pipe', stdio: ['pipe', 'pipe', 'ignore']}).toString());""",
    "worker threads": """
        const {Worker, isMainThread, parentPort} = require('worker_threads');
        const work = "const {parentPort} = require('worker_threads'); parentPort.on('message', " +
                     "n => { parentPort.postMessage(n * 2); parentPort.close(); })";
        let sum = 0;
        for (let i = 1; i <= 4; i++) {
          const w = new Worker(work, {eval: true});
          w.on('message', n => { sum += n; }); w.postMessage(i);
        }
        process.on('exit', () => console.log('sum', sum));""",
    "temporary files": """
        const fs = require('fs'), os = require('os'), path = require('path');
        const d = fs.mkdtempSync(path.join(os.tmpdir(), 'x-')); fs.writeFileSync(d + '/a', 'written');
        fs.renameSync(d + '/a', d + '/b'); console.log(fs.readFileSync(d + '/b', 'utf8'));
        fs.rmSync(d, {recursive: true});""",
    "a server and a client of its own": """
        const http = require('http');
        const s = http.createServer((q, a) => a.end('answered')).listen(0, '127.0.0.1', () =>
          http.get({port: s.address().port, host: '127.0.0.1'}, r => r.on('data', d => console.log(String(d)))
            .on('end', () => s.close())));""",
    "what it asks of the machine": """
        const os = require('os');
        console.log(os.cpus().length > 0, os.totalmem() > 0, Object.keys(os.networkInterfaces()).length > 0,
                    os.userInfo().username.length > 0, os.hostname().length > 0);""",
    "cryptography": "console.log(require('crypto').randomBytes(8).length, require('tls').rootCertificates.length > 9);",
    "dynamic import": "import('node:fs/promises').then(m => console.log(typeof m.readFile));",
}
FORK = """
    const {fork} = require('child_process');
    if (process.argv[2] === 'child') {
      process.on('message', m => { process.send({...m, back: true}); process.disconnect(); });
    } else {
      const c = fork(__filename, ['child']);
      c.on('message', m => console.log(JSON.stringify(m))); c.send({number: 7, text: 'ümlaut'});
      c.on('exit', code => console.log('exit', code));
    }"""
PROGRAMS = {
    "asyncio subprocesses": """
import asyncio
async def main():
    made = [await asyncio.create_subprocess_exec("sh", "-c", f"read x; echo $x {n}", stdin=-1, stdout=-1)
            for n in range(4)]
    print([(await p.communicate(b"in\\n"))[0] for p in made])
asyncio.run(main())""",
    "subprocess without streams": """
import subprocess
print(subprocess.run(["sh", "-c", "echo x; exit 4"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL).returncode)""",
    "threads and queues": """
import queue, threading
q = queue.Queue()
for n in range(8): threading.Thread(target=q.put, args=(n * n,)).start()
print(sorted(q.get() for _ in range(8)))""",
    "processes with a pipe": """
import multiprocessing, os
def work(end): end.send(sum(range(1000))); end.close()
here, there = multiprocessing.get_context("fork").Pipe()
p = multiprocessing.get_context("fork").Process(target=work, args=(there,)); p.start(); print(here.recv()); p.join()
print(p.exitcode)""",
    "temporary files": """
import os, tempfile
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f:
    f.write(b"x"); f.flush(); print(os.listdir(d) == [os.path.basename(f.name)])
with tempfile.TemporaryFile() as f: f.write(b"nameless"); f.seek(0); print(f.read())
with tempfile.SpooledTemporaryFile(10) as f: f.write(b"y" * 100); print(f.tell())""",
    "SQLite with a write-ahead log": """
import os, sqlite3, tempfile
with tempfile.TemporaryDirectory() as d:
    one, two = (sqlite3.connect(d + "/data.db") for _ in range(2))
    print(one.execute("pragma journal_mode=wal").fetchone())
    one.execute("create table t (x)"); one.executemany("insert into t values (?)", [(n,) for n in range(999)])
    one.commit()
    print(two.execute("select sum(x) from t").fetchone(), sorted(os.listdir(d)))
    one.execute("vacuum"); print(two.execute("pragma integrity_check").fetchone())""",
    "names, zones and certificates": """
import os, pwd, socket, ssl, time
print(pwd.getpwuid(os.getuid()).pw_name, socket.gethostbyname("localhost"), socket.getservbyname("https"))
print(ssl.create_default_context().cert_store_stats()["x509_ca"] > 0, len(time.tzname))""",
    "memory maps and random numbers": """
import mmap, os, secrets
m = mmap.mmap(-1, 4096); m.write(b"x"); print(len(m), len(os.urandom(4)), len(secrets.token_bytes(3)))""",
    "loopback streams": """
import asyncio
async def main():
    async def answer(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()
    s = await asyncio.start_server(answer, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    w.write(b"hello\\n"); print(await r.readline()); w.close(); s.close()
asyncio.run(main())""",
}
SHARED = {
    "lock": "import multiprocessing; print(multiprocessing.Lock().acquire())",
    "pool": ("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:"
             " print(pool.map(abs, [-1, -2]))"),
    "shared memory": ("from multiprocessing import shared_memory\n"
                      "m = shared_memory.SharedMemory(create=True, size=64); print(m.size); m.close(); m.unlink()"),
}
SHELL = r"""
set -e
cd "$TMPDIR"
printf 'c\nb\na\n' > unsorted
sort < unsorted | tee sorted | tr a-z A-Z >> upper 2>/dev/null
cat <<END >&3
$(head -n 1 sorted) $(wc -l < upper | tr -d ' ')
END
{ echo out; echo err >&2; } 2>&1 | grep -c r
test -w /dev/null && mkdir -p d/e && mv sorted d/e/ && ln -s d/e/sorted link && ln d/e/sorted d/e/hard && cat link
(trap 'echo trapped' TERM; kill -TERM $(sh -c 'echo $PPID')) || true
echo "$((6 * 7))"
rm -rf d unsorted upper link
"""


@pytest.mark.parametrize("what", NODE)
def test_node(same, node, what):
    assert same([node, "-e", NODE[what]]).strip() not in ("", "undefined")


def test_node_forks_with_a_channel_to_its_child(same, node, person):
    script = person.file("app/fork.js", FORK)
    assert same([node, script]) == '{"number":7,"text":"ümlaut","back":true}\nexit 0\n'


@pytest.mark.parametrize("what", PROGRAMS)
def test_python(same, what):
    assert same([PYTHON, "-c", PROGRAMS[what]])


@pytest.mark.parametrize("what", SHARED)
def test_multiprocessing_shares_memory_where_the_policy_lets_it(confine, same, person, what):
    line = [PYTHON, "-c", SHARED[what]]
    assert same(line, "--rw", "/dev/shm")
    denied = person.run([*confine, "--", *line])
    assert denied.returncode != 0 and "PermissionError" in denied.stderr


DATABASE = """
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
print(d.execute(f"pragma journal_mode={sys.argv[2]}").fetchone()[0])
d.execute("create table if not exists t (x)"); d.execute("insert into t values (1)"); d.commit()
print(d.execute("select count(*) > 0 from t").fetchone()[0])
"""


@pytest.mark.parametrize("log", ["wal", "delete"])
def test_sqlite_keeps_its_log_beside_a_database_in_a_granted_folder(same, person, log):
    folder = person.folder("databases")
    for _ in range(2):
        assert same([PYTHON, "-c", DATABASE, f"{folder}/new.db", log], "--rw", folder) == f"{log}\n1\n"


@pytest.mark.parametrize("log", ["wal", "delete"])
def test_sqlite_makes_a_database_that_its_arguments_name(confine, person, log):
    line = [*confine, "--args", "rw", "--", PYTHON, "-c", DATABASE, f"{person.folder('databases')}/new.db", log]
    first = person.run(line)
    assert (first.stdout, first.stderr) == (f"{log}\n1\n", "")


@pytest.mark.parametrize("log", ["wal", "delete"])
def test_sqlite_opens_that_database_again(confine, person, log):
    line = [PYTHON, "-c", DATABASE, f"{person.folder('databases')}/new.db", log]
    assert [person.run(line).returncode for _ in range(2)] == [0, 0]
    again = person.run([*confine, "--args", "rw", "--", *line])
    assert (again.stdout, again.stderr) == (f"{log}\n1\n", "")


def test_a_shell_redirects_pipes_links_and_traps(confine, person):
    script = ["/bin/sh", "-c", 'exec 3>&1; exec sh -c "$1"', "-", SHELL]
    bare = person.run(script, env=person.environment(TMPDIR=person.folder("tmp")))
    confined = person.run([*confine, "--", *script])
    assert bare.returncode == 0 and "a 3\n" in bare.stdout and "42\n" in bare.stdout, bare
    assert (confined.returncode, confined.stdout, confined.stderr) == (0, bare.stdout, bare.stderr)


def test_links_between_folders_need_the_second_interface_and_the_plan_says_so(confine, person, wrapper):
    line = ["/bin/sh", "-c", 'cd "$TMPDIR"; rm -rf a b; mkdir a b; echo x > a/x; ln a/x b/x && cat b/x']
    done = person.run([*confine, "--", *line])
    told = json.loads(person.run([*confine, "--show", "--json", "--", *line]).stdout)["protections"]
    refer = next(row for row in told if row["name"] == "refer")
    if "always denied" in refer["why"]:
        assert "1" in confine and done.returncode != 0 and "cross-device" in done.stderr
    else:
        assert "1" not in confine and done.stdout == "x\n"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_git_clones_commits_and_branches(confine, person):
    source = person.folder("source")
    person.file("source/file.txt", "first\n")
    settings = ["-c", "user.name=Someone", "-c", "user.email=someone@localhost", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        assert person.run(["git", *settings, *words], cwd=source).returncode == 0
    script = """
        set -e; cd $TMPDIR; rm -rf copy; git clone -q "$1" copy; cd copy
        git config user.name Someone; git config user.email someone@localhost
        git checkout -qb topic; echo second >> file.txt; git commit -qam second; git rebase -q main; git gc -q
        git log --format=%s; git status --short; git diff HEAD~1 --stat | tail -n 1; cd ..; rm -rf copy"""
    line = ["/bin/sh", "-c", script, "-", source]
    bare = person.run(line, env=person.environment(TMPDIR=person.folder("tmp")))
    assert bare.returncode == 0 and bare.stdout.startswith("second\nfirst\n"), bare.stderr
    confined = person.run([*confine, "--ro", source, "--", *line])
    assert (confined.returncode, confined.stdout, confined.stderr) == (0, bare.stdout, bare.stderr)
    # And in a repository of the user's own, as a git server works there.
    words = ["git", *settings, "commit", "--allow-empty", "-qm", "by the server"]
    done = person.run([*confine, "--rw", source, "--", *words], cwd=source)
    assert done.returncode == 0, done.stderr
    assert person.run(["git", "log", "-1", "--format=%s"], cwd=source).stdout == "by the server\n"


PYTHONS = {version: next(iter(sorted(glob.glob(f"/root/.pyenv/versions/{version}.*/bin/python3"))), None)
           for version in ("3.9", "3.10", "3.11", "3.12", "3.13")}


@pytest.mark.parametrize("version", [*PYTHONS, "the system's"])
def test_every_python_starts_with_its_own_library(confine, root_person, version):
    python = PYTHONS.get(version, PYTHON)
    if not python:
        pytest.skip(f"no Python {version} below /root/.pyenv")
    program = "import asyncio, ctypes, json, sqlite3, ssl, sys; print(sys.version_info[:2], sys.prefix)"
    bare = root_person.run([python, "-c", program])
    assert bare.returncode == 0, bare.stderr
    confined = root_person.run([*confine, "--", python, "-c", program])
    assert (confined.stdout, confined.stderr) == (bare.stdout, "")


@pytest.mark.parametrize("version", [*PYTHONS, "the system's"])
def test_every_python_runs_the_wrapper(landlock_abi, root_person, shelf, version):
    from probe import install

    python = PYTHONS.get(version, PYTHON)
    if not python:
        pytest.skip(f"no Python {version} below /root/.pyenv")
    sources = shelf / "wrapper" / "confine"
    if not sources.exists():
        for name, text in install.sources().items():
            path = shelf / "wrapper" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    start = ("import sys; sys.path.insert(0, sys.argv.pop(1)); from confine.launch import main; sys.exit(main())")
    line = [python, "-IS", "-c", start, str(sources.parent)]
    assert root_person.run([*line, "--", "echo", "ran"]).stdout == "ran\n"
    secret = root_person.file("secret.txt", "SECRET\n")
    assert "SECRET" not in root_person.run([*line, "--", "cat", secret]).stdout
    for more in ([], ["--net", "none"]):
        tested = root_person.run([*line, "--self-test", *more])
        assert tested.returncode == 0, tested.stdout + tested.stderr
