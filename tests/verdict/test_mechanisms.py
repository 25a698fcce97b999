"""The other mechanisms: the true reason, from the stage and the surroundings, and never from a sentence alone."""
from __future__ import annotations

import pytest

from probe import verdict
from probe.host.attempt import STAGES

from .hosts import (
    ABSENT,
    CONTAINER,
    SNAP_DOCKER,
    UBUNTU,
    client,
    endpoint,
    host,
    known,
    program,
    run,
    server,
    stages,
    status,
    unknown,
)

ROOT = {"user": {"name": "root", "uid": 0, "home": "/root", "root": True}}
FIRST, MAP, SLAVE = "make user namespace", "write uid_map", "make / slave"
FAILS = {
    "bubblewrap.run": run(False, "bwrap: setting up uid map: Permission denied"),
    "bubblewrap.nested": unknown("no"),
}


def profile(file="bwrap-userns-restrict", **more):
    return {"file": file, "name": "bwrap", "attaches": "/usr/bin/bwrap", "program": "bwrap", "unconfined": False,
            "stock": file == "bwrap-userns-restrict", "disabled": False, "userns": True, **more}


def judged(*overlays, servers=()):
    return verdict.judge(host(*overlays), list(servers))


def codes(answer) -> list[str]:
    return [entry["code"] for entry in answer["findings"]]


def cures(answer, code: str) -> list[str]:
    return [cure["id"] for entry in answer["findings"] if entry["code"] == code for cure in entry["remedies"]]


# -- namespaces

@pytest.mark.parametrize(
    "failed, errno, more, code",
    [
        (FIRST, "EPERM", {"namespaces.unprivileged_clone": known(0)}, "USERNS_DISABLED_BY_SYSCTL"),
        (FIRST, "EPERM", {"context.chroot": known(True)}, "USERNS_IN_CHROOT"),
        (FIRST, "EPERM", {"context.status": status(2)}, "USERNS_SECCOMP"),
        (FIRST, "EPERM", {"namespaces.apparmor_restrict": known(1)}, "USERNS_APPARMOR_RESTRICTED"),
        (FIRST, "EACCES", {"lsm.selinux_enforcing": known(True)}, "USERNS_SELINUX"),
        (FIRST, "EPERM", {}, "USERNS_REFUSED"),
        (FIRST, "ENOSPC", {"namespaces.most": known(0)}, "USERNS_LIMIT_REACHED"),
        (FIRST, "ENOSPC", {}, "USERNS_LIMIT_REACHED"),
        (FIRST, "EINVAL", {}, "USERNS_NOT_BUILT"),
        (FIRST, "ENOSYS", {"context.status": status(2)}, "USERNS_SECCOMP"),
        (FIRST, "SIGSYS", {}, "USERNS_SECCOMP"),
        (FIRST, "EPERM", {"namespaces.module_enabled": known("N")}, "USERNS_OFF_AT_BOOT"),
        (MAP, "EPERM", {"namespaces.apparmor_restrict": known(1)}, "USERNS_APPARMOR_RESTRICTED"),
        (MAP, "EACCES", {}, "USERNS_REFUSED"),
        (SLAVE, "EACCES", CONTAINER, "USERNS_MOUNT_DENIED"),
        (SLAVE, "EPERM", {}, "USERNS_MOUNT_DENIED"),
        ("bring lo up", "EPERM", {"namespaces.apparmor_restrict": known(1)}, "USERNS_APPARMOR_RESTRICTED"),
        ("bring lo up", "EPERM", {"context.status": status(2)}, "USERNS_SECCOMP"),
    ],
)
def test_the_cause_of_each_stage(failed, errno, more, code):
    answer = judged(FAILS, {"namespaces.stages": stages(failed, errno)}, more)
    assert code in codes(answer)
    assert answer["mechanisms"]["bubblewrap"]["state"] == "blocked"


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != FIRST])
def test_the_label_after_the_first_stage_decides_whatever_the_switch_says(stage):
    answer = judged(FAILS, {"namespaces.stages": stages(stage, "EPERM", "unprivileged_userns (enforce)"),
                            "namespaces.apparmor_restrict": unknown("EACCES")})
    assert "USERNS_APPARMOR_RESTRICTED" in codes(answer)


def test_a_full_limit_that_is_not_zero_is_not_raised_blindly():
    answer = judged({"namespaces.stages": stages(FIRST, "ENOSPC")})
    assert "raise_limit" not in cures(answer, "USERNS_LIMIT_REACHED")


