"""Ways to a file, a folder or a device that was not granted, or not for writing."""
import ctypes
import errno
import fcntl
import os
import socket
import struct
import termios

from toolbox import HIGH, call, fail, in_child, libc

O_READ_NOTHING = 3  # an access mode of its own: neither reading nor writing, good for ioctl
AT_FDCWD, AT_SYMLINK_FOLLOW, RENAME_EXCHANGE = -100, 0x400, 2
CLONE_NEWUSER, CLONE_NEWNS, MS_BIND = 0x10000000, 0x20000, 0x1000
OPEN_TREE_CLONE = 1


def expect_secret(content):
    if b"SECRET" not in content:
        raise ValueError(f"this is not the canary: {content!r}")


def read(places):
    with open(places["canary"], "rb") as stream:
        expect_secret(stream.read())


def read_by_openat2(places):
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    expect_secret(os.read(call("openat2", AT_FDCWD, places["canary"].encode(), how, len(how)), 99))


def read_by_raw_number_with_high_bits(places):
    expect_secret(os.read(call("openat", AT_FDCWD, places["canary"].encode(), HIGH | os.O_RDONLY, 0), 99))


def read_by_relative_path(places):
    os.chdir(os.path.dirname(places["canary"]))
    with open("../outside/./canary", "rb") as stream:
        expect_secret(stream.read())


def read_through_own_symbolic_link(places):
    link = places["private"] + "/link"
    if not os.path.islink(link):
        os.symlink(places["canary"], link)
    with open(link, "rb") as stream:
        expect_secret(stream.read())


def read_through_root_of_process(places):
    with open("/proc/self/root" + places["canary"], "rb") as stream:
        expect_secret(stream.read())


def read_through_path_descriptor(places):
    pinned = os.open(places["canary"], os.O_PATH)
    with open(f"/proc/self/fd/{pinned}", "rb") as stream:
        expect_secret(stream.read())


def read_by_handle(places):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, places["canary"].encode(), handle, ctypes.byref(mount), 0)
    folder = os.open(places["private"], os.O_RDONLY)
    expect_secret(os.read(call("open_by_handle_at", folder, handle, os.O_RDONLY), 99))


def list_folder(places):
    if "canary" not in os.listdir(os.path.dirname(places["canary"])):
        raise ValueError("the folder lacks the canary")


def map_memory_of_file(places):
    import mmap

    with open(places["canary"], "rb") as stream:
        expect_secret(mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)[:])


def write(places):
    os.close(os.open(places["canary"], os.O_WRONLY))


def append(places):
    os.close(os.open(places["canary"], os.O_RDWR | os.O_APPEND))


def create(places):
    path = places["canary"] + ".new"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    os.unlink(path)


def create_nameless(places):
    os.close(os.open(os.path.dirname(places["canary"]), os.O_RDWR | os.O_TMPFILE, 0o600))


def make_folder(places):
    os.mkdir(places["canary"] + ".folder")
    os.rmdir(places["canary"] + ".folder")


def make_symbolic_link(places):
    os.symlink("/", places["canary"] + ".link")
    os.unlink(places["canary"] + ".link")


def make_fifo(places):
    os.mkfifo(places["canary"] + ".fifo")
    os.unlink(places["canary"] + ".fifo")


def make_socket(places):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(places["canary"] + ".socket")
    os.unlink(places["canary"] + ".socket")


def remove(places):
    os.unlink(places["canary"])


def take_by_hard_link(places):
    name = places["private"] + "/stolen"
    os.link(places["canary"], name)
    os.unlink(name)


def take_by_hard_link_through_descriptor(places):
    pinned = os.open(places["canary"], os.O_PATH)
    name = places["private"] + "/stolen"
    call("linkat", AT_FDCWD, f"/proc/self/fd/{pinned}".encode(), AT_FDCWD, name.encode(), AT_SYMLINK_FOLLOW)
    os.unlink(name)


def take_by_rename(places):
    os.rename(places["canary"], places["private"] + "/stolen")
    os.unlink(places["private"] + "/stolen")


def replace_by_rename(places):
    mine = places["private"] + "/mine"
    with open(mine, "w") as stream:
        stream.write("SECRET, replaced")
    os.rename(mine, places["canary"])


def take_by_exchange(places):
    mine = places["private"] + "/mine"
    with open(mine, "w") as stream:
        stream.write("SECRET, replaced")
    call("renameat2", AT_FDCWD, mine.encode(), AT_FDCWD, places["canary"].encode(), RENAME_EXCHANGE)


def gain_writing_by_hard_link(places):
    name = places["private"] + "/writable"
    os.link(places["readable"], name)
    os.unlink(name)


def write_file_granted_for_reading(places):
    os.close(os.open(places["readable"], os.O_WRONLY))


def create_in_folder_granted_for_reading(places):
    os.close(os.open(places["readable"] + ".new", os.O_WRONLY | os.O_CREAT))
    os.unlink(places["readable"] + ".new")


