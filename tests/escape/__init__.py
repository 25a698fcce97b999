"""Every known way out of a Landlock wrapper, tried: rows count as in the project's list of escape vectors.

row    where it is tried
1-7    test_sockets.py (docker.sock, the bus, the display, agents: sockets by path or abstract name; by io_uring
       too); the variables that name them: test_starts.py
8-12   test_processes.py
13-14  test_kernel.py (descriptors left open, the terminal), test_files.py (its name)
15-16  test_files.py
16-18  test_refusals.py (what no policy may grant for writing)
19     test_files.py (another server's folder, the user's own caches)
20     test_starts.py
21-22  test_refusals.py, test_files.py (other names of a file), test_starts.py (races, what a server leaves behind)
23     test_files.py
24     test_starts.py (nothing is claimed, and nothing holds)
25-27  test_network.py
28-29  test_files.py (said to be open, and open)
30-31  test_kernel.py, test_files.py (what has a name)
32     test_files.py
33     tests/compat (nothing of the wrapper's on stdout)
34     test_starts.py
35     test_kernel.py, test_files.py
36     test_kernel.py, and wherever "high bits" stands
37     test_starts.py

Not tried                                      why
the real docker.sock, bus and X server         a socket is a socket: ours stand in their place, on the same system calls
TIOCLINUX without a virtual console            there is nothing to paste into; skipped by name where /dev/tty0 is absent
x32, 32-bit calls, SCTP, SMC, TIPC, AF_ALG     where the kernel has none; skipped by name
aarch64, riscv64                               needs that hardware; tests/confine interprets the filter for them
a snap's launcher                              needs snapd; tests/confine has the refusal
a bind mount between two starts                root's to make, and root is not hostile
"""
