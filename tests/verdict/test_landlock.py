"""The verdict on Landlock and its neighbours: nothing is called usable that was not seen to work."""
from __future__ import annotations

import re

import pytest

from probe import verdict

from .hosts import ABSENT, CONTAINER, SNAP_DOCKER, UBUNTU, host, known, program, self_test, server, status, unknown

OFF = {"landlock.abi": unknown("EOPNOTSUPP"), "landlock.restrict": unknown("EOPNOTSUPP"), "landlock.self_tests": []}
LIVE = {"lsm.active": known(["capability", "lockdown", "yama", "apparmor"])}
DEBIAN = {"boot.loader": known("grub", "/usr/sbin/update-grub")}


def judged(*overlays, servers=()):
    return verdict.judge(host(*overlays), list(servers))


def codes(answer) -> list[str]:
    return [entry["code"] for entry in answer["findings"]]


def cures(answer, code: str) -> list[dict]:
    return next(entry["remedies"] for entry in answer["findings"] if entry["code"] == code)


def test_a_host_where_all_is_well():
    answer = judged()
    assert (answer["verdict"], answer["recommended"], verdict.exit_code(answer)) == ("usable", "landlock", 0)
    assert answer["mechanisms"]["landlock"]["codes"][0] == "LANDLOCK_USABLE"


@pytest.mark.parametrize(
    "tests",
    [
        [],
        [unknown("it hung")],
        [self_test(allowed="denied")],
        [
            known(
                {"folder": "/home/ada", "passed": False, "stages": [], "reason": "no room", "errno": "ENOSPC", "abi": 6}
            )
        ],
    ],
)
def test_an_abi_without_a_passed_test_is_not_usable(tests):
    answer = judged({"landlock.self_tests": tests})
    assert answer["mechanisms"]["landlock"]["state"] in ("unknown", "blocked")
    assert "LANDLOCK_USABLE" not in codes(answer)


def test_a_newer_kernel_than_the_table_is_usable():
    assert judged({"landlock.abi": known(99)})["verdict"] == "usable"


@pytest.mark.parametrize("abi, state", [(1, "limited"), (2, "usable"), (4, "usable"), (6, "usable"), (11, "usable")])
def test_each_abi_and_what_it_lacks(abi, state):
    answer = judged({"landlock.abi": known(abi)})
    assert answer["mechanisms"]["landlock"]["state"] == state
    assert ("LANDLOCK_OLDER_ABI" in codes(answer)) == (abi < 10)
    assert ("LANDLOCK_NO_RENAME_BETWEEN_FOLDERS" in codes(answer)) == (abi == 1)
    assert answer["recommended"] == "landlock"


def test_an_act_that_must_fail_and_does_not_blocks_everything_else():
    answer = judged({"landlock.self_tests": [self_test(), self_test("/srv", opened=("read_canary",))]})
    assert answer["mechanisms"]["landlock"]["state"] == "blocked"


# -- lsm=

@pytest.mark.parametrize("active, line", [
    (["capability", "lockdown", "yama", "apparmor"], "landlock,lockdown,yama,apparmor"),
    (["capability", "yama", "bpf", "apparmor"], "landlock,yama,bpf,apparmor"),
    (["capability", "selinux", "integrity"], "landlock,selinux,integrity"), (["capability"], "landlock")])
def test_the_line_is_the_live_list_with_landlock_in_front(active, line):
    answer = judged(OFF, DEBIAN, {"lsm.active": known(active)})
    cure = cures(answer, "LANDLOCK_OFF_AT_BOOT")[0]
    assert f'lsm={line}"' in cure["text"] and cure["reboot"] and "update-grub" in cure["undo"]


def test_without_the_live_list_no_line_is_guessed():
    answer = judged(OFF, {"lsm.active": unknown("securityfs is not mounted or is hidden")})
    assert [cure["id"] for cure in cures(answer, "LANDLOCK_OFF_AT_BOOT")] == ["lsm_read_list_first"]
    assert "lsm=" not in str(answer["mechanisms"]["landlock"]["remedies"])


