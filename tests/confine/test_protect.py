"""Write grants stop short of everything by which a server could lift its own confinement or outlive it."""
from __future__ import annotations

import sys

import pytest

from probe.confine import protect, system
from probe.confine.policy import Refused


def refuse(home, *paths):
    protect.refuse_dangerous([(str(path), system.walk(str(path))[1], "command line") for path in paths], [str(home)])


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.mark.parametrize(("place", "why"), protect.HOME)
def test_each_protected_place_is_refused_itself_from_above_and_from_within(home, place, why):
    for path in (home / place, home / place / "inside"):
        with pytest.raises(Refused, match="writing there"):
            refuse(home, path)
    above = (home / place).parent
    with pytest.raises(Refused):
        refuse(home, above)


@pytest.mark.parametrize("path", ["/", "/home", "/usr", "/usr/local/share", "/etc/mcp-confine/policies", "/etc/cron.d",
                                  "/proc", "/sys/fs", "/boot", "/var/spool/cron", "/var"])
def test_system_folders_are_refused(home, path):
    with pytest.raises(Refused, match=f"{path}: writing there"):
        refuse(home, path)


def test_the_home_and_everything_above_it_are_refused(home):
    for path in (home, home.parent, home.parent.parent):
        with pytest.raises(Refused):
            refuse(home, path)


def test_the_wrapper_and_its_python_are_refused(home):
    for path in (protect.__file__, sys.executable):
        with pytest.raises(Refused):
            refuse(home, path)


def test_ordinary_folders_are_granted(home):
    for name in ("notes", "src/project", ".local/share/notes", ".config/myserver", ".cache"):
        (home / name).mkdir(parents=True)
        refuse(home, home / name)
    refuse(home, "/srv/data", "/dev/shm", "/mnt/disk")


def test_links_are_judged_by_where_they_lead(home):
    (home / ".ssh").mkdir()
    (home / "notes").mkdir()
    (home / "notes/link").symlink_to(home / ".ssh")
    with pytest.raises(Refused, match=r"\.ssh"):
        refuse(home, home / "notes/link")
    # A protected place that is itself a link protects what it leads to.
    (home / "dotfiles").mkdir()
    (home / "dotfiles/bashrc").write_text("")
    (home / ".bashrc").symlink_to(home / "dotfiles/bashrc")
    with pytest.raises(Refused, match=r"\.bashrc"):
        refuse(home, home / "dotfiles")
    # And a home that is a link is still the home.
    alias = home.parent / "alias"
    alias.symlink_to(home)
    with pytest.raises(Refused):
        refuse(alias, home)
    with pytest.raises(Refused):
        refuse(home, alias / ".ssh")
