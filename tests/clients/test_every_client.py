"""Each row of the catalogue: a file in the client's own place and shape is found, wrapped and given back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomlkit
import yaml

from probe.clients.catalogue import CLIENTS, SHAPES, Client, Place, Shape
from probe.clients.document import KeyPath

PLACES = [(client, place) for client in CLIENTS for place in client.places if not place.fixed]


def entry(shape: Shape) -> dict:
    start = {"env": {"API_TOKEN": "s3cr3t"}} if shape.env == "env" else {shape.env: {"API_TOKEN": "s3cr3t"}}
    if shape.args:
        start.update({shape.command: "npx", shape.args: ["-y", "some-server", "--flag"]})
    else:
        start[shape.command] = ["npx", "-y", "some-server", "--flag"]
    return {shape.inside: start, "timeout": 30} if shape.inside else start


def document(keys: KeyPath, server: dict) -> object:
    value: object = (
        {"one": server} if keys.holds == "map" else [dict(server, name="one")] if keys.holds == "array" else server
    )
    for key in reversed(keys.keys):
        value = {key.replace("*", "/some/project"): value}
    return value


def rendered(format: str, data: object) -> str:
    if format == "toml":
        return tomlkit.dumps(data)
    return yaml.safe_dump(data) if format == "yaml" else json.dumps(data, indent=2)


def file_for(home, client: Client, place: Place) -> tuple[str, list[str]]:
    name = place.path.replace("*", "x")
    if place.scope == "project":
        return f"project/{name}", [f"{home.path}/project"]
    return name, []


@pytest.mark.parametrize(
    ("client", "place"),
    [
        pytest.param(c, p, id=f"{c.name}:{p.path}")
        for c, p in PLACES
        if p.scope != "system" and not p.path.startswith("$")
    ],
)
def test_a_file_in_the_clients_place_is_found_wrapped_and_given_back(home, client, place):
    for keys in (keys for keys in place.keys if keys.holds != "fact"):
        for shape in (SHAPES[name] for name in client.shapes):
            name, projects = file_for(home, client, place)
            name = name.replace("~/", "")
            text = rendered(place.format, document(keys, entry(shape)))
            file = home.put(name, text)
            wish = {"clients": [client.name], "projects": projects}

            answer = home.confine(**wish)
            assert answer["problems"] == []
            assert [row["state"] for row in answer["servers"]] == ["confined"], answer["servers"]
            wrapped = file.read_text()
            assert "--env" in wrapped and "/usr/local/bin/mcp-confine" in wrapped
            assert not home.confine(**wish)["changed"]

            assert home.release(**wish)["changed"]
            assert file.read_text() == text
            file.unlink()


@pytest.mark.parametrize(
    ("variable", "client", "name"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("COPILOT_HOME", "copilot-cli", "mcp-config.json"),
        ("XDG_CONFIG_HOME", "zed", "zed/settings.json"),
        ("CLINE_DATA_DIR", "cline", "settings/cline_mcp_settings.json"),
        ("OPENCODE_CONFIG_DIR", "opencode", "opencode.jsonc"),
        ("GOOSE_PATH_ROOT", "goose", "config/config.yaml"),
    ],
)
def test_the_variables_that_a_client_honours_move_its_file(home, monkeypatch, variable, client, name):
    row = next(each for each in CLIENTS if each.name == client)
    place = next(place for place in row.places if place.path.startswith(f"${variable}/"))
    server = entry(SHAPES[row.shapes[-1]])
    home.put(f"elsewhere/{name}", rendered(place.format, document(place.keys[0], server)))
    assert home.servers() == {}
    monkeypatch.setenv(variable, f"{home.path}/elsewhere")
    assert home.servers()["one"]["state"] == "unconfined"


def test_a_variable_that_leads_to_another_users_files_is_not_followed(home, monkeypatch, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / ".claude.json").write_text('{"mcpServers": {"theirs": {"command": "npx"}}}')
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    monkeypatch.setattr("os.geteuid", lambda: 4242)
    assert home.servers() == {}


def test_servers_that_nobody_can_edit_are_listed_with_the_reason(home):
    home.put(".claude/plugins/cache/market/tool/1.0/.mcp.json", '{"mcpServers": {"plugged": {"command": "npx"}}}')
    home.put(".config/crush/crushrc", "mcp add x\n")
    rows = home.servers()
    assert rows["plugged"]["state"] == "never_wrapped" and "updates overwrite" in rows["plugged"]["reason"]
    assert rows[""]["client"] == "crush" and "shell script" in rows[""]["reason"]
    assert not home.confine()["changed"]


def test_one_file_that_two_clients_read_is_one_file(home):
    project = Path(home.path, "project")
    home.put("project/.mcp.json", '{"mcpServers": {"shared": {"command": "npx"}}}')
    answer = home.confine(projects=[str(project)])
    assert [row["client"] for row in answer["servers"]] == ["claude-code"]


def test_names_of_clients_and_shapes_are_known_and_unique():
    assert len({client.name for client in CLIENTS}) == len(CLIENTS)
    assert all(name in SHAPES for client in CLIENTS for name in client.shapes)


def test_the_page_about_clients_is_current():
    from probe.clients.page import page

    written = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
    assert written.read_text() == page(), "python -m probe.clients.page > docs/clients.md"
