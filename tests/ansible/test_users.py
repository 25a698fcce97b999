"""What is asked of several users at once, and what is told about what stays open."""
from __future__ import annotations

import os
import pwd

from probe.fleet import configure, observe, prove, users


def test_auto_is_root_and_whoever_can_log_in(people):
    [person] = people()
    names = [user.name for user in users.chosen(["auto"])[0]]
    assert names[0] == "root" and person.name in names
    assert "nobody" not in names and "sshd" not in names


def test_work_is_done_as_each_user_and_one_failure_hides_no_other(people):
    one, other = people(2)

    def work(home: str) -> int:
        if home == str(one.home):
            raise OSError(5, "Input/output error", home)
        return os.geteuid()

    answers = users.each([one.name, "not-there", other.name], work, lambda user: (user.home,), 20)
    told = {answer["user"]: answer.get("result", answer.get("error")) for answer in answers}
    assert "Input/output error" in told[one.name]
    assert told["not-there"] == "no user 'not-there' on this host"
    assert told[other.name] == pwd.getpwnam(other.name).pw_uid


def test_a_projects_folder_counts_for_its_owner_alone(people, place):
    one, other = people(2)
    for person in (one, other):
        person.write("src/app/.mcp.json", "{}")
    shared = place / "shared"
    shared.mkdir()
    os.chown(shared, pwd.getpwnam(other.name).pw_uid, -1)
    patterns = ["~/src/*", str(shared), "/does/not/exist"]
    answers = users.each([one.name, other.name], users.own_folders, lambda user: (user.home, patterns), 20)
    assert [answer["result"] for answer in answers] == [
        [f"{one.home}/src/app"], sorted([f"{other.home}/src/app", str(shared)])]


def test_what_stays_open_is_told_once_and_what_is_never_wrapped_is_not_among_it():
    def row(server: str, state: str, file: str = "/f") -> dict:
        return {"user": "ada", "client": "cursor", "file": file, "server": server, "state": state, "reason": "because"}

    total = {"problems": [{"user": "ada", "path": "/broken", "reason": "line 3"}],
             "servers": [row("a", "confined"), row("b", "refused"), row("c", "never_wrapped"), row("d", "remote"),
                         row("", "unreadable", "/broken"), row("e", "unconfined")]}
    assert configure.not_confined(total, None) == [
        "ada: /broken: line 3", "ada: cursor:b is refused: because", "ada: cursor:e is unconfined: because"]
    assert configure.not_confined(total, ["cursor:b"]) == ["ada: /broken: line 3", "ada: cursor:b is refused: because"]


def test_what_is_required_and_missing_is_told_for_each_user_with_code_and_remedy():
    blocked = {"state": "blocked", "codes": ["LANDLOCK_OFF_AT_BOOT"],
               "remedies": [{"text": "Add landlock.", "reboot": True}, {"text": "wider", "reboot": False}]}
    host = {"users": [{"user": "ada", "verdict": {"mechanisms": {"landlock": blocked}}},
                      {"user": "bob", "verdict": {"mechanisms": {"landlock": {"state": "limited"}}}},
                      {"user": "eve", "error": "did not end"}]}
    assert observe.unmet(host, ["landlock"]) == [
        "landlock is blocked for ada: LANDLOCK_OFF_AT_BOOT. Remedy: Add landlock. It takes effect after a reboot.",
        "nothing is known about eve: did not end"]
    assert observe.unmet({"users": []}, ["landlock"]) == ["no user on this host could start a server"]


def test_an_entry_that_its_client_wrote_over_after_it_was_confined_is_a_failure(people):
    [person] = people()
    file = person.claude({"notes": person.server()})  # as the client wrote it back
    expected = [{"user": person.name, "client": "claude-code", "file": str(file), "server": "notes"}]
    wish = {"wrapper": None, "servers": None, "projects": [], "timeout": 20, "max_age": 0, "expected": expected}
    answer = prove.prove([person.name], wish)
    assert answer["checks"] == [] and answer["not_passed"] == []
    assert "was confined and is not any more" in answer["failures"][0]
    assert prove.prove([person.name], {**wish, "servers": ["other"]})["failures"] == []
