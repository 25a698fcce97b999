"""The plan, for people and for programs: each grant with its target and reason, each protection with its state."""
import json
import sys

from . import plan, system, version
from .launch import Launch

SCHEMA = 1


def describe(launch: Launch) -> dict:
    """The plan as plain data. It holds names of variables, never their values, and no argument of the command."""
    made, rules = launch.plan, launch.policy
    files = made.handled()[0]
    return {
        "schema": SCHEMA,
        "version": version.VERSION,
        "name": rules.name,
        "policy": rules.source,
        "preset": launch.preset.name,
        "command": launch.path,
        "command_target": system.real(launch.path),
        "abi": made.abi,
        "architecture": made.machine,
        "home": {"says": rules.home, "private_folder": launch.folders.data},
        "grants": [
            {"path": grant.path, "target": system.resolved(grant.descriptor, grant.path), "access": grant.kind,
             "reason": grant.reason}
            for grant in made.grants if made.access(grant, files)],
        "network": {"policy": rules.network, "connect": _ports(rules.connect), "bind": _ports(rules.bind)},
        "environment": sorted(system.text(name) for name in launch.variables),
        "limits": dict(rules.limits),
        "protections": [
            {"name": name, "meaning": meaning, "state": made.states()[name][0], "why": made.states()[name][1]}
            for name, meaning in plan.PROTECTIONS],
        "notes": launch.notes,
    }


def _ports(ports: list) -> list:
    return [f"{number}/{protocol}" for number, protocol in ports]


def render(plain: dict) -> str:
    """The same as text."""
    lines = [
        f"mcp-confine {plain['version']}: {plain['name']}, {plain['policy']}",
        f"command   {_arrow(plain['command'], plain['command_target'])}",
        f"kernel    Landlock ABI {plain['abi']}, {plain['architecture']}",
        f"private   {plain['home']['private_folder']} (HOME is {plain['home']['says']})",
        "", "grants",
    ]
    width = max(len(grant["access"]) for grant in plain["grants"])
    for grant in plain["grants"]:
        lines.append(f"  {grant['access'].ljust(width)}  {_arrow(grant['path'], grant['target'])}  ({grant['reason']})")
    network = plain["network"]
    said = network["policy"]
    if said == "ports":
        said = f"connect {', '.join(network['connect']) or 'none'}; bind {', '.join(network['bind']) or 'none'}"
    lines += ["", f"network   {said}", f"variables {', '.join(plain['environment'])}", "", "protections"]
    width = max(len(row["name"]) for row in plain["protections"])
    wide = max(len(row["state"]) for row in plain["protections"])
    for row in plain["protections"]:
        why = f" ({row['why']})" if row["why"] else ""
        lines.append(f"  {row['name'].ljust(width)}  {row['state'].ljust(wide)}  {row['meaning']}{why}")
    lines += ["", *plain["notes"]] if plain["notes"] else []
    return "\n".join(line.rstrip() for line in lines)


def _arrow(path: str, target: str) -> str:
    return path if path == target else f"{path} -> {target}"


def command(launch: Launch, as_json: bool) -> int:
    """Prints the plan of a prepared launch."""
    plain = describe(launch)
    text = json.dumps(plain, indent=2) if as_json else render(plain)
    sys.stdout.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(
        sys.stdout.encoding or "utf-8") + "\n")
    return 0
