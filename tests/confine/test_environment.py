"""Which variables a server gets, and the private folder that none of them can be turned against."""
from __future__ import annotations

import os
import pwd

import pytest

from probe.confine import environment, presets
from probe.confine.policy import Policy, Refused

LOGIN = {b"HOME": b"/h", b"PATH": b"/usr/bin", b"LC_ALL": b"C", b"AWS_SECRET_ACCESS_KEY": b"s", b"OPENAI_API_KEY": b"s",
         b"SSH_AUTH_SOCK": b"/run/agent", b"DBUS_SESSION_BUS_ADDRESS": b"unix:/bus", b"LD_PRELOAD": b"/x.so",
         b"NODE_OPTIONS": b"--require /x.js", b"DISPLAY": b":0", b"HTTPS_PROXY": b"http://proxy", b"DOCKER_HOST": b"x",
         b"VSCODE_GIT_IPC_AUTH_SOCK": b"/run/x", b"SSL_CERT_FILE": b"/etc/ssl/own.pem"}


def built(tmp_path, policy=None, command=("some-server",), added=frozenset(), variables=None):
    folders = environment.Folders(str(tmp_path), "server")
    folders.create()
    return environment.build(policy or Policy(), presets.recognise(list(command)), {}, folders,
                             variables or LOGIN, set(added))


def test_the_sessions_tokens_agents_and_loader_variables_stay_behind(tmp_path):
    assert set(built(tmp_path)) == {b"HOME", b"PATH", b"LC_ALL", b"HTTPS_PROXY", b"SSL_CERT_FILE", b"TMPDIR"}


def test_what_the_client_added_for_the_server_passes_unless_it_steers_the_loader_or_leads_to_an_agent(tmp_path):
    passed = built(tmp_path, added=LOGIN)
    assert b"OPENAI_API_KEY" in passed and b"AWS_SECRET_ACCESS_KEY" in passed
    assert not {b"LD_PRELOAD", b"NODE_OPTIONS", b"SSH_AUTH_SOCK", b"DBUS_SESSION_BUS_ADDRESS", b"DISPLAY",
                b"DOCKER_HOST", b"VSCODE_GIT_IPC_AUTH_SOCK"} & set(passed)


def test_what_is_named_passes_whatever_it_is(tmp_path):
    policy = Policy()
    for name in ("LD_PRELOAD", "SSH_AUTH_SOCK", "OPENAI_API_KEY", "NOT_SET"):
        policy.take("--env", name, "command line", "/h")
    passed = built(tmp_path, policy)
    assert {b"LD_PRELOAD", b"SSH_AUTH_SOCK", b"OPENAI_API_KEY"} <= set(passed) and b"NOT_SET" not in passed


def test_home_is_private_and_the_caches_are_private_also_where_home_is_real(tmp_path):
    private = f"{tmp_path}/.local/state/mcp-confine/servers/server/data".encode()
    assert built(tmp_path)[b"HOME"] == private
    policy = Policy()
    policy.take("--home", "real", "command line", "/h")
    passed = built(tmp_path, policy, ("npx", "-y", "pkg"))
    assert passed[b"HOME"] == str(tmp_path).encode()
    for name in (b"npm_config_cache", b"XDG_CACHE_HOME", b"XDG_DATA_HOME", b"TMPDIR"):
        assert passed[name].startswith(private + b"/")


def test_a_variable_that_the_parent_started_with_was_not_added_by_it():
    # This process's parent handed its own start environment on, as a client hands on its session's.
    own = {name.encode(): value.encode() for name, value in os.environ.items()}
    child = {**own, b"ADDED_FOR_SERVER": b"1", b"PATH": b"/changed"}
    if os.path.exists(f"/proc/{os.getpid()}/environ"):
        started = dict(pair.split(b"=", 1) for pair in
                       open(f"/proc/{os.getpid()}/environ", "rb").read().split(b"\0") if b"=" in pair)
        added = environment.added_by_client({**started, b"ADDED_FOR_SERVER": b"1", b"PATH": b"/changed"}, os.getpid())
        assert added == {b"ADDED_FOR_SERVER", b"PATH"}
    assert environment.added_by_client(child, 2**22 + 7) == set()  # no such parent: nothing counts as added


def test_launcher_settings_are_carried_without_their_tokens(tmp_path):
    (tmp_path / ".npmrc").write_text(
        "registry=https://registry.example.com/\n@scope:registry=https://scope.example.com/\nfund=false\n"
        "//registry.example.com/:_authToken=SECRET\nproxy=http://me:SECRET@proxy:3128\n_auth=SECRET\nemail=me@x\n")
    folders = environment.Folders(str(tmp_path), "server")
    folders.create()
    folders.carry(("npm",))
    kept = open(folders.variables["npm_config_userconfig"]).read()
    assert kept == "registry=https://registry.example.com/\n@scope:registry=https://scope.example.com/\n"


def test_a_settings_file_with_a_password_is_left_behind_and_said_to_be(tmp_path):
    (tmp_path / ".config/uv").mkdir(parents=True)
    path = tmp_path / ".config/uv/uv.toml"
    path.write_text('[[index]]\nurl = "https://me:SECRET@pypi.example.com/simple"\n')
    folders = environment.Folders(str(tmp_path), "server")
    folders.create()
    folders.carry(("uv",))
    assert folders.variables == {} and folders.left_behind == [".config/uv/uv.toml"]
    path.write_text('[[index]]\nurl = "https://pypi.example.com/simple"\n')
    again = environment.Folders(str(tmp_path), "server")
    again.carry(("uv",))
    assert open(again.variables["UV_CONFIG_FILE"]).read() == path.read_text()


@pytest.mark.parametrize("part", ["data", "data/tmp", "config"])
def test_a_link_in_the_place_of_a_private_folder_is_refused(tmp_path, part):
    folders = environment.Folders(str(tmp_path), "server")
    os.makedirs(os.path.dirname(f"{folders.top}/{part}"))
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", f"{folders.top}/{part}")
    with pytest.raises(Refused, match=f"{part}: is in the way"):
        folders.create()


def test_home_is_taken_from_the_environment_only_when_it_is_the_users_own(tmp_path):
    uid = os.getuid()
    assert environment.home_of(uid, {b"HOME": str(tmp_path).encode()}) == str(tmp_path)
    for other in (b"relative", b"/nonexistent", b""):
        assert environment.home_of(uid, {b"HOME": other}) == pwd.getpwuid(uid).pw_dir
    with pytest.raises(Refused, match="has no home"):
        environment.home_of(2**31 - 7, {b"HOME": str(tmp_path).encode()})
