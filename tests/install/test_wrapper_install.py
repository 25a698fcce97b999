"""The wrapper is put in place whole, proved first, and taken away again."""
from __future__ import annotations

import os
import pathlib
import py_compile
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile

import pytest

from probe import install, safety
from probe.safety import InstallRefused

ROOT = pathlib.Path(__file__).resolve().parents[2]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount file systems")


@pytest.fixture
def prefix():
    """A prefix that an unprivileged user can reach, as /usr/local is."""
    folder = tempfile.mkdtemp(prefix="install-")
    os.chmod(folder, 0o755)
    yield os.path.join(folder, "prefix")
    shutil.rmtree(folder)


def put(prefix: str) -> install.Plan:
    wanted = install.plan(prefix)
    install.apply(wanted)
    return wanted


def generations(prefix: str) -> set[str]:
    return set(os.listdir(install.library_path(prefix)))


def with_a_new_line(text: str):
    """The sources of another version: these, with a comment more."""
    current = install.sources()
    return lambda: {**current, "confine/version.py": current["confine/version.py"] + f"# {text}\n"}


def test_every_module_of_the_wrapper_is_installed():
    there = {path.stem for path in (ROOT / "probe" / "confine").glob("*.py")}
    assert {pathlib.Path(name).stem for name in install.sources()} == there


def test_the_installed_wrapper_starts_a_command_and_denies_what_it_did_not_grant(prefix):
    command = put(prefix).command
    secret = os.path.join(os.path.dirname(prefix), "secret")
    pathlib.Path(secret).write_text("kept")
    os.chmod(secret, 0o644)
    allowed = subprocess.run(["cat", secret], capture_output=True, text=True, cwd="/")
    home = os.path.join(os.path.dirname(prefix), "home")
    os.mkdir(home)
    confined = subprocess.run([command, "--name", "test", "--", "cat", secret], capture_output=True, text=True, cwd="/",
                              env={**os.environ, "HOME": home})
    granted = subprocess.run([command, "--name", "test", "--ro", secret, "--", "cat", secret], capture_output=True,
                             text=True, cwd="/", env={**os.environ, "HOME": home})
    assert (allowed.stdout, granted.stdout, granted.returncode) == ("kept", "kept", 0)
    assert confined.stdout == "" and "denied" in confined.stderr


def test_everything_is_the_owners_alone_and_readable_by_all(prefix):
    put(prefix)
    for folder, _, names in os.walk(prefix):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o755
        for name in names:
            path = os.path.join(folder, name)
            state = os.stat(path)
            assert state.st_uid == os.geteuid()
            assert stat.S_IMODE(state.st_mode) == (0o755 if name == "mcp-confine" else 0o644), path


def test_a_strict_umask_changes_nothing(prefix):
    before = os.umask(0o077)
    try:
        command = put(prefix).command
    finally:
        os.umask(before)
    assert install.self_test(command)["passed"]


def test_bytecode_lies_beside_each_source_and_is_never_checked_against_it(prefix):
    wanted = put(prefix)
    folder = pathlib.Path(install.library_path(prefix), wanted.generation, "confine")
    for source in folder.glob("*.py"):
        compiled = list((folder / "__pycache__").glob(f"{source.stem}.*.pyc"))
        assert len(compiled) == 1
        assert compiled[0].read_bytes()[4] == 1  # hash-based, and not to be checked
    assert py_compile.PycInvalidationMode.UNCHECKED_HASH


def test_a_second_plan_has_nothing_to_do(prefix):
    put(prefix)
    assert install.plan(prefix).changes == ()


def test_a_plan_writes_nothing(prefix):
    assert install.plan(prefix).changes
    assert not os.path.exists(prefix)


@pytest.mark.parametrize("damage", ["source", "bytecode", "mode", "missing", "script mode", "script link"])
def test_damage_is_seen_and_repaired(prefix, damage):
    wanted = put(prefix)
    folder = pathlib.Path(install.library_path(prefix), wanted.generation, "confine")
    compiled = next((folder / "__pycache__").glob("policy.*.pyc"))
    if damage == "source":
        (folder / "policy.py").write_text("# empty\n")
    elif damage == "bytecode":
        compiled.write_bytes(compiled.read_bytes()[:-1])
    elif damage == "mode":
        os.chmod(folder / "policy.py", 0o666)
    elif damage == "missing":
        compiled.unlink()
    elif damage == "script mode":
        os.chmod(wanted.command, 0o777)
    else:
        os.rename(wanted.command, wanted.command + ".moved")
        os.symlink(wanted.command + ".moved", wanted.command)
    assert install.plan(prefix).changes
    put(prefix)
    assert install.plan(prefix).changes == ()
    assert install.self_test(wanted.command)["passed"]
    assert not os.path.islink(wanted.command)


