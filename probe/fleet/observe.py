"""Facts and verdict of this host, as each user who could launch a server here."""
from __future__ import annotations

from ..clients import act
from ..host import observe as observe_host
from ..report.text import render
from ..verdict import judge
from ..verdict.docker_arguments import judge_arguments
from .users import Answer, Users, each, own_folders, seen

SEVERITY = ("usable", "limited", "unknown", "blocked")  # of verdicts, from best to worst
SECONDS = 120


def observe(users: Users, distribution: Answer, projects: list[str]) -> Answer:
    """{"verdict": the worst of all users, "users": [{"user", "facts", "verdict"} or {"user", "error"}], "seen"}."""
    answers = []
    for answer in each(users, _observe, lambda user: (user.home, distribution, projects), SECONDS):
        if "result" in answer:
            found = answer.pop("result")
            answer.update(facts=found["facts"], verdict=judge(found["facts"], found["servers"]))
        answers.append(answer)
    verdicts = [answer["verdict"]["verdict"] if "verdict" in answer else "unknown" for answer in answers]
    return {"verdict": max(verdicts, key=SEVERITY.index, default="unknown"), "users": answers, "seen": seen()}


def unmet(host: Answer, mechanisms: list[str]) -> list[str]:
    """Why a mechanism is not there for a user, with its codes and its narrowest remedy; empty when all are."""
    reasons = [] if host["users"] else ["no user on this host could start a server"]
    for answer in host["users"]:
        if "error" in answer:
            reasons.append(f"nothing is known about {answer['user']}: {answer['error']}")
            continue
        for name in mechanisms:
            found = answer["verdict"]["mechanisms"].get(name, {"state": "unknown"})
            if found["state"] not in ("usable", "limited"):
                codes = ", ".join(found.get("codes") or ["no code"])
                reasons.append(f"{name} is {found['state']} for {answer['user']}: {codes}{_remedy(found)}")
    return reasons


def texts(host: Answer) -> dict[str, str]:
    """The verdict of each user as text for people."""
    return {answer["user"]: render(answer["verdict"], 100, ascii=True, color=False, verbose=True)
            if "verdict" in answer else answer["error"] for answer in host["users"]}


def _remedy(found: Answer) -> str:
    remedies = found.get("remedies") or []
    if not remedies:
        codes = found.get("codes")
        return f". Remedy: none from inside here; `probe explain {codes[0]}` tells what there is" if codes else ""
    return f". Remedy: {remedies[0]['text']}{' It takes effect after a reboot.' if remedies[0]['reboot'] else ''}"


def _observe(home: str, distribution: Answer, projects: list[str]) -> Answer:
    folders = own_folders(home, projects)
    return {"facts": observe_host(distribution, workspaces=folders),
            "servers": act.servers(home, folders, judge_docker=judge_arguments)}
