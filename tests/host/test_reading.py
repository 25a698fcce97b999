"""Files are read without waiting, and what was not there is told from what could not be read."""
from __future__ import annotations

import os

import pytest

from probe import users
from probe.host import read
from probe.host.folders import mount_of, parse_mounts

from .trees import plant


def test_three_answers_are_told_apart(tmp_path, person):
    plant(tmp_path, {"/there": " 7 \n"})
    assert read.number(str(tmp_path), "/there")["value"] == 7
    assert read.number(str(tmp_path), "/not there")["state"] == "absent"
    assert read.number(str(tmp_path), "/there/below")["state"] == "absent"
    closed = person.file("closed/file", "x")
    os.chmod(os.path.dirname(closed), 0)
    if os.geteuid() == 0:
        seen = users.run_as(users.named(person.name), read.text, "/", closed)
    else:
        seen = read.text("/", closed)
    assert (seen["state"], seen["why"]) == ("unknown", "EACCES")
    os.chmod(os.path.dirname(closed), 0o700)


@pytest.mark.parametrize("content", ["", "seven", "7 7", "\0\0", "9" * 5000, "0x7"])
def test_what_is_no_number_is_unknown(tmp_path, content):
    plant(tmp_path, {"/file": content})
    assert read.number(str(tmp_path), "/file")["state"] == "unknown"


def test_a_pipe_without_a_writer_does_not_keep_us_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert read.text(str(tmp_path), "/pipe")["state"] == "unknown"
    assert read.text("/", "/dev/zero")["state"] == "unknown"


def test_only_the_beginning_of_an_endless_file_is_read(tmp_path):
    with open(tmp_path / "big", "wb") as big:
        big.truncate(1 << 40)
    assert len(read.raw(str(tmp_path), "/big")) == read.LIMIT


def test_links_of_a_tree_stay_in_the_tree(tmp_path):
    plant(tmp_path, {"/a": "-> /b/c", "/b": "-> d", "/d/c": "x", "/up": "-> ../../../../d", "/loop": "-> /loop"})
    assert read.resolve(str(tmp_path), "/a") == "/d/c"
    assert read.resolve(str(tmp_path), "/up/c") == "/d/c"
    assert read.resolve(str(tmp_path), "/missing/x") == "/missing/x"
    assert read.resolve(str(tmp_path), "/loop/x").endswith("x")


def test_mounts_with_strange_names_are_read():
    table = parse_mounts(
        "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "2 1 0:9 / /mnt/my\\040disk ro,noexec master:2 - nfs4 files.example:/export rw\n"
        "3 1 0:8 / /mnt/c rw - 9p C:\\134 rw,aname=drvfs;path=C:\\134;uid=0\n"
        "4 1 0:7 / /mnt/my\\040disk rw - tmpfs none rw\n"
        "cut off 5 1 0:7 / /mnt")
    assert mount_of(table, "/mnt/my disk/x")["type"] == "tmpfs"  # the later of two at one place
    assert mount_of(table, "/mnt/c/work")["drvfs"] is True
    assert mount_of(table, "/mnt/cd")["mount_point"] == "/"
    assert "files.example" not in str(table)
