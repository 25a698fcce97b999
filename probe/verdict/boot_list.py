"""The `lsm=` line for this host, and where it goes."""
from __future__ import annotations

from typing import Any

from .seen import Seen, remedy

IMPLICIT = ("capability",)  # always first and always on, named or not
DROPIN = "zz-landlock.cfg"
APPLY = {"/etc/default/grub": "update-grub", "/etc/kernel/cmdline": "kernel-install add-all"}


def line(active: list[str]) -> str:
    """The live list with Landlock in front: nothing that is on now is lost, and its order stays."""
    return ",".join(["landlock", *(name for name in active if name not in (*IMPLICIT, "landlock"))])


def remedies(seen: Seen) -> list[dict[str, Any]]:
    """What switches Landlock on at the next boot of this host; inside a container, nothing does."""
    if seen.container:
        return []
    active = seen.value("lsm.active", [])
    if seen.value("context.wsl") == 2:
        return [remedy("lsm_wsl", lsm_or_default=f"lsm={line(active)}" if active else "the default list has Landlock")]
    if not active:
        # A list made from the kernel's configuration could switch off what is on, or name what was never built.
        return [remedy("lsm_read_list_first")]
    wanted = line(active)
    loader = str(seen.value("boot.loader", "other"))
    setting = _set_already(seen)
    if setting:
        grub = "grub" in setting["file"]
        command = _update_grub(loader) if grub else APPLY.get(setting["file"], "true")
        return [remedy("lsm_edit_setting", file=setting["file"], parameter=setting["parameter"], old=setting["value"],
                       lsm=wanted, apply=command)]
    names = {
        "grub": "lsm_grub",
        "grubby": "lsm_grubby",
        "systemd-boot": "lsm_systemd_boot",
        "kernelstub": "lsm_kernelstub",
        "raspberry": "lsm_raspberry",
        "kernel-install": "lsm_kernel_install",
        "extlinux": "lsm_extlinux",
    }
    chosen = names.get(loader, "lsm_other")
    where = seen.fact("boot.loader")["how"]
    if chosen == "lsm_grub" and not _reads_dropins(seen):
        return [remedy("lsm_grub_file", lsm=wanted, apply="grub-mkconfig -o /boot/grub/grub.cfg")]
    return [remedy(chosen, lsm=wanted, dropin=_last(seen), apply=_update_grub(loader), file=where)]


def _reads_dropins(seen: Seen) -> bool:
    """Debian and what comes from it read /etc/default/grub.d; so does whoever already keeps a file there."""
    return seen.fact("boot.loader")["how"] == "/usr/sbin/update-grub" or bool(seen.value("boot.grub_files", []))


def _update_grub(loader: str) -> str:
    return "update-grub" if loader == "grub" else "grub2-mkconfig -o /boot/grub2/grub.cfg"


def _last(seen: Seen) -> str:
    """A name that is read after every file already there: the last assignment wins."""
    last = max(seen.value("boot.grub_files", []), default="")
    return DROPIN if last < DROPIN else f"{last[:-4]}z-landlock.cfg"


def _set_already(seen: Seen) -> dict[str, Any] | None:
    """The setting that decides today. GRUB puts the variable with _DEFAULT after the one without."""
    rows = [row for row in seen.value("boot.settings", []) if row.get("parameter") == "lsm"]
    late = [row for row in rows if str(row.get("variable") or "").endswith("_DEFAULT")]
    return (late or rows or [None])[-1]


def pending(seen: Seen) -> dict[str, Any] | None:
    """The setting that asks for Landlock at the next boot, when the running kernel was started without it."""
    if "landlock" in str(seen.value("boot.parameters", {}).get("lsm", "")).split(","):
        return None
    setting = _set_already(seen)
    return setting if setting and "landlock" in setting["value"].split(",") else None
