"""The proof for each confined server: it still works, and what its policy does not grant is denied to it."""
from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from typing import Any

from ..clients import act
from .fingerprint import fingerprint
from .handshake import shake_hands

SELF_TEST_TIMEOUT = 60.0  # seconds
# "EACCES: permission denied, open '/x'" (node), "Permission denied: '/x'" (Python), "/x: Permission denied" (shells)
_DENIED = (
    re.compile(r"(?:EACCES|EPERM|EXDEV)[^\n']{0,80}'(/[^'\n]{1,300})'"),
    re.compile(r"(?:Permission denied|Operation not permitted|Invalid cross-device link):? '(/[^'\n]{1,300})'"),
    re.compile(r"(/[^\s:'\"]{1,300}): (?:Permission denied|Operation not permitted)"),
    re.compile(r"(?:to|of|at|from|open|read) `(/[^`\n]{1,300})`"),
)


def check(home: str, wrapper: str, servers: list[str] | None = None, projects: list[str] | None = None,
          timeout: float = 120.0, known: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Starts every confined server as its client would and proves the denials of its own policy.

    Run it as the user. `servers` limits it to those names; `timeout` in seconds is for one handshake, the first of
    which downloads the package. Returns a list of {"client", "file", "server", "passed", "reason", "handshake":
    {"completed", "seconds", "tools", "detail"}, "denials": [{"act", "protection", "without_us", "confined", "by"}]}.

    With `known` each row has a "fingerprint" too, which is not for showing. A server whose fingerprint is among the
    known ones is not started: its row has no more than that, for the caller has its proof.
    """
    results = []
    for launch in act.launches(home, projects or [], wrapper):
        if servers is not None and launch["server"] not in servers:
            continue
        results.append(_check_one(launch, home, timeout, known))
    return results


def fingerprints(home: str, wrapper: str, servers: list[str] | None = None, projects: list[str] | None = None
                 ) -> list[dict[str, Any]]:
    """Every confined server with its fingerprint, None where nobody can tell how its client starts it; starts none."""
    return [{**{key: launch[key] for key in ("client", "file", "server")},
             "fingerprint": None if launch["problem"] else fingerprint(launch, environment(launch, home), home)}
            for launch in act.launches(home, projects or [], wrapper) if servers is None or launch["server"] in servers]


def _check_one(launch: dict[str, Any], home: str, timeout: float, known: Iterable[str] | None) -> dict[str, Any]:
    result: dict[str, Any] = {key: launch[key] for key in ("client", "file", "server")}
    if launch["problem"]:
        return {**result, "passed": False, "reason": launch["problem"], "denials": [],
                "handshake": {"completed": False, "seconds": 0.0, "tools": None, "detail": "not tried"}}
    variables = environment(launch, home)
    if known is not None:
        # Before the start: what changes meanwhile makes the next fingerprint another one.
        result["fingerprint"] = fingerprint(launch, variables, home)
        if result["fingerprint"] in known:
            return result
    folder = launch["cwd"] or home
    denials, refused = _prove(launch["argv"], variables, folder)
    result["denials"] = denials
    if refused:
        return {**result, "passed": False, "reason": refused,
                "handshake": {"completed": False, "seconds": 0.0, "tools": None, "detail": "not tried"}}
    talk = shake_hands(launch["argv"], variables, folder, timeout)
    words, status = talk.pop("last_words"), talk.pop("exit")
    result["handshake"] = talk
    result["passed"] = talk["completed"]
    result["reason"] = None if talk["completed"] else explain(talk["detail"], words, status)
    return result


def _prove(argv: list[str], variables: dict[str, str], folder: str) -> tuple[list[dict[str, Any]], str | None]:
    """The self-test of the plan that this very command line gets: its denials, and why it failed, if it did."""
    cut = argv.index("--")
    line = [*argv[:cut], "--self-test", "--json", *argv[cut:]]
    try:
        ran = subprocess.run(line, env=variables, cwd=folder, capture_output=True, timeout=SELF_TEST_TIMEOUT,
                             stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return [], f"the self-test did not end within {SELF_TEST_TIMEOUT:g} s"
    except OSError as problem:
        return [], f"{argv[0]}: {problem.strerror}"
    try:
        told = json.loads(ran.stdout)
    except ValueError:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
        return [], said[-1] if said else f"the self-test ended with exit {ran.returncode} and said nothing"
    denials = [
        {"act": row["act"], "protection": row["protection"], "without_us": row["without_us"],
         "confined": row["confined"], "by": row["state"]}
        for row in told["acts"]]
    return denials, None if told["passed"] and ran.returncode == 0 else f"not enforced: {told['reason']}"


def explain(detail: str, last_words: str, status: int | None) -> str:
    """Why a handshake failed, with the denied path and the line that would grant it where the server told one.

    The rest of what the server wrote stays out: it can hold anything.
    """
    refusal = re.search(r"^mcp-confine: (.{1,500})$", last_words, re.MULTILINE)
    if refusal and status in (125, 126, 127):
        return f"refused by the wrapper: {refusal[1]}"
    for pattern in _DENIED:
        found = pattern.search(last_words)
        if found:
            path = found[1]
            return f"{detail}; it was denied {path}; if the server may have it, put `--ro {path}` into its policy"
    return detail


def environment(launch: dict[str, Any], home: str) -> dict[str, str]:
    """What a client started from a login session hands on and the entry's own; nothing else of this process's."""
    kept = {name: os.environ[name] for name in
            ("LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
             "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS") if name in os.environ}
    own = [folder for folder in (f"{home}/.local/bin", f"{home}/bin") if os.path.isdir(folder)]
    path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    path = ":".join([*[folder for folder in own if folder not in path], path])
    return {**kept, "HOME": home, "PATH": path, **launch["env"]}
