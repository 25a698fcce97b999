"""The scanner: what it accepts, where it says things are, what it refuses and that it never repeats the content."""

from __future__ import annotations

import json

import pytest

from probe.clients import jsonc
from probe.clients.document import SIZE_LIMIT, DocumentError, KeyPath

SERVERS = (KeyPath(("mcpServers",)),)


def read(text: str | bytes, **more: bool):
    return jsonc.read(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), SERVERS, **more)


def test_spans_are_bytes_of_the_whole_file():
    data = '\ufeff{ "é": 1, "mcpServers": { "a": {"command": "n\\u0070x" } } }'.encode()
    [found] = jsonc.read(data, SERVERS)
    command = found.node.get("a").get("command")
    assert command.value == "npx"
    assert data[command.start : command.end] == b'"n\\u0070x"'
    assert data[found.node.start : found.node.end] == b'{ "a": {"command": "n\\u0070x" } }'


@pytest.mark.parametrize(
    "text", ["", "\ufeff", " \r\n\t", "// nothing\n", "/* nothing */", "[]", "null", '{"mcpServers": 3}']
)
def test_files_without_servers_are_no_error(text):
    assert [found.node.kind for found in read(text)] in ([], ["scalar"])


@pytest.mark.parametrize(
    "text",
    [
        '{"x": [1, 2, ], "mcpServers": {}, }',
        '{/*a*/"mcpServers"/*b*/:/*c*/{}/*d*/}',
        '{"x": "}//", "mcpServers": {}}',
        '{"x": 12345678901234567890123, "mcpServers": {}}',
        '{"x": ' + "9" * 5000 + ', "mcpServers": {}}',
        '{"x": "\\ud800", "mcpServers": {}}',
        '{"x": [-0.0, 1E+2, 1.0], "mcpServers": {}}\r\n',
        '{"x": {"y": "*/"}, "mcpServers": {}}',
        '{"mcpServers"\r\n:\r\n{}\t}',
        '{"mcpServer\\u0073": {}}',
        '{"x": "/*", "mcpServers": {}, "y": "*/"}',
    ],
)
def test_accepted(text):
    assert [found.path for found in read(text)] == [("mcpServers",)]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"mcpServers": {}',
        '{"mcpServers": {"a": {"command": "np',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": }',
        '{"x": [1}, "mcpServers": {}}',
        '{"x": {"a" "b"}}',
        '{"x": [1 2]}',
        '{"x": [,]}',
        '{"x": {"a": tru}}',
        '{"x": "a\nb"}',
        '{"x": "\\q"}',
        '{"x": 01}',
        '{"x": +1}',
        "{} {}",
        '{"x": {]}',
        '{"mcpServers": {,}}',
        '{"x": /* never closed }',
        '{"x": [1] / 2}',
        '{"x": 1,, "y": 2}',
        "<html>",
        "{" * 100000,
        '{"x": ' + "[" * 100000,
        '{"mcpServers": ' + '{"a":' * 3000,
        b'{"x": "\xff"}',
        b'{"x": "\xed\xa0\x80"}',
        b"{\x00}",
        b"\xff\xfe{\x00}\x00",
    ],
)
def test_refused(text):
    with pytest.raises(DocumentError):
        read(text)


def test_a_key_that_is_there_twice_on_the_way_is_refused_and_elsewhere_is_not():
    assert read('{"x": 1, "x": 2, "mcpServers": {}}')
    for text in (
        '{"mcpServers": {}, "mcpServers": {}}',
        '{"mcpServers": {}, "mcpServer\\u0073": {}}',
        '{"mcpServers": {"a": {"command": "x"}, "\\u0061": {"command": "y"}}}',
    ):
        with pytest.raises(DocumentError, match="twice"):
            read(text)


def test_a_project_that_is_there_twice_is_refused():
    paths = (KeyPath(("projects", "*", "mcpServers")),)
    assert len(jsonc.read(b'{"projects": {"/a": {"mcpServers": {}}, "/b": {"mcpServers": {}}}}', paths)) == 2
    with pytest.raises(DocumentError, match="twice"):
        jsonc.read(b'{"projects": {"/a": {}, "/a": {"mcpServers": {}}}}', paths)


def test_errors_name_line_and_column_and_never_the_content():
    with pytest.raises(DocumentError) as caught:
        read('{\n  "mcpServers": {"é": {"env": {"TOKEN": "s3cr3t"} "x": 1}}\n}')
    assert "line:column 2:51" in str(caught.value)
    assert "s3cr3t" not in str(caught.value) and "TOKEN" not in str(caught.value)


def test_a_file_that_is_too_large_is_refused():
    with pytest.raises(DocumentError, match="larger than"):
        jsonc.read(b" " * (SIZE_LIMIT + 1), SERVERS)


def test_long_strings_and_unclosed_ones_take_no_time_to_speak_of():
    """Patterns that go back and forth would never end here."""
    for text in (
        '{"x": "' + "\\\\" * 200000,
        '{"x": "' + "a" * 400000,
        "/*" + "*" * 200000,
        '{"x": {"' + '\\"' * 100000,
        '{"x": {' + "/*" * 100000,
        '{"x": {' + '"' * 99999 + "\\",
        "/*" * 100000,
    ):
        with pytest.raises(DocumentError):
            read(text)


def test_json5_as_neovim_users_write_it():
    text = """{
      // comment
      mcpServers: {
        'fs': { command: 'n\\'px', args: ["-y", 'a\\
b', "\\x41\\u0042"], n: +0x1F, m: .5, i: -Infinity, },
        $x_1: { command: "uvx" },
      },
    }"""
    [found] = read(text, json5=True)
    assert found.node.plain()["fs"]["args"] == ["-y", "ab", "AB"]
    assert found.node.plain()["fs"]["command"] == "n'px"
    assert list(found.node.plain()) == ["fs", "$x_1"]
    with pytest.raises(DocumentError):
        read(text)


def test_decoded_strings_are_what_the_json_module_says():
    for token in ('"\\ud83d\\ude00"', '"\\ud800"', '"a\\/b"', '"\\u0000"', '"é\\n"'):
        [found] = read('{"mcpServers": {"a": {"command": ' + token + "}}}")
        assert found.node.get("a").get("command").value == json.loads(token)