# -- AppArmor's remedies

@pytest.mark.parametrize("code", ["USERNS_APPARMOR_RESTRICTED", "BUBBLEWRAP_PATH_NOT_PROFILED"])
@pytest.mark.parametrize("more, wanted", [
    ({"apparmor.extra_profile": known(True)}, ["use_landlock", "load_stock_profile", "apparmor_sysctl"]),
    ({}, ["use_landlock", "install_stock_profile", "apparmor_sysctl"]),
    ({"bubblewrap.program": program("/home/ada/.nix-profile/bin/bwrap", "/nix/store/x/bin/bwrap")},
     ["use_landlock", "profile_for_path", "apparmor_sysctl"])])
def test_narrow_before_broad_and_for_the_path_that_is_used(code, more, wanted):
    answer = judged(UBUNTU, more)
    assert cures(answer, code) == wanted
    text = str(answer["mechanisms"]["bubblewrap"]["remedies"])
    assert ("/nix/store/x/bin/bwrap flags" in text) == ("profile_for_path" in wanted)


@pytest.mark.parametrize("rows, code, wanted", [
    ([profile(disabled=True)], "BUBBLEWRAP_PROFILE_NOT_ACTIVE", ["use_landlock", "enable_profile"]),
    ([profile("local.bwrap")], "BUBBLEWRAP_PROFILE_NOT_ACTIVE", ["use_landlock", "reload_profile"]),
    ([profile(), profile("bwrap")], "BUBBLEWRAP_PROFILE_CONFLICT", ["use_landlock", "keep_one_profile"])])
def test_a_path_with_a_profile_gets_no_second_one(rows, code, wanted):
    answer = judged(UBUNTU, {"apparmor.profiles": known(rows)})
    assert cures(answer, code) == wanted
    everything = {cure["id"] for entry in answer["findings"] for cure in entry["remedies"]}
    assert not everything & {"load_stock_profile", "install_stock_profile", "profile_for_path"}


def test_two_profiles_of_which_one_is_off_are_no_conflict():
    answer = judged(UBUNTU, {"apparmor.profiles": known([profile(disabled=True), profile("bwrap")])})
    assert "BUBBLEWRAP_PROFILE_CONFLICT" not in codes(answer)


def test_a_profile_that_replaces_the_stock_one_is_told_where_bwrap_works():
    answer = judged(
        {
            "namespaces.apparmor_restrict": known(1),
            "namespaces.stages": UBUNTU["namespaces.stages"],
            "bubblewrap.run": run(label="bwrap (unconfined)"),
            "apparmor.profiles": known([profile("bwrap", unconfined=True)]),
        }
    )
    assert "BUBBLEWRAP_PROFILE_OVERBROAD" in codes(answer) and answer["mechanisms"]["bubblewrap"]["state"] == "limited"


def test_a_profile_may_let_bwrap_do_what_nothing_else_may():
    answer = judged(
        UBUNTU, {"bubblewrap.run": run(), "bubblewrap.nested": run(), "apparmor.profiles": known([profile()])}
    )
    assert answer["mechanisms"]["bubblewrap"]["state"] == "usable"


