"""Policies by which a server could unconfine itself, or which somebody else could have written, start nothing."""
from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess

import pytest

# What to ask for, below the home: the place itself, something in it, something above it.
PROTECTED = {
    "shell start-up": (".bashrc", "."),
    "session start-up": (".config/autostart/x.desktop", ".config/autostart", ".config"),
    "systemd units": (".config/systemd/user", ".config/systemd", ".local/share/systemd/user"),
    "search path": (".local/bin", ".local/bin/npx", ".local"),
    "keys": (".ssh", ".ssh/authorized_keys", ".gnupg"),
    "launchers": (".npmrc", ".gitconfig", ".config/pip", ".config/uv"),
    "clients": (".claude.json", ".cursor", ".cursor/mcp.json", ".config/Code/User", ".config/Claude", ".vscode"),
    "the wrapper's own": (".config/mcp-confine/policies", ".local/state/mcp-confine", ".local/lib/mcp-confine"),
}
FILES = (".bashrc", ".config/autostart/x.desktop", ".local/bin/npx", ".ssh/authorized_keys", ".npmrc", ".gitconfig",
         ".claude.json", ".cursor/mcp.json")


@pytest.fixture(params=["person", "root_person"])
def somebody(request):
    """An unprivileged user, and root, each with a home of their own."""
    return request.getfixturevalue(request.param)


def refused(somebody, line, **environment):
    """Whether the wrapper refused, in one line, and nothing ran; what it said."""
    done = somebody.run([*line, "--", "echo", "ran"], env=somebody.environment(**environment))
    if done.returncode == 0 and done.stdout == "ran\n":
        return ""
    assert done.returncode == 125 and done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr


@pytest.mark.parametrize("places", PROTECTED.values(), ids=PROTECTED)
def test_no_write_grant_reaches_what_starts_or_configures_something_outside(wrapper, somebody, places):
    for place in places:
        path = os.path.normpath(os.path.join(somebody.home, place))
        if not os.path.exists(path):
            somebody.file(place) if place in FILES else somebody.folder(place)
        assert somebody.run(["test", "-w", path]).returncode == 0, "without us it can be written"
        assert "would let the server change" in refused(somebody, [wrapper, "--rw", path]), path


def test_no_link_leads_a_write_grant_there(wrapper, somebody):
    somebody.folder(".ssh")
    work = somebody.folder("work")
    os.symlink(f"{somebody.home}/.ssh", f"{work}/keys")
    os.symlink(somebody.home, f"{work}/home")
    for path in (f"{work}/keys", f"{work}/home/.ssh", f"{work}/../.ssh", f"{work}/home"):
        assert "would let the server change" in refused(somebody, [wrapper, "--rw", path]), path
    # And the other way round: the protected place is itself a link, to where the grant goes.
    elsewhere = somebody.folder("dotfiles")
    somebody.file("dotfiles/bashrc")
    os.symlink(f"{elsewhere}/bashrc", f"{somebody.home}/.bashrc")
    assert ".bashrc" in refused(somebody, [wrapper, "--rw", elsewhere])


def test_no_argument_of_the_command_leads_there_either(wrapper, somebody):
    somebody.folder(".ssh")
    for word in ("~/.ssh", f"{somebody.home}/.ssh", f"--root={somebody.home}/.ssh", f"file://{somebody.home}/.ssh"):
        done = somebody.run([wrapper, "--args", "rw", "--", "echo", word])
        assert done.returncode == 125 and done.stdout == "" and "argument 1" in done.stderr, word


def test_neither_the_wrapper_nor_its_python_nor_the_system_is_granted_for_writing(wrapper, root_person):
    with open(wrapper) as script:
        interpreter = script.readline()[2:].split()[0]
    prefix = os.path.dirname(os.path.dirname(wrapper))
    for path in (wrapper, f"{prefix}/lib/mcp-confine", prefix, interpreter, "/usr/lib", "/etc", "/", "/proc", "/sys"):
        said = refused(root_person, [wrapper, "--rw", path])
        # The start script itself holds no rule; it lies in a tree that nobody but root may write.
        assert said or path == wrapper, path


def test_no_write_grant_reaches_the_units_of_a_running_session(wrapper, person):
    uid = pwd.getpwnam(person.name).pw_uid
    if os.geteuid() != 0:
        pytest.skip("needs root to make a runtime folder")
    top = f"/run/user/{uid}"
    try:
        os.makedirs(f"{top}/systemd/user")
        for folder in (top, f"{top}/systemd", f"{top}/systemd/user"):
            os.chown(folder, uid, -1)
        assert person.run(["test", "-w", f"{top}/systemd/user"]).returncode == 0
        assert refused(person, [wrapper, "--rw", f"{top}/systemd/user"], XDG_RUNTIME_DIR=top)
    finally:
        shutil.rmtree(top)


