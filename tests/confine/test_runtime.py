"""What a command leads to is granted; a person's files never are because a program lies near them."""
from __future__ import annotations

import os

import pytest

from probe.confine import runtime
from probe.confine.policy import Refused


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "company" / "home"
    made.mkdir(parents=True)
    return made


def program(path, content="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return str(path)


def grants(home, path, search="/usr/bin:/bin"):
    parts = runtime.Runtime([str(home)], search)
    parts.follow(str(path), "the command")
    return set(parts.grants)


@pytest.mark.parametrize(("where", "granted"), [
    (".nvm/versions/node/v20.1.0/bin/node", ".nvm/versions/node/v20.1.0"),
    (".pyenv/shims/python3", ".pyenv"),
    (".asdf/shims/node", ".asdf"),
    (".volta/bin/node", ".volta"),
    (".local/share/fnm/node-versions/v20/installation/bin/node", ".local/share/fnm"),
    (".local/share/uv/tools/mcp-server-git/bin/mcp-server-git", ".local/share/uv/tools/mcp-server-git"),
    (".local/share/pipx/venvs/thing/bin/thing", ".local/share/pipx/venvs/thing"),
    (".local/bin/uvx", ".local/bin/uvx"),
    ("bin/tool", "bin/tool"),
    ("src/app/node_modules/.bin/thing", "src/app/node_modules"),
    ("tool", "tool"),
])
def test_a_programs_own_installation_is_granted_and_no_more(home, where, granted):
    assert grants(home, program(home / where)) == {str(home / granted)}


def test_a_virtual_environment_is_granted_with_the_python_that_it_links_to(home):
    base = program(home / ".pyenv/versions/3.12.1/bin/python3.12", "\x7fELF")
    (home / "venv/bin").mkdir(parents=True)
    (home / "venv/pyvenv.cfg").write_text("")
    (home / "venv/bin/python").symlink_to(base)
    assert grants(home, home / "venv/bin/python") == {str(home / "venv"), str(home / ".pyenv")}


def test_each_link_and_each_interpreter_on_the_way_is_followed(home):
    node = program(home / ".nvm/versions/node/v20/bin/node", "\x7fELF")
    script = program(home / ".nvm/versions/node/v20/lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n")
    link = home / ".local/bin/npx"
    link.parent.mkdir(parents=True)
    link.symlink_to(script)
    assert grants(home, link, f"{os.path.dirname(node)}:/usr/bin") == {str(link), str(home / ".nvm/versions/node/v20")}


@pytest.mark.parametrize("where", ["company/bin/tool", "company/tool", "tool", "company/home/bin/tool"])
def test_a_program_above_or_beside_a_home_never_grants_the_home(tmp_path, home, where, monkeypatch):
    # As software trees that happen to hold a home: /opt/company/home, a container's /app, a version manager in $HOME.
    (tmp_path / "company/pyvenv.cfg").write_text("")
    (home / "pyvenv.cfg").write_text("")
    monkeypatch.setattr(runtime, "MANAGERS", ((str(tmp_path), 1, "", ()), *runtime.MANAGERS))
    path = program(tmp_path / where)
    assert grants(home, path) == {path}
    alias = tmp_path / "alias"
    alias.symlink_to(home)
    assert grants(alias, path) == {path}


def test_the_programs_own_folder_goes_up_to_its_project_and_never_to_the_home(home):
    def own(script):
        parts = runtime.Runtime([str(home)], "/usr/bin")
        parts.program(str(script))
        return set(parts.grants)

    script = program(home / "src/app/dist/index.js", "")
    assert own(script) == {str(home / "src/app/dist")}
    (home / "src/app/package.json").write_text("{}")
    assert own(script) == {str(home / "src/app")}
    (home / "package.json").write_text("{}")
    (home / ".git").mkdir()
    loose = program(home / "server.py", "")
    assert own(loose) == {loose}
    packaged = program(home / "x/node_modules/@scope/pkg/index.js", "")
    assert own(packaged) == {str(home / "x/node_modules")}


@pytest.mark.parametrize("path", ["/snap/bin/node", "/var/lib/snapd/snap/bin/uv"])
def test_a_snap_is_refused_with_what_to_do(home, path):
    with pytest.raises(Refused, match=r"comes from a snap.*install it from"):
        grants(home, path)


def test_links_in_a_circle_end(home):
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    grants(home, home / "a")


def test_a_command_is_found_as_exec_finds_it(tmp_path, monkeypatch):
    program(tmp_path / "two/tool")
    (tmp_path / "one").mkdir()
    (tmp_path / "one/tool").write_text("")
    (tmp_path / "one/tool").chmod(0o644)
    search = f"{tmp_path}/none:{tmp_path}/one:{tmp_path}/two"
    assert runtime.find("tool", search) == f"{tmp_path}/two/tool"
    with pytest.raises(PermissionError, match="is not executable"):
        runtime.find("tool", f"{tmp_path}/one")
    with pytest.raises(FileNotFoundError, match="not found"):
        runtime.find("absent", search)
    with pytest.raises(PermissionError, match="is not a regular file"):
        runtime.find(str(tmp_path / "one"), search)


def test_a_project_that_the_server_may_write_still_runs_on_the_python_that_its_links_lead_to(home):
    project = home / "src/project"
    base = program(home / ".pyenv/versions/3.12.1/bin/python3.12", "\x7fELF")
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/bin/python").symlink_to(base)
    parts = runtime.Runtime([str(home)], "/usr/bin", [str(project)])
    parts.follow(str(project / ".venv/bin/python"), "the command")
    assert parts.led == {str(home / ".pyenv")}
    assert all(runtime.is_software(path, [str(home)]) for path in parts.led)


@pytest.mark.parametrize(("path", "software"), [
    ("/usr/bin/node", True), ("/usr", True), ("/etc/passwd", False), ("/opt/tool/bin/x", True), ("/opt", False),
    ("/nix/store/abc-node/bin/node", True), ("{home}", False), ("{home}/.ssh", False), ("{home}/notes", False),
    ("{home}/.pyenv/versions/3.12.1", True), ("{home}/.nvm/versions/node/v20", True),
    ("{home}/.nvm/versions/node", False), ("{home}/.local/share/uv/tools/x/bin/x", True), ("{home}/.local", False),
])
@pytest.mark.parametrize("where", ["{tmp}/home", "/opt/company/home"])
def test_what_is_software_alone_is_told_by_where_it_lies(tmp_path, path, software, where):
    user = where.format(tmp=tmp_path)
    path = path.format(home=user)
    assert runtime.is_software(path, [user, "/root"]) is software
