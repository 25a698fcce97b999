"""The MCP handshake over stdio, as a client does it: initialize, initialized, tools/list. One JSON message a line."""
from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from typing import Any

PROTOCOL = "2025-06-18"
CLIENT = {"name": "mcp-confine-check", "version": "1"}
LARGEST_MESSAGE = 16 << 20  # bytes
STDERR_KEPT = 4096  # bytes of the server's last words


class HandshakeFailed(Exception):
    """The server did not complete the handshake; the text says at which step."""


def shake_hands(argv: list[str], environment: dict[str, str], folder: str | None, timeout: float) -> dict[str, Any]:
    """Starts the server, completes a handshake, lists its tools and ends it.

    Returns {"completed": bool, "seconds": float, "tools": int or None, "detail": str or None, "last_words": str,
    "exit": int or None}. `timeout` in seconds bounds all of it. `last_words` is the end of the server's stderr: it can
    hold anything and is for the caller's own judgement, not for printing.
    """
    started = time.monotonic()
    answer: dict[str, Any] = {"completed": False, "tools": None, "detail": None, "last_words": "", "exit": None}
    try:
        server = subprocess.Popen(argv, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, start_new_session=True)
    except OSError as problem:
        answer.update(seconds=0.0, detail=f"cannot start {os.path.basename(argv[0])}: {problem.strerror}")
        return answer
    talk = _Talk(server, started + timeout)
    try:
        answer["tools"] = talk.introduce()
        answer["completed"] = True
    except HandshakeFailed as failure:
        answer["detail"] = str(failure)
    finally:
        _end(server)
    answer["exit"] = server.returncode if not answer["completed"] else None
    answer["last_words"] = talk.last_words.decode("utf-8", "replace")
    answer["seconds"] = round(time.monotonic() - started, 3)
    return answer


class _Talk:
    """One conversation. Both pipes are read together, so a server that talks a lot on stderr never blocks."""

    def __init__(self, server: subprocess.Popen[bytes], end: float) -> None:
        if not (server.stdin and server.stdout and server.stderr):
            raise ValueError("the server was started without pipes")
        self.server, self.end = server, end
        self.input, self.output, self.errors = server.stdin, server.stdout, server.stderr
        self.pending = b""
        self.last_words = b""
        for stream in (self.output, self.errors):
            os.set_blocking(stream.fileno(), False)

    def introduce(self) -> int | None:
        result = self._ask(1, "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": CLIENT})
        if not isinstance(result.get("protocolVersion"), str):
            raise HandshakeFailed("the answer to initialize names no protocol version")
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        capabilities = result.get("capabilities")
        if not isinstance(capabilities, dict) or "tools" not in capabilities:
            return None
        tools = self._ask(2, "tools/list", {}).get("tools")
        if not isinstance(tools, list):
            raise HandshakeFailed("the answer to tools/list holds no list")
        return len(tools)

    def _ask(self, number: int, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        while True:
            message = self._hear(method)
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    code = message["error"].get("code") if isinstance(message["error"], dict) else None
                    raise HandshakeFailed(f"{method} was answered with error {code}")
                result = message.get("result")
                if not isinstance(result, dict):
                    raise HandshakeFailed(f"{method} was answered without a result")
                return result
            if "id" in message and "method" in message:  # a question of the server's; this client offers nothing
                self._say({"jsonrpc": "2.0", "id": message["id"],
                           "error": {"code": -32601, "message": "not offered by this check"}})

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self.input.write(json.dumps(message).encode() + b"\n")
            self.input.flush()
        except OSError:
            pass  # the server is gone; reading says how

    def _hear(self, method: str) -> dict[str, Any]:
        while b"\n" not in self.pending:
            self._read(method)
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            if not line.strip():
                return {}
            raise HandshakeFailed("its stdout holds something that is not JSON-RPC")
        return message

    def _read(self, method: str) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise HandshakeFailed(f"no answer to {method} in time")
        open_streams = [stream for stream in (self.output, self.errors) if not stream.closed]
        ready, _, _ = select.select(open_streams, [], [], left)
        for stream in ready:
            part = stream.read(1 << 16)
            if stream is self.errors:
                self.last_words = (self.last_words + (part or b""))[-STDERR_KEPT:]
                if part == b"":
                    stream.close()
            elif part == b"":
                raise HandshakeFailed(f"ended before it answered {method}, {self._status()}")
            else:
                self.pending += part or b""
        if len(self.pending) > LARGEST_MESSAGE:
            raise HandshakeFailed(f"a message of more than {LARGEST_MESSAGE >> 20} MiB")

    def _status(self) -> str:
        try:
            code = self.server.wait(max(0.1, min(2.0, self.end - time.monotonic())))
        except subprocess.TimeoutExpired:
            return "its stdout closed"
        self._drain()
        return f"exit {code}" if code >= 0 else f"killed by signal {-code}"

    def _drain(self) -> None:
        if not self.errors.closed:
            self.last_words = (self.last_words + (self.errors.read() or b""))[-STDERR_KEPT:]


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends the server as clients do: stdin closed, then asked, then killed, with all that it started."""
    try:
        if server.stdin:
            server.stdin.close()
    except OSError:
        pass
    for patience, number in ((1.0, signal.SIGTERM), (2.0, signal.SIGKILL), (5.0, None)):
        try:
            server.wait(patience)
            break
        except subprocess.TimeoutExpired:
            if number:
                _signal_group(server.pid, number)
    _signal_group(server.pid, signal.SIGKILL)
    for stream in (server.stdout, server.stderr):
        if stream and not stream.closed:
            stream.close()


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass
