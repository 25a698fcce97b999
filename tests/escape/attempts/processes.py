"""Ways to another process of the same user: signals, tracing, memory, environment, limits, scheduling."""
import ctypes
import os
import resource
import signal
import socket
import struct
import time

from toolbox import HIGH, call, fail

PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206
F_SETOWN, O_ASYNC = 8, 0o20000


def send_signal(places):
    os.kill(places["bystander"], signal.SIGCONT)


def send_signal_to_thread(places):
    call("tgkill", places["bystander"], places["bystander"], signal.SIGCONT)


def send_signal_by_descriptor(places):
    target = call("pidfd_open", places["bystander"], 0)
    call("pidfd_send_signal", target, signal.SIGCONT, None, 0)


def have_the_kernel_send_a_signal(places):
    """A socket's owner is told of input by a signal, and a process may name another as the owner."""
    import fcntl

    before = os.stat(places["bell"]).st_mtime_ns
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with one, other:
        fcntl.fcntl(one, F_SETOWN, places["bystander"])
        fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | O_ASYNC)
        other.send(b"x")
        for _ in range(100):
            time.sleep(0.01)
            if os.stat(places["bell"]).st_mtime_ns != before:
                return
    fail(1)


def _trace(request, pid):
    call("ptrace", request, pid, 0, 0)
    os.waitpid(pid, 0) if request == PTRACE_ATTACH else None


def attach(places):
    _trace(PTRACE_ATTACH, places["bystander"])
    call("ptrace", PTRACE_DETACH, places["bystander"], 0, 0)


def seize(places):
    _trace(PTRACE_SEIZE, places["bystander"])


def _both(places):
    local = ctypes.create_string_buffer(b"SECRET")
    here = (ctypes.c_size_t * 2)(ctypes.addressof(local), 6)
    there = (ctypes.c_size_t * 2)(places["address"], 6)
    return here, there, local


def read_memory(places):
    here, there, local = _both(places)
    local.value = b""
    call("process_vm_readv", places["bystander"], here, 1, there, 1, 0)
    if local.raw[:6] != b"SECRET":
        raise ValueError(local.raw)


def write_memory(places):
    here, there, _local = _both(places)
    call("process_vm_writev", places["bystander"], here, 1, there, 1, 0)


def read_memory_file(places):
    with open(f"/proc/{places['bystander']}/mem", "rb", 0) as stream:
        stream.seek(places["address"])
        if stream.read(6) != b"SECRET":
            raise ValueError


def _has_secret(path):
    with open(path, "rb") as stream:
        if b"SECRET" not in stream.read():
            raise ValueError(f"no secret in {path}")


def read_environment(places):
    _has_secret(f"/proc/{places['bystander']}/environ")


def read_command_line(places):
    _has_secret(f"/proc/{places['bystander']}/cmdline")


def read_map_of_memory(places):
    with open(f"/proc/{places['bystander']}/maps", "rb") as stream:
        if not stream.read():
            fail(13)


def read_files_of_it(places):
    _has_secret(f"/proc/{places['bystander']}/root{places['canary']}")


def take_descriptor(places):
    target = call("pidfd_open", places["bystander"], 0)
    os.close(call("pidfd_getfd", target, 0, 0))


def compare(places):
    call("kcmp", os.getpid(), places["bystander"], 1, 0, 0)


def read_limits(places):
    resource.prlimit(places["bystander"], resource.RLIMIT_NOFILE)


def set_limits(places):
    resource.prlimit(places["bystander"], resource.RLIMIT_CORE, (0, 0))


def set_limits_with_high_bits(places):
    call("prlimit64", HIGH | places["bystander"], resource.RLIMIT_CORE, struct.pack("QQ", 0, 0), None)


def pin(places):
    os.sched_setaffinity(places["bystander"], os.sched_getaffinity(places["bystander"]))


def change_scheduler(places):
    os.sched_setscheduler(places["bystander"], os.SCHED_OTHER, os.sched_param(0))


def change_scheduling_parameter(places):
    os.sched_setparam(places["bystander"], os.sched_param(0))


def change_scheduling_attributes(places):
    call("sched_setattr", places["bystander"], struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0), 0)


def slow(places):
    os.setpriority(os.PRIO_PROCESS, places["bystander"], os.getpriority(os.PRIO_PROCESS, places["bystander"]))


def slow_group(places):
    group = os.getpgid(places["bystander"])
    os.setpriority(os.PRIO_PGRP, group, os.getpriority(os.PRIO_PGRP, group))


def slow_everything_of_the_user(_places):
    os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0))


def slow_input_and_output(places):
    call("ioprio_set", 1, places["bystander"], 2 << 13 | 4)


def gain_privileges_by_setuid_helper(places):
    import subprocess

    said = subprocess.run(["/bin/sh", "-c", f"{places['setuid_helper']} -u"], stdout=subprocess.PIPE).stdout
    if said.strip() != b"0":
        fail(1)


def gain_privileges_by_file_capability(places):
    import subprocess

    line = subprocess.run([places["capable_helper"], "CapEff", "/proc/self/status"], stdout=subprocess.PIPE).stdout
    if not int(line.split()[1], 16):
        fail(1)
