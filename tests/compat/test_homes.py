"""Version managers and odd homes: wherever a runtime lies, it starts, and nothing else of the home comes with it."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PYTHON = "/usr/bin/python3"
SYSTEM = "/usr/bin:/bin"
SAYS = 'console.log("node from", process.execPath)'


@pytest.fixture(scope="session")
def node_copy(node, shelf):
    """A copy of node, to be linked into homes: a file of its own, with a path of its own."""
    place = shelf / "node"
    shutil.copy(os.path.realpath(node), place)
    place.chmod(0o755)
    return place


@pytest.fixture
def home(person, node_copy):
    """Builds layouts in this person's home."""
    class Home:
        path = person.home
        where = f"{person.home}/"

        def node(self, name: str) -> str:
            """The copy of node at this place."""
            person.file(name)
            os.unlink(f"{person.home}/{name}")
            os.link(node_copy, f"{person.home}/{name}")
            return f"{person.home}/{name}"

        def script(self, name: str, text: str) -> str:
            return person.file(name, text, 0o755)

        def link(self, name: str, target: str) -> str:
            person.file(name)
            os.unlink(f"{person.home}/{name}")
            os.symlink(target, f"{person.home}/{name}")
            return f"{person.home}/{name}"

        def venv(self, name: str, *options: str) -> str:
            """A virtual environment made by the person."""
            person.folder(os.path.dirname(name) or name)
            made = person.run([PYTHON, "-m", "venv", "--without-pip", *options, f"{person.home}/{name}"])
            assert made.returncode == 0, made.stderr
            return f"{person.home}/{name}"

    return Home()


@pytest.fixture
def starts(wrapper, person):
    """Runs a command bare and confined with a search path, and returns what it printed, which is the same."""
    def run(*argv, path=SYSTEM, options=(), **environment):
        secret = person.file("private.txt", "SECRET\n")
        settings = person.environment(PATH=path, **environment)
        bare = person.run(argv, env=settings)
        assert bare.returncode == 0, bare.stderr
        confined = person.run([wrapper, "--name", "home", *options, "--", *argv], env=settings)
        assert (confined.returncode, confined.stdout, confined.stderr) == (0, bare.stdout, bare.stderr)
        # The grants that made it start show nothing else.
        kept = person.run([wrapper, "--name", "home", *options, "--", "/bin/cat", secret], env=settings)
        assert "SECRET" not in kept.stdout and kept.returncode != 0
        told = person.run([wrapper, "--name", "home", *options, "--show", "--", *argv], env=settings).stdout
        assert f"  {person.home}  " not in told
        return confined.stdout

    return run


def test_nvm(home, starts):
    version = ".nvm/versions/node/v20.1.0"
    home.node(f"{version}/bin/node")
    home.script(f"{version}/lib/node_modules/tool/cli.js", f"#!/usr/bin/env node\nrequire('./lib.js')\n{SAYS}\n")
    home.script(f"{version}/lib/node_modules/tool/lib.js", "")
    home.link(f"{version}/bin/tool", "../lib/node_modules/tool/cli.js")
    path = f"{home.path}/{version}/bin:{SYSTEM}"
    assert starts("tool", path=path) == f"node from {home.path}/{version}/bin/node\n"
    assert starts("node", "-e", SAYS, path=path) == f"node from {home.path}/{version}/bin/node\n"


def test_fnm_with_its_link_per_shell(home, starts):
    installation = ".local/share/fnm/node-versions/v20/installation"
    home.node(f"{installation}/bin/node")
    home.script(f"{installation}/lib/node_modules/tool/cli.js", "")
    home.link(".local/state/fnm_multishells/1_2", f"{home.path}/{installation}")
    path = f"{home.path}/.local/state/fnm_multishells/1_2/bin:{SYSTEM}"
    assert "node from" in starts("node", "-e", SAYS, path=path)


