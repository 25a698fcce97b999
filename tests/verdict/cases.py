"""Public reports on this subject, as data: what was seen, and what we must answer.

`how` says what stands for the host of the report: "facts" as they were or would have been recorded, "tree" a tree of
files that is really read, with recorded behaviour laid over it, "filter" a real system call filter in a child, named
in `filter`. Rows whose report needs a machine of its own (V in our notes) are recorded facts here, and say so.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from .hosts import (
    ABSENT,
    CONTAINER,
    SNAP_DOCKER,
    UBUNTU,
    client,
    endpoint,
    known,
    program,
    run,
    self_test,
    server,
    stages,
    status,
    unknown,
)

NOT_ROOT_OF_ALL = {"user": {"name": "root", "uid": 0, "home": "/root", "root": True}}
NO_LANDLOCK = {"landlock.self_tests": [], "landlock.errata": unknown("the ABI is not known")}
ENOSYS = {"landlock.abi": unknown("ENOSYS"), "landlock.restrict": unknown("ENOSYS"), **NO_LANDLOCK}
EPERM = {"landlock.abi": unknown("EPERM"), "landlock.restrict": unknown("EPERM"), **NO_LANDLOCK}
OFF = {"landlock.abi": unknown("EOPNOTSUPP"), "landlock.restrict": unknown("EOPNOTSUPP"), **NO_LANDLOCK}
ONE_LEVEL = {
    "bubblewrap.run": run(label="bwrap//&unpriv_bwrap (enforce)", bounding_set="0000000000000000"),
    "bubblewrap.nested": run(False, "bwrap: setting up uid map: Permission denied"),
    "apparmor.profiles": known([{"file": "bwrap-userns-restrict", "name": "bwrap", "attaches": "/usr/bin/bwrap",
                                 "program": "bwrap", "unconfined": False, "stock": True, "disabled": False,
                                 "userns": True}]),
}
PATHS = ["run", "-i", "--rm", "-v", "/opt/data:/data", "-v", "/home/ada/.myapp:/app", "image"]
NNP = ["run", "-i", "--rm", "--security-opt", "no-new-privileges", "image"]


class Case(NamedTuple):
    """`codes` must be found and `never` must not; `states` are those of mechanisms; `servers` are configured ones.

    `says` are pieces of text that the remedies of the first of `codes` must hold, `silent` those that none may hold.
    """

    id: str
    report: str
    how: str
    host: tuple[dict[str, Any], ...]
    codes: tuple[str, ...]
    states: dict[str, str] = {}
    never: tuple[str, ...] = ()
    servers: tuple[dict[str, Any], ...] = ()
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    tree: dict[str, str] = {}
    filter: str = ""
    note: str = ""


SYSCTLS_FINE = {"/proc/sys/kernel/unprivileged_userns_clone": "1\n", "/proc/sys/user/max_user_namespaces": "127000\n",
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}
STAGE_OF_UBUNTU = {"namespaces.stages": UBUNTU["namespaces.stages"], "bubblewrap.run": UBUNTU["bubblewrap.run"],
                   "bubblewrap.program": program("/usr/bin/bwrap")}
WORKS = {
    "landlock.abi": known(3),
    "landlock.errata": known(0),
    "landlock.restrict": known({"stage": None, "errno": None}),
    "landlock.self_tests": [self_test(abi=3)],
}

CASES = (
    # -- A: AppArmor's limit on user namespaces, bubblewrap
    Case(
        "A1",
        "openai/codex#15057",
        "facts",
        (
            UBUNTU,
            {
                "namespaces.stages": stages("bring lo up", "EPERM", "unprivileged_userns (enforce)"),
                "bubblewrap.run": run(False, "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"),
            },
        ),
        ("USERNS_APPARMOR_RESTRICTED", "BUBBLEWRAP_PATH_NOT_PROFILED"),
        {"bubblewrap": "blocked", "landlock": "usable"},
        note="needs Ubuntu's kernel, so recorded",
    ),
    Case(
        "A1 as root",
        "openai/codex#15057",
        "facts",
        (UBUNTU, NOT_ROOT_OF_ALL, {"namespaces.stages": stages(), "bubblewrap.run": run()}),
        ("PROBE_AS_ROOT",),
        {"bubblewrap": "unknown"},
    ),
    Case(
        "A3",
        "openai/codex#17525",
        "facts",
        (UBUNTU, {"apparmor.extra_profile": known(True)}),
        ("USERNS_APPARMOR_RESTRICTED",),
        says=("extra-profiles", "Last resort"),
    ),
    Case(
        "A5",
        "ilysenko/codex-desktop-linux#1213",
        "tree",
        (STAGE_OF_UBUNTU,),
        ("USERNS_APPARMOR_RESTRICTED",),
        {"bubblewrap": "blocked"},
        never=("USERNS_DISABLED_BY_SYSCTL", "USERNS_USABLE"),
        tree=SYSCTLS_FINE,
    ),
    Case(
        "A7",
        "anthropics/claude-code#55585",
        "facts",
        (
            UBUNTU,
            {
                "distribution": {"id": "ubuntu", "version": "25.10", "name": "Ubuntu 25.10"},
                "kernel.release": known("6.17.0-6-generic"),
                "landlock.abi": known(7),
            },
        ),
        ("USERNS_APPARMOR_RESTRICTED", "BUBBLEWRAP_PATH_NOT_PROFILED"),
        {"bubblewrap": "blocked"},
    ),
    Case(
        "A9",
        "anthropics/claude-code#43454",
        "facts",
        (UBUNTU, ONE_LEVEL),
        ("USERNS_ONE_LEVEL_ONLY", "BUBBLEWRAP_USABLE"),
        {"bubblewrap": "limited"},
        never=("USERNS_APPARMOR_RESTRICTED",),
        note="needs Ubuntu's kernel and profile, so recorded",
    ),
    Case(
        "A11",
        "anthropics/claude-code#87680",
        "facts",
        (UBUNTU, ONE_LEVEL),
        ("USERNS_ONE_LEVEL_ONLY",),
        {"bubblewrap": "limited"},
    ),
    Case(
        "A13",
        "anthropics/claude-code#56345",
        "tree",
        ({"bubblewrap.program": program("/usr/bin/bwrap")}, ONE_LEVEL, {"namespaces.stages": stages()}),
        ("USERNS_ONE_LEVEL_ONLY",),
        {"bubblewrap": "limited"},
        tree={**SYSCTLS_FINE, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n"},
    ),
    Case(
        "A15",
        "anthropics/claude-code#48304",
        "facts",
        (CONTAINER, {"bubblewrap.nested": run(False, "bwrap: setting up uid map: Permission denied")}),
        ("CONTEXT_CONTAINER", "USERNS_ONE_LEVEL_ONLY"),
        {"bubblewrap": "limited"},
        note="a container by its facts",
    ),
    Case(
        "A17",
        "gominimal/minimal#610",
        "filter",
        ({"namespaces.apparmor_restrict": known(1)},),
        ("USERNS_APPARMOR_RESTRICTED",),
        {"bubblewrap": "blocked"},
        filter="uid_map",
    ),
    Case(
        "A19",
        "TNG/oh-my-agentic-coder#2",
        "facts",
        (UBUNTU,),
        ("BUBBLEWRAP_PATH_NOT_PROFILED",),
        says=("apparmor-profiles",),
    ),
    Case(
        "A21",
        "Strike48-public/pick#239",
        "tree",
        (STAGE_OF_UBUNTU,),
        ("USERNS_APPARMOR_RESTRICTED",),
        {"bubblewrap": "blocked"},
        tree=SYSCTLS_FINE,
    ),
    Case(
        "A23",
        "aaddrick/claude-desktop-debian#434",
        "facts",
        (UBUNTU,),
        ("USERNS_APPARMOR_RESTRICTED",),
        says=("apparmor-profiles",),
        silent=("profile bwrap flags=(unconfined)", "/usr/bin/bwrap flags="),
    ),
    Case(
        "A25",
        "containers/bubblewrap#505",
        "facts",
        (
            CONTAINER,
            {
                "namespaces.stages": stages("make user namespace", "EPERM"),
                "bubblewrap.run": run(
                    False,
                    "bwrap: No permissions to create a new namespace, likely because the kernel does "
                    "not allow non-privileged user namespaces.",
                ),
            },
        ),
        ("CONTEXT_CONTAINER", "USERNS_SECCOMP"),
        {"bubblewrap": "blocked"},
        note="a container by its facts",
    ),
    Case(
        "A27",
        "containers/bubblewrap#689",
        "tree",
        (
            {
                "namespaces.stages": stages("make user namespace", "EPERM"),
                "bubblewrap.program": program("/usr/bin/bwrap"),
                "bubblewrap.run": run(False, "bwrap: No permissions to creating new namespace"),
            },
        ),
        ("USERNS_IN_CHROOT",),
        {"bubblewrap": "blocked"},
        tree={
            "/proc/self/mountinfo": "30 22 0:22 / /proc rw - proc proc rw\n",
            "/proc/self/status": "NoNewPrivs:\t0\nSeccomp:\t0\nCapBnd:\t000001ffffffffff\n",
        },
    ),
    Case(
        "A29",
        "openai/codex#35547",
        "facts",
        (
            CONTAINER,
            ENOSYS,
            {
                "kernel.release": known("5.4.0-1160"),
                "context.container_hints": known(["kubernetes"]),
                "namespaces.stages": stages("make / slave", "EPERM"),
                "bubblewrap.run": run(False, "bwrap: Failed to make / slave: Operation not permitted"),
            },
        ),
        ("LANDLOCK_SECCOMP_ENOSYS", "USERNS_MOUNT_DENIED", "BUBBLEWRAP_MOUNT_DENIED"),
        {"landlock": "blocked", "bubblewrap": "blocked", "docker": "absent"},
        silent=("sysctl", "lsm=", "apt", "reboot"),
        note="a container by its facts",
    ),
    # -- B: rootless engines
    Case(
        "B1",
        "containerd/nerdctl#3063",
        "facts",
        (UBUNTU, {"docker.rootlesskit": program("/home/ada/bin/rootlesskit"), "docker.clients": known([client()])}),
        ("DOCKER_ROOTLESS_BLOCKED",),
        {"docker": "blocked"},
        says=("/home/ada/bin/rootlesskit",),
    ),
    Case(
        "B3",
        "rootless-containers/rootlesskit#425",
        "facts",
        (
            CONTAINER,
            {
                "docker.rootlesskit": program("/usr/bin/rootlesskit"),
                "namespaces.stages": stages("make user namespace", "EPERM"),
                "bubblewrap.program": ABSENT,
            },
        ),
        ("CONTEXT_CONTAINER", "USERNS_SECCOMP"),
        never=("DOCKER_ROOTLESS_BLOCKED",),
        note="a container by its facts",
    ),
    # -- C: snap's Docker
    Case(
        "C1",
        "smart-mcp-proxy/mcpproxy-go#386",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_NO_NEW_PRIVILEGES",),
        {"docker": "limited", "landlock": "usable"},
        servers=(server("scan", "docker", argv=NNP),),
        says=("Drop --security-opt", "cursor:scan"),
    ),
    Case(
        "C3",
        "liketrek/TREK#1337",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_NO_NEW_PRIVILEGES",),
        silent=("apparmor=unconfined",),
    ),
    Case(
        "C5",
        "OtezVikentiy/gotcha#3",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_NO_NEW_PRIVILEGES",),
        servers=(server("fails", "docker", argv=NNP), server("works", "docker", argv=["run", "-i", "image"])),
        says=("of cursor:fails.",),
        silent=("cursor:works",),
    ),
    Case(
        "C7",
        "tomsquest/docker-radicale#123",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_NO_NEW_PRIVILEGES",),
        servers=(server("radicale", "docker", argv=["run", "--init", "-i", "image"]),),
        says=("Drop --init",),
    ),
    Case(
        "C9",
        "docker-archive/docker-snap#4",
        "tree",
        (SNAP_DOCKER,),
        ("DOCKER_SNAP_STALE_PROFILE",),
        {"docker": "limited"},
        tree={"/var/lib/dpkg/info/docker.io.list": "", "/sys/module/apparmor/parameters/enabled": "Y\n"},
    ),
    Case(
        "C11",
        "canonical/docker-snap#188",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_PATHS",),
        servers=(server("data", "docker", argv=PATHS),),
        says=("visible folders below /home/ada",),
    ),
    Case(
        "C13",
        "canonical/docker-snap#334",
        "tree",
        (),
        ("DOCKER_SNAP_PATHS",),
        servers=(server("app", "docker", argv=PATHS),),
        tree={
            "/snap/bin/docker": "-> /usr/bin/snap",
            "/usr/bin/snap": "!",
            "/sys/module/apparmor/parameters/enabled": "Y\n",
            "/snap/docker/current/meta/snap.yaml": "name: docker\nversion: '29.3.1'\nconfinement: strict\n",
        },
    ),
    Case(
        "C15",
        "docker/desktop-linux#226",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP", "DOCKER_SNAP_PATHS"),
        never=("DOCKER_DESKTOP",),
        servers=(server("build", "docker", argv=["run", "-v", "/tmp/x:/x", "image"]),),
    ),
    Case(
        "C17",
        "canonical/docker-snap#7",
        "facts",
        (UBUNTU, SNAP_DOCKER),
        ("DOCKER_SNAP_PATHS",),
        servers=(server("home", "docker", argv=["run", "-v", "~/work:/w", "image"]),),
        says=("Write paths out",),
    ),
    Case(
        "C19",
        "mviereck/x11docker#448",
        "facts",
        (UBUNTU, SNAP_DOCKER, {"docker.endpoints": known([endpoint("EACCES", "snap")])}),
        ("DOCKER_NO_PERMISSION", "DOCKER_SNAP"),
        {"docker": "blocked"},
    ),
    Case(
        "C21",
        "smart-mcp-proxy/mcpproxy-go#1303",
        "facts",
        ({"docker.clients": known([client()]), "docker.endpoints": known([endpoint()])},),
        ("DOCKER_USABLE",),
        {"docker": "usable"},
        never=("SCANNER_UNAVAILABLE", "SCANNER_DEGRADED"),
        servers=(server("search", "", "remote", transport="remote"),),
    ),
    Case(
        "C23",
        "podman#4602",
        "facts",
        (
            {
                "docker.clients": known([client("podman")]),
                "podman.program": program("/usr/bin/podman"),
                "docker.endpoints": known([endpoint("ENOENT", "unknown")]),
            },
        ),
        ("DOCKER_IS_PODMAN", "PODMAN_USABLE"),
        {"docker": "usable"}, never=("DOCKER_DAEMON_DOWN",),
    ),
    # -- D: Landlock missing, hidden, filtered or lying
    Case(
        "D1",
        "nolabs-ai/nono#416",
        "tree",
        (WORKS,),
        ("LANDLOCK_USABLE", "CONTEXT_WSL2"),
        {"landlock": "usable"},
        tree={
            "/proc/sys/kernel/osrelease": "6.6.87.2-microsoft-standard-WSL2\n",
            "/proc/sys/fs/binfmt_misc/WSLInterop": "enabled\n",
        },
    ),
    Case(
        "D3",
        "openai/codex#6828",
        "filter",
        ({"context.status": status()},),
        ("LANDLOCK_NOT_BUILT",),
        {"landlock": "absent"},
        silent=("lsm=",),
        filter="ENOSYS",
        note="the filter stands for such a kernel",
    ),
    Case(
        "D5",
        "openai/codex#1039",
        "tree",
        (ENOSYS,),
        ("CONTEXT_WSL1",),
        {"landlock": "absent"},
        tree={"/proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft\n"},
        says=("--set-version",),
    ),
    Case(
        "D7",
        "void-linux/void-packages#41337",
        "filter",
        ({"context.status": status(), "lsm.active": known(["capability", "yama", "apparmor"])},),
        ("LANDLOCK_OFF_AT_BOOT",),
        {"landlock": "blocked"},
        says=("lsm=landlock,yama,apparmor",),
        filter="EOPNOTSUPP",
        note="the filter stands for such a kernel",
    ),
    Case(
        "D9",
        "artalis-io/hull#444",
        "filter",
        (
            {
                "context.status": status(),
                "kernel.release": known("6.18.39+rpt-rpi-v8"),
                "distribution": {"id": "raspbian", "version": "13", "name": "Raspberry Pi OS"},
                "boot.loader": known("raspberry", "/boot/firmware/cmdline.txt"),
            },
        ),
        ("LANDLOCK_NOT_BUILT",),
        {"landlock": "absent"},
        silent=("lsm=", "cmdline.txt"),
        filter="ENOSYS",
    ),
    Case(
        "D11",
        "posit-dev/commons#59",
        "facts",
        (
            ENOSYS,
            {
                "kernel.release": known("4.18.0-553.el8_10.x86_64"),
                "distribution": {"id": "rhel", "version": "8.10", "name": "Red Hat Enterprise Linux 8.10"},
            },
        ),
        ("LANDLOCK_NOT_BUILT",),
        {"landlock": "absent"},
        says=("from 9.6",),
    ),
    Case(
        "D15",
        "systemd/systemd#26913",
        "filter",
        ({"context.unit": known({"name": "agent.service", "user": False})},),
        ("LANDLOCK_SECCOMP_EPERM", "CONTEXT_UNIT_HARDENED"),
        {"landlock": "blocked"},
        says=("systemctl edit agent.service", "@sandbox"),
        filter="EPERM",
    ),
    Case(
        "D15 killed",
        "systemd/systemd#26913, paritytech/polkadot#7521",
        "filter",
        (),
        ("LANDLOCK_SECCOMP_KILL",),
        {"landlock": "blocked"},
        filter="kill",
    ),
    Case(
        "D17",
        "moby/moby#43199",
        "filter",
        ({"context.container_hints": known(["docker"])},),
        ("LANDLOCK_SECCOMP_EPERM", "CONTEXT_CONTAINER"),
        {"landlock": "blocked"},
        silent=("lsm=", "systemctl"),
        says=("outside of this container",),
        filter="EPERM",
    ),
    Case(
        "D17 ENOSYS",
        "moby/moby#43199",
        "filter",
        ({"context.container_hints": known(["docker"])},),
        ("LANDLOCK_SECCOMP_ENOSYS",),
        {"landlock": "blocked"},
        never=("LANDLOCK_NOT_BUILT",),
        silent=("lsm=",),
        filter="ENOSYS",
    ),
    Case(
        "D19",
        "majorcontext/moat#396 (gVisor)",
        "facts",
        (ENOSYS, {"context.gvisor": known(True)}),
        ("CONTEXT_GVISOR",),
        {"landlock": "absent"},
    ),
    Case(
        "D19",
        "majorcontext/moat#396 (Apple containers)",
        "facts",
        (OFF, CONTAINER),
        ("LANDLOCK_OFF_AT_BOOT",),
        {"landlock": "blocked"},
        silent=("lsm=",),
        note="a container by its facts",
    ),
    Case(
        "D19",
        "majorcontext/moat#396 (LinuxKit)",
        "facts",
        (CONTAINER,),
        ("LANDLOCK_USABLE",),
        {"landlock": "usable"},
        note="a container by its facts",
    ),
    Case(
        "D21",
        "netblue30/firejail#6302",
        "facts",
        (
            OFF,
            {
                "lsm.active": known(["capability", "lockdown", "yama", "bpf", "apparmor"]),
                "boot.parameters": known({"lsm": "lockdown,yama,bpf,apparmor"}),
                "boot.settings": known(
                    [
                        {
                            "file": "/etc/default/grub",
                            "variable": "GRUB_CMDLINE_LINUX_DEFAULT",
                            "parameter": "lsm",
                            "value": "lockdown,yama,bpf,apparmor",
                        }
                    ]
                ),
            },
        ),
        ("LANDLOCK_OFF_AT_BOOT",),
        says=(
            "In /etc/default/grub, replace",
            "lsm=landlock,lockdown,yama,bpf,apparmor",
        ),
    ),
    Case(
        "D23",
        "rhboot/efibootmgr#181",
        "tree",
        (OFF,),
        ("LANDLOCK_BOOT_LIST_IGNORED",),
        {"landlock": "blocked"},
        tree={
            "/proc/cmdline": "root=/dev/sda1 lsm=landlock,yama,apparmor quiet\n",
            "/sys/kernel/security/lsm": "capability,yama,apparmor\n",
        },
        silent=("grubby", "update-grub"),
    ),
    Case(
        "D25",
        "roddhjav/apparmor.d#750",
        "facts",
        (
            {
                "landlock.restrict": known({"stage": "restrict", "errno": "EPERM"}),
                "landlock.self_tests": [],
                "apparmor.label": known("pacman (enforce)"),
            },
        ),
        ("LANDLOCK_REFUSED_BY_PROFILE",),
        {"landlock": "blocked"},
        says=("pacman (enforce)",),
    ),
    # -- E: Landlock present but wrong in effect
    Case(
        "E1",
        "smart-mcp-proxy/mcpproxy-go#932",
        "facts",
        ({"landlock.self_tests": [self_test(opened=("write_canary",))]},),
        ("LANDLOCK_NOT_ENFORCED",),
        {"landlock": "blocked"},
        never=("LANDLOCK_USABLE",),
        note="the wrapper's own runs are tested with the wrapper",
    ),
    Case(
        "E3",
        "NVIDIA/OpenShell#161",
        "facts",
        ({"landlock.self_tests": [self_test(allowed="denied")]},),
        ("LANDLOCK_FOLDER_ALLOW_FAILS",),
        {"landlock": "blocked"},
    ),
    Case(
        "E5",
        "nolabs-ai/nono#1107",
        "facts",
        (
            {
                "context.wsl": known(2),
                "folders.workspaces": known(
                    [
                        {
                            "path": "/mnt/c/work",
                            "mount_point": "/mnt/c",
                            "type": "9p",
                            "source": "a Windows drive",
                            "options": [],
                            "drvfs": True,
                        }
                    ]
                ),
                "landlock.self_tests": [self_test(), self_test("/mnt/c/work", "denied")],
            },
        ),
        ("LANDLOCK_FOLDER_ALLOW_FAILS", "CONTEXT_WSL2"),
        {"landlock": "limited"},
        says=("Move /mnt/c/work", "9p"),
    ),
    Case(
        "E7",
        "nolabs-ai/nono#1445",
        "facts",
        (
            CONTAINER,
            {
                "folders.workspaces": known(
                    [
                        {
                            "path": "/work",
                            "mount_point": "/work",
                            "type": "fakeowner",
                            "source": "grpcfuse",
                            "options": [],
                            "drvfs": False,
                        }
                    ]
                ),
                "landlock.self_tests": [self_test(), self_test("/work", "denied")],
            },
        ),
        ("LANDLOCK_FOLDER_ALLOW_FAILS",),
        {"landlock": "limited"},
        says=("fakeowner",),
        note="a container by its facts",
    ),
    Case(
        "E11",
        "openai/codex#47429",
        "tree",
        (WORKS,),
        ("CONTEXT_WSL2", "LANDLOCK_USABLE"),
        {"landlock": "usable"},
        tree={
            "/proc/sys/kernel/osrelease": "6.18.33.2-microsoft-standard-WSL2\n",
            "/proc/self/mountinfo": "60 1 8:32 / / rw - ext4 /dev/sdc rw\n"
            "61 60 0:30 / /mnt/wslg rw - tmpfs none rw\n"
            "62 61 8:32 / /mnt/wslg/distro ro - ext4 /dev/sdc rw\n"
            "63 60 0:40 / /mnt/c rw - 9p C:\\134 rw,aname=drvfs;path=C:\\134\n",
        },
    ),
)
# Rows of our notes that are not about a verdict, and where they are tested instead.
ELSEWHERE = {
    "D13": "tests/host/test_landlock.py: the mask of each ABI",
    "E9": "the wrapper makes each server's cache first; `probe why` names what was denied",
}