def test_the_old_generation_is_kept_once_and_older_ones_go(prefix, monkeypatch):
    first = put(prefix).generation
    monkeypatch.setattr(install, "sources", with_a_new_line("second"))
    second = put(prefix).generation
    assert generations(prefix) == {first, second}
    monkeypatch.setattr(install, "sources", with_a_new_line("third"))
    third = put(prefix).generation
    assert generations(prefix) == {second, third}
    assert install.plan(prefix).changes == ()


def test_a_wrapper_that_fails_its_self_test_never_takes_the_place_of_the_old_one(prefix, monkeypatch):
    old = put(prefix)
    before = pathlib.Path(old.command).read_text()
    broken = {**install.sources(), "confine/selftest.py": "raise SystemExit('this kernel is not for me')\n"}
    monkeypatch.setattr(install, "sources", lambda: broken)
    with pytest.raises(InstallRefused, match="this kernel is not for me"):
        put(prefix)
    assert pathlib.Path(old.command).read_text() == before
    assert generations(prefix) == {old.generation}
    assert os.listdir(os.path.dirname(old.command)) == ["mcp-confine"]
    assert install.self_test(old.command)["passed"]


def test_a_wrapper_that_does_not_compile_is_not_put_in_use(prefix, monkeypatch):
    broken = {**install.sources(), "confine/plan.py": "def (\n"}
    monkeypatch.setattr(install, "sources", lambda: broken)
    with pytest.raises(InstallRefused, match="cannot compile"):
        put(prefix)
    assert not os.path.exists(install.script_path(prefix))
    assert generations(prefix) == set()