def test_volta(home, starts):
    home.node(".volta/tools/image/node/20.1.0/bin/node")
    home.script(".volta/bin/volta-shim", '#!/bin/sh\nexec "$VOLTA_HOME/tools/image/node/20.1.0/bin/${0##*/}" "$@"\n')
    home.link(".volta/bin/node", "volta-shim")
    said = starts("node", "-e", SAYS, path=f"{home.path}/.volta/bin:{SYSTEM}", VOLTA_HOME=f"{home.path}/.volta")
    assert said == f"node from {home.path}/.volta/tools/image/node/20.1.0/bin/node\n"


def test_asdf(home, starts):
    home.node(".asdf/installs/nodejs/20.1.0/bin/node")
    home.script(".tool-versions", "nodejs 20.1.0\n")
    home.script(".asdf/bin/asdf", '#!/bin/sh\nread -r plugin version < "$ASDF_DATA_DIR/../.tool-versions"\nshift\n'
                'exec "$ASDF_DATA_DIR/installs/$plugin/$version/bin/$@"\n')
    home.script(".asdf/shims/node", '#!/usr/bin/env bash\n# asdf-plugin: nodejs 20.1.0\n'
                f'exec {home.path}/.asdf/bin/asdf exec "node" "$@"\n')
    said = starts("node", "-p", "process.execPath", path=f"{home.path}/.asdf/shims:{SYSTEM}",
                  ASDF_DATA_DIR=f"{home.path}/.asdf")
    assert said == f"{home.path}/.asdf/installs/nodejs/20.1.0/bin/node\n"


def test_mise(home, starts):
    home.node(".local/share/mise/installs/node/20.1.0/bin/node")
    home.script(".config/mise/config.toml", '[tools]\nnode = "20.1.0"\n')
    home.script(".local/bin/mise", '#!/bin/sh\nset -e\n'
                'grep -q node "${MISE_DATA_DIR%/.local*}/.config/mise/config.toml"\n'
                'exec "$MISE_DATA_DIR/installs/node/20.1.0/bin/${0##*/}" "$@"\n')
    home.link(".local/share/mise/shims/node", f"{home.path}/.local/bin/mise")
    said = starts("node", "-p", "process.execPath", path=f"{home.path}/.local/share/mise/shims:{SYSTEM}",
                  MISE_DATA_DIR=f"{home.path}/.local/share/mise")
    assert said == f"{home.path}/.local/share/mise/installs/node/20.1.0/bin/node\n"


def test_pyenv(home, starts):
    home.venv(".pyenv/versions/3.99.1", "--copies")
    home.script(".pyenv/version", "3.99.1\n")
    home.script(".pyenv/libexec/pyenv", '#!/usr/bin/env bash\nread -r version < "$PYENV_ROOT/version"\nshift\n'
                'exec "$PYENV_ROOT/versions/$version/bin/$@"\n')
    home.link(".pyenv/bin/pyenv", "../libexec/pyenv")
    home.script(".pyenv/shims/python3", '#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT="${PYENV_ROOT:?}"\n'
                f'exec "{home.path}/.pyenv/bin/pyenv" exec "${{0##*/}}" "$@"\n')
    said = starts("python3", "-c", "import sys; print(sys.prefix)", path=f"{home.path}/.pyenv/shims:{SYSTEM}",
                  PYENV_ROOT=f"{home.path}/.pyenv")
    assert said == f"{home.path}/.pyenv/versions/3.99.1\n"


@pytest.mark.parametrize("how", ["--copies", "--symlinks"])
def test_a_virtual_environment(home, starts, person, how):
    venv = home.venv("src/app/venv", how)
    package = f"src/app/venv/lib/python{python_version()}/site-packages/mine.py"
    person.file(package, "value = 'of the environment'\n", 0o644)
    home.script("src/app/venv/bin/tool", f"#!{venv}/bin/python\nimport mine; print(mine.value)\n")
    assert starts(f"{venv}/bin/python", "-c", "import mine; print(mine.value)") == "of the environment\n"
    assert starts("tool", path=f"{venv}/bin:{SYSTEM}") == "of the environment\n"


