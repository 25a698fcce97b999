"""Trees of files that stand for a host's root."""
from __future__ import annotations

from pathlib import Path


def plant(root: Path, files: dict[str, str]) -> None:
    """Writes the files below `root`. "-> PATH" makes a link, "!" an empty program."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            path.symlink_to(content[3:])
        elif content == "!":
            path.write_text("")
            path.chmod(0o755)
        else:
            path.write_text(content)
