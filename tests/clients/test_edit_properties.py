"""Whatever a file looks like: wrapping changes what it should and no other byte, and giving back is exact."""

from __future__ import annotations

import copy
import functools
import random
from typing import Any

import documents
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.clients import edit
from probe.clients.catalogue import BY_NAME
from probe.clients.decide import Surroundings, decide, wrapper_arguments
from probe.clients.document import Splice, spliced
from probe.clients.entries import entries
from probe.clients.undo import key

WRAPPER = "/opt/mcp confine/bin/mcp-confine"
AROUND = Surroundings(frozenset([WRAPPER]), "/home/me")
SEEDS = st.integers(min_value=0, max_value=2**63)


@functools.lru_cache(maxsize=8)
def seen(client: str, format: str, data: bytes) -> tuple[list, Any]:
    """The servers with their decisions, and the place of the catalogue."""
    row = BY_NAME[client]
    place = next(place for place in row.places if place.format == format and not place.fixed)
    found = edit.editor(format).read(data, place.keys)
    listed = entries(found, row, "bare")
    return [(entry, decide(entry, row, place, AROUND)) for entry in listed], place


def wrap(client: str, format: str, data: bytes) -> tuple[bytes, dict, list[Splice], dict]:
    """The wrapped bytes, the records for undo, the splices, and what each entry should say now."""
    servers, _ = seen(client, format, data)
    changes = {
        key(entry.path, entry.holds): edit.confine(
            edit.editor(format), data, entry, decision, WRAPPER, isolation_off=False
        )
        for entry, decision in servers
        if decision.state == "unconfined"
    }
    splices = [splice for change in changes.values() for splice in change.splices]
    wanted = {name: change.wanted for name, change in changes.items()}
    return spliced(data, splices), {name: change.record for name, change in changes.items()}, splices, wanted


def unwrap(client: str, format: str, data: bytes, records: dict) -> tuple[bytes, bool]:
    servers, _ = seen(client, format, data)
    changes = [
        edit.release(edit.editor(format), data, entry, decision.wrapping, records.get(key(entry.path, entry.holds)))
        for entry, decision in servers
        if decision.wrapping is not None
    ]
    return spliced(data, [splice for change in changes for splice in change.splices]), all(
        change.exact for change in changes
    )


def meanings(client: str, format: str, data: bytes) -> dict[str, Any]:
    return {key(entry.path, entry.holds): entry.node.plain() for entry, _ in seen(client, format, data)[0]}


def check(client: str, format: str, data: bytes, expected: dict[str, Any], commands: tuple[str, str | None]) -> None:
    """All promises on one file. `expected` are the meanings by server name before; `commands` the two member names."""
    before, (command, args) = meanings(client, format, data), commands
    assert len(before) == len(expected)
    wrapped, records, splices, _ = wrap(client, format, data)
    after = meanings(client, format, wrapped)

    for entry, decision in seen(client, format, data)[0]:
        name = key(entry.path, entry.holds)
        if decision.state != "unconfined":
            assert after[name] == before[name]
            continue
        wanted = copy.deepcopy(before[name])
        if args is None:
            wanted[command] = [WRAPPER, *wrapper_arguments(entry), *wanted[command]]
        else:
            wanted[args] = [*wrapper_arguments(entry), wanted[command], *wanted.get(args, [])]
            wanted[command] = WRAPPER
        assert after[name] == wanted, "exactly the intended meaning"

    rebuilt, at = [], 0
    for splice in sorted(splices):
        rebuilt += [data[at : splice.start], splice.text]
        at = splice.end
    assert b"".join([*rebuilt, data[at:]]) == wrapped, "the bytes outside the spans are the same bytes"
    assert sum(splice.end - splice.start for splice in splices) <= 120 * len(expected), (
        "only command tokens are taken away"
    )

    assert all(decision.state != "unconfined" for _, decision in seen(client, format, wrapped)[0])
    assert wrap(client, format, wrapped)[0] == wrapped, "wrapping twice is wrapping once"
    row = BY_NAME[client]
    place = next(place for place in row.places if place.format == format and not place.fixed)
    editor = edit.editor(format)
    again = editor.read_again(wrapped, place.keys, editor.read(data, place.keys), splices)
    assert [(found.path, found.node.plain(), found.node.start, found.node.end) for found in again] == [
        (found.path, found.node.plain(), found.node.start, found.node.end)
        for found in editor.read(wrapped, place.keys)
    ], "what is read again is what a new reading gives"
    assert unwrap(client, format, wrapped, records) == (data, True), "giving back is exact"

    lost, exact = unwrap(client, format, wrapped, {})
    if exact:
        assert lost == data, "exact without what was remembered, when that was said"
    emptied = {
        name: {k: v for k, v in entry.items() if (k, v) != (args, [])}
        for name, entry in meanings(client, format, lost).items()
    }
    assert emptied == {name: {k: v for k, v in entry.items() if (k, v) != (args, [])} for name, entry in before.items()}


