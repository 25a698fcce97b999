"""docs/clients.md, written from the catalogue: `python -m probe.clients.page > docs/clients.md`."""
from __future__ import annotations

from .catalogue import CLIENTS, FOLDERS, OUT_OF_REACH, Client, Place

SURE = {"A": "the vendor's documentation or source", "B": "third parties that read or write the file",
        "C": "one mention, or sources disagree"}
LISTS = {
    "claude": "`allowedMcpServers` and `deniedMcpServers` by `serverCommand`, in managed and user settings",
    "codex": "`requirements.toml`, identity by command",
    "goose": "`GOOSE_ALLOWLIST`",
    "windsurf": "a team whitelist on the vendor's side, which cannot be seen from here",
}
HEAD = """# Clients

Every MCP client whose servers `probe servers` lists, and what `probe wrap` and the module `mcp_launch_config` do with
its files. This page is generated from `probe/clients/catalogue.py`; a new client is one row there.

What an edit does, in all formats: the command becomes the path of `mcp-confine`; `--name SERVER`, one `--env NAME` for
each name in the entry's environment, `--` and the original command go in front of its arguments. No other byte of the
file changes, and `probe unwrap` gives the same bytes back.

Files are looked for in the places below, and where the variable in a path leads when the process that looks has it set
and it leads to the user's own files. Another user's variables, set in their shell, are not seen.

## Files that are edited
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for client in CLIENTS:
        if any(not place.fixed for place in client.places):
            parts.append(_client(client))
    parts.append("## Out of reach\n\nListed by `probe servers` where they are found, and never edited.\n")
    rows = [
        f"| {client.title}: {_path(place)} | {place.fixed} |"
        for client in CLIENTS for place in client.places if place.fixed
    ]
    parts.append("\n".join(["| what | why |", "|---|---|", *rows]) + "\n")
    parts.append("Not found by `probe servers` at all:\n")
    rows = [f"| {what} | {why} |" for what, why in OUT_OF_REACH]
    parts.append("\n".join(["| what | why |", "|---|---|", *rows]) + "\n")
    parts.append("## Variables in paths\n")
    rows = [f"| `{name}` | {f'`{default}`' if default else 'no such file then'} |" for name, default in FOLDERS.items()]
    parts.append("\n".join(["| variable | when it is not set |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _client(client: Client) -> str:
    rows = [
        f"| {place.scope} | {_path(place)} | {place.format} | {', '.join(_keys(place))} |"
        for place in client.places if not place.fixed
    ]
    lines = [
        f"### {client.title}", "", f"`{client.name}`. Known from {SURE[client.sure]}.", "",
        "| scope | file | format | servers in |", "|---|---|---|---|", *rows, "",
    ]
    notes = [f"An entry is {' or '.join(client.shapes)}."] if client.shapes != ("plain",) else []
    if client.rewrites:
        notes.append(f"The client rewrites the file {client.rewrites}.")
    if client.lock:
        notes.append(f"Its lock, a folder `FILE{client.lock}`, is taken for an edit.")
    if client.lists:
        notes.append(f"Matches servers by command: {LISTS[client.lists]}.")
    if client.strict:
        notes.append("An unknown key in an entry makes the whole file invalid; an edit adds none.")
    if client.asks_again:
        notes.append("It asks for approval again after a server has changed.")
    if client.switch:
        notes.append(f"`{client.switch}` turns a server on or off; servers that are off are wrapped too.")
    return "\n".join([*lines, *([" ".join(notes), ""] if notes else [])])


def _path(place: Place) -> str:
    return f"`{place.path}`"


def _keys(place: Place) -> list[str]:
    shown = {"map": "{}", "array": "{} (a list)", "bare": "the file itself"}
    return [
        shown[keys.holds].format("`" + "` → `".join(keys.keys) + "`" if keys.keys else "the file itself")
        for keys in place.keys if keys.holds in shown
    ]


if __name__ == "__main__":
    print(page(), end="")
