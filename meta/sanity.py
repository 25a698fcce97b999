#!/usr/bin/env python3
"""Runs `ansible-test sanity` over the built collection: python3 meta/sanity.py [OPTION OF ansible-test sanity…]

ansible-test installs what its tests need into environments of its own, with a pip that neither sees this machine's
PIP_* variables nor, for its first step, the settings in its files. So it gets a home of its own, in .lab/, with these
settings in a file and a first step that reads it. Beyond a mirror or a certificate nothing changes by that.
"""
from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import build_collection

HOME = build_collection.ROOT / ".lab" / "sanity"
# What ansible-test runs in place of its own download, with the arguments of get-pip.
FIRST_STEP = """
import runpy, subprocess, sys
subprocess.run([sys.executable, "-m", "ensurepip"], check=True)
sys.argv = ["pip", "install"] + [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__")
"""


def prepare() -> None:
    """Writes the home: the settings of pip here, and the first step for the version that ansible-test asks for."""
    import ansible_test

    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    settings = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        settings[name.rpartition(".")[2]] = ast.literal_eval(value).replace("\n", "\n    ")
    file = HOME / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
    asks = pathlib.Path(ansible_test.__file__).parent / "_internal" / "python_requirements.py"
    cache = HOME / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in re.findall(r"'(\d+(?:\.\d+){1,2})'", asks.read_text()):
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(FIRST_STEP)


def main() -> int:
    prepare()
    # Outside of this tree: ansible-test asks the nearest version control what belongs to a collection.
    with tempfile.TemporaryDirectory(prefix="sanity-") as folder:
        place = build_collection.stage(pathlib.Path(folder))
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
        # Of this Python alone: others that lie about here may be no more than a version manager's stubs.
        version = "{}.{}".format(*sys.version_info)
        command = ["ansible-test", "sanity", "--color", "no", "--python", version, *sys.argv[1:]]
        return subprocess.run(command, cwd=place, env={**os.environ, "HOME": str(HOME), "PATH": path}, check=False
                              ).returncode


if __name__ == "__main__":
    sys.exit(main())