@pytest.mark.parametrize("root", [".local/share/pipx/venvs/tool", ".local/pipx/venvs/tool",
                                  ".local/share/uv/tools/tool"])
def test_a_tool_of_pipx_or_uv(home, starts, person, root):
    venv = home.venv(root)
    person.file(f"{root}/lib/python{python_version()}/site-packages/mine.py", "value = 'of the tool'\n", 0o644)
    home.script(f"{root}/bin/tool", f"#!{venv}/bin/python\nimport mine; print(mine.value)\n")
    home.link(".local/bin/tool", f"{venv}/bin/tool")
    assert starts("tool", path=f"{home.path}/.local/bin:{SYSTEM}") == "of the tool\n"


def test_a_script_in_local_bin_with_options_in_its_first_line(home, starts, person):
    home.script(".local/bin/tool", f"#!/usr/bin/env -S {PYTHON} -I\nimport sys; print(sys.flags.isolated)\n")
    assert starts("tool", path=f"{home.path}/.local/bin:{SYSTEM}") == "1\n"
    home.script(".local/bin/chain", f"#!{home.path}/.local/bin/interpreter\n")
    home.script(".local/bin/interpreter", "#!/bin/sh\necho interpreted ${1##*/}\n")
    assert starts("chain", path=f"{home.path}/.local/bin:{SYSTEM}") == "interpreted chain\n"


def test_a_project_with_its_programs_in_node_modules(home, starts, person):
    home.script("src/app/package.json", "{}")
    home.script("src/app/lib/part.js", "module.exports = 'of the project'")
    home.script("src/app/dist/index.js", "console.log(require('../lib/part.js'))")
    home.script("src/app/node_modules/tool/cli.js", "#!/usr/bin/env node\nconsole.log(require('other'))\n")
    home.script("src/app/node_modules/other/index.js", "module.exports = 'of another package'")
    home.link("src/app/node_modules/.bin/tool", "../tool/cli.js")
    node = os.path.dirname(shutil.which("node", path="/usr/local/bin:/usr/bin:/bin"))
    assert starts("node", f"{home.path}/src/app/dist/index.js", path=f"{node}:{SYSTEM}") == "of the project\n"
    assert starts(f"{home.path}/src/app/node_modules/.bin/tool", path=f"{node}:{SYSTEM}") == "of another package\n"


def test_a_home_behind_a_link(home, starts, person, wrapper, shelf):
    alias = shelf / f"alias-of-{person.name}"
    alias.unlink(missing_ok=True)
    alias.symlink_to(person.home)
    home.node(".nvm/versions/node/v20.1.0/bin/node")
    path = f"{alias}/.nvm/versions/node/v20.1.0/bin:{SYSTEM}"
    assert "node from" in starts("node", "-e", SAYS, path=path, HOME=str(alias))
    written = person.run([wrapper, "--name", "home", "--", "sh", "-c", "echo x > $HOME/x && cat $HOME/x"],
                         env=person.environment(HOME=str(alias)))
    assert written.stdout == "x\n"


def test_dotfiles_behind_links(home, wrapper, person):
    home.script("dotfiles/npmrc", "registry=https://registry.invalid/\n//registry.invalid/:_authToken=SECRET\n")
    home.link(".npmrc", f"{home.path}/dotfiles/npmrc")
    home.script("dotfiles/gitconfig", "[user]\n\tname = Someone\n")
    home.link(".gitconfig", f"{home.path}/dotfiles/gitconfig")
    home.script("tools/npx", '#!/bin/sh\ncat "$npm_config_userconfig"\n')
    done = person.run([wrapper, "--", "npx", "-y", "x"], env=person.environment(PATH=f"{home.path}/tools:{SYSTEM}"))
    assert done.stdout == "registry=https://registry.invalid/\n", done.stderr
    line = [wrapper, "--home", "real", "--ro", "~/.gitconfig", "--", "cat", f"{home.path}/.gitconfig"]
    assert "Someone" in person.run(line).stdout


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_certificates_of_the_user_behind_links(home, wrapper, person, variable):
    home.script("company/ca.pem", "-----BEGIN CERTIFICATE-----\n")
    home.link("certs/current.pem", "../company/ca.pem")
    bundle = home.link("ca.pem", f"{home.path}/certs/current.pem")
    done = person.run([wrapper, "--", "sh", "-c", f'cat "${variable}"'], env=person.environment(**{variable: bundle}))
    assert done.stdout.startswith("-----BEGIN"), done.stderr


