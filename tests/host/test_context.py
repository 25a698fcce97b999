"""Where we are is told from files that any user can read, hints and proof apart."""
from __future__ import annotations

import pytest

from probe.host import boot, context, lsm

from .trees import plant

STATUS = "NoNewPrivs:\t{}\nSeccomp:\t{}\nCapBnd:\t{}\n"


def seen(tmp_path, **files):
    plant(tmp_path, files.pop("files"))
    return {name: fact["value"] for name, fact in context.facts(str(tmp_path)).items()}


@pytest.mark.parametrize(
    "release, extra, generation",
    [
        ("4.4.0-19041-Microsoft", {}, 1),
        ("5.15.167.4-microsoft-standard-WSL2", {}, 2),
        ("6.6.87.2-custom", {"/proc/sys/fs/binfmt_misc/WSLInterop": ""}, 2),
        ("6.6.87.2-custom", {"/proc/sys/fs/binfmt_misc/WSLInterop-late": ""}, 2),
        ("6.12.48-amd64", {"/proc/sys/fs/binfmt_misc/status": ""}, None),
        ("4.4.0-210-generic", {}, None),
    ],
)
def test_wsl(tmp_path, release, extra, generation):
    assert seen(tmp_path, files={"/proc/sys/kernel/osrelease": release + "\n", **extra})["wsl"] == generation


@pytest.mark.parametrize(
    "files, hints",
    [
        ({"/.dockerenv": ""}, ["docker"]),
        ({"/run/.containerenv": ""}, ["podman"]),
        ({"/run/systemd/container": "lxc\n"}, ["lxc"]),
        ({"/run/host/container-manager": "systemd-nspawn\n"}, ["systemd-nspawn"]),
        ({"/proc/1/environ": "A=b\0container=oci\0"}, ["oci"]),
        ({"/proc/self/environ": "KUBERNETES_SERVICE_HOST=10.0.0.1\0"}, ["kubernetes"]),
        ({"/proc/vz/x": ""}, ["openvz"]),
        ({"/proc/vz/x": "", "/proc/bc/x": ""}, []),
        ({"/run/systemd/container": "../../etc\x1b[2J\n"}, ["other"]),
        ({}, []),
    ],
)
def test_container_hints(tmp_path, files, hints):
    assert seen(tmp_path, files=files)["container_hints"] == hints


def test_restrictions_are_read_from_the_process(tmp_path):
    status = seen(tmp_path, files={"/proc/self/status": STATUS.format(1, 2, "00000000a80425fb")})["status"]
    assert status == {"no_new_privileges": True, "seccomp": 2, "filters": None, "bounding_set": 0xA80425FB}


@pytest.mark.parametrize(
    "line, unit",
    [
        ("0::/system.slice/agent.service", {"name": "agent.service", "user": False}),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/code@1.service/sub",
            {"name": "code@1.service", "user": True},
        ),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope", None),
        ("0::/user.slice/user-1000.slice/session-3.scope", None),
        ("", None),
        ("junk\n1:name=systemd:/system.slice/ssh.service", {"name": "ssh.service", "user": False}),
    ],
)
def test_the_unit_is_the_last_service_of_the_path(tmp_path, line, unit):
    assert context.unit(line) == unit


def test_a_chroot_has_no_root_in_its_mount_table(tmp_path):
    assert seen(tmp_path, files={"/proc/self/mountinfo": "1 0 0:1 / /proc rw - proc proc rw\n"})["chroot"] is True
    assert seen(tmp_path / "b", files={"/proc/self/mountinfo": "1 0 0:1 / / rw - ext4 /dev/a rw\n"})["chroot"] is False
    assert seen(tmp_path / "c", files={})["chroot"] is None


def test_a_server_of_ours_knows_that_it_is_inside(tmp_path):
    inside = {"/proc/self/environ": "HOME=/home/ada/.local/state/mcp-confine/servers/files/data\0"}
    assert seen(tmp_path, files=inside)["inside_wrapper"] is True
    assert seen(tmp_path / "b", files={"/proc/self/environ": "HOME=/home/ada\0"})["inside_wrapper"] is False


@pytest.mark.parametrize(
    "files, loader",
    [
        ({"/usr/sbin/update-grub": "", "/etc/default/grub": ""}, "grub"),
        ({"/usr/sbin/grubby": "", "/etc/default/grub": ""}, "grubby"),
        ({"/boot/firmware/cmdline.txt": "console=tty1"}, "raspberry"),
        ({"/efi/loader/loader.conf": ""}, "systemd-boot"),
        ({"/etc/kernelstub/configuration": "{}", "/boot/efi/loader/loader.conf": ""}, "kernelstub"),
        ({"/boot/extlinux/extlinux.conf": ""}, "extlinux"),
        ({"/etc/kernel/cmdline": ""}, "kernel-install"),
        ({"/sys/firmware/efi/x": ""}, "firmware"),
        ({}, "other"),
        (
            {boot.LOADER_VARIABLE: "\6\0\0\0s\0y\0s\0t\0e\0m\0d\0-\0b\0o\0o\0t\0 \0002\0", "/etc/default/grub": ""},
            "systemd-boot",
        ),
    ],
)
def test_the_boot_loader(tmp_path, files, loader):
    plant(tmp_path, files)
    assert boot.facts(str(tmp_path))["loader"]["value"] == loader


def test_the_last_of_equal_boot_parameters_counts_and_no_other_is_read():
    line = "BOOT_IMAGE=/x lsm=yama rd.luks.key=secret quiet lsm=apparmor,bpf security=apparmor -- lsm=init"
    assert boot.parameters(line) == {"lsm": "apparmor,bpf", "security": "apparmor"}


def test_the_settings_for_the_next_boot_are_found_with_their_variable(tmp_path):
    plant(tmp_path, {
        "/etc/default/grub": "# lsm=commented\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet lsm=yama,apparmor\"\n",
        "/etc/default/grub.d/50-cloud.cfg": "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX security=selinux\"\n",
        "/etc/default/grub.d/note.txt": "lsm=none"})
    found = boot.facts(str(tmp_path))["settings"]["value"]
    assert [(row["file"].rpartition("/")[2], row["variable"], row["parameter"], row["value"]) for row in found] == [
        ("grub", "GRUB_CMDLINE_LINUX_DEFAULT", "lsm", "yama,apparmor"),
        ("50-cloud.cfg", "GRUB_CMDLINE_LINUX", "security", "selinux"),
    ]


def test_a_list_of_modules_that_cannot_be_read_is_unknown_and_not_empty(tmp_path):
    assert lsm.facts(str(tmp_path))["active"]["state"] == "unknown"
    plant(tmp_path, {"/sys/kernel/security/lsm": "capability,landlock\n"})
    assert lsm.facts(str(tmp_path))["active"]["value"] == ["capability", "landlock"]


def test_an_option_that_is_not_set_is_not_built():
    assert lsm.options("# CONFIG_SECURITY_LANDLOCK is not set\nCONFIG_USER_NS=y\n")["CONFIG_SECURITY_LANDLOCK"] == "n"
