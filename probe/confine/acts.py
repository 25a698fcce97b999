"""Acts that a confined process must not manage, each a few lines that try.

Run as a program of its own, by `python3 -IS -c`, before and after confinement: it gets one JSON object of places on
its command line and prints one JSON object, act to "allowed" or the name of the error that stopped it.
"""
import ctypes
import errno
import json
import os
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_long
IO_URING_SETUP, USERFAULTFD = 425, {"x86_64": 323}.get(os.uname().machine, 282)
ADD_KEY = {"x86_64": 248}.get(os.uname().machine, 217)
CLONE_NEWUSER, MSG_FASTOPEN, TIOCSTI, IPPROTO_MPTCP = 0x10000000, 0x20000000, 0x5412, 262
KEYRING = -1  # the thread's own


def system_call(number, *words):
    answer = libc.syscall(number, *words)
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


def read(places):
    with open(places["canary"], "rb") as stream:
        stream.read()


def write(places):
    os.close(os.open(places["canary"], os.O_WRONLY))


def create(places):
    path = places["canary"] + ".new"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    os.unlink(path)


def list_folder(places):
    os.listdir(os.path.dirname(places["canary"]))


def empty(places):
    os.truncate(places["emptied"], 0)


def empty_by_open(places):
    os.close(os.open(places["readable"], os.O_RDONLY | os.O_TRUNC))


def remove(places):
    os.unlink(places["removable"])
    with open(places["removable"], "wb"):
        pass


def link(places):
    name = places["private"] + "/stolen"
    os.link(places["canary"], name)
    os.unlink(name)


def unix_socket(places):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(places["socket"])


def unix_datagram_pair(places):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.connect(places["datagram"])
        one.send(b"x")


def abstract_socket(places):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + places["abstract"])


def signal_parent(places):
    os.kill(places["outside"], 0)


def memory_of_parent(places):
    local = ctypes.create_string_buffer(8)
    here = (ctypes.c_size_t * 2)(ctypes.addressof(local), 8)
    there = (ctypes.c_size_t * 2)(places["address"], 8)
    if libc.process_vm_readv(places["outside"], here, 1, there, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def environment_of_parent(places):
    with open(f"/proc/{places['outside']}/environ", "rb") as stream:
        stream.read(1)


def limits_of_parent(places):
    import resource

    resource.prlimit(places["outside"], resource.RLIMIT_NOFILE)


def affinity_of_parent(places):
    os.sched_setaffinity(places["outside"], os.sched_getaffinity(places["outside"]))


def priority_of_parent(places):
    os.setpriority(os.PRIO_PROCESS, places["outside"], os.getpriority(os.PRIO_PROCESS, places["outside"]))


def io_uring(_places):
    os.close(system_call(IO_URING_SETUP, 1, ctypes.create_string_buffer(120)))


def keyring(_places):
    system_call(ADD_KEY, b"user", b"canary", b"x", ctypes.c_size_t(1), KEYRING)


def shared_memory(places):
    if libc.shmat(places["segment"], None, 0o10000) == -1:  # SHM_RDONLY
        raise OSError(ctypes.get_errno(), "shmat")


def page_faults(_places):
    os.close(system_call(USERFAULTFD, 1))


def vsock(_places):
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()


def kernel_netlink(_places):
    socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15).close()


def user_namespace(_places):
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def terminal_injection(places):
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(places["terminal"], termios.TIOCSCTTY, 0)
    fcntl.ioctl(places["terminal"], TIOCSTI, b"x")


def tcp(places):
    socket.create_connection(("127.0.0.1", places["port"]), 2).close()


def tcp_fast_open(places):
    with socket.socket() as client:
        client.sendto(b"x", MSG_FASTOPEN, ("127.0.0.1", places["port"]))


def multipath_tcp(places):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as client:
        client.connect(("127.0.0.1", places["port"]))


def listen_without_bind(_places):
    with socket.socket() as server:
        server.listen()


def udp(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("127.0.0.1", places["port"]))


# act: (the protection that must stop it, what it tries). User namespaces come last: they change the caller.
ACTS = {
    "read_canary": ("files", read),
    "write_canary": ("files", write),
    "create_beside_canary": ("files", create),
    "list_folder_of_canary": ("files", list_folder),
    "remove_file": ("files", remove),
    "link_canary_into_private_folder": ("files", link),
    "empty_canary": ("truncate", empty),
    "empty_file_granted_for_reading": ("truncate", empty_by_open),
    "inject_into_terminal": ("devices", terminal_injection),
    "connect_unix_socket": ("unix", unix_socket),
    "redirect_datagram_pair": ("unix", unix_datagram_pair),
    "connect_abstract_socket": ("abstract-unix", abstract_socket),
    "signal_outside_process": ("signals", signal_parent),
    "read_memory_of_outside_process": ("ptrace", memory_of_parent),
    "read_environment_of_outside_process": ("ptrace", environment_of_parent),
    "limit_outside_process": ("other-processes", limits_of_parent),
    "pin_outside_process": ("other-processes", affinity_of_parent),
    "renice_outside_process": ("other-processes", priority_of_parent),
    "set_up_io_uring": ("kernel", io_uring),
    "add_key": ("kernel", keyring),
    "attach_shared_memory_of_outside_process": ("kernel", shared_memory),
    "handle_page_faults": ("kernel", page_faults),
    "open_vsock": ("families", vsock),
    "open_uevent_netlink": ("families", kernel_netlink),
    "connect_tcp": ("tcp", tcp),
    "connect_tcp_by_fast_open": ("tcp-ways-round", tcp_fast_open),
    "connect_multipath_tcp": ("tcp-ways-round", multipath_tcp),
    "listen_without_bind": ("listen", listen_without_bind),
    "send_udp": ("udp", udp),
    "make_user_namespace": ("userns", user_namespace),
}


def private_folder(places):
    """The one thing that must work: write and read back in the server's own folder."""
    path = places["private"] + "/written"
    with open(path, "wb") as stream:
        stream.write(b"mine")
    with open(path, "rb") as stream:
        content = stream.read()
    os.unlink(path)
    if content != b"mine":
        raise OSError(errno.EIO, "the private folder does not keep what is written")


def outcomes(places):
    """Tries all acts, in a child that a filter may kill, and returns what came of each."""
    results: dict = {}
    acts = [("use_private_folder", private_folder), *[(name, row[1]) for name, row in ACTS.items()]]
    while len(results) < len(acts):
        left = acts[len(results):]
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            for _, act in left:
                os.write(writing, outcome(act, places).encode() + b"\n")
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as stream:
            said = stream.read().decode().split()
        _, status = os.waitpid(child, 0)
        if len(said) < len(left):  # the next child goes on with the act after the one that killed this one
            said.append(f"killed by signal {os.WTERMSIG(status)}")
        results.update(zip([name for name, _ in left], said))
    return results


def outcome(act, places):
    """"allowed", or the name of what stopped it."""
    try:
        act(places)
        return "allowed"
    except OSError as problem:
        return errno.errorcode.get(problem.errno or 0, type(problem).__name__)
    except BaseException as problem:
        return type(problem).__name__


if __name__ == "__main__":
    print(json.dumps(outcomes(json.loads(sys.argv[1]))))
