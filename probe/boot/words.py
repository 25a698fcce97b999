"""The word `lsm=` in each kind of file that holds a kernel's command line. Pure: text in, text out.

The word is the whole list of security modules, and of equal words the kernel takes the last. So each function leaves
exactly one, in the place of the one that was there, and nothing else in the text changes.
"""
from __future__ import annotations

import json
import re
from typing import Any

WORD = re.compile(r"""(?<![^\s"'=])lsm=[^\s"']*""")
HEAD = "# Written by mcp-confine so that Landlock is on after the next boot; it is taken back by landlock_boot."
FOOT = "# End of what mcp-confine wrote."
VARIABLES = ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")


class NotUnderstood(ValueError):
    """The text is not what such a file holds; the message says why."""


def found(text: str) -> list[str]:
    """The lists that a text names, in order, as `yama,apparmor`."""
    return [word.partition("=")[2] for word in WORD.findall(text)]


def line(text: str, lsm: str | None) -> str:
    """A command line with that list alone, or with none. The end of the line stays; what follows `--` is for init."""
    words, end = text.rstrip(), text[len(text.rstrip()):]
    kernel, separator, init = re.match(r"(.*?)((?:^|\s)--(?=\s|$)|$)(.*)", words, re.DOTALL).groups()  # type: ignore
    last = next(reversed(list(WORD.finditer(kernel))), None)
    if last and lsm is not None:
        kernel = _without(kernel[:last.start()]) + f"lsm={lsm}" + kernel[last.end():]
    elif last:
        kernel = _without(kernel)
    elif lsm is not None:
        kernel = f"{kernel} lsm={lsm}" if kernel else f"lsm={lsm}"
    return kernel + separator + init + end


def _without(text: str) -> str:
    """The text without any of the words, each with the white space in front of it, or behind it at the beginning."""
    return re.sub(rf"^{WORD.pattern}\s*|\s+{WORD.pattern}", "", text)


def one_line(text: str, lsm: str | None) -> str:
    """/etc/kernel/cmdline and cmdline.txt: the last line that is no comment; a file without one gets it."""
    lines = text.splitlines(keepends=True)
    places = [number for number, row in enumerate(lines) if row.strip() and not row.lstrip().startswith("#")]
    if not places:
        return text if lsm is None else text + f"lsm={lsm}\n"
    return _rows(lines, places, lsm)


def entry(text: str, lsm: str | None) -> str:
    """An entry of the Boot Loader Specification. One that starts no Linux kernel stays as it is."""
    lines = text.splitlines(keepends=True)
    if not any(re.match(r"linux\s", row) for row in lines):
        return text
    places = [number for number, row in enumerate(lines) if re.match(r"options\s", row)]
    if not places:
        return text if lsm is None else text + ("" if text.endswith("\n") else "\n") + f"options lsm={lsm}\n"
    return _rows(lines, places, lsm)


def _rows(lines: list[str], places: list[int], lsm: str | None) -> str:
    """All of the lines at `places` are one command line."""
    named = [number for number in places if WORD.search(lines[number])]
    keep = (named or places)[-1]
    for number in places:
        lines[number] = line(lines[number], lsm if number == keep else None)
    return "".join(lines)


def kernelstub(text: str, lsm: str | None) -> str:
    """/etc/kernelstub/configuration, as kernelstub itself writes it. Raises `NotUnderstood`."""
    try:
        held: Any = json.loads(text)
        if "user" not in held:
            held["user"] = dict(held["default"])
        options = held["user"]["kernel_options"]
        if not all(isinstance(word, str) for word in options) or isinstance(options, str):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise NotUnderstood("it does not hold a list of kernel options") from None
    places = [number for number, word in enumerate(options) if word.startswith("lsm=")]
    kept = [word for word in options if not word.startswith("lsm=")]
    if lsm is not None:
        kept.insert(places[-1] - len(places) + 1 if places else len(kept), f"lsm={lsm}")
    if kept == options:
        return text
    held["user"]["kernel_options"] = kept
    return json.dumps(held, indent=2)


def block(lsm: str) -> str:
    """Shell for GRUB's settings, read last: both variables without the word, then the one list.

    Computed when GRUB's files are read, so that what another file sets, now or later, gives way and stays as it is.
    """
    rows = [HEAD, "# The word is the whole list and the last one counts, so that of another file is taken out here."]
    for name in VARIABLES:
        word = f" lsm={lsm}" if name == VARIABLES[0] else ""
        rows.append(f"{name}=\"$(printf '%s' \" ${{{name}:-}}\" | sed -e 's/[[:space:]]lsm=[^[:space:]]*//g' "
                    f"-e 's/^[[:space:]]*//'){word}\"")
    return "\n".join([*rows, FOOT, ""])


def grub_file(text: str, lsm: str | None) -> str:
    """/etc/default/grub where nothing else is read: our block at its end."""
    kept = re.sub(rf"\n?{re.escape(HEAD)}\n.*?{re.escape(FOOT)}\n", "", text, flags=re.DOTALL)
    return kept if lsm is None else f"{kept}\n{block(lsm)}"


def alike(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but the word, white space, quotes and the padding of GRUB's environment."""
    return _bare(one) == _bare(other)


def _bare(text: str) -> str:
    text = re.sub(r"#+\s*\Z", "", grub_file(text, None))
    return re.sub(r"""[\s"',]+""", " ", WORD.sub("", text)).strip()


def masked(text: str, path: str) -> str:
    """What of a file may be shown: our own text whole, of everything else the words that tell of security modules."""
    if text.startswith(HEAD):
        return text
    rows = []
    for row in text.splitlines():
        words = re.findall(r"""(?<![^\s"'=])(?:lsm|security)=[\w,.-]*""", row)
        if words:
            rows.append(" ".join(words))
    return "".join(f"{row}\n" for row in rows) or (f"no lsm= in {path}\n" if text else "")


def generated(text: str) -> list[str | None]:
    """The list that each Linux entry of a generated grub.cfg starts with: the last one, None where there is none.

    Entries that others put there, other systems' among them, count only when GRUB's own script made none.
    """
    sections = re.findall(r"### BEGIN \S*/10_linux\w* ###\n(.*?)### END", text, re.DOTALL)
    for part in ("".join(sections), text):
        rows = re.findall(r"^\s*linux(?:16|efi)?\s+(.*)$", part, re.MULTILINE)
        if rows:
            return [next(reversed(found(row)), None) for row in rows]
    return []
