"""Somebody else's program of the same user: a process with secrets, which waits until its stdin ends.

Prints one JSON object of what it has: its process id, the address of its secret, and the numbers of its shared memory,
messages, semaphore and queue. Started with SECRET among its arguments and in its environment.
"""
import ctypes
import json
import os
import signal
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
PR_SET_PTRACER, ANYBODY = 0x59616D61, ctypes.c_ulong(-1)
IPC_PRIVATE, IPC_RMID, IPC_CREAT = 0, 0, 0o1000
bell, queue, shared = sys.argv[1:4]

secret = ctypes.create_string_buffer(b"SECRET in memory")
libc.prctl(PR_SET_PTRACER, ANYBODY, 0, 0, 0)
signal.signal(signal.SIGIO, lambda *_: os.utime(bell))
segment = libc.shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0o600)
messages = libc.msgget(IPC_PRIVATE, IPC_CREAT | 0o600)
semaphore = libc.semget(IPC_PRIVATE, 1, IPC_CREAT | 0o600)
libc.msgsnd(messages, struct.pack("q", 1) + b"SECRET message", 14, 0)
with open(shared, "w") as stream:
    stream.write("SECRET in shared memory")
os.chmod(shared, 0o600)

reading, writing = os.pipe()
child = os.fork()
if child == 0:
    # One more process, in a user namespace of its own, that another of the same user could enter.
    os.write(writing, bytes([libc.unshare(0x10000000) == 0]))
    signal.pause()
in_namespace = child if os.read(reading, 1) == b"\1" else 0

print(json.dumps({"bystander": os.getpid(), "address": ctypes.addressof(secret), "segment": segment,
                  "messages": messages, "semaphore": semaphore, "in_namespace": in_namespace}), flush=True)
for command in sys.stdin:
    # The queue is made anew for each attempt that may remove it.
    made = libc.syscall(240 if X86 else 180, queue.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
    os.close(made) if made >= 0 else None
    print("ready" if made >= 0 else os.strerror(ctypes.get_errno()), flush=True)
os.kill(child, signal.SIGKILL)
libc.shmctl(segment, IPC_RMID, None)
libc.msgctl(messages, IPC_RMID, None)
libc.semctl(semaphore, 0, IPC_RMID)
libc.syscall(241 if X86 else 181, queue.encode())
os.unlink(shared)
