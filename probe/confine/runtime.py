"""Where a command is, and what must be readable to start it: links, shebangs, version managers, its own folder."""
import posix

from . import system
from .policy import Refused

# Granted to every server (see plan.SYSTEM), so what resolves into them needs no grant of its own.
TREES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

# Trees that hold software alone: (path, levels below it that make one installation, variable that names the tree,
# files elsewhere in the home that its shims read). A path without a leading slash is below the home.
MANAGERS = (
    (".nvm/versions/node", 1, "", ()),
    (".pyenv", 0, "PYENV_ROOT", ()),
    (".asdf", 0, "ASDF_DATA_DIR", (".tool-versions", ".asdfrc")),
    (".local/share/mise", 0, "MISE_DATA_DIR", (".config/mise", ".tool-versions", ".local/bin/mise")),
    (".volta", 0, "VOLTA_HOME", ()),
    (".local/share/fnm", 0, "FNM_DIR", ()),
    (".fnm", 0, "FNM_DIR", ()),
    (".nodenv", 0, "NODENV_ROOT", ()),
    (".rbenv", 0, "RBENV_ROOT", ()),
    (".bun", 0, "", ()),
    (".deno", 0, "", ()),
    (".local/share/uv/python", 1, "", ()),
    (".local/share/uv/tools", 1, "", ()),
    (".local/share/pipx/venvs", 1, "", ()),
    (".local/pipx/venvs", 1, "", ()),
    (".nix-profile", 0, "", ()),
    ("/home/linuxbrew/.linuxbrew", 0, "", ()),
    ("/nix/store", 0, "", ()),
    ("/opt", 1, "", ()),
)
# What marks the folder above bin/ as one installation.
INSTALLATION = ("pyvenv.cfg", "lib/node_modules", "conda-meta", "lib/python3")
# What marks the top of a program's own tree, seen from its script upwards.
PROJECT = ("package.json", "pyproject.toml", "setup.py", "deno.json", ".git")
SNAP = ("/snap/", "/var/lib/snapd/snap/")


def find(word: str, path: str) -> str:
    """The file that a command word means, searched as exec does. Raises FileNotFoundError or PermissionError."""
    if "/" in word:
        candidates = [word]
    else:
        candidates = [f"{folder or '.'}/{word}" for folder in path.split(":")]
    seen = None
    for candidate in candidates:
        try:
            mode = posix.stat(candidate).st_mode
        except OSError:
            continue
        if mode & 0o170000 != 0o100000:
            seen = PermissionError(13, "is not a regular file", candidate)
        elif posix.access(candidate, posix.X_OK, effective_ids=True):
            return candidate
        else:
            seen = PermissionError(13, "is not executable", candidate)
    raise seen or FileNotFoundError(2, "not found", word)


def is_software(target: str, homes: list) -> bool:
    """Whether `target`, links resolved, lies in a tree of software alone, so that reading it gives nobody away."""
    if any([system.covers(tree, target) for tree in TREES]):
        return True
    homes = [system.real(home) for home in homes]
    # A home may lie in a tree of the system's, as /opt/company/home; there only its own trees count.
    within = any([system.covers(home, target) or system.covers(target, home) for home in homes])
    for folder, levels, _, _ in MANAGERS:
        roots = [folder] if folder.startswith("/") else [system.real(f"{home}/{folder}") for home in homes]
        for root in roots if not (within and folder.startswith("/")) else []:
            if system.covers(root, target) and target[len(root):].count("/") >= levels and root not in homes:
                return True
    return False


