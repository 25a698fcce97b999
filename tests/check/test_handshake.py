"""The handshake tells a server that works from every kind that does not, and leaves nothing running behind."""
from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from probe.check.handshake import shake_hands

SERVER = '''
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[asked["method"]]}), flush=True)
'''
GOOD = """RESULTS = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
           "tools/list": {"tools": [1, 2]}}"""


def shake(program: str, timeout: float = 20.0) -> dict:
    return shake_hands([sys.executable, "-c", program], dict(os.environ), None, timeout)


def test_a_server_that_answers_completes_and_its_tools_are_counted():
    told = shake(GOOD + SERVER)
    assert told["completed"] and told["tools"] == 2 and told["detail"] is None


def test_a_server_without_tools_completes_too():
    told = shake('RESULTS = {"initialize": {"protocolVersion": "x", "capabilities": {}}}' + SERVER)
    assert told["completed"] and told["tools"] is None


def test_noise_on_stderr_questions_of_its_own_and_blank_lines_do_not_disturb():
    chatty = '''
import sys
sys.stderr.write("x" * 300000)
print('{"jsonrpc":"2.0","id":"s1","method":"roots/list"}', flush=True)
print("", flush=True)
print('{"jsonrpc":"2.0","method":"notifications/message","params":{}}', flush=True)
answer = sys.stdin.readline()
'''
    # Its first line in is our initialize; what it asked is answered after that.
    server = GOOD + SERVER.replace(
        "for line in sys.stdin:", "import itertools\nfor line in itertools.chain([answer], sys.stdin):").replace(
        'if "id" in asked:', 'if "method" in asked and "id" in asked:')
    assert shake(chatty + server)["completed"]


@pytest.mark.parametrize(("program", "detail"), [
    ("raise SystemExit(3)", "ended before it answered initialize, exit 3"),
    ("import os; os.kill(os.getpid(), 11)", "ended before it answered initialize, killed by signal 11"),
    ("print('hello'); input(); input()", "its stdout holds something that is not JSON-RPC"),
    ("input(); print('{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602}}', flush=True); input()",
     "initialize was answered with error -32602"),
    ('RESULTS = {"initialize": {}}' + SERVER, "names no protocol version"),
    ('RESULTS = {"initialize": []}' + SERVER, "without a result"),
    (GOOD.replace("[1, 2]", "3") + SERVER, "holds no list"),
])
def test_each_way_to_fail_is_named(program, detail):
    told = shake(program)
    assert not told["completed"] and detail in told["detail"]


def test_a_server_that_never_answers_is_ended_with_all_that_it_started(tmp_path):
    marker = f"sleep-{os.getpid()}-{time.time_ns()}"
    program = f"import subprocess as s, time; s.Popen(['bash', '-c', 'exec -a {marker} sleep 300']); time.sleep(300)"
    told = shake(program, timeout=2.0)
    assert told["detail"] == "no answer to initialize in time"
    assert subprocess.run(["pgrep", "-f", marker], capture_output=True).returncode == 1


def test_a_command_that_does_not_exist_is_named_without_its_arguments():
    told = shake_hands(["/nonexistent/server", "--token", "SECRET"], {}, None, 5)
    assert told["detail"] == "cannot start server: No such file or directory"


def test_a_message_without_end_is_cut_off():
    told = shake("import sys\nwhile True: sys.stdout.write('x' * 1000000)", timeout=60)
    assert "a message of more than 16 MiB" in told["detail"]
