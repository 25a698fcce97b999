"""The one word in each kind of file: one afterwards, nothing else touched, and the old bytes again without it."""
from __future__ import annotations

import json
import subprocess

import pytest

from probe.boot import words

NEW = "landlock,yama,apparmor"


@pytest.mark.parametrize("before, after", [
    ("ro quiet", f"ro quiet lsm={NEW}"),
    ("ro quiet\n", f"ro quiet lsm={NEW}\n"),
    ("", f"lsm={NEW}"),
    ("lsm=yama ro", f"lsm={NEW} ro"),
    ("ro lsm=yama,apparmor quiet", f"ro lsm={NEW} quiet"),
    ("ro lsm=a quiet lsm=b splash", f"ro quiet lsm={NEW} splash"),
    ("lsm=a lsm=b ro", f"lsm={NEW} ro"),
    ("ro security=apparmor", f"ro security=apparmor lsm={NEW}"),
    ("ro xlsm=1 lsm.debug", f"ro xlsm=1 lsm.debug lsm={NEW}"),
    ("ro -- --verbose lsm=init", f"ro lsm={NEW} -- --verbose lsm=init"),
    ("ro --quiet", f"ro --quiet lsm={NEW}"),
])
def test_a_command_line_names_one_list(before, after):
    assert words.line(before, NEW) == after
    assert words.line(after, NEW) == after


@pytest.mark.parametrize("before", ["ro quiet", "ro quiet \n", "", "ro -- init", "a  b\tc\n"])
def test_taken_out_again_the_line_is_as_it_was(before):
    assert words.line(words.line(before, NEW), None) == before


def test_an_entry_gets_it_in_its_options_and_keeps_every_other_byte():
    entry = "title\tDebian\nversion 6.1\nlinux  /vmlinuz\noptions root=/dev/sda1 ro \noptions quiet\ninitrd /initrd\n"
    after = words.entry(entry, NEW)
    assert after == entry.replace("options quiet", f"options quiet lsm={NEW}")
    assert words.entry(after, None) == entry
    named = entry.replace("ro ", "ro lsm=yama ")
    assert words.entry(named, NEW) == entry.replace("ro ", f"ro lsm={NEW} ")
    assert words.entry("title x\nlinux /vmlinuz", NEW) == f"title x\nlinux /vmlinuz\noptions lsm={NEW}\n"
    other = "title Windows\nefi /EFI/x.efi\noptions y\n"
    assert words.entry(other, NEW) == other


def test_a_file_with_one_line_may_have_comments():
    assert words.one_line("# mine\nroot=/dev/sda1 ro\n\n", NEW) == f"# mine\nroot=/dev/sda1 ro lsm={NEW}\n\n"
    assert words.one_line("", NEW) == f"lsm={NEW}\n"


def test_kernelstubs_options_keep_their_order():
    held = {"default": {"kernel_options": ["quiet"]},
            "user": {"kernel_options": ["quiet", "lsm=yama", "splash"], "x": 1}}
    after = json.loads(words.kernelstub(json.dumps(held), NEW))
    assert after["user"] == {"kernel_options": ["quiet", f"lsm={NEW}", "splash"], "x": 1}
    held["user"]["kernel_options"].remove("lsm=yama")
    text = json.dumps(held, indent=2)
    assert words.kernelstub(words.kernelstub(text, NEW), None) == text
    for broken in ("", "[]", '{"user": {"kernel_options": "quiet splash"}}'):
        with pytest.raises(words.NotUnderstood):
            words.kernelstub(broken, NEW)


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("settings, normal, recovery", [
    ("", [NEW], [NEW]),
    ('GRUB_CMDLINE_LINUX_DEFAULT="quiet lsm=yama"', ["quiet", NEW], [NEW]),
    ('GRUB_CMDLINE_LINUX="lsm=a lsm=b console=ttyS0"\nGRUB_CMDLINE_LINUX_DEFAULT="lsm=c"', ["console=ttyS0", NEW],
     ["console=ttyS0", NEW]),
    (r'GRUB_CMDLINE_LINUX="dyndbg=\"file a.c +p\" x=50%d\\n"', [r'dyndbg="file', "a.c", '+p"', r"x=50%d\n", NEW],
     [r'dyndbg="file', "a.c", '+p"', r"x=50%d\n", NEW]),
])
def test_the_drop_in_read_by_a_shell_leaves_one_list_and_every_other_word(shell, settings, normal, recovery):
    script = f"set -e\n{settings}\n{words.block(NEW)}printf '%s' \"$GRUB_CMDLINE_LINUX\"; printf '\\n%s\\n' " \
             '"$GRUB_CMDLINE_LINUX_DEFAULT"'
    said = subprocess.run([shell, "-c", script], check=True, capture_output=True, text=True).stdout.split("\n")
    plain, default = (line.split() for line in said[:2])
    assert sorted(plain + default) == sorted([f"lsm={NEW}" if word == NEW else word for word in normal])
    assert plain == [f"lsm={NEW}" if word == NEW else word for word in recovery]


def test_our_block_at_the_end_of_grubs_file_goes_without_a_trace():
    for before in ("GRUB_DEFAULT=0\n", "GRUB_DEFAULT=0", ""):
        after = words.grub_file(before, NEW)
        assert words.found(after) == [NEW] and words.grub_file(after, None) == before
        assert words.grub_file(after, NEW) == after


def test_nothing_but_words_about_security_modules_is_shown_of_a_file():
    shown = words.masked("options root=/dev/sda1 rd.luks.key=sesame lsm=yama security=selinux\nx=sesame\n", "/x")
    assert shown == "lsm=yama security=selinux\n"
    assert "sesame" not in words.masked("options rd.luks.key=sesame\n", "/x")


def test_the_entries_of_grubs_own_script_count_and_other_systems_do_not():
    text = ("### BEGIN /etc/grub.d/10_linux ###\nmenuentry x {\n\tlinux\t/vmlinuz root=x ro lsm=a\n}\n"
            "submenu y {\n\t\tlinux /vmlinuz.old root=x ro single lsm=a lsm=b\n}\n### END /etc/grub.d/10_linux ###\n"
            "### BEGIN /etc/grub.d/30_os-prober ###\nlinux /other ro lsm=c\n### END /etc/grub.d/30_os-prober ###\n")
    assert words.generated(text) == ["a", "b"]
    assert words.generated("linux /vmlinuz ro\n") == [None]