class Runtime:
    """Grants for reading, path to reason, and variables, gathered while following a command to its parts.

    `homes` are the user's, the one in use first. `writable` are the folders that the server may write, links resolved:
    what is read there, a link or the first line of a script, is the server's own word from an earlier start. The
    grants that follow from it are in `led` too.
    """

    def __init__(self, homes: list, search: str, writable: "list | None" = None) -> None:
        self.homes, self.home = homes, homes[0]
        self.search = search
        self.writable = writable or []
        self.grants: dict = {}
        self.led: set = set()
        self.variables: dict = {}
        self._seen: set = set()

    def follow(self, path: str, reason: str, depth: int = 0, led: bool = False) -> None:
        """Adds what a program needs: each link on the way, its installation, and the interpreter of its shebang."""
        if (path, led) in self._seen or depth > 12:
            return
        self._seen.add((path, led))
        if path.startswith(SNAP):
            raise Refused(f"{path}: comes from a snap, whose launcher needs privileges that confinement takes away; "
                          "install it from the distribution or upstream instead")
        self._software(path, reason, led)
        led = led or self._writes(path)
        try:
            target = posix.readlink(path)
        except OSError:
            self._script(path, reason, depth, led)
        else:
            folder = path.rpartition("/")[0] or "/"
            target = target if target.startswith("/") else f"{folder}/{target}"
            if target.rpartition("/")[2] == "snap" and system.real(target).startswith("/usr/bin/snap"):
                raise Refused(f"{path}: comes from a snap, whose launcher needs privileges that confinement takes away")
            self.follow(_flat(target), reason, depth + 1, led)

    def _writes(self, path: str) -> bool:
        """Whether the server decides what is found at `path`."""
        return not any([system.covers(tree, path) for tree in TREES]) and bool(system.entered(path, self.writable))

    def program(self, script: str) -> None:
        """Adds a program's own tree: from its script up to the project that holds it, never the home itself."""
        path = _flat(script if script.startswith("/") else f"{posix.getcwd()}/{script}")
        if not _exists(path):
            return
        led = self._writes(path)
        self._script(path, "the script's interpreter", 0, led)
        for place in {path, system.real(path)}:
            folder = top = place.rpartition("/")[0] or "/"
            if "/node_modules/" in place:
                top = place[: place.index("/node_modules/")] + "/node_modules"
            else:
                while folder not in ("/", *self.homes) and self._harmless(folder):
                    if any([_exists(f"{folder}/{mark}") for mark in PROJECT]):
                        top = folder
                        break
                    folder = folder.rpartition("/")[0] or "/"
            self._add(top if self._harmless(top) else place, "the program's own folder", led and place != path)

    def _software(self, path: str, reason: str, led: bool) -> None:
        """Grants the installation that a program belongs to, as far as it is outside the system's trees."""
        if any([system.covers(tree, path) for tree in TREES]):
            return
        for folder, levels, variable, files in MANAGERS:
            root = folder if folder.startswith("/") else f"{self.home}/{folder}"
            if not path.startswith(root + "/"):
                continue
            below = path[len(root) + 1:].split("/")
            installation = "/".join([root, *below[:levels]])
            # A home may lie in such a tree, /opt/company/home say; then the program alone is granted.
            self._add(installation if len(below) > levels and self._harmless(installation) else path, reason, led)
            if variable:
                self.variables.setdefault(variable, root)
            for name in files:
                if _exists(f"{self.home}/{name}"):
                    self._add(f"{self.home}/{name}", f"{reason}: its version manager's settings", led)
            return
        above, _, kind = path.rpartition("/")[0].rpartition("/")
        installed = kind == "bin" and self._harmless(above) and self._installed(above)
        if installed or (above.endswith("/node_modules") and kind == ".bin"):
            path = above
        self._add(path, reason, led)

    def _installed(self, folder: str) -> bool:
        if any([_exists(f"{folder}/{mark}") for mark in INSTALLATION]):
            return True
        try:
            return any([name.startswith("python3.") for name in posix.listdir(f"{folder}/lib")])
        except OSError:
            return False

    def _script(self, path: str, reason: str, depth: int, led: bool) -> None:
        try:
            descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
        except OSError:
            return  # exec will say what is wrong with it
        try:
            head = posix.read(descriptor, 256)
        except OSError:
            return
        finally:
            posix.close(descriptor)
        if not head.startswith(b"#!"):
            return
        words = system.text(head[2:].partition(b"\n")[0]).split()
        if not words:
            return
        self.follow(_flat(words[0]), f"{reason}: interpreter", depth + 1, led)
        if words[0].rpartition("/")[2] == "env":
            names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if names:
                # A bare name can only choose among the programs of the search path.
                self.also(names[0], f"{reason}: interpreter", depth + 1, led and "/" in names[0])

    def also(self, word: str, reason: str, depth: int = 0, led: bool = False) -> None:
        """Adds another program of the search path, if it is there."""
        try:
            path = find(word, self.search)
        except OSError:
            return
        self.follow(_flat(path if path.startswith("/") else f"{posix.getcwd()}/{path}"), reason, depth, led)

    def _harmless(self, folder: str) -> bool:
        """Whether a folder is no home and above none, so that reading it gives a program away and no person."""
        place = system.real(folder)
        common = ("/", "/home", "/root", "/etc", "/var", "/tmp")
        return not (place in common or any([system.covers(place, system.real(home)) for home in self.homes]))

    def _add(self, path: str, reason: str, led: bool) -> None:
        if path not in self.grants:
            self.grants[path] = reason
            if led:
                self.led.add(path)
        elif not led:
            self.led.discard(path)


def _exists(path: str) -> bool:
    try:
        posix.stat(path)
        return True
    except OSError:
        return False


def _flat(path: str) -> str:
    """`path` without `.` and `..`, as text: links are followed one at a time by whoever calls."""
    parts: list = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
