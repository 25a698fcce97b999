"""No file, folder or device is reached that was not granted, and none is changed that was granted for reading."""
from __future__ import annotations

from .conftest import Vector, every

PROC = ("--ro", "/proc")
NAMESPACES = ("--userns", "allow", "--ro", "/proc")
MOVES = ("EACCES", "EXDEV")
NO_PRIVILEGE = {"EPERM": "the capability for it", "EACCES": "the capability for it"}
NO_NAMESPACE = {"EPERM": "user namespaces are restricted", "ENOSPC": "user namespaces are restricted",
                "EACCES": "user namespaces are restricted"}
NO_TMPFILE = {"EOPNOTSUPP": "the file system has no nameless files"}
NO_CRON = {"ENOENT": "no /var/spool/cron", "EACCES": "cron's folder is root's"}


@every([
    Vector(22, "files.read", "files"),
    Vector(22, "files.read_by_openat2", "files", answers=("EACCES", "ENOSYS")),
    Vector(22, "files.read_by_raw_number_with_high_bits", "files"),
    Vector(22, "files.read_by_relative_path", "files"),
    Vector(22, "files.read_through_own_symbolic_link", "files"),
    Vector(22, "files.read_through_root_of_process", "files", PROC),
    Vector(15, "files.read_through_path_descriptor", "files", PROC),
    Vector(22, "files.map_memory_of_file", "files"),
    Vector(22, "files.list_folder", "files"),
    Vector(19, "files.read_folder_of_other_server", "files"),
    Vector(30, "files.read_shared_memory_by_name", "files"),
    Vector(30, "files.open_message_queue", "files", machine={"ENOSYS": "no POSIX queues in this kernel"},
           answers=("EACCES", "EPERM", "ENOSYS")),
])
def test_nothing_is_read_that_was_not_granted(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(16, "files.write", "files"),
    Vector(16, "files.append", "files"),
    Vector(16, "files.create", "files"),
    Vector(16, "files.create_nameless", "files", machine=NO_TMPFILE),
    Vector(16, "files.make_folder", "files"),
    Vector(16, "files.make_symbolic_link", "files"),
    Vector(16, "files.make_fifo", "files"),
    Vector(16, "files.make_socket", "files"),
    Vector(16, "files.remove", "files"),
    Vector(16, "files.plant_something_that_starts", "files"),
    Vector(32, "files.drop_a_job", "files", machine=NO_CRON),
    Vector(30, "files.remove_message_queue", "files", machine={"ENOSYS": "no POSIX queues in this kernel"},
           answers=("EACCES", "EPERM", "ENOSYS")),
])
def test_nothing_is_written_that_was_not_granted(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(23, "files.take_by_hard_link", "files", answers=MOVES),
    Vector(23, "files.take_by_hard_link_through_descriptor", "files", PROC, answers=MOVES),
    Vector(23, "files.take_by_rename", "files", answers=MOVES),
    Vector(23, "files.replace_by_rename", "files", answers=MOVES),
    Vector(23, "files.take_by_exchange", "files", answers=MOVES, machine={"EINVAL": "no exchange on this file system"}),
    Vector(23, "files.gain_writing_by_hard_link", "files", answers=MOVES),
])
def test_links_and_renames_move_no_file_across_the_border(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(15, "files.write_file_granted_for_reading", "files"),
    Vector(15, "files.create_in_folder_granted_for_reading", "files"),
    Vector(15, "files.rename_in_folder_granted_for_reading", "files"),
    Vector(15, "files.widen_own_descriptor", "files", PROC),
    Vector(15, "files.widen_stdin", "files", PROC, stdin="file"),
    Vector(15, "files.empty_readable_by_truncate", "truncate"),
    Vector(15, "files.empty_readable_by_open", "truncate"),
    Vector(15, "files.empty_readable_by_open_with_high_bits", "truncate"),
    Vector(15, "files.empty_readable_by_openat2", "truncate", answers=("EACCES", "ENOSYS")),
    Vector(15, "files.empty_readable_by_creat", "files"),
    Vector(15, "files.empty_by_truncate", "truncate"),
    Vector(15, "files.empty_by_open_for_neither_reading_nor_writing", "truncate"),
])
def test_what_is_granted_for_reading_is_not_changed(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(28, "files.change_mode", "metadata"),
    Vector(28, "files.change_times", "metadata"),
    Vector(29, "files.read_names_and_sizes", "metadata"),
    Vector(29, "files.watch_folder", "metadata"),
])
def test_metadata_is_said_to_be_open_and_is(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(14, "files.read_terminal_of_another", "files"),
    Vector(14, "files.reopen_controlling_terminal", "files", stdin="terminal"),
    Vector(14, "files.resize_terminal_of_another", "devices"),
    Vector(35, "files.read_physical_memory", "files", users=("root",),
           machine={"ENOENT": "no /dev/mem", "EPERM": "locked down", "ENXIO": "no /dev/mem in this kernel"}),
    Vector(35, "files.make_device", "files", users=("root",), machine=NO_PRIVILEGE),
])
def test_devices_are_out_of_reach(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(35, "files.read_by_handle", "files", machine={**NO_PRIVILEGE, "EOPNOTSUPP": "no handles here"}),
    Vector(35, "files.mount_over", "files", users=("root",), machine=NO_PRIVILEGE),
    Vector(31, "files.read_through_mount_in_own_namespace", "files", NAMESPACES, machine=NO_NAMESPACE),
    Vector(31, "files.read_through_cloned_mount_in_own_namespace", "files", NAMESPACES, machine=NO_NAMESPACE),
    Vector(31, "files.read_from_another_root_in_own_namespace", "files", NAMESPACES, machine=NO_NAMESPACE),
])
def test_mounts_roots_and_handles_show_no_file_that_was_not_granted(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)