def test_a_client_that_moves_its_home_exposes_the_users_keys_to_no_write_grant(wrapper, person):
    # As clients from snap and some sandboxes do: HOME is a folder of the application's own.
    keys, home = person.folder(".ssh"), person.folder("snap/editor/1")
    if os.geteuid() != 0:
        pytest.skip("the home of the user database is not ours to change")
    assert refused(person, [wrapper, "--rw", keys], HOME=home)


def test_a_client_that_moves_its_home_and_stands_in_the_users_does_not_grant_it(wrapper, person):
    secret = person.file("secret.txt", "SECRET\n")
    if os.geteuid() != 0:
        pytest.skip("the home of the user database is not ours to change")
    home = f"/var/tmp/{person.name}-home"
    os.makedirs(home)
    os.chown(home, pwd.getpwnam(person.name).pw_uid, -1)
    try:
        assert person.run(["cat", secret]).stdout == "SECRET\n"
        assert "SECRET" not in person.run([wrapper, "--", "cat", secret], env=person.environment(HOME=home)).stdout
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_policy_that_others_may_write_is_not_used(wrapper, somebody, place):
    secret = somebody.file("data/secret.txt", "SECRET\n")
    policy = somebody.file(".config/mcp-confine/policies/reader", f"--ro {somebody.home}/data\n")
    line = [wrapper, "--name", "reader"]
    assert somebody.run([*line, "--", "cat", secret]).stdout == "SECRET\n"
    os.chmod(policy if place == "file" else os.path.dirname(policy), 0o777)
    assert "writable by others" in refused(somebody, line)
    os.chmod(policy if place == "file" else os.path.dirname(policy), 0o700)
    assert somebody.run([*line, "--", "cat", secret]).stdout == "SECRET\n"


def test_a_group_is_ones_own_as_long_as_nobody_else_is_in_it(wrapper, person):
    # Distributions give each user a group of the same name, and a umask of 002 with it; its number may be any.
    if os.geteuid() != 0:
        pytest.skip("needs root to change groups")
    person.file(".config/mcp-confine/policies/reader", "--ro /var\n", mode=0o664)
    folders = [f"{person.home}/.config/mcp-confine/policies", f"{person.home}/.config"]
    old = pwd.getpwnam(person.name).pw_gid
    run = functools.partial(subprocess.run, check=True, capture_output=True)
    run(["groupmod", "--gid", str(old + 5000), person.name])
    try:
        for path in [*folders, f"{folders[0]}/reader"]:
            os.chown(path, -1, old + 5000)
            os.chmod(path, os.stat(path).st_mode | 0o020)
        assert refused(person, [wrapper, "--name", "reader"]) == ""
        run(["usermod", "--append", "--groups", person.name, "nobody"])
        assert "writable by others" in refused(person, [wrapper, "--name", "reader"])
    finally:
        run(["gpasswd", "--delete", "nobody", person.name], check=False)
        run(["groupmod", "--gid", str(old), person.name])


def test_a_policy_that_belongs_to_somebody_else_is_not_used(wrapper, person):
    policy = person.file("policy", "--ro /\n")
    if os.geteuid() != 0:
        pytest.skip("needs root to give a file away")
    os.chown(policy, 65534, -1)
    os.chmod(policy, 0o644)
    assert "owned by uid 65534" in refused(person, [wrapper, "--policy", policy])


def test_a_policy_in_a_folder_that_others_may_replace_is_not_used(wrapper, person):
    person.file(".config/mcp-confine/policies/reader", "--ro /var\n")
    os.chmod(f"{person.home}/.config", 0o777)
    assert refused(person, [wrapper, "--name", "reader"])


def test_a_command_that_anybody_may_replace_is_not_started(wrapper, somebody):
    somebody.file("tools/tool", "#!/bin/sh\necho ran\n", 0o755)
    path = somebody.environment(PATH=f"{somebody.home}/tools:/usr/bin:/bin")
    assert somebody.run([wrapper, "--", "tool"], env=path).stdout == "ran\n"
    os.chmod(f"{somebody.home}/tools", 0o777)
    done = somebody.run([wrapper, "--", "tool"], env=path)
    assert done.returncode == 125 and done.stdout == "" and "anybody may replace the command" in done.stderr