# layout: (links in /etc, files that they lead to)
LAYOUTS = {
    "a plain file": ({}, {"/etc/resolv.conf": "nameserver 192.0.2.1\n"}),
    "systemd-resolved": ({"/etc/resolv.conf": "../run/systemd/resolve/stub-resolv.conf"},
                         {"/run/systemd/resolve/stub-resolv.conf": "nameserver 192.0.2.1\n"}),
    "resolvconf": ({"/etc/resolv.conf": "/run/resolvconf/resolv.conf"},
                   {"/run/resolvconf/resolv.conf": "nameserver 192.0.2.1\n"}),
    "NetworkManager": ({"/etc/resolv.conf": "/run/NetworkManager/resolv.conf"},
                       {"/run/NetworkManager/resolv.conf": "nameserver 192.0.2.1\n"}),
    "somewhere else": ({"/etc/resolv.conf": "/run/wsl/resolv.conf"},
                       {"/run/wsl/resolv.conf": "nameserver 192.0.2.1\n"}),
    "RHEL's certificates": (
        {"/etc/pki/tls/certs/ca-bundle.crt": "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
         "/etc/ssl/certs": "/etc/pki/tls/certs"},
        {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "-----BEGIN CERTIFICATE-----\n"}),
    "openSUSE's certificates": (
        {"/etc/ssl/certs": "/var/lib/ca-certificates/pem",
         "/etc/ssl/cert.pem": "/var/lib/ca-certificates/ca-bundle.pem"},
        {"/var/lib/ca-certificates/ca-bundle.pem": "-----BEGIN CERTIFICATE-----\n",
         "/var/lib/ca-certificates/pem/one.pem": "-----BEGIN CERTIFICATE-----\n"}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_resolvers_and_certificates_as_distributions_lay_them_out(wrapper, person, tmp_path, layout):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root for a mount namespace")
    links, files = LAYOUTS[layout]
    etc, run, library = tmp_path / "etc", tmp_path / "run", tmp_path / "lib"
    run.mkdir(), library.mkdir()
    subprocess.run(["cp", "-a", "/etc", etc], check=True)
    places = {"/etc": etc, "/run": run, "/var/lib": library}

    def inside(path: str) -> Path:
        top = next(top for top in places if path.startswith(top + "/"))
        place = places[top] / path[len(top) + 1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    for path, content in files.items():
        place = inside(path)
        if place.is_symlink() or place.exists():
            place.unlink()
        place.write_text(content)
    for path, target in links.items():
        place = inside(path)
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
        place.symlink_to(target)
    names = [*links, *files]
    look = "".join(f"test -d {name} && ls {name}/ | head -n 1 || cat {name}; " for name in names)
    for folder, *_ in os.walk(tmp_path):
        os.chmod(folder, os.stat(folder).st_mode | 0o055)
    mounts = "".join(f"mount --bind {place} {top} && " for top, place in places.items())
    outcome = []
    for words in ([], [wrapper, "--"]):
        script = f'{mounts}exec setpriv --reuid={person.name} --regid={person.name} --clear-groups "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "-", *words, "sh", "-c", look],
                              env=person.environment(), cwd="/", capture_output=True, text=True)
        outcome.append((done.stdout, done.stderr))
    assert outcome[0][0] and outcome[0][1] == "", outcome[0]
    assert outcome[1] == outcome[0]


def python_version() -> str:
    """The version of the system's Python, as in lib/pythonX.Y."""
    said = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True,
                          text=True, check=True)
    return said.stdout.strip()
