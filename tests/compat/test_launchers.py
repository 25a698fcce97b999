"""Real servers through npx and uvx, from an empty cache and from a full one, and the network that they start with."""
from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import threading

import pytest

pytestmark = pytest.mark.network
PYTHON = "/usr/bin/python3"
SECONDS = 240  # for one start with everything to fetch
# server: (launcher, words, a tool that it must offer); {home} and {repository} are filled in
SERVERS = {
    "filesystem": ("npx", ["-y", "@modelcontextprotocol/server-filesystem", "{notes}"], "read_text_file"),
    "memory": ("npx", ["-y", "@modelcontextprotocol/server-memory"], "create_entities"),
    "everything": ("npx", ["-y", "@modelcontextprotocol/server-everything"], "echo"),
    "git": ("uvx", ["mcp-server-git", "--repository", "{repository}"], "git_status"),
    "time": ("uvx", ["mcp-server-time"], "get_current_time"),
    "fetch": ("uvx", ["mcp-server-fetch"], "fetch"),
    "sqlite": ("uvx", ["--with", "mcp<2", "mcp-server-sqlite", "--db-path", "{notes}/new.db"], "read_query"),
}


class Session:
    """A server, spoken to over its standard streams; every line that it says must be JSON."""

    def __init__(self, person, argv, environment) -> None:
        entry = pwd.getpwnam(person.name)
        become = {} if entry.pw_uid == os.geteuid() else {
            "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.server = subprocess.Popen(argv, env=environment, cwd=person.home, stdin=subprocess.PIPE, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, **become)
        self.watchdog = threading.Timer(SECONDS, self.server.kill)
        self.said: list[str] = []
        self.listener = threading.Thread(target=lambda: self.said.append(self.server.stderr.read()))
        self.count = 0

    def greet(self) -> None:
        self.watchdog.start()
        self.listener.start()
        self.request("initialize", protocolVersion="2025-03-26", capabilities={},
                     clientInfo={"name": "tests", "version": "1"})
        self._send(method="notifications/initialized")

    def request(self, method: str, **parameters) -> dict:
        self.count += 1
        self._send(id=self.count, method=method, params=parameters)
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") == self.count and "method" not in message:
                return message["result"]
        self.listener.join()
        raise AssertionError(f"ended without an answer: {self.said[0][-2000:]}")

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.request("tools/list")["tools"]]

    def call(self, tool: str, **arguments) -> str:
        """What a tool answered, as text."""
        return " ".join(part.get("text", "") for part in
                        self.request("tools/call", name=tool, arguments=arguments)["content"])

    def _send(self, **message) -> None:
        with contextlib.suppress(BrokenPipeError):  # its last words say more
            self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self.server.stdin.flush()

    def end(self) -> None:
        self.watchdog.cancel()
        self.server.kill()
        with contextlib.suppress(BrokenPipeError):
            self.server.stdin.close()
        self.server.wait()
        self.listener.join()


@pytest.fixture
def line(person, uv):
    """The command of a server and its environment, with everything that it needs of this person."""
    def of(name, online):
        launcher, words, _ = SERVERS[name]
        notes, repository = person.folder("notes"), person.folder("repository")
        assert person.run(["git", "init", "-q", repository]).returncode == 0
        if not shutil.which(launcher, path=f"{uv}:/usr/local/bin:/usr/bin:/bin"):
            pytest.skip(f"needs {launcher}")
        path = f"{uv}:/usr/local/bin:/usr/bin:/bin"
        environment = person.environment(PATH=path, UV_PYTHON_DOWNLOADS="never", UV_PYTHON=PYTHON, **online)
        return [launcher, *[word.format(notes=notes, repository=repository) for word in words]], environment

    return of


def names(variables) -> list[str]:
    return [word for name in variables for word in ("--env", name)]


@contextlib.contextmanager
def started(*arguments):
    """A session that has said hello, and that is ended whatever happens."""
    session = Session(*arguments)
    try:
        session.greet()
        yield session
    finally:
        session.end()


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_starts_from_an_empty_cache_and_from_a_full_one(wrapper, person, line, online, name):
    command, environment = line(name, online)
    start = [wrapper, "--name", name, *names(online), "--", *command]
    wanted = SERVERS[name][2]
    with started(person, start, environment) as cold:
        assert wanted in cold.tools()
    private = f"{person.home}/.local/state/mcp-confine/servers/{name}/data"
    assert os.path.isdir(f"{private}/.npm" if command[0] == "npx" else f"{private}/.cache/uv")
    assert not os.path.exists(f"{person.home}/.npm") and not os.path.exists(f"{person.home}/.cache/uv")
    with started(person, start, environment) as warm:
        assert wanted in warm.tools()


def test_the_sqlite_server_goes_on_with_the_database_that_it_made(wrapper, person, line, online):
    command, environment = line("sqlite", online)
    start = [wrapper, "--name", "sqlite", *names(online), "--", *command]
    with started(person, start, environment) as first:
        assert "created" in first.call("create_table", query="create table t (x)")
    with started(person, start, environment) as second:
        assert "affected_rows" in second.call("write_query", query="insert into t values (1)")


def test_on_the_first_interface_npx_works_and_uvx_cannot_fill_its_cache(wrapper, person, line, online):
    for server, works in (("memory", True), ("time", False)):
        command, environment = line(server, online)
        start = [wrapper, "--name", server, "--max-abi", "1", *names(online), "--"]
        if works:
            with started(person, [*start, *command], environment) as session:
                assert SERVERS[server][2] in session.tools()
        else:
            told = person.run([*start[:-1], "--show", "--json", "--", *command], env=environment).stdout
            rows = {row["name"]: row["why"] for row in json.loads(told)["protections"]}
            assert "always denied, also where granted" in rows["refer"]
            with pytest.raises(AssertionError, match="ended without an answer"), \
                    started(person, [*start, *command], environment):
                pass


@pytest.mark.parametrize("options", [[], ["--connect", "443"]], ids=["any network", "one port"])
def test_names_resolve_and_tls_is_verified(wrapper, person, online, registry, node, landlock_abi, options):
    if options and (landlock_abi < 4 or not registry.startswith("https:") or any("proxy" in n.lower() for n in online)):
        pytest.skip("ports are told apart from ABI 4 on; 443 is the one of a registry that is reached directly")
    environment = person.environment(ADDRESS=registry, **online)
    fetch = "import os, urllib.request; print(urllib.request.urlopen(os.environ['ADDRESS']).status)"
    for program in ([PYTHON, "-c", fetch],
                    [node, "-e", "fetch(process.env.ADDRESS).then(a => console.log(a.status))"]):
        bare = person.run(program, env=environment)
        if bare.returncode:
            pytest.skip(f"needs the network, which fails without us: {bare.stderr.splitlines()[-1:]}")
        confined = person.run([wrapper, *options, "--env", "ADDRESS", "--", *program], env=environment)
        assert (confined.returncode, confined.stdout) == (0, bare.stdout), confined.stderr
        closed = person.run([wrapper, "--net", "none", "--env", "ADDRESS", "--", *program], env=environment)
        assert closed.returncode != 0
