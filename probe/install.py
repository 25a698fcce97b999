"""Puts the wrapper in place, and takes it away.

    PREFIX/lib/mcp-confine/<generation>/confine/*.py      sources with bytecode, made for the interpreter that runs them
    PREFIX/bin/mcp-confine                                a few lines that name the interpreter and the generation

`plan` and `removal` look and never change anything; `apply` does what the plan says. A new generation is written
beside the old one, proved on this host as an unprivileged user, and only then named by the script, which is replaced
in one rename: whoever starts a server at any moment gets the old wrapper or the new one.
"""
from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from . import confine, safety
from .confine import (
    acts,
    environment,
    landlock,
    launch,
    policy,
    presets,
    privileges,
    protect,
    runtime,
    seccomp,
    selftest,
    show,
    system,
    version,
)
from .confine import plan as confine_plan
from .safety import InstallRefused

# Every module of the wrapper, imported by name: that is how an AnsiballZ archive comes to hold them.
WRAPPER = (confine, acts, environment, landlock, launch, confine_plan, policy, presets, privileges, protect,
           runtime, seccomp, selftest, show, system, version)
COMMAND = "mcp-confine"
# What every start imports, each after what it imports itself. Read from one file, where finding, opening and reading
# twelve would be a third of the time that the wrapper adds to a server's start.
START = ("__init__", "system", "policy", "presets", "environment", "landlock", "seccomp", "plan", "privileges",
         "protect", "runtime", "launch")
COMPILE = f"""
import marshal, os, py_compile, sys
for name in sys.argv[3:]:
    py_compile.compile(os.path.join(sys.argv[1], name), dfile=os.path.join(sys.argv[2], name), doraise=True,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
start = []
for name in {START!r}:
    with open(os.path.join(sys.argv[1], "confine", name + ".py"), "rb") as source:
        path = os.path.join(sys.argv[2], "confine", name + ".py")
        code = compile(source.read(), path, "exec", dont_inherit=True, optimize=2)
    start.append(("confine" if name == "__init__" else "confine." + name, code))
with open(os.path.join(sys.argv[1], "confine", "__pycache__", "start." + sys.implementation.cache_tag), "wb") as file:
    file.write(marshal.dumps(start))
"""
MANIFEST = "manifest.json"
REPLACED = "replaced"  # a package manager's own start script that stood where ours stands now
SELF_TEST_SECONDS = 60


class Change(NamedTuple):
    """One thing that differs: `before` and `after` are what a person would compare, None where there is nothing."""

    kind: str  # "tree", "script", "remove older", "remove script", "remove tree"
    path: str
    before: str | None
    after: str | None


class Plan(NamedTuple):
    """What has to change so that the wrapper is there, or is gone; nothing when `changes` is empty."""

    prefix: str
    interpreter: str  # "" in a removal
    generation: str  # "" in a removal
    changes: tuple[Change, ...]

    @property
    def command(self) -> str:
        return script_path(self.prefix)


def default_prefix() -> str:
    """`/usr/local` for root, the user's `~/.local` otherwise."""
    return "/usr/local" if os.geteuid() == 0 else os.path.join(os.path.expanduser("~"), ".local")


def script_path(prefix: str) -> str:
    return os.path.join(prefix, "bin", COMMAND)


def default_wrapper() -> str:
    """Where the start script is when nobody says otherwise."""
    return script_path(default_prefix())


def library_path(prefix: str) -> str:
    return os.path.join(prefix, "lib", COMMAND)


def sources() -> dict[str, str]:
    """The wrapper's sources by path below a generation, read as they were loaded: from files or from an archive."""
    found = {}
    for module in WRAPPER:
        specification = module.__spec__
        text = specification.loader.get_source(module.__name__)  # type: ignore[union-attr]
        if text is None:
            raise InstallRefused(f"the source of {module.__name__} is not here; install mcp-confine with its sources")
        inside = module.__name__[len(confine.__name__):].lstrip(".") or "__init__"
        found[f"confine/{inside}.py"] = text
    return found


def plan(prefix: str | None = None, interpreter: str | None = None) -> Plan:
    """What has to change below `prefix` for this wrapper to be the one that starts.

    Raises `InstallRefused` when it must not be done: a folder that others can write to, no safe interpreter, a
    read-only file system, or a foreign file where the script goes.
    """
    prefix = os.path.abspath(prefix or default_prefix())
    python = safety.interpreter(interpreter)
    wanted = sources()
    generation = _generation(wanted, python)
    folder = os.path.join(library_path(prefix), generation)
    script = _script(python.path, folder)
    changes = []
    if not _whole(folder, wanted):
        changes.append(Change("tree", folder, None, f"{len(wanted)} modules, for {python.path} ({python.version})\n"))
    before = _read_script(script_path(prefix))
    if before != script or not safety.is_own(script_path(prefix), 0o755):
        changes.append(Change("script", script_path(prefix), before, script))
    changes += [Change("remove older", path, "an older generation\n", None)
                for path in _stale(prefix, generation, before)]
    for place in (os.path.dirname(script_path(prefix)), library_path(prefix)):
        safety.refuse_unsafe_folder(place, writing=bool(changes))
    return Plan(prefix, python.path, generation, tuple(changes))


