"""The `probe` command: arguments in, one call, one rendering."""
from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from typing import Any, Callable

from . import __version__, users

BAD_CALL, COULD_NOT = 64, 20


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    arguments = _parser().parse_args(_with_default(sys.argv[1:] if argv is None else argv))
    try:
        return arguments.run(arguments)
    except (_Problem, users.WorkFailed) as problem:
        print(f"probe: {problem}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


class _Problem(Exception):
    """The command could not do what it is for; the text says what to do."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(BAD_CALL, f"{self.prog}: {message}\n")


def _with_default(words: list[str]) -> list[str]:
    known = ("-h", "--help", "--version")
    return words if words and (not words[0].startswith("-") or words[0] in known) else ["host", *words]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="probe", description="Finds the isolation that works on this host and puts MCP servers on it.",
        epilog="Exit of `probe host`: 0 usable, 10 usable with limits, 11 nothing usable, 12 unknown, "
               "20 could not probe, 64 bad call. Without a command: host.")
    parser.add_argument("--version", action="version", version=f"probe {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        made.add_argument("--json", action="store_true", help="print JSON, for programs")
        made.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR in the environment)")
        return made

    def choosing(made: argparse.ArgumentParser) -> None:
        made.add_argument("servers", nargs="*", metavar="SERVER", help="only these servers, as NAME or CLIENT:NAME")
        in_projects(made)

    def in_projects(made: argparse.ArgumentParser) -> None:
        made.add_argument("--project", action="append", default=[], metavar="DIR", help="also this project's files")

    host = command("host", _host, "Say which isolation works here, and why, or why not.")
    host.add_argument("-v", "--verbose", action="store_true", help="show the evidence")
    host.add_argument("--ascii", action="store_true", help="plain ASCII output")
    host.add_argument("--user", metavar="NAME", help="judge for this user (as root)")

    install = command("install", _install, "Put the wrapper mcp-confine in place: /usr/local as root or ~/.local.")
    install.add_argument("--prefix", metavar="DIR", help="install below DIR")
    install.add_argument("--remove", action="store_true", help="take it away again")
    install.add_argument("--dry-run", action="store_true", help="say what would change")

    listing = command("servers", _servers, "List the MCP servers that this user's clients are configured to start.")
    in_projects(listing)

    for name, text in (("wrap", "Rewrite the clients' files so that servers start confined."),
                       ("unwrap", "Give the clients' files back as they were.")):
        made = command(name, _change, text)
        choosing(made)
        made.add_argument("--client", action="append", metavar="NAME", help="only this client's files")
        made.add_argument("--yes", action="store_true", help="do not ask")
        made.add_argument("--dry-run", action="store_true", help="show what would change and write nothing")
        made.add_argument("--include-tracked", action="store_true", help="also files under version control")
        made.set_defaults(state="confined" if name == "wrap" else "unconfined")

    check = command("check", _check, "Start each confined server, shake hands with it and prove its denials.")
    choosing(check)
    check.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="for a handshake (default 120)")

    why = command("why", _why, "Say why a confined server does not work, naming what it was denied.")
    why.add_argument("server", metavar="SERVER")
    in_projects(why)
    why.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")

    tracing = command("trace", _trace, "Run `mcp-confine ...` under strace and list what it was denied.")
    tracing.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="how long (default 20)")
    tracing.add_argument("line", nargs=argparse.REMAINDER, metavar="-- OPTIONS -- COMMAND",
                         help="the wrapper's options, a bare --, the command")

    reporting = command("report", _report, "Report on many hosts, or on this one: how many are protected, and why not.")
    reporting.add_argument("results", nargs="*", metavar="FILE|DIR", help="what `probe report --json` or "
                           "`probe host --json` printed on each host, or a folder of it; this host when none is named")
    reporting.add_argument("--html", metavar="FILE", help="write the page, too")
    reporting.add_argument("--metrics", metavar="DIR", help="leave this host's metrics there for node_exporter, too")
    reporting.add_argument("--check", action="store_true", help="of this host: start each confined server and prove it")
    reporting.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help=argparse.SUPPRESS)
    in_projects(reporting)

    explain = command("explain", _explain, "Explain a code.")
    explain.add_argument("code", metavar="CODE")
    command("codes", _codes, "List all codes.")
    return parser


def _host(arguments: argparse.Namespace) -> int:
    from . import host, report, verdict  # before the fork: another user may not be able to read them
    from .clients import act
    from .report import text
    from .verdict import docker_arguments

    try:
        user = users.named(arguments.user) if arguments.user else users.me()
    except KeyError as problem:
        raise _Problem(problem.args[0]) from None
    facts = users.run_as(user, host.observe, _distribution())
    configured = users.run_as(user, act.servers, user.home, [], "", docker_arguments.judge_arguments)
    judged = verdict.judge(facts, configured)
    if arguments.json:
        print(json.dumps(report.document(judged, facts), indent=2))
    else:
        print(text.render(judged, width=_width(), ascii=arguments.ascii or not _unicode(), color=_color(arguments),
                          verbose=arguments.verbose))
    return verdict.exit_code(judged)


def _distribution() -> dict[str, Any]:
    try:
        import distro
    except ImportError:
        return {}
    return {"id": distro.id(), "version": distro.version(), "name": distro.name(pretty=True)}


def _install(arguments: argparse.Namespace) -> int:
    from . import install

    try:
        plan = install.removal(arguments.prefix) if arguments.remove else install.plan(arguments.prefix)
        if not arguments.dry_run:
            install.apply(plan)
    except install.InstallRefused as refusal:
        raise _Problem(str(refusal)) from None
    changed = bool(plan.changes)
    if arguments.json:
        print(json.dumps({"schema": 1, "command": plan.command, "changed": changed,
                          "changes": [{"kind": row.kind, "path": row.path} for row in plan.changes]}, indent=2))
    else:
        for change in plan.changes:
            print(f"{'would change' if arguments.dry_run else 'changed'}  {change.path} ({change.kind})")
        print(f"{plan.command}: {'not installed' if arguments.remove and not changed else 'up to date'}"
              if not changed else plan.command)
    return 0


def _servers(arguments: argparse.Namespace) -> int:
    from .clients import act

    found = act.servers(users.me().home, arguments.project)
    if arguments.json:
        print(json.dumps({"schema": 1, "servers": found}, indent=2))
    elif not found:
        print("No MCP server is configured in any client file that is known here; docs/clients.md lists the files.")
    else:
        _table(("SERVER", "CLIENT", "STATE", "COMMAND", "WHY"), [
            (row["server"] or "-", row["client"], row["state"].replace("_", " "), row["command"] or "-",
             row["reason"] or "") for row in found])
    return 0


def _change(arguments: argparse.Namespace) -> int:
    from .clients import act

    home = users.me().home
    wish = {"state": arguments.state, "wrapper": "", "clients": arguments.client, "servers": arguments.servers or None,
            "projects": arguments.project, "include_tracked": arguments.include_tracked, "dry_run": True}
    asking = not (arguments.yes or arguments.dry_run)
    if arguments.state == "confined":
        wish["wrapper"] = _wrapper(asking, arguments.dry_run)
    try:
        foreseen = act.set_state(home, wish)
        if foreseen["changed"] and not arguments.json:
            _differences(foreseen["files"])
        if arguments.dry_run or not foreseen["changed"]:
            return _changed(arguments, foreseen, done=False)
        if asking and not _yes("Write these changes?"):
            print("Nothing was written.")
            return 1
        return _changed(arguments, act.set_state(home, {**wish, "dry_run": False}), done=True)
    except ValueError as problem:
        print(f"probe: {problem}", file=sys.stderr)
        return BAD_CALL


def _wrapper(asking: bool, dry: bool) -> str:
    """The installed wrapper's path; puts it there first, after asking, where there is none."""
    from . import install

    shared = install.script_path("/usr/local")
    if os.geteuid() != 0 and os.access(shared, os.X_OK):
        return shared  # the administrator's, of whatever version
    try:
        plan = install.plan()
        if plan.changes and not dry:
            if asking and not _yes(f"Install the wrapper as {plan.command}?"):
                raise _Problem("without the wrapper nothing can be confined; `probe install` puts it in place")
            install.apply(plan)
        return plan.command
    except install.InstallRefused as refusal:
        raise _Problem(str(refusal)) from None


def _changed(arguments: argparse.Namespace, answer: dict[str, Any], done: bool) -> int:
    if arguments.json:
        print(json.dumps({"schema": 1, **answer}, indent=2))
    else:
        for row in answer["servers"]:
            mark = ("changed" if done else "would change") if row["changed"] else row["state"].replace("_", " ")
            reason = "" if row["changed"] else row["reason"]
            print(f"{mark:13} {row['client']}:{row['server']}{'  ' + reason if reason else ''}")
        for problem in answer["problems"]:
            print(f"problem       {problem['path']}: {problem['reason']}", file=sys.stderr)
        for notice in answer["notices"]:
            print(notice)
        if not answer["changed"]:
            print("Nothing to change.")
    return 1 if answer["problems"] else 0


def _differences(files: list[dict[str, Any]]) -> None:
    for file in files:
        if file["changed"]:
            import difflib

            lines = difflib.unified_diff(file["before"].splitlines(), file["after"].splitlines(),
                                         file["path"], file["path"] + " (after)", lineterm="")
            print("\n".join(lines))


def _check(arguments: argparse.Namespace) -> int:
    from .check import denial

    names = [name.rpartition(":")[2] for name in arguments.servers] or None
    results = denial.check(users.me().home, "", names, arguments.project, arguments.timeout)
    if arguments.json:
        print(json.dumps({"schema": 1, "servers": results}, indent=2))
    elif not results:
        print("No confined server to check; `probe wrap` confines them.")
    else:
        for row in results:
            denied = sum(act["by"].startswith("enforced") and act["confined"] != "allowed" for act in row["denials"])
            said = f"works, {row['handshake']['tools']} tools, {denied} acts denied" if row["passed"] else (
                f"FAILED: {row['reason']}")
            print(f"{row['client']}:{row['server']}  {said}")
    return 0 if all(row["passed"] for row in results) else 1


def _why(arguments: argparse.Namespace) -> int:
    from .check import denial, trace
    from .clients import act

    home = users.me().home
    name = arguments.server.rpartition(":")[2]
    found = [row for row in act.launches(home, arguments.project) if row["server"] == name]
    if not found:
        raise _Problem(f"no confined server is called {name!r}; `probe servers` lists all")
    results = denial.check(home, "", [name], arguments.project, arguments.timeout)
    denied: list[dict[str, Any]] = []
    note = ""
    for launch, result in zip(found, results):
        if not result["passed"] and launch["argv"]:
            try:
                denied += trace.trace_handshake(launch["argv"], denial.environment(launch, home),
                                                launch["cwd"] or home, arguments.timeout)
            except trace.TraceUnavailable as problem:
                note = str(problem)
    if arguments.json:
        print(json.dumps({"schema": 1, "servers": results, "denied": denied, "note": note or None}, indent=2))
    else:
        for row in results:
            print(f"{row['client']}:{row['server']}  {'works' if row['passed'] else row['reason']}")
        _denied(denied)
        if note:
            print(note)
    return 0 if all(row["passed"] for row in results) else 1


def _trace(arguments: argparse.Namespace) -> int:
    from .check import trace

    line = arguments.line[1:] if arguments.line[:1] == ["--"] else arguments.line
    if not line:
        print("probe trace: no command; as in probe trace -- --ro /data -- npx -y some-server", file=sys.stderr)
        return BAD_CALL
    wrapper = shutil.which("mcp-confine")
    if wrapper is None:
        raise _Problem("mcp-confine is not on the search path; `probe install` puts it in place")
    try:
        found, status = trace.trace([wrapper, *(line if "--" in line else ["--", *line])], dict(os.environ),
                                    arguments.timeout)
    except trace.TraceUnavailable as problem:
        raise _Problem(str(problem)) from None
    if arguments.json:
        print(json.dumps({"schema": 1, "denied": found, "exit": status}, indent=2))
    else:
        _denied(found)
        print(f"exit {status}" if status is not None else f"still running after {arguments.timeout:g} s; ended it")
    return 0


def _denied(found: list[dict[str, Any]]) -> None:
    if found:
        _table(("CALL", "DENIED", "ERRNO", "WOULD BE GRANTED BY"),
               [(row["call"], row["target"], row["errno"], row["grant"]) for row in found])


def _report(arguments: argparse.Namespace) -> int:
    from .fleet import metrics, own
    from .report import files, fleet, html, overview, record, saved

    if arguments.results and (arguments.metrics or arguments.check):
        print("probe report: --metrics and --check are about this host, not about results of others", file=sys.stderr)
        return BAD_CALL
    try:
        records = fleet.merged(saved.read(arguments.results)) if arguments.results else [
            own.look(_distribution(), arguments.project, arguments.check, arguments.timeout)]
        document = fleet.document(records, record.iso(time.time()))
        if arguments.metrics:
            metrics.put(arguments.metrics, records[0])
        if arguments.html:
            files.write(arguments.html, html.page(document))
    except (saved.NotAResult, files.NotWritten, html.NoTemplates, metrics.MetricsRefused) as problem:
        raise _Problem(str(problem)) from None
    sys.stdout.write(files.text(document) if arguments.json else _printable(overview.render(document)) + "\n")
    return 0 if all(row["state"] in fleet.SAFE for row in records) else 1


def _explain(arguments: argparse.Namespace) -> int:
    from .report import text
    from .verdict import catalogue

    code = arguments.code.upper()
    if code not in catalogue.CODES:
        print(f"probe: no code {code}; `probe codes` lists all", file=sys.stderr)
        return BAD_CALL
    print(json.dumps({"schema": 1, **text.plain_code(code)}, indent=2) if arguments.json else text.explain(code))
    return 0


def _codes(arguments: argparse.Namespace) -> int:
    from .report import text
    from .verdict import catalogue

    if arguments.json:
        print(json.dumps({"schema": 1, "codes": [text.plain_code(code) for code in catalogue.CODES]}, indent=2))
    else:
        _table(("CODE", "SEVERITY", "MEANS"), [
            (code, row["severity"], row["title"]) for code, row in
            ((code, text.plain_code(code)) for code in catalogue.CODES)])
    return 0


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(str(row[column])) for row in [head, *rows]) for column in range(len(head) - 1)]
    for row in [head, *rows]:
        cells = [str(cell).ljust(width) for cell, width in zip(row, widths)] + [str(row[-1])]
        print(_printable("  ".join(cells).rstrip()))


def _printable(line: str) -> str:
    encoding = sys.stdout.encoding or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)


def _yes(question: str) -> bool:
    if not sys.stdin.isatty():
        raise _Problem("nobody can be asked here; add --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _color(arguments: argparse.Namespace) -> bool:
    return sys.stdout.isatty() and not arguments.no_color and "NO_COLOR" not in os.environ