@pytest.mark.parametrize(
    "said, more, code",
    [
        ("bwrap: Failed to make / slave: Permission denied", CONTAINER, "BUBBLEWRAP_MOUNT_DENIED"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", CONTAINER, "BUBBLEWRAP_PROC_DENIED"),
        (
            "bwrap: Can't read /proc/sys/kernel/overflowuid: No such file",
            {"context.unit": known({"name": "a.service", "user": False})},
            "BUBBLEWRAP_PROC_DENIED",
        ),
        ("bwrap: Unknown option --proc", {}, "BUBBLEWRAP_OPTIONS_FAIL"),
        (
            "bwrap: setting up uid map: Permission denied",
            {"context.inside_wrapper": known(True)},
            "BUBBLEWRAP_INSIDE_LANDLOCK",
        ),
    ],
)
def test_stages_that_pass_while_bwrap_fails(said, more, code):
    answer = judged({"bubblewrap.run": run(False, said)}, more)
    assert code in codes(answer) and answer["mechanisms"]["bubblewrap"]["state"] == "blocked"


def test_bwrap_that_is_not_there_is_absent_and_one_that_could_not_be_looked_for_unknown():
    assert (
        judged({"bubblewrap.program": ABSENT, "bubblewrap.run": unknown("no")})["mechanisms"]["bubblewrap"]["state"]
        == "absent"
    )
    assert judged({"bubblewrap": {}})["mechanisms"]["bubblewrap"]["state"] == "unknown"


# -- Docker and Podman

@pytest.mark.parametrize(
    "state, more, code",
    [
        ("ENOENT", {}, "DOCKER_DAEMON_DOWN"),
        ("ECONNREFUSED", {}, "DOCKER_DAEMON_DOWN"),
        ("EACCES", {}, "DOCKER_NO_PERMISSION"),
        ("EACCES", {"docker.group": known({"in_database": True, "in_session": False})}, "DOCKER_GROUP_NOT_REFRESHED"),
        ("EACCES", {"docker.group": known({"in_database": False, "in_session": False})}, "DOCKER_NO_PERMISSION"),
        ("timeout", {}, "DOCKER_NO_ANSWER"),
        ("HTTP 500", {}, "DOCKER_NO_ANSWER"),
    ],
)
def test_why_a_daemon_cannot_be_used(state, more, code):
    answer = judged(
        {"docker.clients": known([client()]), "docker.endpoints": known([endpoint(state, "unknown")])}, more
    )
    assert code in codes(answer)
    assert answer["mechanisms"]["docker"]["state"] == ("unknown" if code == "DOCKER_NO_ANSWER" else "blocked")
    assert answer["scanner"]["state"] in ("unavailable", "unknown") and answer["scanner"]["warning"]


def test_membership_in_the_group_is_the_last_of_the_cures():
    answer = judged({"docker.clients": known([client()]), "docker.endpoints": known([endpoint("EACCES")])})
    assert cures(answer, "DOCKER_NO_PERMISSION")[-1] == "docker_group"


@pytest.mark.parametrize(
    "clients, daemon, code",
    [
        ([client("snap", "/snap/bin/docker")], "package", "DOCKER_MIXED_ORIGIN"),
        ([client()], "snap", "DOCKER_MIXED_ORIGIN"),
        ([client(), client("snap", "/snap/bin/docker")], "package", "DOCKER_MIXED_ORIGIN"),
    ],
)
def test_client_and_daemon_are_judged_apart(clients, daemon, code):
    assert code in codes(
        judged({"docker.clients": known(clients), "docker.endpoints": known([endpoint(origin=daemon)])})
    )


def test_the_daemon_of_a_package_with_a_snap_removed_long_ago_is_no_snap():
    answer = judged(
        {"docker.clients": known([client()]), "docker.endpoints": known([endpoint()]), "docker.snap.data": known(True)}
    )
    assert answer["mechanisms"]["docker"]["state"] == "usable" and "DOCKER_SNAP" not in codes(answer)


@pytest.mark.parametrize(
    "sign",
    [
        {"docker.snap.unit": known(True)},
        {"docker.snap.files": known(["/var/lib/snapd/snaps/docker_1.snap"])},
        {"docker.snap.mount": known({"folder": "/snap/docker/current", "version": None, "confinement": None})},
        {"docker.snap.snapd": known({"status": "active"})},
        {"docker.snap.instances": known(["docker_two"])},
    ],
)
def test_each_sign_alone_shows_an_installed_snap(sign):
    answer = judged(sign)
    assert "DOCKER_SNAP" in codes(answer) and answer["mechanisms"]["docker"]["state"] != "absent"


@pytest.mark.parametrize("more, code", [
    ({"context.status": status(0, True)}, "DOCKER_SNAP_CLIENT_NO_NEW_PRIVILEGES"),
    ({"user": {"name": "ada", "uid": 1000, "home": "/srv/homes/ada", "root": False}}, "DOCKER_SNAP_HOME_OUTSIDE")])
def test_what_keeps_snaps_client_from_starting_at_all(more, code):
    answer = judged(SNAP_DOCKER, more)
    assert code in codes(answer) and answer["mechanisms"]["docker"]["state"] == "blocked"
    assert answer["scanner"]["state"] == "unavailable"


def test_the_unit_of_a_client_is_opened_no_wider_than_needed():
    answer = judged(
        SNAP_DOCKER,
        {"context.status": status(0, True), "context.unit": known({"name": "proxy.service", "user": False})},
    )
    text = next(cure["text"] for cure in answer["mechanisms"]["docker"]["remedies"] if cure["id"] == "unit_for_snap")
    assert (
        "NoNewPrivileges=no" in text
        and "proxy.service" in text
        and "ProtectHome" not in text
        and "Capability" not in text
    )


@pytest.mark.parametrize(
    "row, code",
    [
        (endpoint(origin="rootless"), "DOCKER_ROOTLESS"),
        (endpoint(origin="desktop"), "DOCKER_DESKTOP"),
        (endpoint(origin="podman", engine="podman"), "DOCKER_IS_PODMAN"),
        ({**endpoint("not asked"), "scheme": "ssh", "path": None}, "DOCKER_REMOTE"),
    ],
)
def test_other_kinds_of_docker(row, code):
    assert code in codes(judged({"docker.clients": known([client()]), "docker.endpoints": known([row])}))


@pytest.mark.parametrize(
    "more, state, code",
    [
        ({}, "usable", "PODMAN_USABLE"),
        ({"podman.subuid": known(0)}, "limited", "PODMAN_NO_SUBORDINATE_IDS"),
        ({"podman.newuidmap": ABSENT}, "limited", "PODMAN_NO_SUBORDINATE_IDS"),
        (UBUNTU, "blocked", "USERNS_APPARMOR_RESTRICTED"),
        ({"namespaces": {}}, "unknown", "PROBE_UNKNOWN"),
    ],
)
def test_podman(more, state, code):
    answer = judged(more, {"podman.program": program("/usr/bin/podman")})
    assert answer["mechanisms"]["podman"]["state"] == state and code in answer["mechanisms"]["podman"]["codes"]


# -- around

def test_without_landlock_another_mechanism_is_recommended_and_the_verdict_is_limited():
    gone = {"landlock.abi": unknown("ENOSYS"), "landlock.self_tests": []}
    answer = judged(gone)
    assert (answer["verdict"], answer["recommended"], verdict.exit_code(answer)) == ("limited", "bubblewrap", 10)
    answer = judged(gone, {"bubblewrap.program": ABSENT})
    assert (answer["verdict"], answer["recommended"], verdict.exit_code(answer)) == ("blocked", None, 11)
    assert "use_landlock" not in str(answer)  # nobody is sent to what does not work


def test_a_left_over_file_of_an_image_is_only_a_hint():
    answer = judged({"context.container_hints": known(["docker"])})
    assert "CONTEXT_CONTAINER_HINT_ONLY" in codes(answer) and "CONTEXT_CONTAINER" not in codes(answer)


@pytest.mark.parametrize("sign", [{"context.status": status(2)}, {"context.status": status(0, bounding_set=0xA80425FB)},
                                  {"context.uid_map_full": known(False)}, {"context.root_mount": known("overlay")}])
def test_each_sign_confirms_a_container(sign):
    assert "CONTEXT_CONTAINER" in codes(judged({"context.container_hints": known(["lxc"])}, sign))


def test_yama_concerns_tracing_alone():
    answer = judged({"lsm.yama_ptrace_scope": known(2)})
    assert answer["verdict"] == "usable" and "TRACING_RESTRICTED" in codes(answer)
    assert "TRACING_RESTRICTED" not in codes(judged({"lsm.yama_ptrace_scope": known(1)}))


@pytest.mark.parametrize(
    "row, isolation",
    [
        (server(), "none"),
        (server(state="confined"), "landlock"),
        (server(command="docker"), "docker"),
        (server(command="podman"), "podman"),
        (server(transport="remote", state="remote", command=""), "not_applicable"),
        (server(state="unreadable", transport="unknown"), "unknown"),
    ],
)
def test_the_isolation_of_each_server(row, isolation):
    assert judged(servers=[row])["servers"][0]["isolation"] == isolation


def test_a_remote_server_never_makes_scanners_unavailable():
    docker = {"docker.clients": known([client()]), "docker.endpoints": known([endpoint()])}
    without, with_remote = (
        judged(docker),
        judged(docker, servers=[server(transport="remote", state="remote", command="")]),
    )
    assert without["scanner"] == with_remote["scanner"] == {"state": "usable", "warning": None, "codes": []}


def test_root_is_told_what_it_does_not_feel():
    answer = judged(ROOT, UBUNTU, {"namespaces.stages": stages(), "bubblewrap.run": run()})
    entry = next(entry for entry in answer["findings"] if entry["code"] == "PROBE_AS_ROOT")
    assert entry["evidence"]["restrictions"] == ["kernel.apparmor_restrict_unprivileged_userns=1"]
    assert "--user" in entry["remedies"][0]["text"]
