"""What all tests share: a wrapper installed from this tree, people to run it as, and the kernel's word on Landlock."""
from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def _tree() -> Path:
    """Where everybody can import the package from: this tree, or a copy where it lies in somebody's closed folder."""
    if os.geteuid() != 0 or all(place.stat().st_mode & 0o001 for place in (ROOT, *ROOT.parents)):
        return ROOT
    copy = Path(tempfile.mkdtemp(prefix="mcp-confine-tree-", dir="/opt"))
    atexit.register(shutil.rmtree, copy)
    copy.chmod(0o755)
    shutil.copytree(ROOT / "probe", copy / "probe", ignore=shutil.ignore_patterns("__pycache__"))
    return copy


TREE = _tree()
sys.path.insert(0, str(TREE))

# Each process of each run has a user of its own, so that runs beside each other do not meet.
PEOPLE = "mcp-confine-test"
PERSON = f"{PEOPLE}{os.getpid()}"


# Long suites with targets of their own: collected only where they are asked for by name.
ON_REQUEST = ("escape", "compat")


def pytest_ignore_collect(collection_path, config):
    asked = " ".join(str(word) for word in config.invocation_params.args)
    return True if collection_path.name in ON_REQUEST and collection_path.name not in asked else None


def pytest_addoption(parser):
    parser.addoption("--wrapper", help="test this installed mcp-confine instead of one made from the tree")
    parser.addoption("--abi", choices=("all", "newest"), default="all",
                     help="'newest': long suites on the kernel's own Landlock interface only, not on older ones too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--abi") == "all":
        return
    from probe.confine import landlock, selftest

    own = min(selftest.ask_kernel()[0] or 0, landlock.NEWEST)
    older = [item for item in items if hasattr(item, "callspec") and _interface(item.callspec.params, own) != own]
    config.hook.pytest_deselected(items=older)
    items[:] = [item for item in items if item not in set(older)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """In CI nothing may be missing: what is skipped elsewhere because it "needs" something fails there."""
    report = yield
    if os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason.startswith("needs "):
            report.outcome, report.longrepr = "failed", f"{item.nodeid} was not run, and CI must run it: it {reason}"
    return report


def _interface(parameters: dict, own: int) -> int:
    """The Landlock interface that a test is about: "abi" of an escape, what "confine" is given elsewhere."""
    return parameters.get("abi") or parameters.get("confine") or own


@pytest.fixture(scope="session")
def landlock_abi():
    """The kernel's Landlock ABI."""
    from probe.confine import selftest

    abi, error = selftest.ask_kernel()
    if abi is None:
        pytest.skip(f"needs a kernel with Landlock: {error}")
    return abi


@pytest.fixture(scope="session")
def tree():
    """The folder of the package, readable by everybody."""
    return TREE


@pytest.fixture(scope="session")
def wrapper(request, landlock_abi):
    """The path of an installed `mcp-confine`."""
    given = request.config.getoption("--wrapper")
    if given:
        yield given
        return
    from probe import install

    # Below a folder that only root can change, as everywhere in earnest; a user's own home when this is not root.
    prefix = tempfile.mkdtemp(prefix="mcp-confine-test-", dir="/opt" if os.geteuid() == 0 else Path.home())
    os.chmod(prefix, 0o755)
    plan = install.plan(prefix)
    install.apply(plan)
    yield plan.command
    shutil.rmtree(prefix)


class Person:
    """Somebody who starts servers: a name, a home, and a way to run things as them."""

    def __init__(self, name: str, home: str) -> None:
        self.name, self.home = name, home

    def environment(self, **more: str) -> dict[str, str]:
        path = os.environ.get("PATH", "") if self.name == pwd.getpwuid(os.geteuid()).pw_name else ""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "LANG": "C.UTF-8",
                "PATH": path or "/usr/local/bin:/usr/bin:/bin", **more}

    def run(self, argv, **options) -> subprocess.CompletedProcess:
        """`argv` as this person; text in and out, two minutes at most; `env` replaces `environment()`."""
        entry = pwd.getpwnam(self.name)
        become = {} if entry.pw_uid == os.geteuid() else {
            "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        settings = {"env": self.environment(), "cwd": self.home, "stdin": subprocess.DEVNULL, "capture_output": True,
                    "text": True, "timeout": 120, **become, **options}
        if "input" in settings:
            settings.pop("stdin")
        return subprocess.run([str(word) for word in argv], **settings)

    def file(self, name: str, content: str = "", mode: int = 0o600) -> str:
        """A file below this person's home, owned by them."""
        path = Path(self.home, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
        entry = pwd.getpwnam(self.name)
        for place in [path, *path.parents]:
            if not place.is_relative_to(self.home):
                break
            os.chown(place, entry.pw_uid, entry.pw_gid)
        return str(path)

    def folder(self, name: str) -> str:
        """A folder below this person's home, owned by them."""
        self.file(f"{name}/.here")
        return str(Path(self.home, name))


@pytest.fixture(scope="session")
def _account():
    if os.geteuid() != 0:
        yield None
        return
    for name in [entry.pw_name for entry in pwd.getpwall() if entry.pw_name.startswith(PEOPLE)]:
        process = name[len(PEOPLE):]
        if process == str(os.getpid()) or not os.path.exists(f"/proc/{process}"):
            _remove(name)  # of a run that was killed
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", PERSON], check=True, capture_output=True)
    yield PERSON
    _remove(PERSON)


def _remove(name: str) -> None:
    subprocess.run(["pkill", "-KILL", "-u", name], capture_output=True, check=False)
    subprocess.run(["userdel", "--force", "--remove", name], capture_output=True, check=False)


@pytest.fixture
def person(_account, tmp_path):
    """Somebody without privileges, with an empty home."""
    if _account is None:
        home = tmp_path / "home"
        home.mkdir()
        return Person(pwd.getpwuid(os.geteuid()).pw_name, str(home))
    entry = pwd.getpwnam(_account)
    shutil.rmtree(entry.pw_dir, ignore_errors=True)
    os.makedirs(entry.pw_dir, 0o755)
    os.chown(entry.pw_dir, entry.pw_uid, entry.pw_gid)
    return Person(_account, entry.pw_dir)


@pytest.fixture
def root_person(tmp_path):
    """Root as the one who starts servers, with a home of its own."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    home = Path(tempfile.mkdtemp(prefix="home-", dir="/opt"))
    yield Person("root", str(home))
    shutil.rmtree(home)
