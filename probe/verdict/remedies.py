"""What to do about a finding: rows of data. Braces are filled in from the host; on a page they stay as they are.

A remedy with `reboot` takes effect only after one. `scope` says for whom things change, `risk` what may go wrong.
"""
from __future__ import annotations

import string
from typing import Any, NamedTuple


class Remedy(NamedTuple):
    text: str
    scope: str
    risk: str
    undo: str
    reboot: bool = False


_LSM_RISK = "the list is the whole list: a module that is left out of it is off; keep the old boot entry startable"
_LSM_CHECK = " After the reboot, `probe` must show Landlock and /sys/kernel/security/lsm must still name the others."

REMEDIES = {
    # -- Landlock at boot; {lsm} is computed from the live list
    "lsm_edit_setting": Remedy(
        "In {file}, replace {parameter}={old} by lsm={lsm}, then run `{apply}` and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "put {parameter}={old} back and run `{apply}`", True),
    "lsm_grub": Remedy(
        "Write GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX lsm={lsm}\" into /etc/default/grub.d/{dropin}, run `{apply}` "
        "and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "remove /etc/default/grub.d/{dropin} and run `{apply}`", True),
    "lsm_grub_file": Remedy(
        "Append lsm={lsm} to GRUB_CMDLINE_LINUX in /etc/default/grub, run `{apply}` and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take it out of /etc/default/grub and run `{apply}`", True),
    "lsm_playbook": Remedy(
        "Or let `ansible-playbook playbooks/landlock-at-boot.yml` do it on this host and others: it writes lsm={lsm} "
        "the way each host boots, reboots when `landlock_boot_reboot` says so, and then proves that Landlock is on and "
        "no other module went off.",
        "host", "as the one above", "`ansible-playbook playbooks/undo-landlock-at-boot.yml`", True),
    "lsm_ostree": Remedy(
        "Run `rpm-ostree kargs --append-if-missing=lsm={lsm}` (with --delete-if-present for an lsm= that is there) and "
        "reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "`rpm-ostree kargs --delete=lsm={lsm}`, or boot the deployment before", True),
    "lsm_unified": Remedy(
        "This host boots a unified kernel image, which holds its command line inside: put lsm={lsm} into "
        "/etc/kernel/cmdline, or where the tool that builds the image reads it, build and sign the image again, and "
        "reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out and build the image again", True),
    "lsm_grubby": Remedy(
        "Run `grubby --update-kernel=ALL --args=lsm={lsm}` and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "`grubby --update-kernel=ALL --remove-args=lsm={lsm}`", True),
    "lsm_systemd_boot": Remedy(
        "Append lsm={lsm}, in place of an lsm= that is there, to the options line of the entry in the boot "
        "loader's loader/entries folder (and to /etc/kernel/cmdline, if it exists, for kernels to come) and reboot."
        + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out again", True),
    "lsm_kernelstub": Remedy(
        "Run `kernelstub --add-options lsm={lsm}` and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "`kernelstub --delete-options lsm={lsm}`", True),
    "lsm_raspberry": Remedy(
        "Append lsm={lsm} to the single line of {file} and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out of {file}", True),
    "lsm_kernel_install": Remedy(
        "Append lsm={lsm} to /etc/kernel/cmdline, run `kernel-install add-all` and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out and run `kernel-install add-all`", True),
    "lsm_extlinux": Remedy(
        "Append lsm={lsm} to the append lines of /boot/extlinux/extlinux.conf and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out of the append lines", True),
    "lsm_wsl": Remedy(
        "In .wslconfig of the Windows user, section [wsl2], put landlock first in the lsm= list of "
        "kernelCommandLine, or take the lsm= word out if you put it there: {lsm_or_default}. Then run `wsl "
        "--shutdown` in Windows.",
        "all WSL distributions of that Windows user",
        "a wrong list turns other modules off",
        "restore the old line",
        True),
    "lsm_other": Remedy(
        "Add lsm={lsm} to the kernel's command line in the boot loader of this host and reboot." + _LSM_CHECK,
        "host", _LSM_RISK, "take the word out again", True),
    "lsm_read_list_first": Remedy(
        "First read the live list as root: `mount -t securityfs securityfs /sys/kernel/security; cat "
        "/sys/kernel/security/lsm`. Then run `probe` again: it computes the line from that list, so that no active "
        "module is lost.",
        "nothing changes", "none", "`umount /sys/kernel/security`"),
    "lsm_check_command_line": Remedy(
        "The kernel was told {parameter}={told}, and Landlock is not active all the same. See with `dmesg | grep -i "
        "lsm` as root whether this kernel has Landlock at all; do not add more parameters.",
        "nothing changes", "none", "none needed"),
    "reboot": Remedy(
        "Reboot: {file} already asks for Landlock, the running kernel was started without it.",
        "host", "as any reboot", "none needed", True),
    "kernel_with_landlock": Remedy(
        "Start a kernel that was built with CONFIG_SECURITY_LANDLOCK: {kernel_hint}. No boot parameter helps here.",
        "host", "as any kernel change; keep the old entry startable", "boot the old kernel", True),
    # -- Filters around us, and folders
    "unit_allow_landlock": Remedy(
        "Run `systemctl {user_flag}edit {unit}` and add under [Service]: SystemCallFilter=@sandbox (systemd 253 or "
        "newer; older: SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self); then "
        "restart the unit.",
        "this unit", "three harmless system calls more", "`systemctl {user_flag}revert {unit}`"),
    "unit_allow_namespaces": Remedy(
        "Run `systemctl {user_flag}edit {unit}` and add under [Service] only what is missing: RestrictNamespaces=no; "
        "or move what needs namespaces out of this unit.",
        "this unit", "the unit may make namespaces", "`systemctl {user_flag}revert {unit}`"),
    "container_outside": Remedy(
        "The cure is outside of this container: run it on an engine from 2023 or newer, whose default filter allows "
        "Landlock, or let the host confine the servers. Nothing inside this container can change it.",
        "the container", "none", "none needed"),
    "snapd_update": Remedy(
        "Update snapd (`snap refresh snapd`): its filters allow Landlock since September 2025. Or use the client "
        "from another package.",
        "all snaps", "as any update", "`snap revert snapd`"),
    "outer_filter": Remedy(
        "Find out what started this process with a system call filter (Seccomp in /proc/self/status is {seccomp}) "
        "and start the client without it.",
        "this session", "none", "none needed"),
    "profile_allow_landlock": Remedy(
        "The AppArmor profile {label} refuses it. Start the client outside of that profile, or allow it no_new_privs "
        "in the profile's local addition below /etc/apparmor.d/local.",
        "that profile", "the profile becomes wider", "remove the line and reload"),
    "fewer_layers": Remedy(
        "Start the client outside of the sandboxes around it: the kernel stacks at most 16 Landlock layers.",
        "this session", "none", "none needed"),
    "move_folder": Remedy(
        "Move {folder} to a local Linux file system ({type} does not obey Landlock's rules there), for instance "
        "below the home folder.",
        "that folder", "none", "move it back"),
    "grant_parent": Remedy(
        "Grant the parent folder of what a server needs there, read-only, with `--ro`.",
        "one server", "the server sees more of that drive", "remove the line from its policy"),
    "report_kernel": Remedy(
        "Report it to the kernel's vendor, and use another mechanism until it is fixed.",
        "host", "none", "none needed"),
    "free_folder": Remedy(
        "Make {folder} writable for this user, with room for a few files, and run `probe` again.",
        "that folder", "none", "none needed"),
    "no_unix_grant": Remedy(
        "Give no server `--unix` on this host: below Landlock ABI 9 the grant opens all sockets, not one.",
        "servers", "a server that needs a socket stays away from it", "grant it"),
    "leave_group": Remedy(
        "Take the user out of the group that opens {sockets} (`gpasswd -d USER GROUP`), or use rootless mode.",
        "one user", "the user needs sudo for it afterwards", "`gpasswd -a USER GROUP`"),
    "runtime_not_snap": Remedy(
        "Install {names} from another source than snap (distribution package, nvm, uv's installer) and put it first "
        "on PATH.",
        "one user", "two versions on one host", "remove it again"),
    # -- User namespaces and bubblewrap
    "use_landlock": Remedy(
        "Nothing to change: mcp-confine uses Landlock, which needs no user namespace.",
        "nothing changes", "none", "none needed"),
    "load_stock_profile": Remedy(
        "Run `apparmor_parser -Q {extra} && cp {extra} /etc/apparmor.d/ && apparmor_parser -r "
        "/etc/apparmor.d/bwrap-userns-restrict`: it lets {bwrap} make one level of namespaces and nothing more.",
        "bwrap",
        "Flatpak's file dialogs had trouble with it on 24.04; no namespace inside a namespace",
        "`apparmor_parser -R /etc/apparmor.d/bwrap-userns-restrict && rm /etc/apparmor.d/bwrap-userns-restrict`"),
    "install_stock_profile": Remedy(
        "Install the package apparmor-profiles; then copy and load its {extra}, which lets {bwrap} make one level of "
        "namespaces.",
        "bwrap", "Flatpak's file dialogs had trouble with it on 24.04", "unload and remove the copy"),
    "profile_for_path": Remedy(
        "Write /etc/apparmor.d/{profile_name} with `abi <abi/4.0>,` and `profile {profile_name} {path} "
        "flags=(unconfined) {{ userns, }}`, check it with `apparmor_parser -Q`, load it with `apparmor_parser -r`.",
        "the program at {path}",
        "whoever can start that program can make namespaces with all capabilities in them",
        "`apparmor_parser -R` it and remove the file"),
    "enable_profile": Remedy(
        "The profile {name} for this path lies in {file}, switched off. Remove /etc/apparmor.d/disable/{file_name} "
        "and run `apparmor_parser -r {file}`.",
        "the program", "none", "`aa-disable {file}`"),
    "reload_profile": Remedy(
        "{file} already attaches to {path}; add no second profile. See with `aa-status` as root whether it is "
        "loaded, and load it with `apparmor_parser -r {file}`.",
        "the program", "none", "`apparmor_parser -R {file}`"),
    "keep_one_profile": Remedy(
        "Keep one of {files} and remove the others (`apparmor_parser -R FILE`, then move it away): two profiles on "
        "one path refuse every start.",
        "the program", "what only the removed one allowed is refused", "put the file back and load it"),
    "restore_stock_profile": Remedy(
        "Rename or remove {file}, which replaces the distribution's profile for bwrap and leaves all capabilities to "
        "what runs inside, and load the stock one again.",
        "bwrap", "a program that needs namespaces inside namespaces fails again", "load {file} again"),
    "apparmor_sysctl": Remedy(
        "Last resort: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` takes the restriction from every "
        "program of the host.",
        "host",
        "high: opens the kernel's namespace code to every local program",
        "`sysctl kernel.apparmor_restrict_unprivileged_userns=1`"),
    "clone_sysctl": Remedy(
        "Last resort: `sysctl kernel.unprivileged_userns_clone=1`; somebody turned it off on purpose, so find the "
        "file below /etc/sysctl.d that says 0 first.",
        "host",
        "high: opens the kernel's namespace code to every local program",
        "`sysctl kernel.unprivileged_userns_clone=0`"),
    "raise_limit": Remedy(
        "`sysctl user.max_user_namespaces={wanted}`, and the same line in /etc/sysctl.d to keep it.",
        "host", "every local program may make user namespaces", "`sysctl user.max_user_namespaces={now}`"),
    "rhel7_namespaces": Remedy(
        "Run `grubby --update-kernel=ALL --args=namespace.unpriv_enable=1`, set user.max_user_namespaces and reboot.",
        "host", "a technology preview on that kernel", "`grubby --remove-args`, reboot", True),
    "leave_chroot": Remedy(
        "Start it outside of the chroot: the kernel makes no user namespace for a process inside one.",
        "this session", "none", "none needed"),
    "install_bubblewrap": Remedy(
        "Install the package bubblewrap, if you want it beside Landlock.",
        "host", "none", "remove it"),
    "selinux_policy": Remedy(
        "Ask the owner of the SELinux policy: `ausearch -m avc -c {program}` names the rule; there is no general "
        "switch.",
        "host", "depends on the rule", "remove the added module"),
    # -- Docker
    "wrap_instead": Remedy(
        "Start the server without Docker (npx, uvx, …) and confine it: `probe wrap`. Landlock works here without "
        "Docker, root or namespaces.",
        "one server", "a server that was only published as an image has to be installed", "`probe unwrap`"),
    "drop_option": Remedy(
        "Drop {options} from the arguments of {servers}.",
        "one server", "one protection less inside the container", "put it back"),
    "move_below_home": Remedy(
        "Bind only visible folders below {home}; move what lies elsewhere, hidden or in /tmp there.",
        "one server", "none", "move it back"),
    "absolute_paths": Remedy(
        "Write paths out: for snap's client, ~ and $HOME are ~/snap/docker/REVISION.",
        "one server", "none", "none needed"),
    "docker_from_packages": Remedy(
        "Replace the snap by the distribution's or docker.com's package: `snap stop docker`, install docker.io or "
        "docker-ce, move volumes and images over, `snap remove docker`.",
        "host",
        "containers, images and volumes of the snap are not taken over by themselves",
        "`snap restore` of the snapshot that snapd makes on removal"),
    "one_docker": Remedy(
        "Keep one Docker: remove either the snap or the package, after moving its data.",
        "host", "data of the removed one", "install it again"),
    "reload_docker_default": Remedy(
        "As root: `apparmor_parser -R` the left-over docker-default profile (or reboot), then restart the snap's "
        "daemon, which loads its own.",
        "all containers", "running containers lose their profile until restarted", "restart the daemon"),
    "homedirs": Remedy(
        "`snap set system homedirs={parent}`, then log in again.",
        "host", "snaps see that folder", "`snap unset system homedirs`"),
    "client_without_nnp": Remedy(
        "Start snap's docker from a client that is not under no_new_privs; never through mcp-confine.",
        "this client", "none", "none needed"),
    "unit_for_snap": Remedy(
        "Run `systemctl {user_flag}edit {unit}` and add under [Service] NoNewPrivileges=no, and nothing wider; or "
        "start the server without snap.",
        "this unit", "the unit may start setuid programs", "`systemctl {user_flag}revert {unit}`"),
    "start_daemon": Remedy(
        "Start the daemon: `{command}`.",
        "host", "none", "stop it again"),
    "new_session": Remedy(
        "Log out and in again (or `newgrp docker`): the user is in the group, this session is not yet.",
        "one user", "none", "none needed"),
    "rootless_docker": Remedy(
        "Give the user a daemon of their own: `dockerd-rootless-setuptool.sh install`, or use Podman.",
        "one user", "some networks and storage drivers differ", "`dockerd-rootless-setuptool.sh uninstall`"),
    "docker_group": Remedy(
        "`usermod -aG docker {user}`; membership is as good as root.",
        "one user", "high: whoever is in the group is root on this host", "`gpasswd -d {user} docker`"),
    "install_docker_client": Remedy(
        "Install a docker client, or point servers at podman.",
        "host", "none", "remove it"),
    "subordinate_ids": Remedy(
        "`usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}` with a range that nobody else has, "
        "and install the package uidmap (newuidmap).",
        "one user", "none", "`usermod --del-subuids …`"),
    # -- Around
    "probe_as_user": Remedy(
        "Run `probe` as the user who starts the servers, or as root with `--user NAME`.",
        "nothing changes", "none", "none needed"),
    "probe_outside": Remedy(
        "Run `probe` in a plain session of the user, and in the context in which the servers start.",
        "nothing changes", "none", "none needed"),
    "wsl2": Remedy(
        "In Windows: `wsl --set-version {distribution} 2`.",
        "this distribution", "a conversion copies all files; back up first", "`wsl --set-version {distribution} 1`"),
    "another_runtime": Remedy(
        "Use a container runtime with a Linux kernel of its own or the host's (runc, crun), or let the host confine.",
        "the container", "less separation from the host's kernel", "choose gVisor again"),
}


class _Names(dict):
    def __missing__(self, key: str) -> str:
        return f"<{key}>"


def filled(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The remedy as JSON-able data, braces filled; a name that the host did not give stands in angle brackets."""
    row, words, fill = REMEDIES[name], _Names(fields), string.Formatter().vformat
    return {"id": name, "text": fill(row.text, (), words), "scope": fill(row.scope, (), words), "risk": row.risk,
            "reboot": row.reboot, "undo": fill(row.undo, (), words)}
