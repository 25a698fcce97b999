"""Where a path leads, step by step: links in every place, and folders whose contents decide about it."""
from __future__ import annotations

import os

import pytest

from probe.confine import system


@pytest.fixture
def top(tmp_path):
    for name in ("work/sub", "documents", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "documents/file").write_text("")
    return os.path.realpath(tmp_path)


@pytest.mark.parametrize("path", ["work/sub", "work/../documents/./file", "link/file", "link/../work", "loop",
                                  "missing/x", "dangling", "dangling/x", "relative", "//work//sub/"])
def test_a_walk_ends_where_the_kernel_does(top, path):
    os.symlink(f"{top}/documents", f"{top}/link")
    os.symlink("loop", f"{top}/loop")
    os.symlink(f"{top}/nowhere", f"{top}/dangling")
    os.symlink("home/../link/file", f"{top}/relative")
    entries, end = system.walk(f"{top}/{path}")
    if path == "loop":
        assert len(entries) >= 40
    else:
        assert end == os.path.realpath(f"{top}/{path}")


def test_the_folder_that_decides_is_named_however_the_path_comes_there(top):
    work = f"{top}/work"
    os.symlink(f"{top}/documents", f"{work}/out")
    os.symlink("work/sub", f"{top}/in")
    os.symlink("in/../../documents", f"{top}/through")
    for path in ("work/sub", "work/out/file", "in", "in/x", "work/../work/sub", "home/../work/missing"):
        assert system.entered(f"{top}/{path}", ["/nowhere", work]) == work, path
    for path in ("work", "documents/file", "home/../work", "in/../../documents", "through"):
        inside = system.entered(f"{top}/{path}", [work])
        # What only passes by a folder's own entry is the user's; what looks something up in it is not.
        assert inside == ("" if "in" not in path and path != "through" else work), path
