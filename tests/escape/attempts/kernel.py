"""Ways through the kernel's rarer interfaces, and what only root may try."""
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import subprocess

from toolbox import HIGH, call, fail, in_child, libc

CLONE_NEWUSER, CLONE_NEWNET, TIOCSTI, TIOCSCTTY, TIOCLINUX = 0x10000000, 0x40000000, 0x5412, 0x540E, 0x541C
KEYRING = -4  # the user's own, shared by all that the user runs


def set_up_ring(_places):
    os.close(call("io_uring_setup", 1, ctypes.create_string_buffer(120)))


def add_key(_places):
    call("add_key", b"user", b"mcp-confine-escape", b"x", 1, -1)


def search_keyring(_places):
    call("keyctl", 0, KEYRING, 1)  # KEYCTL_GET_KEYRING_ID


def request_key(_places):
    try:
        call("request_key", b"user", b"mcp-confine-none", None, 0)
    except OSError as problem:
        if problem.errno != errno.ENOKEY:
            raise


def attach_shared_memory(places):
    libc.shmat.restype = ctypes.c_void_p
    if libc.shmat(places["segment"], None, 0o10000) in (None, ctypes.c_void_p(-1).value):
        fail(ctypes.get_errno())


def take_message(places):
    """Another program's message is taken, and put back."""
    message = ctypes.create_string_buffer(64)
    size = call("msgrcv", places["messages"], message, 32, 0, 0o4000)
    call("msgsnd", places["messages"], message, size, 0o4000)


def change_semaphore(places):
    call("semop", places["semaphore"], struct.pack("HhH", 0, 1, 0o4000), 1)


def handle_page_faults(_places):
    os.close(call("userfaultfd", 1))


def load_program_into_kernel(_places):
    os.close(call("bpf", 0, struct.pack("IIIII108x", 2, 4, 4, 1, 0), 128))  # BPF_MAP_CREATE, an array of one


def watch_performance(_places):
    attributes = ctypes.create_string_buffer(struct.pack("=IIQ", 1, 128, 1) + bytes(24) + struct.pack("Q", 0x61), 128)
    os.close(call("perf_event_open", attributes, 0, -1, -1, 0))  # a software clock, of itself, user space only


def unshare_user(_places):
    in_child(lambda: call("unshare", CLONE_NEWUSER))


def unshare_user_and_network(_places):
    in_child(lambda: call("unshare", CLONE_NEWUSER | CLONE_NEWNET))


def clone_user(_places):
    child = call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def clone3_user(_places):
    child = call("clone3", struct.pack("8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def enter_namespace_of_another(places):
    def act():
        if not places["in_namespace"]:
            fail(errno.EPERM)
        call("setns", call("pidfd_open", places["in_namespace"], 0), CLONE_NEWUSER)

    in_child(act)


def _as_controlling_terminal(act):
    def alone():
        os.setsid()
        fcntl.ioctl(0, TIOCSCTTY, 0)
        act()

    in_child(alone)


def type_into_terminal(_places):
    _as_controlling_terminal(lambda: fcntl.ioctl(0, TIOCSTI, b"x"))


def type_into_terminal_with_high_bits(_places):
    _as_controlling_terminal(lambda: call("ioctl", 0, HIGH | TIOCSTI, b"x"))


def paste_into_console(_places):
    fcntl.ioctl(0, TIOCLINUX, b"\x06" + bytes(15))  # only asks for the shift keys, by the call that pastes


def use_inherited_file(places):
    if b"SECRET" not in os.pread(places["inherited"]["file"], 99, 0):
        raise ValueError


def use_inherited_folder(places):
    os.close(os.open("canary", os.O_RDONLY, dir_fd=places["inherited"]["folder"]))


def use_inherited_terminal(places):
    os.write(places["inherited"]["terminal"], b"x")


def use_inherited_connection(places):
    os.write(places["inherited"]["connection"], b"x")


def use_inherited_listener(places):
    os.close(socket.socket(fileno=os.dup(places["inherited"]["listener"])).detach())


def use_inherited_memory(places):
    if b"SECRET" not in os.pread(places["inherited"]["memory"], 99, 0):
        raise ValueError


def use_inherited_process(places):
    call("pidfd_send_signal", places["inherited"]["process"], 0, None, 0)


def use_inherited_ring(places):
    if places["inherited"].get("ring") is None:
        fail(errno.ENOSYS)
    call("io_uring_enter", places["inherited"]["ring"], 0, 0, 0, None, 0)


def use_highest_descriptor(places):
    """As the file above, at a number that a loop to 256 or 1024 would miss."""
    if b"SECRET" not in os.pread(places["inherited"]["high"], 99, 0):
        raise ValueError


def load_module(_places):
    try:
        call("init_module", None, 0, b"")
    except OSError as problem:
        if problem.errno not in (errno.EFAULT, errno.EINVAL, errno.ENOEXEC):
            raise  # these are about the module, so the right to load one is there


def unload_module(_places):
    try:
        call("delete_module", b"mcp_confine_no_such_module", 0o4000)
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise


def rename_host(_places):
    name = os.uname().nodename.encode()
    if libc.sethostname(name, ctypes.c_size_t(len(name))):
        fail(ctypes.get_errno())


def change_root(_places):
    in_child(lambda: os.chroot("/usr"))


def regain_a_capability(_places):
    header, override = struct.pack("II", 0x20080522, 0), struct.pack("6I", 2, 2, 0, 0, 0, 0)  # CAP_DAC_OVERRIDE
    in_child(lambda: libc.capset(header, override) and fail(ctypes.get_errno()))


def become_another_user(_places):
    in_child(lambda: os.setuid(65534))


def pass_for_another_user(places):
    """Files of others are root's to read by a capability."""
    with open(places["of_somebody_else"], "rb") as stream:
        stream.read()


def get_capabilities_by_exec(_places):
    line = subprocess.run(["/bin/grep", "CapEff", "/proc/self/status"], stdout=subprocess.PIPE).stdout
    if not line or not int(line.split()[1], 16):
        fail(errno.EPERM)
