"""Which profiles on disk attach to a program is read as AppArmor reads it."""
from __future__ import annotations

import pytest

from probe.host import apparmor
from probe.host.apparmor import attachments, matches

from .trees import plant

BWRAP = {"bwrap": ["/usr/bin/bwrap"]}


@pytest.mark.parametrize(
    "pattern, path, fits",
    [
        ("/usr/bin/bwrap", "/usr/bin/bwrap", True),
        ("/usr/bin/bwrap", "/usr/bin/bwrap2", False),
        ("/{usr/,}bin/bwrap", "/usr/bin/bwrap", True),
        ("/{usr/,}bin/bwrap", "/bin/bwrap", True),
        ("/{,usr/}{,local/}bin/bwrap", "/usr/local/bin/bwrap", True),
        ("@{bin}/bwrap", "/usr/bin/bwrap", True),
        ("@{bin}/bwrap", "/opt/x/bwrap", False),
        ("/usr/bin/bwra?", "/usr/bin/bwrap", True),
        ("/usr/*/bwrap", "/usr/bin/bwrap", True),
        ("/usr/*/bwrap", "/usr/lib/x/bwrap", False),
        ("/usr/**/bwrap", "/usr/lib/x/bwrap", True),
        ("/**", "/usr/bin/bwrap", True),
        ("/opt/@{name}/bwrap", "/opt/a/b/bwrap", True),
        ("/usr/bin/bw{rap", "/usr/bin/bwrap", True),
        ("", "/usr/bin/bwrap", False),
    ],
)
def test_patterns(pattern, path, fits):
    assert matches(pattern, path) is fits


def test_a_profile_with_name_path_and_flags():
    rows = attachments(
        "abi <abi/4.0>,\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n", "mine", BWRAP, False
    )
    assert rows == [
        {
            "file": "mine",
            "name": "bwrap",
            "attaches": "/usr/bin/bwrap",
            "program": "bwrap",
            "unconfined": True,
            "stock": False,
            "disabled": False,
            "userns": True,
        }
    ]


@pytest.mark.parametrize(
    "head",
    [
        "/usr/bin/bwrap {",
        "profile /usr/bin/bwrap {",
        'profile x "/usr/bin/bwrap" (complain) {',
        "profile x @{bin}/bwrap flags=(attach_disconnected,mediate_deleted) {",
        "profile x /{usr/,}bin/bwrap xattrs=(a=b) flags=(complain) {",
    ],
)
def test_ways_to_write_a_head(head):
    rows = attachments(f"# /usr/bin/bwrap\n{head}\n  allow userns,\n}}\n", "f", BWRAP, False)
    assert len(rows) == 1 and rows[0]["userns"] and not rows[0]["unconfined"]


@pytest.mark.parametrize(
    "content",
    [
        "profile bwrap {\n  userns,\n}\n",
        "profile x /usr/bin/flatpak {\n  /usr/bin/bwrap rix,\n}\n",
        "# profile bwrap /usr/bin/bwrap {",
        "profile x /usr/bin/bwrap",
        "{" * 5000,
        "profile " * 3000,
    ],
)
def test_what_attaches_to_nothing(content):
    assert attachments(content, "f", BWRAP, False) == []


def test_the_rules_of_one_profile_are_not_those_of_the_next():
    content = "profile a /usr/bin/bwrap {\n  capability,\n}\nprofile b /usr/bin/other {\n  userns,\n}\n"
    assert attachments(content, "f", BWRAP, False)[0]["userns"] is False


def test_the_path_that_is_used_decides_and_a_disabled_file_is_told(tmp_path):
    plant(
        tmp_path,
        {
            "/home/ada/.local/bin/bwrap": "!",
            "/etc/environment": "PATH=/home/ada/.local/bin\n",
            "/etc/apparmor.d/bwrap-userns-restrict": "profile bwrap /usr/bin/bwrap {\n  userns,\n}\n",
            "/etc/apparmor.d/local.bwrap": "profile local /home/*/.local/bin/bwrap {\n  userns,\n}\n",
            "/etc/apparmor.d/disable/local.bwrap": "-> ../local.bwrap",
            "/etc/apparmor.d/abstractions/base": "/usr/bin/bwrap ix,",
        },
    )
    seen = apparmor.facts(str(tmp_path), "/home/ada")["profiles"]["value"]
    assert [(row["file"], row["disabled"]) for row in seen] == [("local.bwrap", True)]


def test_without_apparmor_it_is_absent_and_what_only_root_reads_is_unknown(tmp_path):
    seen = apparmor.facts(str(tmp_path), "/home/ada")
    assert (seen["enabled"]["state"], seen["loaded"]["state"], seen["profiles"]["value"]) == ("absent", "unknown", [])
