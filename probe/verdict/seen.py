"""Facts as a judge reads them, and findings as it writes them."""
from __future__ import annotations

from typing import Any

from .catalogue import CODES
from .remedies import filled

MISSING: dict[str, Any] = {"state": "unknown", "value": None, "how": "not observed", "why": "the subject failed"}
FULL_BOUNDING_SET = 21  # the bit of CAP_SYS_ADMIN: whoever lacks it was restricted on purpose


class Seen:
    """Facts by dotted names. What is not there, or is not a fact, is unknown; nothing here raises."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def fact(self, name: str) -> dict[str, Any]:
        place: Any = self.facts
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return place if isinstance(place, dict) and "state" in place else MISSING

    def value(self, name: str, default: Any = None) -> Any:
        """The value of a known fact; `default` for one that is absent, unknown or of another type than the default."""
        fact = self.fact(name)
        if fact["state"] != "known" or (default is not None and not isinstance(fact["value"], type(default))):
            return default
        return fact["value"]

    def unknown(self, name: str) -> bool:
        return self.fact(name)["state"] == "unknown"

    def why(self, name: str) -> str:
        return str(self.fact(name).get("why") or "")

    @property
    def root(self) -> bool:
        return bool((self.facts.get("user") or {}).get("root"))

    @property
    def home(self) -> str:
        return str((self.facts.get("user") or {}).get("home") or "/")

    @property
    def user(self) -> str:
        return str((self.facts.get("user") or {}).get("name") or "USER")

    # -- what several judges ask

    def instead(self, name: str) -> list[dict[str, Any]]:
        """The remedy that says to use Landlock, where Landlock was seen to work."""
        tests = (self.facts.get("landlock") or {}).get("self_tests") or []
        works = any(isinstance(fact, dict) and (fact.get("value") or {}).get("passed") for fact in tests)
        return [remedy(name)] if works else []

    @property
    def seccomp(self) -> int | None:
        return self.value("context.status", {}).get("seccomp")

    @property
    def no_new_privileges(self) -> bool:
        return bool(self.value("context.status", {}).get("no_new_privileges"))

    @property
    def unit(self) -> dict[str, Any] | None:
        return self.value("context.unit", {}) or None

    @property
    def container_hints(self) -> list[str]:
        return [name for name in self.value("context.container_hints", []) if name != "wsl"]

    def container_signs(self) -> list[str]:
        """What else than a left-over file speaks for a container."""
        signs = []
        status = self.value("context.status", {})
        if status.get("seccomp"):
            signs.append("a system call filter")
        if status and not (status.get("bounding_set") or 0) >> FULL_BOUNDING_SET & 1:
            signs.append("no CAP_SYS_ADMIN in the bounding set")
        if self.value("context.uid_map_full") is False:
            signs.append("a user namespace")
        if self.value("context.root_mount") in ("overlay", "fuse-overlayfs", "aufs"):
            signs.append("a layered root file system")
        return signs

    @property
    def container(self) -> str | None:
        """The kind of container around us, or None. A hint without any sign is none."""
        hints = self.container_hints
        return hints[0] if hints and self.container_signs() else None

    @property
    def label(self) -> str | None:
        """AppArmor's label for this process, None when unconfined or not known."""
        label = self.value("apparmor.label", "")
        return label if label and not label.startswith("unconfined") and ":" not in label else None

    @property
    def around(self) -> dict[str, Any]:
        """Evidence for whatever may be a filter's doing."""
        return {"seccomp": self.seccomp, "container": self.container, "unit": (self.unit or {}).get("name")}

    def filter_remedies(self, allow: str) -> list[dict[str, Any]]:
        """Who put the filter there decides who can take it away; `allow` is the remedy for a unit."""
        if self.container:
            return [remedy("container_outside")]
        if self.value("context.snap"):
            return [remedy("snapd_update")]
        if self.unit:
            return [remedy(allow, unit=self.unit["name"], user_flag="--user " if self.unit.get("user") else "")]
        return [remedy("outer_filter", seccomp=self.seccomp)]


def remedy(name: str, /, **fields: Any) -> dict[str, Any]:
    return filled(name, fields)


def finding(code: str, mechanism: str | None, evidence: dict[str, Any] | None = None,
            remedies: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """{"code", "severity", "mechanism", "title", "evidence", "remedies"}; remedies in the catalogue's order."""
    row = CODES[code]
    ordered = sorted(remedies or [], key=lambda entry: row.remedies.index(entry["id"]))
    return {"code": code, "severity": row.severity, "mechanism": mechanism, "title": row.title,
            "evidence": evidence or {}, "remedies": ordered}


def mechanism(state: str, findings: list[dict[str, Any]], evidence: dict[str, Any]) -> dict[str, Any]:
    """{"state", "codes", "evidence", "remedies"}; remedies once each, those of errors first, risky ones last."""
    kept: dict[str, dict[str, Any]] = {}
    order = ("error", "warning", "info")
    for entry in sorted(findings, key=lambda row: order.index(row["severity"])):
        for cure in entry["remedies"]:
            kept.setdefault(cure["text"], cure)
    cures = sorted(kept.values(), key=lambda cure: cure["risk"].startswith("high"))
    return {"state": state, "codes": [row["code"] for row in findings], "evidence": evidence, "remedies": cures}
