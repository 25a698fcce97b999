"""A home of its own for each test, and how many generated examples a property is tried on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from probe.clients.catalogue import FOLDERS

# `make test` says 2000, the nightly run 100000; alone this folder is quick.
settings.register_profile(
    "clients",
    max_examples=int(os.environ.get("MCP_CONFINE_EXAMPLES", "150")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("clients")

WRAPPER = "/usr/local/bin/mcp-confine"


class Home:
    """A user's home with client files in it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def put(self, name: str, content: bytes | str) -> Path:
        file = Path(self.path, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def set_state(self, state: str, **more: object) -> dict:
        from probe.clients import act

        return act.set_state(self.path, {"state": state, "wrapper": WRAPPER, **more})

    def confine(self, **more: object) -> dict:
        return self.set_state("confined", **more)

    def release(self, **more: object) -> dict:
        return self.set_state("unconfined", **more)

    def servers(self, projects: list[str] | None = None) -> dict[str, dict]:
        """The servers by name."""
        from probe.clients import act

        return {row["server"]: row for row in act.servers(self.path, projects or [])}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in (*FOLDERS, "GOOSE_ALLOWLIST"):
        monkeypatch.delenv(name, raising=False)
    yield Home(folder)