def removal(prefix: str | None = None) -> Plan:
    """What has to go for the wrapper to be gone; a start script that it had replaced comes back."""
    prefix = os.path.abspath(prefix or default_prefix())
    changes = []
    script, library = script_path(prefix), library_path(prefix)
    before = _read_script(script)
    if before is not None and _is_ours(before):
        changes.append(Change("remove script", script, before, None))
    if os.path.isdir(library):
        changes.append(Change("remove tree", library, "the wrapper's code\n", None))
    if changes:
        for place in (os.path.dirname(script), library):
            safety.refuse_unsafe_folder(place, writing=True)
    return Plan(prefix, "", "", tuple(changes))


def apply(wanted: Plan) -> None:
    """Does what the plan says. Raises `InstallRefused`; whatever was there before then is still there, and works."""
    if not wanted.changes:
        return
    library = library_path(wanted.prefix)
    try:
        with _locked(library):
            kinds = {change.kind for change in wanted.changes}
            if kinds & {"remove script", "remove tree"}:
                _remove(wanted)
            elif kinds & {"tree", "script"}:
                _put(wanted)
            for change in wanted.changes:
                if change.kind == "remove older":
                    _delete(change.path)
        if "remove tree" in kinds:
            shutil.rmtree(library)
    except OSError as problem:
        place = problem.filename or wanted.prefix
        raise InstallRefused(f"{place}: {problem.strerror}; nothing was put in use, the state before is still there. "
                             "Make room or make it writable, or choose another --prefix") from None


def self_test(command: str) -> dict:
    """The wrapper's own proof on this host, as an unprivileged user when this runs as root.

    The answer is that of `mcp-confine --self-test --json`; `passed` is False and `reason` tells when it gave none.
    """
    with safety.unprivileged() as (identity, home):
        try:
            done = subprocess.run(
                [command, "--self-test", "--json"], env={"PATH": os.defpath, "HOME": home}, cwd="/",
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SELF_TEST_SECONDS, check=False,
                **identity)
        except subprocess.TimeoutExpired:
            return {"passed": False, "reason": f"did not end within {SELF_TEST_SECONDS} s"}
        except OSError as problem:
            return {"passed": False, "reason": f"cannot be started by an unprivileged user: {problem.strerror}"}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()
        answer = {"passed": False, "reason": said[-1] if said else f"ended with status {done.returncode} and no answer"}
    answer["passed"] = answer.get("passed") is True and done.returncode == 0
    return answer


def _generation(wanted: dict[str, str], python: safety.Interpreter) -> str:
    """A name that changes with the sources, with how they are compiled, and with the interpreter that this is for."""
    content = hashlib.sha256()
    for part in [python.path, python.magic, COMPILE, *[f"{name}\0{text}" for name, text in sorted(wanted.items())]]:
        content.update(part.encode() + b"\0")
    return content.hexdigest()[:16]


def _script(python: str, folder: str) -> str:
    return (f"#!{python} -IS\n"
            "import gc, marshal, sys\n"
            "gc.disable()  # a start makes no garbage worth the search\n"
            f"folder = {folder!r}\n"
            "try:\n"
            '    with open(f"{folder}/confine/__pycache__/start.{sys.implementation.cache_tag}", "rb") as file:\n'
            "        for name, code in marshal.loads(file.read()):\n"
            "            module = sys.modules[name] = type(sys)(name)\n"
            '            module.__package__, module.__path__ = "confine", [folder + "/confine"]\n'
            "            module.__file__ = code.co_filename\n"
            "            exec(code, module.__dict__)\n"
            "except OSError:\n"
            "    sys.path.insert(0, folder)  # made for another Python: the modules load one by one\n"
            "from confine.launch import main\n"
            "sys.exit(main())\n")


def _is_ours(script: str) -> bool:
    return f"/lib/{COMMAND}/" in script and "from confine.launch import main" in script


def _read_script(path: str) -> str | None:
    """The script's text, a description where a link is, None where nothing is. Refuses what somebody else put there."""
    try:
        if os.path.isdir(path):
            raise InstallRefused(f"{path}: is a folder; remove it or choose another --prefix")
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 16)
    except FileNotFoundError:
        if not os.path.islink(path):
            return None
        return f"a link to {os.readlink(path)}, which does not exist\n"
    except OSError as problem:
        raise InstallRefused(f"{path}: cannot be read: {problem.strerror}") from None
    # pip, pipx and uv put a start script of this very package there; it is the same command without the isolation.
    if not _is_ours(text) and "probe.confine.launch" not in text:
        raise InstallRefused(f"{path}: was not written by `probe install`; move it away or choose another --prefix")
    return text


