"""The wrapper as a command: what it starts, what it refuses, and what it says."""
from __future__ import annotations

import json
import os

import pytest


def test_the_command_runs_and_its_exit_status_is_the_wrappers(wrapper, person):
    assert person.run([wrapper, "--", "sh", "-c", "exit 7"]).returncode == 7
    done = person.run([wrapper, "--", "echo", "hello"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


@pytest.mark.parametrize(("words", "status", "said"), [
    (["--", "no-such-command"], 127, "no-such-command: not found on PATH"),
    (["--", "/no/such/command"], 127, "/no/such/command: not found on PATH"),
    (["--", "/etc/passwd"], 126, "/etc/passwd: is not executable"),
    (["--", "/usr"], 126, "/usr: is not a regular file"),
    ([], 125, "no command; it goes after a bare --"),
    (["npx"], 125, "the command goes after a bare --"),
    (["--rw", "/no/such/folder", "--", "true"], 125, "/no/such/folder: cannot be granted for writing (command line)"),
    (["--policy", "absent", "--", "true"], 125, "no policy 'absent'"),
    (["--require", "metadata", "--", "true"], 125, "metadata: unavailable: no Landlock version restricts it"),
    (["--user", "no-such-user", "--", "true"], 125, "--user no-such-user: no such user on this host"),
    (["--rw", "/etc", "--", "true"], 125, "would let the server change /etc (the system)"),
    (["--max-abi", "3", "--connect", "443", "--", "true"], 125, "tcp: unavailable: Landlock has it from ABI 4"),
])
def test_each_refusal_is_one_line_on_stderr_and_nothing_on_stdout(wrapper, person, words, status, said):
    done = person.run([wrapper, *words])
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("mcp-confine: ") and said in done.stderr


def test_a_script_whose_interpreter_is_missing_is_not_executable(wrapper, person):
    script = person.file("bin/script", "#!/no/such/interpreter\n", 0o755)
    done = person.run([wrapper, "--", script])
    assert done.returncode == 126 and "its interpreter is missing" in done.stderr


def test_show_starts_nothing_and_names_no_value(wrapper, person):
    marker = os.path.join(person.home, "started")
    command = ["sh", "-c", f"echo SECRET > {marker}"]
    done = person.run([wrapper, "--name", "x", "--show", "--json", "--env", "TOKEN", "--", *command],
                      env=person.environment(TOKEN="SECRET"))
    told = json.loads(done.stdout)
    assert done.returncode == 0 and not os.path.exists(marker) and "SECRET" not in done.stdout
    assert "TOKEN" in told["environment"] and told["schema"] == 1
    assert {row["name"]: row["state"] for row in told["protections"]}["files"] == "enforced by landlock"


def test_the_self_test_passes_on_every_interface_up_to_the_kernels_own(wrapper, person, landlock_abi):
    for abi in range(1, landlock_abi + 1):
        done = person.run([wrapper, "--self-test", "--json", "--max-abi", str(abi)])
        told = json.loads(done.stdout)
        assert done.returncode == 0 and told["passed"] and told["abi"] == abi and told["after_exec"], told["reason"]


def test_a_policy_file_of_the_servers_name_applies_and_changes_without_touching_the_command(wrapper, person):
    data = person.file("data/file.txt", "content\n")
    line = [wrapper, "--name", "reader", "--", "cat", data]
    assert "Permission denied" in person.run(line).stderr
    person.file(".config/mcp-confine/policies/reader", f"--ro {person.home}/data\n")
    assert person.run(line).stdout == "content\n"
    person.file(".config/mcp-confine/policies/reader", "--ro data\n")
    assert "must be absolute" in person.run(line).stderr


def test_the_working_directory_may_be_read_unless_it_is_the_home_or_hidden_in_it(wrapper, person):
    person.file("src/project/a.txt", "project\n")
    person.file("a.txt", "home\n")
    person.file(".hidden/a.txt", "hidden\n")
    line = [wrapper, "--name", "x", "--", "cat", "a.txt"]
    assert person.run(line, cwd=f"{person.home}/src/project").stdout == "project\n"
    for folder in ("", "/.hidden"):
        assert "Permission denied" in person.run(line, cwd=person.home + folder).stderr


def test_a_home_that_is_a_link_is_still_the_home(wrapper, person, tmp_path):
    link = os.path.join(person.home, "alias")
    real = person.folder("really")
    person.file("really/a.txt", "home\n")
    os.symlink(real, link)
    done = person.run([wrapper, "--name", "x", "--", "cat", "a.txt"], cwd=real, env=person.environment(HOME=link))
    assert "Permission denied" in done.stderr
    done = person.run([wrapper, "--rw", real, "--", "true"], env=person.environment(HOME=link))
    assert done.returncode == 125 and "the home itself" in done.stderr


def test_arguments_are_granted_as_they_are_at_run_time(wrapper, person):
    person.file("data/a.txt", "content\n")
    line = ["--", "sh", "-c", 'cat "$1" && echo more >> "$1"', "-", "data/a.txt"]
    assert "Permission denied" in person.run([wrapper, *line]).stderr
    assert "content" in person.run([wrapper, "--args", "ro", *line]).stdout
    assert person.run([wrapper, "--args", "rw", *line]).returncode == 0
    assert person.run(["cat", "data/a.txt"]).stdout == "content\nmore\n"
    refused = person.run([wrapper, "--args", "rw", "--", "ls", "~"])
    assert refused.returncode == 125 and "argument 1" in refused.stderr


def test_root_keeps_no_capability_and_can_become_somebody(wrapper, root_person, person):
    done = root_person.run([wrapper, "--ro", "/proc", "--", "grep", "-E", "^Cap|^NoNewPrivs", "/proc/self/status"])
    assert {line.split()[0]: int(line.split()[1], 16) for line in done.stdout.splitlines()} == {
        "CapInh:": 0, "CapPrm:": 0, "CapEff:": 0, "CapBnd:": 0, "CapAmb:": 0, "NoNewPrivs:": 1}
    told = root_person.run([wrapper, "--user", person.name, "--", "id", "-un"])
    assert told.stdout.strip() == person.name, told.stderr


def test_limits_are_set(wrapper, person):
    assert person.run([wrapper, "--limit", "nofile=100", "--", "sh", "-c", "ulimit -n; ulimit -c"]).stdout == "100\n0\n"
