"""Generated client files: what a person or a program could have written, with a chosen meaning and any look."""

from __future__ import annotations

import json
import random
import re
from typing import Any

SECRET = "s3cr3t-t0k3n"
COMMANDS = (
    "npx",
    "uvx",
    "/usr/bin/python3",
    "node",
    "./run me.sh",
    "pñpm",
    "a,b",
    "x: y",
    "C#",
    "'q'",
    'dq"',
    "back/slash",
    "\U0001f600",
)
ARGUMENTS = (
    "-y",
    "--",
    "@scope/pkg@1.2",
    "",
    " ",
    "--token=" + SECRET,
    "a,b]",
    "x: y",
    "#no",
    "ünï",
    "{}",
    "//x",
    "/*x*/",
    "null",
    "12",
    "\U0001f600",
    "tab\there",
    "--name",
    "${VAR}",
    "'",
    '"',
)
NAMES = (
    "fs",
    "git",
    "my server",
    "dot.ted",
    "a/b",
    "-dash",
    "--",
    "ünï",
    "\U0001f600",
    "x" * 300,
    "con\x01trol",
    'quo"te',
    "$HOME",
    "{}",
)
VARIABLES = ("API_KEY", "_x", "ünï", "A B", "-v", "LD_PRELOAD")
OTHERS: tuple[tuple[str, Any], ...] = (
    ("timeout", 12345678901234567890123),
    ("disabled", False),
    ("cwd", "/tmp/x"),
    ("alwaysAllow", ["a", {"b": None}]),
    ("note", '{["]}'),
)


def server(rng: random.Random, plain_names: bool = False) -> dict[str, Any]:
    """One entry; its members in any order."""
    members: list[tuple[str, Any]] = [("command", rng.choice(COMMANDS))]
    if rng.random() < 0.7:
        members.append(("args", [rng.choice(ARGUMENTS) for _ in range(rng.randrange(4))]))
    if rng.random() < 0.5:
        names = rng.sample([name for name in VARIABLES if name.isascii() or not plain_names], rng.randrange(3))
        members.append(("env", dict.fromkeys(names, SECRET)))
    members += rng.sample(OTHERS, rng.randrange(3))
    rng.shuffle(members)
    return dict(members)


def servers(rng: random.Random) -> dict[str, Any]:
    return {name: server(rng) for name in rng.sample(NAMES, rng.randrange(1, 4))}


def json_text(rng: random.Random, data: Any, plain: bool = False) -> bytes:
    """`data` as JSON with comments, trailing commas, any blanks, escapes, a mark; `plain` without the first two."""
    line = rng.choice(["\n", "\r\n"])
    unit = rng.choice(["", " ", "    ", "\t"])
    flat = rng.random() < 0.2
    noise = 0 if plain else rng.choice([0, 0.1, 0.5])

    def blank(depth: int) -> str:
        text = "" if flat else line + unit * depth
        if rng.random() < noise:
            text += rng.choice(['/* c"{[ */', f"// it's \"}}{line}", " \t", f"/* a{line}** b */"])
        return text

    def string(text: str) -> str:
        shown = json.dumps(text, ensure_ascii=rng.random() < 0.3)
        if rng.random() < 0.2:
            shown = (
                re.sub(r"[a-f/](?![^\\]*\\$)", lambda found: f"\\u{ord(found.group()):04x}", shown, count=1)
                if "\\" not in shown
                else shown
            )
        return shown

    def value(item: Any, depth: int) -> str:
        colon = rng.choice([":", ": ", " : "])
        if isinstance(item, dict):
            rows = [f"{string(key)}{colon}{value(child, depth + 1)}" for key, child in item.items()]
        elif isinstance(item, list):
            rows = [value(child, depth + 1) for child in item]
        elif isinstance(item, str):
            return string(item)
        else:
            return json.dumps(item)
        opening, closing = "{}" if isinstance(item, dict) else "[]"
        if not rows:
            return opening + ("" if rng.random() < 0.7 else blank(depth)) + closing
        tail = "," if not plain and rng.random() < 0.3 else ""
        body = ",".join(blank(depth + 1) + row + (" " if rng.random() < noise / 2 else "") for row in rows)
        return opening + body + tail + blank(depth) + closing

    mark = b"\xef\xbb\xbf" if rng.random() < 0.2 else b""
    text = value(data, 0) + rng.choice(["", line, line + line])
    return mark + (blank(0) if rng.random() < noise else "").encode() + text.encode()


