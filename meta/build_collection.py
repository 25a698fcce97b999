#!/usr/bin/env python3
"""Builds the Ansible collection out of this tree: the same files, each where a collection has it.

    python3 meta/build_collection.py [FOLDER]      FOLDER is build/ when not given

Leaves FOLDER/ansible_collections/mcp_confine/landlock for ansible-test, and the archive in FOLDER. Needs ansible-galaxy
in the PATH or beside the interpreter that runs this.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITY_VERSIONS = ("2.16", "2.17", "2.18", "2.19", "2.20", "2.21")
# what is in this tree: where it is in a collection
PARTS = {
    "library": "plugins/modules",
    "roles/mcp_confine/action_plugins": "plugins/action",
    "probe": "plugins/module_utils/probe",
    "roles": "roles",
    "playbooks": "playbooks",
    "docs": "docs",
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    "galaxy.yml": "galaxy.yml",
    "meta/runtime.yml": "meta/runtime.yml",
}
# The command is no part of a module's work, and its names would be looked for on every host.
LEFT_OUT = shutil.ignore_patterns("__pycache__", "cli.py", "*.pyc", "action_plugins")


def stage(folder: pathlib.Path) -> pathlib.Path:
    """Lays the collection's tree out below `folder` and returns its root."""
    place = folder / "ansible_collections" / "mcp_confine" / "landlock"
    shutil.rmtree(place, ignore_errors=True)
    for source, target in PARTS.items():
        path = ROOT / source
        (place / target).parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, place / target, ignore=LEFT_OUT)
        elif path.exists():
            shutil.copy(path, place / target)
    # A name with a hyphen cannot be called as part of a collection.
    for playbook in (place / "playbooks").glob("*-*.yml"):
        playbook.rename(playbook.with_name(playbook.name.replace("-", "_")))
    sanity = place / "tests" / "sanity"
    sanity.mkdir(parents=True)
    for version in SANITY_VERSIONS:
        shutil.copy(ROOT / "meta" / "sanity-ignore.txt", sanity / f"ignore-{version}.txt")
    return place


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    place = stage(folder)
    beside = pathlib.Path(sys.executable).parent / "ansible-galaxy"
    command = str(beside) if os.access(beside, os.X_OK) else "ansible-galaxy"
    done = subprocess.run([command, "collection", "build", "--force", "--output-path", folder, place], check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
