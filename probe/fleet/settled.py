"""Whether anything is to do on this host, asked in one go: each step as its own module would answer in check mode."""
from __future__ import annotations

from . import configure, observe, prove, wrapper
from .users import Answer


def look(wish: Answer, distribution: Answer) -> Answer:
    """{"settled": True, "probed", "configured", "proved"} or {"settled": False, "reason"}, as soon as that is known.

    Settled is where the modules of an enabling run would find Landlock usable for all users, change nothing, leave
    nothing open, and start no server since each one's proof is remembered; the three are what they would return.

    `wish` holds the parameters of `landlock_probe`, `mcp_confine`, `mcp_launch_config` and `mcp_denial_check`.
    Raises `InstallRefused` and `ValueError` as these do.
    """
    installed = wrapper.ensure({**wish, "state": "present", "remove_user_state": False}, dry_run=True)
    if installed["changed"]:
        return {"settled": False, "reason": f"to do: {', '.join(installed['changes'])}"}
    configured = configure.configure(wish["users"], {**wish, "state": "confined", "refused": None, "dry_run": True})
    to_do = configured["to_do"] + configured["not_confined"] + configured["editors_missing"]
    if configured["changed"] or to_do:
        return {"settled": False, "reason": f"to do: {', '.join(to_do)}"}
    del configured["files"]
    proved = prove.remembered(wish["users"], wish)
    open_proofs = proved["failures"] + [f"{entry['user']}: {entry['client']}:{entry['server']}"
                                        for entry in proved["checks"] if not entry["remembered"]]
    if open_proofs:
        return {"settled": False, "reason": f"to prove: {', '.join(open_proofs)}"}
    probed = observe.observe(wish["users"], distribution, wish["projects"])
    unmet = observe.unmet(probed, ["landlock"])
    if unmet:
        return {"settled": False, "reason": "; ".join(unmet)}
    for answer in probed["users"]:
        answer.pop("facts", None)
    return {"settled": True, "configured": {**configured, "changed": False}, "proved": {**proved, "changed": False},
            "probed": {**probed, "changed": False, "unmet": [], "distribution": distribution}}