@pytest.mark.parametrize(
    "loader, how, piece",
    [
        ("grub", "/usr/sbin/update-grub", "/etc/default/grub.d/zz-landlock.cfg"),
        ("grub", "/etc/default/grub", "to GRUB_CMDLINE_LINUX in"),
        ("grubby", "/usr/sbin/grubby", "grubby --update-kernel=ALL"),
        ("systemd-boot", "x", "options line"),
        ("kernelstub", "x", "--add-options"),
        ("raspberry", "/boot/firmware/cmdline.txt", "single line of /boot/firmware/cmdline.txt"),
        ("kernel-install", "x", "kernel-install add-all"),
        ("extlinux", "x", "extlinux.conf"),
        ("firmware", "x", "boot loader of this host"),
        ("other", "x", "boot loader of this host"),
    ],
)
def test_the_line_goes_where_this_hosts_loader_reads_it(loader, how, piece):
    answer = judged(OFF, LIVE, {"boot.loader": known(loader, how)})
    cure = cures(answer, "LANDLOCK_OFF_AT_BOOT")[0]
    assert piece in cure["text"] and "lsm=landlock,lockdown,yama,apparmor" in cure["text"]


def test_the_drop_in_is_read_after_those_already_there():
    there = ["50-cloudimg-settings.cfg", "zzz-provider.cfg"]
    answer = judged(OFF, LIVE, DEBIAN, {"boot.grub_files": known(there)})
    text = cures(answer, "LANDLOCK_OFF_AT_BOOT")[0]["text"]
    ours = re.search(r"/etc/default/grub\.d/(\S+\.cfg)", text).group(1)
    assert sorted([ours, *there])[-1] == ours


def test_a_list_that_somebody_set_is_changed_where_it_stands():
    settings = [
        {"file": "/etc/default/grub.d/10-x.cfg", "variable": "GRUB_CMDLINE_LINUX", "parameter": "lsm", "value": "yama"},
        {
            "file": "/etc/default/grub",
            "variable": "GRUB_CMDLINE_LINUX_DEFAULT",
            "parameter": "lsm",
            "value": "yama,bpf",
        },
    ]
    answer = judged(OFF, LIVE, DEBIAN, {"boot.settings": known(settings)})
    # The variable with _DEFAULT comes last on the command line, and the last lsm= wins.
    assert cures(answer, "LANDLOCK_OFF_AT_BOOT")[0]["text"].startswith(
        "In /etc/default/grub, replace lsm=yama,bpf by lsm=landlock,"
    )


def test_a_list_that_waits_for_a_reboot_is_not_written_again():
    settings = [{"file": "/etc/default/grub.d/zz-landlock.cfg", "variable": "GRUB_CMDLINE_LINUX", "parameter": "lsm",
                 "value": "landlock,yama"}]
    answer = judged(OFF, LIVE, {"boot.settings": known(settings)})
    assert answer["mechanisms"]["landlock"]["codes"] == ["LANDLOCK_REBOOT_PENDING"]
    assert "zz-landlock.cfg" in cures(answer, "LANDLOCK_REBOOT_PENDING")[0]["text"]


def test_wsl_and_containers_have_no_boot_loader():
    windows = judged(OFF, LIVE, {"context.wsl": known(2)})
    assert ".wslconfig" in cures(windows, "LANDLOCK_OFF_AT_BOOT")[0]["text"]
    assert cures(judged(OFF, CONTAINER), "LANDLOCK_OFF_AT_BOOT") == []


@pytest.mark.parametrize("why", ["ENOSYS", "EPERM", "SIGSYS", "EACCES"])
def test_no_boot_parameter_against_what_is_not_built_or_filtered(why):
    for surroundings in ({}, {"context.status": status(2)}, CONTAINER):
        answer = judged({**OFF, "landlock.abi": unknown(why)}, LIVE, surroundings)
        assert answer["mechanisms"]["landlock"]["state"] in ("absent", "blocked")
        assert "lsm=" not in str(answer["mechanisms"]["landlock"]["remedies"])


@pytest.mark.parametrize("seccomp, built, code", [
    (0, "y", "LANDLOCK_NOT_BUILT"), (2, "y", "LANDLOCK_SECCOMP_ENOSYS"), (2, "n", "LANDLOCK_NOT_BUILT"),
    (None, "y", "LANDLOCK_SECCOMP_ENOSYS")])
def test_a_missing_call_is_blamed_on_the_kernel_only_when_nobody_could_hide_it(seccomp, built, code):
    seen = unknown("EACCES") if seccomp is None else status(seccomp)
    answer = judged({**OFF, "landlock.abi": unknown("ENOSYS"), "context.status": seen},
                    {"lsm.built": known({"CONFIG_SECURITY_LANDLOCK": built})})
    assert answer["mechanisms"]["landlock"]["codes"] == [code]


# -- filters

@pytest.mark.parametrize(
    "surroundings, piece",
    [
        ({"context.unit": known({"name": "agent.service", "user": False})}, "`systemctl edit agent.service`"),
        ({"context.unit": known({"name": "agent.service", "user": True})}, "`systemctl --user edit agent.service`"),
        ({"context.snap": known("code")}, "snapd"),
        ({"context.container_hints": known(["podman"])}, "outside of this container"),
        ({}, "Seccomp"),
    ],
)
def test_who_filters_decides_the_cure(surroundings, piece):
    answer = judged({**OFF, "landlock.abi": unknown("EPERM"), "context.status": status(2)}, surroundings)
    assert piece in cures(answer, "LANDLOCK_SECCOMP_EPERM")[0]["text"]


@pytest.mark.parametrize(
    "stage, errno, more, code",
    [
        ("restrict", "E2BIG", {}, "LANDLOCK_LAYER_LIMIT"),
        ("ruleset", "EINVAL", {}, "LANDLOCK_ABI_LIES"),
        ("restrict", "SIGSYS", {}, "LANDLOCK_SECCOMP_KILL"),
        ("restrict", "EPERM", {"context.status": status(2)}, "LANDLOCK_SECCOMP_EPERM"),
        ("restrict", "EPERM", {"apparmor.label": known("snap.code.code (enforce)")}, "LANDLOCK_REFUSED_BY_PROFILE"),
        ("restrict", "EPERM", {"apparmor.label": known("unconfined")}, "LANDLOCK_REFUSED"),
        (
            "restrict",
            "EPERM",
            {"apparmor.label": known("unconfined_u:unconfined_r:unconfined_t:s0")},
            "LANDLOCK_REFUSED",
        ),
        ("ruleset", "ENOMEM", {}, "LANDLOCK_REFUSED"),
    ],
)
def test_each_way_to_fail_after_the_version_was_told(stage, errno, more, code):
    answer = judged({"landlock.restrict": known({"stage": stage, "errno": errno}), "landlock.self_tests": [], **more})
    assert answer["mechanisms"]["landlock"] == {**answer["mechanisms"]["landlock"], "state": "blocked", "codes": [code]}


# -- sockets and runtimes

DOCKER_SOCKET = {"kind": "docker", "path": "/var/run/docker.sock", "gives": "root", "state": "reachable"}


def test_a_reachable_strong_socket_that_the_test_saw_closed_is_a_word_of_caution():
    answer = judged({"sockets.reachable": known([DOCKER_SOCKET])})
    assert answer["verdict"] == "usable" and "LANDLOCK_SOCKETS_ALL_OR_NOTHING" in codes(answer)
    assert "LANDLOCK_SOCKETS_ALL_OR_NOTHING" not in codes(
        judged({"sockets.reachable": known([DOCKER_SOCKET]), "landlock.abi": known(9)})
    )
    assert "LANDLOCK_SOCKETS_ALL_OR_NOTHING" not in codes(
        judged({"sockets.reachable": known([{**DOCKER_SOCKET, "state": "EACCES"}])})
    )


