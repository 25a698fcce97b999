"""The catalogue of codes. A released code is never renamed.

Severity is about the mechanism that the code belongs to: `error` blocks it, `warning` limits it or needs a decision,
`info` explains. Remedies stand from narrow to broad, and are printed in that order.
"""
from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """`evidence` names the fields a finding with this code carries; `remedies` are keys of `remedies.REMEDIES`."""

    severity: str
    title: str
    meaning: str
    evidence: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


_LSM = ("lsm_edit_setting", "lsm_grub", "lsm_grub_file", "lsm_grubby", "lsm_systemd_boot", "lsm_kernelstub",
        "lsm_raspberry", "lsm_kernel_install", "lsm_extlinux", "lsm_ostree", "lsm_unified", "lsm_wsl", "lsm_other",
        "lsm_read_list_first", "lsm_playbook")
_FILTER = ("unit_allow_landlock", "snapd_update", "container_outside", "outer_filter")
_STAGE = ("stage", "errno", "label")

CODES = {
    # -- Landlock
    "LANDLOCK_USABLE": Code(
        "info", "Landlock works here, seen by a test",
        "A child process put itself under the default policy, could use its own folder, and was refused everything "
        "outside that the policy forbids. This was done as the user who starts the servers, on the file system of "
        "their home.",
        ("abi", "errata", "folder")),
    "LANDLOCK_OLDER_ABI": Code(
        "info", "This kernel's Landlock lacks newer rights",
        "Every kernel version with Landlock brought new rights. What this one lacks is either supplied by a system "
        "call filter or not available; the fields say which. Nothing that is not available is called enforced.",
        ("abi", "by_filter", "unavailable")),
    "LANDLOCK_NO_RENAME_BETWEEN_FOLDERS": Code(
        "warning", "No server can rename or link between folders",
        "Landlock's first version (Linux 5.13 to 5.18) refuses every rename and link between two folders and cannot "
        "be asked to grant it. uvx fills its cache by such links and falls back to copying or fails; most other "
        "servers do not notice.",
        ("abi",), ("kernel_with_landlock",)),
    "LANDLOCK_NOT_BUILT": Code(
        "error", "The kernel was built without Landlock",
        "The kernel does not know the system call, and no filter stands between it and us. The version number of a "
        "kernel says nothing about this: vendors leave Landlock out of recent kernels, too. A boot parameter cannot "
        "add what was not built.",
        ("errno", "release", "built"), ("kernel_with_landlock",)),
    "LANDLOCK_SECCOMP_ENOSYS": Code(
        "error", "Landlock is hidden from this process, perhaps by a filter",
        "The system call is answered as if it did not exist, while a system call filter is active for this process. "
        "Older container engines answer so for every call that they do not know. Whether the kernel itself has "
        "Landlock can only be told outside of the filter.",
        ("errno", "seccomp", "container", "unit"), _FILTER),
    "LANDLOCK_OFF_AT_BOOT": Code(
        "error", "Landlock is built in but was not switched on at boot",
        "The kernel has Landlock, but its list of active security modules does not name it. The list comes from the "
        "kernel's configuration or from lsm= on its command line, where whoever adds one module by hand often drops "
        "another.",
        ("errno", "active", "parameters", "loader"), _LSM),
    "LANDLOCK_BOOT_LIST_IGNORED": Code(
        "error", "The kernel was asked for Landlock at boot and did not switch it on",
        "The command line of the running kernel names Landlock, and yet it is not active. Either this kernel was "
        "built without it or the list was cut short. Another parameter does not help.",
        ("errno", "parameters", "active"), ("lsm_check_command_line",)),
    "LANDLOCK_REBOOT_PENDING": Code(
        "warning", "Landlock will be on after the next boot",
        "A file of the boot loader asks for Landlock; the running kernel was started before that.",
        ("file", "value"), ("reboot",)),
    "LANDLOCK_SECCOMP_EPERM": Code(
        "error", "A system call filter refuses Landlock",
        "Something that started this process put it under a filter that refuses the Landlock calls: a service unit "
        "with SystemCallFilter=, a container engine older than 2023, or a snap under an older snapd. The kernel may "
        "well have Landlock.",
        ("errno", "seccomp", "container", "unit"), _FILTER),
    "LANDLOCK_SECCOMP_KILL": Code(
        "error", "A system call filter kills whoever asks for Landlock",
        "A child that asked the kernel for Landlock was killed by a filter. A launcher that asks without precaution "
        "would die the same way.",
        ("signal", "seccomp", "container", "unit"), _FILTER),
    "LANDLOCK_REFUSED_BY_PROFILE": Code(
        "error", "An AppArmor profile keeps this process from confining itself",
        "The kernel has Landlock, but this process runs under a profile that withholds what is needed to start it.",
        _STAGE, ("profile_allow_landlock",)),
    "LANDLOCK_LAYER_LIMIT": Code(
        "error", "Too many sandboxes around this process",
        "The kernel stacks at most 16 Landlock domains, and this process already lives in as many.",
        ("errno",), ("fewer_layers",)),
    "LANDLOCK_ABI_LIES": Code(
        "error", "The kernel refuses rights that its version promises",
        "The kernel named a Landlock version and then refused a ruleset made of that version's rights. Some vendor "
        "kernels with backports did this. Since it is not clear what holds, nothing is called enforced.",
        ("abi", "errno"), ("report_kernel",)),
    "LANDLOCK_REFUSED": Code(
        "error", "The kernel refused Landlock for a reason that is not known here",
        "The answer does not fit any of the known causes. The stage and the errno are the evidence to report.",
        ("stage", "errno", "seccomp", "label"), ("probe_outside",)),
    "LANDLOCK_NOT_ENFORCED": Code(
        "error", "Something forbidden was possible under confinement",
        "The test put a process under the policy, and an act that must fail did not. Whatever the kernel says about "
        "itself, servers are not confined on this host.",
        ("abi", "folder", "acts"), ("report_kernel",)),
    "LANDLOCK_FOLDER_ALLOW_FAILS": Code(
        "error", "A granted folder cannot be used under confinement",
        "The test granted a folder and could not use it. This happens on file systems that do not keep inodes as "
        "Linux does: drives of Windows under WSL (9p), virtiofs and the shared folders of Docker Desktop. Servers "
        "that work there would break.",
        ("folder", "type", "errno"), ("move_folder", "grant_parent")),
    "LANDLOCK_SELF_TEST_INCOMPLETE": Code(
        "warning", "The proof could not be made",
        "The kernel offers Landlock, but the test could not run to its end, so nothing is claimed about it.",
        ("folder", "reason"), ("free_folder",)),
    "LANDLOCK_SOCKETS_ALL_OR_NOTHING": Code(
        "info", "UNIX sockets are all closed or all open for a server",
        "Below ABI 9 Landlock cannot tell one UNIX socket from another, so a filter closes all of them. A server "
        "that is given one socket by name gets every socket that the user can reach, and some here are as good as "
        "root.",
        ("abi", "sockets"), ("no_unix_grant", "leave_group")),
    "LANDLOCK_SOCKETS_EXPOSED": Code(
        "error", "Confined servers could reach sockets that void the confinement",
        "The test could connect to a UNIX socket from inside. A container engine's socket gives root, a user bus "
        "starts programs outside.",
        ("abi", "sockets"), ("leave_group", "report_kernel")),
    "RUNTIME_FROM_SNAP": Code(
        "warning", "A runtime on the client's PATH comes from snap",
        "Programs from snap are started by a setuid helper, and a confined process may not gain rights. Servers that "
        "are started with this runtime are never wrapped.",
        ("names",), ("runtime_not_snap",)),
    "TRACING_RESTRICTED": Code(
        "info", "Yama lets no one trace processes here",
        "kernel.yama.ptrace_scope is 2 or 3, so `probe why` and `probe trace` cannot watch a server as this user. "
        "Landlock is not concerned.",
        ("ptrace_scope",)),
    # -- User namespaces
    "USERNS_USABLE": Code(
        "info", "User namespaces work, seen by a test",
        "A child went through all stages: namespace, id maps, mounts, network.",
        ("passed",)),
    "USERNS_APPARMOR_RESTRICTED": Code(
        "error", "AppArmor takes the rights out of user namespaces",
        "Ubuntu since 24.04 lets an ordinary program make a user namespace, but moves it into a profile that refuses "
        "every capability inside; so unshare succeeds and the next step fails. Sandboxes built on namespaces "
        "(bubblewrap, rootless engines, browsers) need a profile of their own. The older switches "
        "(unprivileged_userns_clone, max_user_namespaces) look fine all the while.",
        (*_STAGE, "restrict"),
        ("use_landlock", "load_stock_profile", "install_stock_profile", "enable_profile", "reload_profile",
         "profile_for_path", "apparmor_sysctl")),
    "USERNS_DISABLED_BY_SYSCTL": Code(
        "error", "A sysctl forbids user namespaces to users",
        "kernel.unprivileged_userns_clone is 0, which is hardening done by somebody on purpose. Rootful Docker and "
        "Podman are not concerned.",
        (*_STAGE, "value"), ("use_landlock", "clone_sysctl")),
    "USERNS_LIMIT_REACHED": Code(
        "error", "No user namespace is left",
        "The kernel's limit on user namespaces is reached or is 0, or too many are nested.",
        (*_STAGE, "limit"), ("use_landlock", "raise_limit")),
    "USERNS_SECCOMP": Code(
        "error", "A system call filter refuses user namespaces",
        "The default filter of container engines and hardened units refuse to make namespaces. The kernel outside "
        "may allow them.",
        (*_STAGE, "seccomp", "container", "unit"),
        ("use_landlock", "unit_allow_namespaces", "container_outside", "outer_filter")),
    "USERNS_SELINUX": Code(
        "error", "SELinux probably refuses user namespaces",
        "SELinux is enforcing and has a class for making user namespaces, and nothing else here explains the "
        "refusal. There is no boolean to switch.",
        _STAGE, ("use_landlock", "selinux_policy")),
    "USERNS_NOT_BUILT": Code(
        "error", "The kernel has no user namespaces",
        "It was built without CONFIG_USER_NS.",
        _STAGE, ("use_landlock",)),
    "USERNS_OFF_AT_BOOT": Code(
        "error", "User namespaces are switched off at boot",
        "RHEL 7 keeps them off unless a boot parameter asks for them.",
        (*_STAGE, "parameter"), ("use_landlock", "rhel7_namespaces")),
    "USERNS_IN_CHROOT": Code(
        "error", "No user namespace inside a chroot",
        "The kernel refuses to make a user namespace for a process whose root folder was changed.",
        _STAGE, ("use_landlock", "leave_chroot")),
    "USERNS_MOUNT_DENIED": Code(
        "error", "Mounting is refused inside a user namespace",
        "The namespace could be made, but not the first mount in it. A container's AppArmor profile or a Landlock "
        "domain around us does this.",
        (*_STAGE, "container"), ("use_landlock", "container_outside", "probe_outside")),
    "USERNS_REFUSED": Code(
        "error", "User namespaces are refused, and the reason is not known here",
        "The stage and errno do not fit a known cause. They are the evidence to report.",
        _STAGE, ("use_landlock", "probe_outside")),
    "USERNS_ONE_LEVEL_ONLY": Code(
        "warning", "One level of user namespaces works, a second does not",
        "A sandbox can be made, but not another one inside it. Ubuntu's profile for bwrap allows one level, whatever "
        "the sysctl says; containers often do the same. Browsers inside sandboxes and tools that add a filter inside "
        "bwrap fail there.",
        ("said", "label", "bounding_set", "container"), ("use_landlock",)),
    # -- bubblewrap
    "BUBBLEWRAP_USABLE": Code(
        "info", "bubblewrap works with a launcher's options",
        "It was really run, with all the namespaces that launchers ask for.",
        ("path", "label", "bounding_set")),
    "BUBBLEWRAP_NOT_INSTALLED": Code(
        "info", "bubblewrap is not installed",
        "No bwrap was found where clients look for programs.",
        ("searched",), ("use_landlock", "install_bubblewrap")),
    "BUBBLEWRAP_PATH_NOT_PROFILED": Code(
        "error", "No AppArmor profile lets this bwrap make namespaces",
        "User namespaces are restricted by AppArmor, and no profile attaches to the path of the bwrap that is used. "
        "The distribution's profile covers /usr/bin/bwrap alone, so a bundled or separately installed one is not "
        "covered.",
        ("path", "said", "profiles"),
        ("use_landlock", "load_stock_profile", "install_stock_profile", "profile_for_path", "apparmor_sysctl")),
    "BUBBLEWRAP_PROFILE_NOT_ACTIVE": Code(
        "error", "A profile for this bwrap is on disk but does not act",
        "A file below /etc/apparmor.d attaches to this bwrap and would let it make namespaces; it is switched off or "
        "not loaded. A second profile would make it worse.",
        ("path", "file", "disabled"), ("use_landlock", "enable_profile", "reload_profile")),
    "BUBBLEWRAP_PROFILE_CONFLICT": Code(
        "error", "Two AppArmor profiles attach to bwrap",
        "When two profiles attach to one path equally well, the kernel refuses to start the program for everybody.",
        ("path", "files"), ("use_landlock", "keep_one_profile")),
    "BUBBLEWRAP_PROFILE_OVERBROAD": Code(
        "warning", "A profile leaves all capabilities to what runs in bwrap",
        "A profile with flags=(unconfined) attaches to bwrap in place of the distribution's, which takes the "
        "capabilities from what runs inside.",
        ("file", "label", "bounding_set"), ("restore_stock_profile",)),
    "BUBBLEWRAP_MOUNT_DENIED": Code(
        "error", "bubblewrap may not mount",
        "A container's profile or filter, or a Landlock domain around us, refuses mounts.",
        ("said", "container"), ("use_landlock", "container_outside", "probe_outside")),
    "BUBBLEWRAP_PROC_DENIED": Code(
        "error", "bubblewrap cannot mount or read /proc",
        "A container masks parts of /proc, or a unit hides them (ProtectKernelTunables=, ProcSubset=), and the "
        "kernel allows no fresh /proc then.",
        ("said", "container", "unit"), ("use_landlock", "unit_allow_namespaces", "container_outside")),
    "BUBBLEWRAP_OPTIONS_FAIL": Code(
        "error", "Namespaces work, but bubblewrap fails with a launcher's options",
        "A hand-made attempt passed all stages; bwrap, run as launchers run it, did not. The reason is in its "
        "sentence, its path and its profile.",
        ("path", "said", "exit"), ("use_landlock",)),
    "BUBBLEWRAP_INSIDE_LANDLOCK": Code(
        "error", "bubblewrap was tried inside a Landlock domain",
        "Landlock refuses all mounts, so bubblewrap cannot work inside; with the same sentence as under AppArmor's "
        "restriction.",
        ("said",), ("probe_outside",)),
    # -- Docker
    "DOCKER_USABLE": Code(
        "info", "A Docker daemon answers this user",
        "The client and the daemon are there; no container was started by the probe.",
        ("client", "origin", "version")),
    "DOCKER_NOT_INSTALLED": Code(
        "info", "There is no Docker here",
        "Neither a client nor a daemon was found.",
        ("searched",)),
    "DOCKER_CLIENT_MISSING": Code(
        "error", "A Docker daemon is here, but no client",
        "No program named docker lies where MCP clients look.",
        ("searched",), ("install_docker_client",)),
    "DOCKER_DAEMON_DOWN": Code(
        "error", "No Docker daemon answers",
        "The client is installed, but nothing listens on the socket that it uses.",
        ("socket", "errno", "client"), ("wrap_instead", "start_daemon")),
    "DOCKER_NO_PERMISSION": Code(
        "error", "This user may not talk to the Docker daemon",
        "The socket belongs to root and a group that this session does not have.",
        ("socket", "errno", "group"), ("wrap_instead", "rootless_docker", "docker_group")),
    "DOCKER_GROUP_NOT_REFRESHED": Code(
        "error", "The user is in the docker group, this session is not",
        "Group membership is taken at login; the group database already has it.",
        ("socket", "group"), ("new_session",)),
    "DOCKER_NO_ANSWER": Code(
        "warning", "The Docker daemon gives no usable answer",
        "Something listens, but does not answer in time or not as Docker does.",
        ("socket", "said")),
    "DOCKER_REMOTE": Code(
        "info", "Docker runs on another machine",
        "The chosen endpoint is not a socket of this host; it was not contacted.",
        ("scheme", "chosen_by")),
    "DOCKER_SNAP": Code(
        "warning", "Docker comes from snap",
        "Snap's Docker works within limits that Docker's own documentation does not have; client and daemon are "
        "judged apart, since they may come from different packages.",
        ("client", "daemon", "signs", "confined")),
    "DOCKER_SNAP_NO_NEW_PRIVILEGES": Code(
        "warning", "Containers with no-new-privileges cannot start under snap's Docker",
        "AppArmor must change the profile from snap's daemon to docker-default when the container's program starts, "
        "and refuses that under no_new_privs. The container ends with 255 and `exec …: operation not permitted`; "
        "--init fails the same way. apparmor=unconfined does not help.",
        ("daemon", "servers", "arguments"), ("wrap_instead", "drop_option", "docker_from_packages")),
    "DOCKER_SNAP_PATHS": Code(
        "warning", "Snap's Docker sees only the visible part of the home folder",
        "Paths outside of the home, hidden folders in it, /tmp and links that lead out are not visible to it. Some "
        "binds fail, others start with an empty folder and no error at all. ~ and $HOME mean snap's own folder.",
        ("servers", "arguments", "home"),
        ("wrap_instead", "move_below_home", "absolute_paths", "docker_from_packages")),
    "DOCKER_SNAP_CLIENT_NO_NEW_PRIVILEGES": Code(
        "error", "Snap's docker client cannot start in this context",
        "Snap starts its programs through a setuid helper; a process under no_new_privs, or without the helper's "
        "capabilities, cannot use it. A hardened unit and mcp-confine both set no_new_privs.",
        ("no_new_privileges", "unit"), ("wrap_instead", "client_without_nnp", "unit_for_snap")),
    "DOCKER_SNAP_HOME_OUTSIDE": Code(
        "error", "Snap's docker client refuses homes that are not below /home",
        "Programs from snap do not start for users whose home lies elsewhere, unless snapd was told so.",
        ("home",), ("wrap_instead", "homedirs")),
    "DOCKER_SNAP_STALE_PROFILE": Code(
        "warning", "A docker-default profile of another Docker may be loaded",
        "A Docker package was here before the snap. Its profile lacks the rules by which the snap's daemon may stop "
        "containers, so stopping and clean-up can fail with permission denied.",
        ("leftovers",), ("reload_docker_default",)),
    "DOCKER_MIXED_ORIGIN": Code(
        "warning", "The docker client and the daemon come from different packages",
        "Two Dockers are installed and share one socket; which one answers depends on which started last.",
        ("client", "daemon", "clients"), ("one_docker",)),
    "DOCKER_ROOTLESS": Code(
        "info", "The Docker daemon is rootless",
        "It runs with the user's rights; AppArmor does not confine its containers.",
        ("socket",)),
    "DOCKER_ROOTLESS_BLOCKED": Code(
        "error", "Rootless Docker cannot start because of AppArmor's restriction",
        "rootlesskit must make a user namespace, and no AppArmor profile attaches to it where it lies.",
        ("path", "stage", "errno"), ("wrap_instead", "enable_profile", "reload_profile", "profile_for_path")),
    "DOCKER_DESKTOP": Code(
        "info", "Docker Desktop",
        "Containers run in a machine of their own; binds pass through a shared file system.",
        ("socket",)),
    "DOCKER_IS_PODMAN": Code(
        "info", "docker is Podman here",
        "The command or the socket belongs to Podman, whose answers differ in places.",
        ("client",)),
    # -- Podman
    "PODMAN_USABLE": Code(
        "info", "Podman has what it needs",
        "The program is there and user namespaces work with subordinate ids; no container was started by the probe.",
        ("path", "subordinate_ids")),
    "PODMAN_NOT_INSTALLED": Code(
        "info", "There is no Podman here",
        "No program of that name was found.",
        ("searched",)),
    "PODMAN_NO_SUBORDINATE_IDS": Code(
        "warning", "The user has no subordinate ids",
        "Rootless containers with more than one user need ranges in /etc/subuid and /etc/subgid, and newuidmap to "
        "use them.",
        ("subuid", "subgid", "newuidmap"), ("subordinate_ids",)),
    # -- Where we are
    "CONTEXT_CONTAINER": Code(
        "info", "This is inside a container",
        "What its engine refuses cannot be changed from inside.",
        ("kind", "signs")),
    "CONTEXT_CONTAINER_HINT_ONLY": Code(
        "info", "A container left its mark, but this is none",
        "A file of a container image is here, and nothing else speaks for one: no filter, all capabilities, a root "
        "file system of its own.",
        ("kind",)),
    "CONTEXT_WSL1": Code(
        "error", "WSL 1 has no Linux kernel",
        "Neither Landlock nor namespaces exist there.",
        ("release",), ("wsl2",)),
    "CONTEXT_WSL2": Code(
        "info", "This is WSL 2",
        "Landlock works on the Linux file system; drives of Windows are another matter, and WSLg's nested mounts "
        "trouble sandboxes that mount.",
        ("release",)),
    "CONTEXT_GVISOR": Code(
        "error", "gVisor has no Landlock",
        "The kernel here is gVisor's own, which does not offer it.",
        ("version",), ("another_runtime",)),
    "CONTEXT_UNIT_HARDENED": Code(
        "warning", "This runs in a hardened unit",
        "The unit sets filters or no_new_privs, so what is seen here holds for this unit alone.",
        ("unit", "no_new_privileges", "seccomp"), ("unit_allow_landlock", "probe_outside")),
    "CONTEXT_SNAP_CLIENT": Code(
        "info", "This runs inside a snap",
        "Snap's filter and profile decide what is possible here.",
        ("name", "label")),
    "CONTEXT_CI": Code(
        "info", "This is a CI machine",
        "Hosted runners differ from workstations: Ubuntu's images restrict user namespaces.",
        ("markers",)),
    # -- The probe itself
    "PROBE_AS_ROOT": Code(
        "warning", "This is root's result, not a user's",
        "Root is exempt from the restrictions that stop users, so what works for it may fail for them.",
        ("restrictions",), ("probe_as_user",)),
    "PROBE_INSIDE_WRAPPER": Code(
        "warning", "The probe was started by a confined server",
        "What is refused here is refused by mcp-confine.",
        (), ("probe_outside",)),
    "PROBE_INCOMPLETE": Code(
        "warning", "Some facts could not be had",
        "They are unknown, not absent; the reasons are in the evidence.",
        ("subjects",)),
    "PROBE_UNKNOWN": Code(
        "warning", "It could not be told whether this works",
        "What would decide it was not measured or not readable. Unknown is neither yes nor no.",
        ("missing",), ("probe_outside",)),
    # -- Scanners
    "SCANNER_DEGRADED": Code(
        "warning", "Container-based scanners are degraded here",
        "Scanners start containers with no-new-privileges and bind the sources read-only, which is what this Docker "
        "cannot do. A scan that ends early has not found the server clean.",
        ("reason",), ("drop_option", "docker_from_packages")),
    "SCANNER_UNAVAILABLE": Code(
        "warning", "Container-based scanners cannot run here",
        "They need a container engine that answers this user. Servers are not scanned by them, and no result means "
        "nothing.",
        ("reason",)),
}