def _whole(folder: str, wanted: dict[str, str]) -> bool:
    """Whether the generation holds exactly these sources, and its bytecode is as it was written."""
    try:
        manifest = json.loads(_bytes(os.path.join(folder, MANIFEST)))
        places = {os.path.dirname(name) for name in manifest} | {""}
        return (set(wanted) <= set(manifest)
                and all(safety.is_own(os.path.join(folder, place), 0o755) for place in places)
                and all(safety.is_own(os.path.join(folder, name), 0o644) for name in manifest)
                and all(_bytes(os.path.join(folder, name)) == text.encode() for name, text in wanted.items())
                and all(_digest(os.path.join(folder, name)) == digest for name, digest in manifest.items()))
    except (OSError, ValueError):
        return False


def _stale(prefix: str, generation: str, script: str | None) -> list[str]:
    """Generations beyond the one wanted and the one before it, and what an interrupted run left behind."""
    library = library_path(prefix)
    found = re.search(rf"/lib/{COMMAND}/([0-9a-f]+)", script or "")
    named = found[1] if found else None
    try:
        present = [entry for entry in os.scandir(library) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        present = []
    older = [entry for entry in present if re.fullmatch("[0-9a-f]{16}", entry.name) and entry.name != generation]
    older.sort(key=lambda entry: (entry.name == named, entry.stat().st_mtime_ns), reverse=True)
    stale = [entry.path for entry in older[1:]] + [entry.path for entry in present if entry.name.endswith(".new")]
    beside = os.path.dirname(script_path(prefix))
    with contextlib.suppress(FileNotFoundError):
        stale += [entry.path for entry in os.scandir(beside) if entry.name.startswith(f".{COMMAND}.new")]
    return sorted(stale)


def _put(wanted: Plan) -> None:
    folder = os.path.join(library_path(wanted.prefix), wanted.generation)
    fresh = not _whole(folder, sources())  # asked again: another installation may have ended meanwhile
    if fresh:
        _write_tree(folder, wanted.interpreter)
    script = script_path(wanted.prefix)
    safety.make_folder(os.path.dirname(script))
    candidate = os.path.join(os.path.dirname(script), f".{COMMAND}.new{os.getpid()}")
    try:
        safety.write(candidate, _script(wanted.interpreter, folder).encode(), 0o755)
        proof = self_test(candidate)
        if not proof["passed"]:
            raise InstallRefused(f"the new wrapper did not pass its self-test here and was not put in use: "
                                 f"{proof.get('reason') or 'no reason given'}")
        _keep_replaced(wanted.prefix)
        os.rename(candidate, script)
        safety.sync_folder(os.path.dirname(script))
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(candidate)
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_tree(folder: str, interpreter: str) -> None:
    """Writes a generation beside its final place, compiles it for `interpreter`, and renames it there."""
    beside, wanted = f"{folder}.new", sources()
    _delete(beside)
    try:
        for name, text in wanted.items():
            safety.make_folder(os.path.dirname(os.path.join(beside, name)))
            safety.write(os.path.join(beside, name), text.encode(), 0o644)
        done = subprocess.run([interpreter, "-IS", "-c", COMPILE, beside, folder, *wanted], capture_output=True,
                              text=True, env={}, cwd="/", check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise InstallRefused(f"{interpreter} cannot compile the wrapper: {last}")
        cache = os.path.join(beside, "confine", "__pycache__")
        os.chmod(cache, 0o755)  # noqa: S103
        manifest = {name: _digest(os.path.join(beside, name)) for name in wanted}
        for entry in sorted(os.listdir(cache)):
            os.chmod(os.path.join(cache, entry), 0o644)
            safety.sync_file(os.path.join(cache, entry))
            manifest[f"confine/__pycache__/{entry}"] = _digest(os.path.join(cache, entry))
        safety.write(os.path.join(beside, MANIFEST), json.dumps(manifest, indent=1, sort_keys=True).encode(), 0o644)
        for place in (cache, os.path.dirname(cache), beside):
            safety.sync_folder(place)
        if os.path.lexists(folder):  # damaged; in use perhaps, so it is gone for no longer than two renames
            _delete(f"{folder}.damaged.new")
            os.rename(folder, f"{folder}.damaged.new")
        os.rename(beside, folder)
        _delete(f"{folder}.damaged.new")
        safety.sync_folder(os.path.dirname(folder))
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _keep_replaced(prefix: str) -> None:
    """Keeps a start script that is not ours, so that a removal gives it back."""
    script = script_path(prefix)
    if os.path.islink(script) or (os.path.exists(script) and not _is_ours(_read_script(script) or "")):
        kept = os.path.join(library_path(prefix), REPLACED)
        _delete(kept)
        if os.path.islink(script):
            os.symlink(os.readlink(script), kept)
        else:
            os.link(script, kept)


def _remove(wanted: Plan) -> None:
    script, kept = script_path(wanted.prefix), os.path.join(library_path(wanted.prefix), REPLACED)
    if any(change.kind == "remove script" for change in wanted.changes):
        if os.path.lexists(kept):
            os.rename(kept, script)
        else:
            os.unlink(script)
        safety.sync_folder(os.path.dirname(script))


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Holds the folder against another installation at the same time."""
    safety.make_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _digest(path: str) -> str:
    return hashlib.sha256(_bytes(path)).hexdigest()
