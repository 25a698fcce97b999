"""One question to a container engine or to snapd over its UNIX socket, with a deadline and nothing but reading."""
from __future__ import annotations

import json
import socket
import time
from typing import Any

from .read import errno_name

ANSWER_LIMIT = 1 << 20
SECONDS = 2.0


def ask(path: str, question: str) -> tuple[Any, str | None]:
    """(the JSON answer to GET `question`, None), or (None, why not: an errno's name, "timeout", "HTTP 500", …)."""
    end = time.monotonic() + SECONDS
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as handle:
            handle.settimeout(SECONDS)
            handle.connect(path)
            # HTTP/1.0: the answer comes in one piece and ends with the connection.
            handle.sendall(f"GET {question} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            while len(answer) < ANSWER_LIMIT:
                left = end - time.monotonic()
                if left <= 0:
                    return None, "timeout"
                handle.settimeout(left)
                part = handle.recv(1 << 16)
                if not part:
                    break
                answer += part
    except socket.timeout:
        return None, "timeout"
    except OSError as problem:
        return None, errno_name(problem)
    head, _, body = answer.partition(b"\r\n\r\n")
    fields = head.split(b"\r\n")[0].split(b" ")
    if len(fields) < 2 or not fields[1].isdigit():
        return None, "no HTTP"
    if fields[1] != b"200":
        return None, f"HTTP {fields[1].decode()}"
    try:
        return json.loads(body), None
    except (ValueError, RecursionError):
        return None, "no JSON"