def test_a_socket_that_the_test_could_reach_voids_the_confinement():
    answer = judged(
        {
            "sockets.reachable": known([DOCKER_SOCKET]),
            "landlock.self_tests": [self_test(opened=("connect_unix_socket",))],
        }
    )
    assert "LANDLOCK_SOCKETS_EXPOSED" in codes(answer)
    assert answer["mechanisms"]["landlock"]["state"] != "usable"


def test_a_test_without_the_socket_act_proves_nothing_about_sockets():
    test = self_test()
    test["value"]["stages"] = [row for row in test["value"]["stages"] if row["name"] != "connect_unix_socket"]
    assert "LANDLOCK_SOCKETS_EXPOSED" in codes(
        judged({"sockets.reachable": known([DOCKER_SOCKET]), "landlock.self_tests": [test]})
    )


def test_a_runtime_from_snap_is_a_limit():
    answer = judged({"runtimes.node": program("/snap/bin/node", "/usr/bin/snap", snap=True)})
    assert answer["mechanisms"]["landlock"]["state"] == "limited" and "RUNTIME_FROM_SNAP" in codes(answer)


# -- the founding case

def test_the_founding_case():
    argv = [
        "run",
        "-i",
        "--rm",
        "--init",
        "-v",
        "/opt/data:/data",
        "-v",
        "/home/ada/.app:/app",
        "-v",
        "/tmp/x:/x",
        "image",
    ]
    answer = judged(
        UBUNTU,
        SNAP_DOCKER,
        servers=[
            server("db", "docker", argv=argv),
            server("fine", "docker", argv=["run", "-i", "-v", "/home/ada/work:/w", "image"]),
            server("files", "npx"),
            server("search", "", "remote", transport="remote"),
        ],
    )
    assert (answer["verdict"], answer["recommended"]) == ("usable", "landlock")
    assert answer["mechanisms"]["docker"]["state"] == "limited"
    paths = next(entry for entry in answer["findings"] if entry["code"] == "DOCKER_SNAP_PATHS")
    assert [(row["server"], row["flag"], row["position"]) for row in paths["evidence"]["arguments"]] == [
        ("cursor:db", "-v", 5), ("cursor:db", "-v", 7), ("cursor:db", "-v", 9)]
    assert paths["remedies"][0]["id"] == "wrap_instead" and paths["remedies"][-1]["id"] == "docker_from_packages"
    privileges = next(entry for entry in answer["findings"] if entry["code"] == "DOCKER_SNAP_NO_NEW_PRIVILEGES")
    assert privileges["evidence"]["servers"] == ["cursor:db"]
    assert answer["scanner"]["state"] == "degraded" and "no-new-privileges" in answer["scanner"]["warning"]
    assert [(row["server"], row["isolation"]) for row in answer["servers"]] == [
        ("db", "docker"), ("fine", "docker"), ("files", "none"), ("search", "not_applicable")]


@pytest.mark.parametrize(
    "more",
    [
        {"apparmor.enabled": ABSENT, "docker.snap.daemon": ABSENT},
        {"apparmor.enabled": known(False), "docker.snap.daemon": ABSENT},
        {"docker.snap.snapd": known({"status": "active", "devmode": True, "confinement": "devmode"})},
        {"docker.snap.daemon": known({"label": "unconfined", "confined": False})},
    ],
)
def test_where_nothing_enforces_the_snaps_profile_containers_start(more):
    answer = judged(SNAP_DOCKER, more)
    assert "DOCKER_SNAP_NO_NEW_PRIVILEGES" not in codes(answer) and "DOCKER_SNAP" in codes(answer)
    assert answer["scanner"]["state"] == "usable"
