"""The wrapper `mcp-confine`. Standard library only, and nothing outside this folder: it is installed alone.

    launch      arguments in, exec out, in the order that makes each step safe
    policy      options and policy files, where they are looked up, what they may say
    presets     what known launchers and servers need, recognised from the command
    runtime     where the command is, and what its links, shebangs and version managers lead to
    environment which variables a server gets, and its private folders
    plan        policy and kernel: the rules, and how each protection is enforced
    protect     what no write grant may reach
    landlock    the kernel's interface by version       seccomp   what Landlock lacks
    privileges  root's way down                         system    system calls and paths
    show        the plan for people and programs        selftest  the proof that it holds
"""
