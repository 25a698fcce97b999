"""The house rules: which room may import which, what a target can run, and what must not stand in any file."""
from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "probe").rglob("*.py"))
STANDARD = set(sys.stdlib_module_names) if sys.version_info >= (3, 10) else None

# room: the other rooms it may import
ROOMS = {
    "confine": set(),
    "host": {"confine"},
    "verdict": set(),
    "clients": {"confine"},
    "check": {"confine", "clients"},
    "report": {"verdict"},
    "boot": {"host"},
}
# file: packages beyond the standard library, which their absence must not break
THIRD_PARTY = {
    "probe/clients/edit_toml.py": {"tomlkit"},
    "probe/clients/edit_yaml.py": {"yaml"},
    "probe/cli.py": {"distro"},
    "probe/report/html.py": {"jinja2", "markupsafe"},
}
EFFECTS = {"os", "posix", "subprocess", "socket", "io", "shutil", "pathlib", "ctypes"}


def room(path: Path) -> str:
    parts = path.relative_to(ROOT / "probe").parts
    return parts[0] if len(parts) > 1 else ""


def imports(path: Path):
    """(level, module, names) of every import in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.level, node.module or "", [name.name for name in node.names]
        elif isinstance(node, ast.Import):
            for name in node.names:
                yield 0, name.name, []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_room_imports_only_what_it_may(path):
    mine = room(path)
    for level, module, names in imports(path):
        if level == 0:
            top = module.split(".")[0]
            assert top != "probe", f"{module}: an absolute import of ourselves fails inside an AnsiballZ archive"
            allowed = THIRD_PARTY.get(str(path.relative_to(ROOT)), set())
            if STANDARD is not None:
                assert top in STANDARD or top in allowed, f"{module}: a target has the standard library only"
        elif level == 2 and mine in ROOMS:
            for other in [module.split(".")[0]] if module else names:
                if (ROOT / "probe" / other).is_dir():
                    assert other in ROOMS[mine], f"{mine} may not import {other}"
        elif level > 2:
            pytest.fail(f"{path}: reaches out of the package")
        if mine == "confine" and level:
            assert level == 1, "the wrapper is installed alone"


def test_the_judge_touches_nothing():
    for path in (ROOT / "probe/verdict").glob("*.py"):
        for level, module, _ in imports(path):
            if level == 0:
                assert module.split(".")[0] not in EFFECTS, path


@pytest.mark.parametrize("version", ["3.9"])
def test_everything_on_a_target_parses_as_the_oldest_python_does(version):
    feature = tuple(int(part) for part in version.split("."))
    for path in [*FILES, *(ROOT / "library").glob("*.py")]:
        ast.parse(path.read_text(), str(path), feature_version=feature)


def test_importing_the_package_does_nothing_a_user_could_notice():
    ran = subprocess.run([sys.executable, "-c", "import probe, probe.cli, probe.confine, probe.clients, probe.verdict"],
                         cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_no_file_is_longer_than_one_subject_needs():
    for path in [*FILES, *(ROOT / "library").glob("*.py")]:
        assert len(path.read_text().splitlines()) <= 420, f"{path}: holds two subjects"