def rename_in_folder_granted_for_reading(places):
    os.rename(places["readable"], places["readable"] + ".moved")
    os.rename(places["readable"] + ".moved", places["readable"])


def widen_own_descriptor(places):
    reading = os.open(places["readable"], os.O_RDONLY)
    os.close(os.open(f"/proc/self/fd/{reading}", os.O_RDWR))


def widen_stdin(_places):
    os.close(os.open("/proc/self/fd/0", os.O_RDWR))


def empty_by_truncate(places):
    os.truncate(places["canary"], 0)


def empty_readable_by_truncate(places):
    os.truncate(places["readable"], 0)


def empty_readable_by_open(places):
    os.close(os.open(places["readable"], os.O_RDONLY | os.O_TRUNC))


def empty_readable_by_open_with_high_bits(places):
    os.close(call("openat", AT_FDCWD, places["readable"].encode(), HIGH | os.O_RDONLY | os.O_TRUNC, 0))


def empty_readable_by_openat2(places):
    how = struct.pack("QQQ", os.O_RDONLY | os.O_TRUNC, 0, 0)
    os.close(call("openat2", AT_FDCWD, places["readable"].encode(), how, len(how)))


def empty_readable_by_creat(places):
    os.close(os.open(places["readable"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC))


def empty_by_open_for_neither_reading_nor_writing(places):
    os.close(os.open(places["canary"], O_READ_NOTHING | os.O_TRUNC))
    if os.stat(places["canary"]).st_size:
        fail(errno.EIO)


def plant_something_that_starts(places):
    """Start-up files, units, programs on the search path, client configs and caches that are run later: any will do."""
    last = None
    for path in places["plants"]:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            return
        except OSError as problem:
            last = problem
    raise last


def drop_a_job(_places):
    path = "/var/spool/cron/.mcp-confine-escape"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    os.unlink(path)


def read_folder_of_other_server(places):
    with open(places["other_server"], "rb") as stream:
        expect_secret(stream.read())


def read_shared_memory_by_name(places):
    with open(places["shared"], "rb") as stream:
        expect_secret(stream.read())


def open_message_queue(places):
    os.close(call("mq_open", places["queue"].encode(), os.O_RDONLY | os.O_NONBLOCK, 0, None))


def remove_message_queue(places):
    call("mq_unlink", places["queue"].encode())


def read_names_and_sizes(places):
    os.stat(places["canary"])
    os.statvfs(places["canary"])


def change_mode(places):
    os.chmod(places["canary"], 0o640)
    os.chmod(places["canary"], 0o600)


def change_times(places):
    os.utime(places["canary"], (1, 1))


def watch_folder(places):
    watcher = libc.inotify_init1(0)
    if libc.inotify_add_watch(watcher, os.path.dirname(places["canary"]).encode(), 0x100) < 0:
        fail(ctypes.get_errno())


def resize_terminal_of_another(places):
    """An ioctl that changes a device, through a descriptor that needs no right to read or write."""
    terminal = os.open(places["terminal"], O_READ_NOTHING | os.O_NOCTTY)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 44, 0, 0))


def read_terminal_of_another(places):
    os.close(os.open(places["terminal"], os.O_RDWR | os.O_NOCTTY))


def reopen_controlling_terminal(_places):
    def act():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.close(os.open("/dev/tty", os.O_RDWR))

    in_child(act)


def read_physical_memory(_places):
    os.close(os.open("/dev/mem", os.O_RDONLY))


def make_device(places):
    os.mknod(places["private"] + "/device", 0o020600, os.makedev(1, 3))
    os.unlink(places["private"] + "/device")


def mount_over(places):
    call("mount", places["readable_folder"].encode(), places["private"].encode(), None, MS_BIND, None)
    call("umount2", places["private"].encode(), 2)


def read_through_mount_in_own_namespace(places):
    def act():
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
        os.makedirs(places["private"] + "/mounted", exist_ok=True)
        folder = os.path.dirname(places["canary"])
        call("mount", folder.encode(), (places["private"] + "/mounted").encode(), None, MS_BIND, None)
        with open(places["private"] + "/mounted/canary", "rb") as stream:
            expect_secret(stream.read())

    in_child(act)


def read_through_cloned_mount_in_own_namespace(places):
    def act():
        call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
        folder = os.path.dirname(places["canary"])
        tree = call("open_tree", AT_FDCWD, folder.encode(), OPEN_TREE_CLONE)
        expect_secret(os.read(os.open("canary", os.O_RDONLY, dir_fd=tree), 99))

    in_child(act)


def read_from_another_root_in_own_namespace(places):
    def act():
        call("unshare", CLONE_NEWUSER)
        os.chroot(os.path.dirname(places["canary"]))
        with open("/canary", "rb") as stream:
            expect_secret(stream.read())

    in_child(act)
