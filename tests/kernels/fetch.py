"""Debian's kernels: the newest package of each series, from the mirror that this machine's own apt is set to.

apt does the work with lists of its own, so that signatures are verified and the machine's configuration stays as it is.
"""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

LAB = Path(__file__).resolve().parents[2] / ".lab" / "kernels"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ("bullseye", "bookworm", "trixie", "trixie-backports")
# series: the ABI that its kernels have, None for "no Landlock". A newer series than the last is taken as it comes.
SERIES = {"5.10": None, "6.1": 2, "6.12": 6, "6.16": 7, "7.0": 8, "7.1": 9, "7.2": 10, "7.3": 11}
PACKAGE = re.compile(r"^linux-(image|binary)-(\d+\.\d+)(\.[\w.+]+|-\d+)?-?.*cloud-amd64$")


class NotThere(LookupError):
    """The mirror has no kernel of that series."""


def mirror() -> str:
    """The first Debian archive that this machine's apt uses. Raises `NotThere`."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)"], check=True,
                            capture_output=True, text=True).stdout
    for line in listed.splitlines():
        site, _, release = line.partition(" ")
        if release in ("bookworm", "trixie", "forky", "stable") and "security" not in site:
            return site
    raise NotThere("apt is not set to a Debian archive on this machine")


def _apt(*words: str) -> str:
    options = {
        "Dir::Etc::sourcelist": f"{LAB}/apt/sources.list", "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": f"{LAB}/apt/state", "Dir::Cache": f"{LAB}/apt/cache", "Dir::State::status": f"{LAB}/apt/status",
        "APT::Architecture": "amd64", "Acquire::Check-Valid-Until": "false", "APT::Sandbox::User": "root"}
    command = [words[0], *[word for pair in options.items() for word in ("-o", "=".join(pair))], *words[1:]]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=LAB / "apt").stdout


def index() -> list[str]:
    """The names of all packages in the suites, after an update."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (LAB / "apt" / folder).mkdir(parents=True, exist_ok=True)
    (LAB / "apt/status").touch()
    site = mirror()
    (LAB / "apt/sources.list").write_text("".join(
        f"deb [signed-by={KEYRING}] {site} {suite} main\n" for suite in SUITES))
    _apt("apt-get", "update", "-qq")
    return _apt("apt-cache", "pkgnames", "linux-").splitlines()


def series_of(names: list[str]) -> dict[str, list[str]]:
    """Series to the packages that hold a kernel of it, newest first."""
    found: dict[str, list[str]] = {}
    for name in names:
        match = PACKAGE.match(name)
        if match and "-rt-" not in name:
            found.setdefault(match[2], []).append(name)
    # From 7.0 on the kernel is in linux-binary-..., and linux-image-... only points to it.
    for series, packages in found.items():
        binaries = [name for name in packages if name.startswith("linux-binary-")]
        found[series] = sorted(binaries or packages, key=_version, reverse=True)
    return found


def _version(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def kernel(series: str, packages: dict[str, list[str]]) -> tuple[Path, str]:
    """(path of the kernel image, package name) of a series; downloaded once. Raises `NotThere`."""
    if series not in packages:
        raise NotThere(f"{series}: the mirror has no kernel of this series; it has {', '.join(sorted(packages))}")
    name = packages[series][0]
    image = LAB / "images" / name
    if not image.exists():
        image.parent.mkdir(exist_ok=True)
        _apt("apt-get", "download", name)
        archive = next((LAB / "apt").glob(f"{name}_*.deb"))
        tree = LAB / "unpacked"
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["dpkg-deb", "-x", archive, tree], check=True)
        found = next((path for path in tree.rglob("vmlinuz*") if path.is_file()), None)
        if found is None:
            raise NotThere(f"{series}: {name} holds no kernel image")
        shutil.move(found, image)
        shutil.rmtree(tree)
        archive.unlink()
    return image, name