def test_the_wrapper_comes_the_same_out_of_an_archive(prefix, tmp_path):
    archive = tmp_path / "payload.zip"
    with zipfile.ZipFile(archive, "w") as payload:
        for path in (ROOT / "probe").rglob("*.py"):
            payload.write(path, path.relative_to(ROOT))
    script = f"import sys; sys.path.insert(0, {str(archive)!r}); from probe import install; " \
             f"print(install.__file__); print(install.plan({prefix!r}).generation)"
    done = subprocess.run([sys.executable, "-IS", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    place, generation = done.stdout.split()
    assert place.startswith(str(archive))
    assert generation == install.plan(prefix).generation


@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_prefix_that_others_can_write_to_is_refused(prefix, mode):
    os.makedirs(os.path.join(prefix, "lib"))
    os.chmod(os.path.join(prefix, "lib"), mode)
    if mode == 0o775:
        if os.geteuid():
            pytest.skip("needs root to give a folder to another group")
        os.chown(os.path.join(prefix, "lib"), 0, 50)
    with pytest.raises(InstallRefused, match=r"/lib can be written to by others .*--prefix"):
        install.plan(prefix)


def test_a_link_to_a_place_that_others_can_write_to_is_refused(prefix):
    loose = os.path.join(os.path.dirname(prefix), "loose")
    os.makedirs(os.path.join(loose, "lib"))
    os.makedirs(prefix)
    os.chmod(loose, 0o777)
    os.symlink(os.path.join(loose, "lib"), os.path.join(prefix, "lib"))
    with pytest.raises(InstallRefused, match="loose can be written to by others"):
        install.plan(prefix)


def test_a_file_of_somebody_else_is_never_replaced(prefix):
    os.makedirs(os.path.dirname(install.script_path(prefix)))
    pathlib.Path(install.script_path(prefix)).write_text("#!/bin/sh\nexec something else\n")
    with pytest.raises(InstallRefused, match="was not written by"):
        install.plan(prefix)


def test_a_package_managers_start_script_of_this_package_comes_back_when_ours_goes(prefix):
    theirs = "#!/x/python\nfrom probe.confine.launch import main\nmain()\n"
    script = pathlib.Path(install.script_path(prefix))
    script.parent.mkdir(parents=True)
    script.write_text(theirs)
    put(prefix)
    assert install.self_test(str(script))["passed"]
    install.apply(install.removal(prefix))
    assert script.read_text() == theirs


def test_removal_takes_everything_and_a_second_one_has_nothing_to_do(prefix):
    put(prefix)
    install.apply(install.removal(prefix))
    left = [os.path.join(folder, name) for folder, _, names in os.walk(prefix) for name in names]
    assert left == []
    assert not os.path.exists(install.library_path(prefix))
    assert install.removal(prefix).changes == ()


def test_a_start_script_of_somebody_else_survives_a_removal(prefix):
    script = pathlib.Path(install.script_path(prefix))
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    with pytest.raises(InstallRefused, match="was not written by"):
        install.removal(prefix)


def test_an_interpreter_that_others_can_change_is_refused(prefix):
    loose = os.path.join(os.path.dirname(prefix), "python3")
    pathlib.Path(loose).write_text("#!/bin/sh\necho 3 12 aa bb\n")
    os.chmod(loose, 0o755)
    assert safety.interpreter(loose).version == "3.12"
    os.chmod(loose, 0o757)
    with pytest.raises(InstallRefused, match="can be written to by others"):
        install.plan(prefix, loose)


def test_an_interpreter_that_is_too_old_is_refused_with_its_version(prefix):
    old = os.path.join(os.path.dirname(prefix), "python3")
    pathlib.Path(old).write_text("#!/bin/sh\necho 3 6 aa bb\n")
    os.chmod(old, 0o755)
    with pytest.raises(InstallRefused, match=r"python3: is Python 3\.6.*Install"):
        install.plan(prefix, old)


def in_a_mount(prefix: str, options: str, what: str) -> str:
    """Runs `what` with a tmpfs of these options over the prefix, in a mount namespace of its own; its output."""
    os.makedirs(prefix)
    script = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from probe import install
from probe.safety import InstallRefused
prefix = {prefix!r}
try:
    {what}
except InstallRefused as refusal:
    print("refused:", refusal)
print(sorted(os.path.join(folder, name) for folder, _, names in os.walk(prefix) for name in names))
"""
    mount = f'mount -t tmpfs -o {options} none "$0" && exec "$1" -c "$2"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, prefix, sys.executable, script],
        capture_output=True, text=True, check=True, cwd="/")
    return done.stdout


@as_root
def test_a_read_only_file_system_is_told_before_anything_is_done(prefix):
    said = in_a_mount(prefix, "ro,mode=755", "install.plan(prefix)")
    assert "is on a read-only file system; choose a --prefix" in said


@as_root
def test_a_full_disk_leaves_nothing_half(prefix):
    said = in_a_mount(prefix, "size=64k,mode=755", "install.apply(install.plan(prefix))")
    assert "No space left on device" in said
    assert said.splitlines()[-1] == "[]"


def test_a_kill_at_any_moment_leaves_a_wrapper_that_works_or_none(prefix):
    started = time.monotonic()
    put(prefix)
    whole = time.monotonic() - started
    install.apply(install.removal(prefix))
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from probe import install; " \
             f"install.apply(install.plan({prefix!r}))"
    seen = set()
    for step in range(12):
        child = subprocess.Popen([sys.executable, "-c", script], cwd="/", start_new_session=True)
        time.sleep(whole * 1.5 * step / 11)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        command = install.script_path(prefix)
        seen.add(os.path.exists(command))
        if os.path.exists(command):
            assert install.self_test(command)["passed"]
            os.unlink(command)
    put(prefix)
    assert install.plan(prefix).changes == ()
    assert os.listdir(os.path.dirname(install.script_path(prefix))) == ["mcp-confine"]
    assert len(generations(prefix)) == 1
    assert False in seen


def test_a_start_reads_its_modules_from_one_file_in_the_order_they_import_each_other(prefix):
    command = put(prefix).command
    loaded = ("import sys; sys.argv = ['mcp-confine', '--version']\n"
              "class Stop(Exception): pass\n"
              "sys.path.insert(0, {folder!r})\n"
              "import confine.launch\n"
              "names = [name.partition('.') for name in sys.modules]; "
              "print(*[tail or '__init__' for head, _, tail in names if head == 'confine'])")
    folder = next(path for path in pathlib.Path(prefix, "lib/mcp-confine").iterdir() if path.is_dir())
    imported = subprocess.run(["/usr/bin/python3", "-IS", "-c", loaded.format(folder=str(folder))], check=True,
                              capture_output=True, text=True).stdout.split()
    assert set(imported) == set(install.START)
    told = subprocess.run(["/usr/bin/python3", "-IS", "-v", command, "--name", "x", "--", "true"], text=True,
                          capture_output=True, env={"HOME": prefix, "PATH": "/usr/bin"}).stderr
    assert "import 'confine" not in told, "a module was searched for although it is in the start file"


def test_a_start_file_that_is_not_there_only_costs_time(prefix):
    command = put(prefix).command
    for path in pathlib.Path(prefix, "lib").rglob("start.*"):
        path.unlink()
    assert subprocess.run([command, "--version"], capture_output=True, text=True).stdout.startswith("mcp-confine ")
