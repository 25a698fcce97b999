"""The `lsm=` line for this host, and where it goes."""
from __future__ import annotations

from typing import Any

from .seen import Seen, remedy

IMPLICIT = ("capability",)  # always first and always on, named or not
DROPIN = "zz-landlock.cfg"
APPLY = {"/etc/kernel/cmdline": "kernel-install add-all", "/etc/kernelstub/configuration": "kernelstub"}
WRITTEN = ("grub", "grub-file", "grubby", "systemd-boot", "kernelstub", "raspberry")  # what the role can write
REMEDIES = {
    "grub": "lsm_grub",
    "grub-file": "lsm_grub_file",
    "grubby": "lsm_grubby",
    "systemd-boot": "lsm_systemd_boot",
    "kernelstub": "lsm_kernelstub",
    "raspberry": "lsm_raspberry",
    "kernel-install": "lsm_kernel_install",
    "extlinux": "lsm_extlinux",
    "ostree": "lsm_ostree",
    "unified": "lsm_unified",
}


def line(active: list[str]) -> str:
    """The live list with Landlock in front: nothing that is on now is lost, and its order stays."""
    return ",".join(["landlock", *(name for name in active if name not in (*IMPLICIT, "landlock"))])


def way(seen: Seen) -> str:
    """How the list is set on this host: one of `WRITTEN`, or why nobody but a person can.

    That is "container", "wsl", "unread" (the live list), "unified", or the name of another loader.
    """
    loader = str(seen.value("boot.loader", "other"))
    if seen.container:
        return "container"
    if seen.value("context.wsl") == 2:
        return "wsl"
    if not seen.value("lsm.active", []):
        return "unread"
    if seen.value("boot.unified", False) and loader != "kernelstub":
        return "unified"
    if loader == "grub" and not _reads_dropins(seen):
        return "grub-file"
    return loader


def remedies(seen: Seen) -> list[dict[str, Any]]:
    """What switches Landlock on at the next boot of this host; inside a container, nothing does."""
    active, how = seen.value("lsm.active", []), way(seen)
    if how == "container":
        return []
    if how == "wsl":
        return [remedy("lsm_wsl", lsm_or_default=f"lsm={line(active)}" if active else "the default list has Landlock")]
    if how == "unread":
        # A list made from the kernel's configuration could switch off what is on, or name what was never built.
        return [remedy("lsm_read_list_first")]
    wanted, file = line(active), seen.fact("boot.loader")["how"]
    by_role = [remedy("lsm_playbook", lsm=wanted)] if how in WRITTEN else []
    setting = _set_already(seen)
    if setting and how not in ("grubby", "ostree", "unified") and "/loader/entries/" not in setting["file"]:
        command = _update_grub(how) if "grub" in setting["file"] else APPLY.get(setting["file"], "true")
        return [remedy("lsm_edit_setting", file=setting["file"], parameter=setting["parameter"], old=setting["value"],
                       lsm=wanted, apply=command), *by_role]
    name = REMEDIES.get(how, "lsm_other")
    return [remedy(name, lsm=wanted, dropin=dropin(seen), apply=_update_grub(how), file=file), *by_role]


def _reads_dropins(seen: Seen) -> bool:
    """Debian and what comes from it read /etc/default/grub.d; so does whoever already keeps a file there."""
    return seen.fact("boot.loader")["how"] == "/usr/sbin/update-grub" or bool(seen.value("boot.grub_files", []))


def _update_grub(how: str) -> str:
    return "update-grub" if how == "grub" else "grub-mkconfig -o /boot/grub/grub.cfg"


def dropin(seen: Seen) -> str:
    """A name that is read after every file already there: the last assignment wins."""
    last = max((name for name in seen.value("boot.grub_files", []) if not is_own(name)), default="")
    return DROPIN if last < DROPIN else f"{last[:-4]}z-landlock.cfg"


def is_own(name: str) -> bool:
    """Whether `dropin` could have chosen that name."""
    return name == DROPIN or name.endswith("z-landlock.cfg")


def _set_already(seen: Seen) -> dict[str, Any] | None:
    """The setting that decides today. GRUB puts the variable with _DEFAULT after the one without.

    A drop-in of ours takes the others' words out of both, so that it decides when none is read after it.
    """
    rows = [row for row in seen.value("boot.settings", []) if row.get("parameter") == "lsm"]
    grub = [row for row in rows if row["file"].startswith("/etc/default/grub")]
    if grub and is_own(grub[-1]["file"].rpartition("/")[2]):
        return grub[-1]
    late = [row for row in rows if str(row.get("variable") or "").endswith("_DEFAULT")]
    return (late or rows or [None])[-1]


def pending(seen: Seen) -> dict[str, Any] | None:
    """The setting that asks for Landlock at the next boot, when the running kernel was started without it."""
    if "landlock" in str(seen.value("boot.parameters", {}).get("lsm", "")).split(","):
        return None
    setting = _set_already(seen)
    return setting if setting and "landlock" in setting["value"].split(",") else None
