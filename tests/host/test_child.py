"""Work that hangs, dies or lies in a child harms nothing but its own answer."""
from __future__ import annotations

import os
import signal
import time

from probe.host.child import Work, command, gather, steps

QUICK, PATIENT = 0.3, 30


def _sleeper() -> None:
    time.sleep(60)


def test_works_answer_side_by_side_and_in_their_order():
    answers = gather({"second": Work(lambda: [2, None], PATIENT), "first": Work(lambda: {"a": "ü"}, PATIENT)})
    assert answers == {"second": {"result": [2, None]}, "first": {"result": {"a": "ü"}}}
    assert list(answers) == ["second", "first"]


def test_a_work_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    note = tmp_path / "grandchild"

    def hang() -> None:
        grandchild = os.fork()
        if grandchild == 0:
            _sleeper()
        note.write_text(str(grandchild))
        _sleeper()

    answers = gather({"hangs": Work(hang, QUICK), "works": Work(lambda: 1, PATIENT)})
    assert answers == {"hangs": {"problem": "did not end within 0.3 s"}, "works": {"result": 1}}
    _is_gone(int(note.read_text()))


def _is_gone(process: int) -> None:
    end = time.monotonic() + PATIENT
    while time.monotonic() < end:
        try:
            with open(f"/proc/{process}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.01)
    raise AssertionError(f"{process} still runs")


def test_deaths_and_exceptions_are_answers_without_any_value_in_them():
    def secret() -> None:
        raise ValueError("hunter2")

    answers = gather({
        "killed": Work(lambda: os.kill(os.getpid(), signal.SIGKILL), PATIENT),
        "raises": Work(secret, PATIENT),
        "leaves": Work(lambda: os._exit(0), PATIENT),
        "no JSON": Work(lambda: object(), PATIENT),
    })
    assert answers["killed"] == {"problem": "killed by SIGKILL"}
    assert answers["raises"] == {"problem": "ValueError"}
    assert answers["leaves"] == {"problem": "ended without an answer"}
    assert "problem" in answers["no JSON"]


def test_a_work_can_say_nothing_on_our_terminal(capfd):
    gather({"loud": Work(lambda: [os.write(1, b"out"), os.write(2, b"err")], PATIENT)})
    assert capfd.readouterr() == ("", "")


def test_no_descriptor_is_left_open():
    before = os.listdir("/proc/self/fd")
    gather(
        {
            str(number): Work(_sleeper if number == 3 else (lambda: 1), QUICK if number == 3 else PATIENT)
            for number in range(5)
        }
    )
    steps(lambda say: say("x"), PATIENT)
    command(["/bin/true"], PATIENT)
    command(["/no/such/program"], PATIENT)
    assert os.listdir("/proc/self/fd") == before


def test_what_was_said_before_a_violent_end_is_kept():
    def work(say) -> None:
        say("one")
        os.kill(os.getpid(), signal.SIGSYS)

    assert steps(work, PATIENT) == (["one"], "SIGSYS")

    def slow(say) -> None:
        say("one")
        _sleeper()

    assert steps(slow, QUICK) == (["one"], "did not end within 0.3 s")


def test_commands_tell_how_they_ended():
    assert command(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], PATIENT) == (3, "out\n", "err\n")
    assert command(["/bin/sh", "-c", "kill -9 $$"], PATIENT) == (None, "", "killed by SIGKILL")
    assert command(["/bin/sleep", "60"], QUICK) == (None, "", "did not end within 0.3 s")
    assert command(["/no/such/program"], PATIENT)[0] is None


def test_a_command_that_prints_without_end_is_cut():
    code, out, _ = command(["/bin/sh", "-c", "head -c 1000000 /dev/zero"], PATIENT)
    assert code == 0 and len(out) == 1 << 16
