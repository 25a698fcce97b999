"""Landlock at boot, on a host whose kernel has it and was started without it."""
from __future__ import annotations

import os
from typing import Any

from ..boot import act, words
from ..boot.act import BootRefused
from ..boot.plan import Edit, NoWay, Plan, plan
from ..host import boot, context, kernel, landlock, lsm
from ..host.read import text, value
from ..verdict import boot_list, refusal
from ..verdict.seen import Seen
from .users import Answer

OFF, PENDING, IGNORED = "LANDLOCK_OFF_AT_BOOT", "LANDLOCK_REBOOT_PENDING", "LANDLOCK_BOOT_LIST_IGNORED"
NOT_ORDERED = ("integrity", "ima", "evm")  # on or off whatever the list says, and renamed by newer kernels
UNDO = "`ansible-playbook playbooks/undo-landlock-at-boot.yml` gives the old list back, with the next boot"


def ensure(state: str, dry_run: bool, root: str = "/", run: act.Run = act.run) -> Answer:
    """Asks for Landlock at the next boot ("present"), or takes that back ("absent"). Raises `BootRefused`.

    {"changed", "status": "on", "pending", "nothing_to_do" or "taken_back", "reason", "code", "loader", "lsm",
    "active", "changes", "diff"}.
    """
    if os.geteuid() != 0:
        raise BootRefused("the boot loader is root's business; run this as root")
    return judged(state, dry_run, observe(root), root, run)


def observe(root: str = "/") -> Answer:
    """The facts that this needs, and no others."""
    return {"landlock": landlock.facts(root), "lsm": lsm.facts(root), "boot": boot.facts(root),
            "context": context.facts(root), "kernel": kernel.facts(root), "distribution": {}}


def judged(state: str, dry_run: bool, facts: Answer, root: str, run: act.Run) -> Answer:
    seen = Seen(facts)
    try:
        if state == "absent":
            return _absent(seen, dry_run, root, run)
        return _present(seen, dry_run, root, run)
    except OSError as problem:
        raise BootRefused(f"{problem.filename or 'a file'}: {problem.strerror}; nothing was changed") from None


def _present(seen: Seen, dry_run: bool, root: str, run: act.Run) -> Answer:
    active, record = seen.value("lsm.active", []), act.recorded(root)
    rebooted = record is not None and record["boot"] != _boot(root)
    lost = gone(record["active"], active) if rebooted and record and active else []
    if lost:
        raise BootRefused(f"since the host was started with the new list these security modules are off: "
                          f"{', '.join(lost)}. {UNDO}")
    if isinstance(seen.value("landlock.abi"), int):
        return _answer(seen, "on", "Landlock is on")
    finding = refusal.by_version(seen)
    code = finding["code"] if finding else None
    if finding is None or code not in (OFF, PENDING, IGNORED):
        why = finding["title"] if finding else f"the kernel did not answer: {seen.why('landlock.abi')}"
        return _answer(seen, "nothing_to_do", f"{why}; no list at boot would help", code)
    if code == IGNORED and rebooted and record:
        raise BootRefused(f"the host was started with lsm={record['lsm']}, and its kernel did not switch Landlock on. "
                          f"{UNDO}")
    if code == IGNORED:
        return _answer(seen, "nothing_to_do", f"{finding['title']}; no other list would help", code)
    if code == PENDING and record is None:
        return _by_others(seen)
    return _write(seen, code, rebooted, dry_run, root, run)


def _by_others(seen: Seen) -> Answer:
    """Somebody else asked for Landlock: theirs to decide, unless it would switch something off."""
    setting = boot_list.pending(seen) or {"file": "", "value": ""}
    lost = gone(seen.value("lsm.active", []), setting["value"].split(","))
    if lost:
        raise BootRefused(f"{setting['file']} asks for lsm={setting['value']}, which would switch off {', '.join(lost)}"
                          f"; it should say lsm={boot_list.line(seen.value('lsm.active', []))}. Nothing was changed")
    return _answer(seen, "pending", f"reboot pending: {setting['file']} already asks for it", PENDING)


def _write(seen: Seen, code: str, rebooted: bool, dry_run: bool, root: str, run: act.Run) -> Answer:
    way, wanted = boot_list.way(seen), boot_list.line(seen.value("lsm.active", []))
    if way == "container":
        return _answer(seen, "nothing_to_do", "this is a container; its host decides", code)
    by_hand = boot_list.remedies(seen)[0]["text"] if boot_list.remedies(seen) else ""
    if way not in boot_list.WRITTEN:
        raise BootRefused(f"nothing was changed, this is for a person to do. {by_hand or f'lsm={wanted}'}")
    try:
        planned = plan(way, wanted, boot_list.dropin(seen), root)
    except NoWay as problem:
        raise BootRefused(f"nothing was changed, since {problem}. For a person to do: lsm={wanted} on the kernel's "
                          "command line, in place of an lsm= that is there") from None
    if not (planned.changes or planned.commands):
        if rebooted:
            raise BootRefused(f"lsm={wanted} is where {seen.value('boot.loader')} reads it, the host was started since "
                              f"and without it: another loader or entry starts this host. {UNDO}")
        record = act.recorded(root)
        if record and record["phase"] == "writing" and not dry_run:
            act.finish(root)
        return _answer(seen, "pending", "reboot pending: the boot loader asks for it", code, planned)
    if not dry_run:
        act.apply(planned, _boot(root), seen.value("lsm.active", []), root, run)
    return {**_answer(seen, "pending", "reboot pending: the boot loader asks for it now", code, planned),
            "changed": True}


def _absent(seen: Seen, dry_run: bool, root: str, run: act.Run) -> Answer:
    record, edits = act.undoing(root)
    if record is None:
        return _answer(seen, "nothing_to_do", "nothing was written here, or it was taken back already")
    if not dry_run:
        act.undo(root, run)
    commands = tuple(tuple(command) for command in (*record["undo_first"], *record["undo_last"]))
    done = Plan(record["way"], record["lsm"], edits, commands)
    answer = _answer(seen, "taken_back", "reboot pending: the boot loader has its old list again", None, done)
    return {**answer, "changed": True, "expected": record["active"]}


def gone(before: list[str], after: list[str]) -> list[str]:
    """The modules that were on and are not, of those that a list at boot decides about."""
    left_alone = (*boot_list.IMPLICIT, *NOT_ORDERED, *after)
    return [name for name in before if name not in left_alone]


def _answer(seen: Seen, status: str, reason: str, code: Any = None, planned: Plan | None = None) -> Answer:
    changes = planned.changes if planned else ()
    return {
        "changed": False,
        "status": status,
        "reason": reason,
        "code": code,
        "loader": seen.value("boot.loader"),
        "active": seen.value("lsm.active", []),
        "lsm": planned.lsm if planned else None,
        "changes": [_told(change) for change in changes]
        + [f"run {' '.join(command)}" for command in (planned.commands if planned else ())],
        "diff": [difference(change) for change in changes],
    }


def _told(change: Edit) -> str:
    return f"{'write' if change.after is not None else 'remove'} {change.path}"


def difference(change: Edit) -> Answer:
    """Of the lines in a boot loader's file only the words that tell of security modules; the rest may hold a key."""
    before, after = (words.masked((held or b"").decode("utf-8", "replace"), change.path)
                     for held in (change.before, change.after))
    return {"before_header": change.path, "after_header": change.path, "before": before, "after": after}


def _boot(root: str) -> str:
    return str(value(text(root, "/proc/sys/kernel/random/boot_id")) or "")