def toml_text(rng: random.Random, entries: dict[str, Any], other: Any) -> bytes:
    """Codex-like TOML: tables, inline tables and dotted keys, every kind of string, comments, any line ends."""
    line = rng.choice(["\n", "\r\n"])

    def key(text: str) -> str:
        return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else basic(text)

    def basic(text: str) -> str:
        return "".join(
            char if char.isprintable() else f"\\u{ord(char):04x}" for char in json.dumps(text, ensure_ascii=False)
        )

    def string(text: str) -> str:
        if rng.random() < 0.3 and "'" not in text and text.isprintable():
            return f"'{text}'"
        if rng.random() < 0.2 and '"' not in text and "\\" not in text and text.isprintable():
            return f'"""{text}"""'
        return basic(text)

    def array(items: list[Any], inline: bool) -> str:
        shown = [value(item, True) for item in items]
        if inline or rng.random() < 0.5 or not shown:
            return "[" + ", ".join(shown) + rng.choice(["", "," if shown else ""]) + "]"
        indent = rng.choice(["  ", "\t", ""])
        rows = [
            indent
            + item
            + ("," if index < len(shown) - 1 or rng.random() < 0.5 else "")
            + rng.choice(["", " # c, ]"])
            + line
            for index, item in enumerate(shown)
        ]
        return f"[{rng.choice(['', ' # first'])}{line}" + "".join(rows) + "]"

    def value(item: Any, inline: bool = False) -> str:
        if isinstance(item, dict):
            return (
                "{ " + ", ".join(f"{key(name)} = {value(child, True)}" for name, child in item.items()) + " }"
                if item
                else "{}"
            )
        if isinstance(item, list):
            return array(item, inline)
        if isinstance(item, str):
            return string(item)
        return "true" if item is True else "false" if item is False else "0" if item is None else str(item % 10**15)

    comment = lambda: rng.choice(["", "", "  # a comment = 'x'"])  # noqa: E731
    rows = ["# top", f"model = {string('m')}{comment()}"]
    tables = []
    for name, entry in entries.items():
        style = rng.choice(["table", "table", "inline", "dotted"])
        if style == "inline":
            rows.append(f"mcp_servers.{key(name)} = {value(entry, True)}{comment()}")
        elif style == "dotted":
            rows += [
                f"mcp_servers.{key(name)}.{key(part)} = {value(child)}{comment()}" for part, child in entry.items()
            ]
        else:
            indent = rng.choice(["", "  "])
            tables.append("")
            tables.append(f"[mcp_servers.{key(name)}]{comment()}")
            later = {}
            for part, child in entry.items():
                if isinstance(child, dict) and rng.random() < 0.5:
                    later[part] = child
                else:
                    tables.append(f"{indent}{key(part)} = {value(child)}{comment()}")
            for part, child in later.items():
                tables.append(f"[mcp_servers.{key(name)}.{key(part)}]")
                tables += [f"{key(each)} = {value(content)}" for each, content in child.items()]
    text = line.join([*rows, *tables, "", "[other]", f"x = {value(other)}"]) + rng.choice(["", line])
    return (b"\xef\xbb\xbf" if rng.random() < 0.2 else b"") + text.encode()


def yaml_text(rng: random.Random, entries: dict[str, Any], top: str, as_array: bool) -> bytes:
    """Goose- or Continue-like YAML: block and flow style, plain and quoted scalars, comments, odd indents."""
    line = rng.choice(["\n", "\r\n"])
    step = rng.choice([1, 2, 4])

    def quoted(text: str) -> str:
        return "".join(
            char if char.isprintable() else f"\\u{ord(char):04x}" for char in json.dumps(text, ensure_ascii=False)
        )

    def scalar(item: Any, flow: bool) -> str:
        if not isinstance(item, str):
            return json.dumps(item)
        safe = re.fullmatch(
            r"[A-Za-z@/_.-][A-Za-z0-9@/_. -]*[A-Za-z0-9]" if not flow else r"[A-Za-z/][A-Za-z0-9/._-]*", item
        )
        if safe and item[0] not in "-@" and item not in ("null", "true", "false", "y", "n") and rng.random() < 0.6:
            return item
        if rng.random() < 0.4 and item.isprintable():
            return "'" + item.replace("'", "''") + "'"
        return quoted(item)

    def flow(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{quoted(name)}: {flow(child)}" for name, child in item.items()) + "}"
        if isinstance(item, list):
            return "[" + rng.choice([", ", ","]).join(flow(child) for child in item) + "]"
        return scalar(item, True)

    def block(item: Any, depth: int) -> list[str]:
        """Lines below a key; the first of a scalar or flow value goes on the key's line."""
        pad = " " * depth
        comment = rng.choice(["", "", "", "  # c: [x]"])
        if isinstance(item, dict) and item and rng.random() < 0.9:
            rows = [""]
            for name, child in item.items():
                if rng.random() < 0.1:
                    rows.append(f"{pad}# between")
                first, *rest = block(child, depth + step)
                rows += [f"{pad}{key(name)}:{' ' + first if first else ''}{comment}", *rest]
            return rows
        if isinstance(item, list) and item and rng.random() < 0.6:
            inner = " " * (depth - step if rng.random() < 0.3 else depth)
            rows = [""]
            for child in item:
                if rng.random() < 0.1:
                    rows.append(f"{inner}# between")
                rows.append(f"{inner}-{' ' * rng.choice([1, 1, 3])}{flow(child)}{comment}")
            return rows
        return [flow(item) if isinstance(item, (dict, list)) else scalar(item, False)]

    def key(name: str) -> str:
        return name if re.fullmatch(r"[a-z_]+", name) else quoted(name)

    rows = [*rng.choice([[], ["---"], ["# top"]]), "GOOSE_MODEL: x"]
    if as_array:
        rows.append(f"{top}:")
        pad = " " * rng.choice([0, 2])
        for entry in entries.values():
            members = block(entry, len(pad) + 2)
            if members[0]:
                rows.append(f"{pad}- {members[0]}")
                continue
            body = [row for row in members[1:] if not row.lstrip().startswith("# between") or row is not members[1]]
            rows += [f"{pad}- {body[0][len(pad) + 2 :]}", *body[1:]]
    else:
        first, *rest = block(entries, step)
        rows += [f"{top}:{' ' + first if first else ''}", *rest]
    rows += ["other: [1, é, 'x']", *rng.choice([[], ["..."]])]
    text = line.join(rows) + rng.choice(["", line])
    return (b"\xef\xbb\xbf" if rng.random() < 0.2 else b"") + text.encode()