@given(SEEDS)
def test_json_with_comments(seed):
    rng = random.Random(seed)
    expected = documents.servers(rng)
    other = {"a": [1, {"mcpServers": {"decoy": {"command": "no"}}}], "é": "}", "n": -0.0}
    members = [("mcpServers", expected), ("other", other), ("more", [[], {}])]
    rng.shuffle(members)
    data = documents.json_text(rng, dict(members))
    check("gemini-cli", "jsonc", data, expected, ("command", "args"))


@given(SEEDS)
def test_strict_json_with_projects(seed):
    rng = random.Random(seed)
    here, there = documents.servers(rng), documents.servers(rng)
    whole = {
        "mcpServers": here,
        "projects": {"/a b": {"history": ["{", "\\"], "mcpServers": there}, "/c": {"history": []}},
    }
    data = documents.json_text(rng, whole, plain=True)
    check(
        "claude-code",
        "json",
        data,
        {**{("", k): v for k, v in here.items()}, **{("p", k): v for k, v in there.items()}},
        ("command", "args"),
    )


@given(SEEDS)
def test_json_with_command_lists(seed):
    rng = random.Random(seed)
    expected = {
        name: {
            "type": "local",
            "command": [entry["command"], *entry.get("args", [])],
            "environment": entry.get("env", {}),
        }
        for name, entry in documents.servers(rng).items()
    }
    data = documents.json_text(rng, {"$schema": "x", "mcp": expected})
    check("opencode", "jsonc", data, expected, ("command", None))


@given(SEEDS)
def test_arrays_of_named_servers(seed):
    rng = random.Random(seed)
    expected = documents.servers(rng)
    data = documents.json_text(
        rng, {"mcpServers": [{"name": name, **entry} for name, entry in expected.items()]}, plain=True
    )
    check("mcpproxy", "json", data, expected, ("command", "args"))


@given(SEEDS)
def test_toml(seed):
    rng = random.Random(seed)
    expected = {
        name: {k: v for k, v in entry.items() if k != "alwaysAllow"} for name, entry in documents.servers(rng).items()
    }
    data = documents.toml_text(rng, expected, ["x", 1])
    check("codex", "toml", data, expected, ("command", "args"))


@given(SEEDS)
def test_yaml_maps(seed):
    rng = random.Random(seed)
    renamed = {"command": "cmd", "env": "envs"}
    expected = {
        name: {renamed.get(k, k): v for k, v in entry.items()} for name, entry in documents.servers(rng).items()
    }
    data = documents.yaml_text(rng, expected, "extensions", as_array=False)
    check("goose", "yaml", data, expected, ("cmd", "args"))


@given(SEEDS)
def test_yaml_arrays(seed):
    rng = random.Random(seed)
    expected = {name: {"name": name, **entry} for name, entry in documents.servers(rng).items()}
    data = documents.yaml_text(rng, expected, "mcpServers", as_array=True)
    check("continue", "yaml", data, expected, ("command", "args"))


@given(SEEDS, st.data())
def test_a_broken_or_cut_file_is_never_edited(seed, draw):
    rng = random.Random(seed)
    data = documents.json_text(rng, {"mcpServers": documents.servers(rng)}, plain=True).rstrip()
    cut = data[: draw.draw(st.integers(0, len(data) - 1))]
    with pytest.raises(edit.DocumentError):
        if not cut.strip(b"\xef\xbb\xbf \t\r\n"):
            raise edit.DocumentError("nothing left")
        seen("claude-code", "json", cut)
