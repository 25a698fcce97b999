"""What worked still works: the same program without the wrapper and with it, and the same outcome."""
from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Settings of the machine that whoever reaches for the network here needs, wrapped or not.
CARRIED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
           "GIT_SSL_CAINFO", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")


@pytest.fixture(params=[1, 3, 6, None], ids=lambda abi: f"abi-{abi or 'own'}")
def confine(request, wrapper, landlock_abi):
    """The wrapper's words, on old interfaces and the kernel's own."""
    if request.param and request.param > landlock_abi:
        pytest.skip("this kernel is older")
    return [wrapper, "--name", "compat", *(["--max-abi", str(request.param)] if request.param else [])]


@pytest.fixture
def same(confine, person):
    """Runs a command bare and confined, and returns what it printed, which is the same."""
    def run(argv, *options, **settings):
        bare = person.run(argv, **settings)
        assert bare.returncode == 0, f"without us: {bare.stderr}"
        confined = person.run([*confine, *options, "--", *argv], **settings)
        assert (confined.returncode, confined.stdout, confined.stderr) == (0, bare.stdout, bare.stderr)
        return confined.stdout

    return run


@pytest.fixture(scope="session")
def node():
    """Node as the distribution has it."""
    found = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    return found or pytest.skip("needs node")


@pytest.fixture(scope="session")
def shelf():
    """A folder for things that are made once, readable for everybody."""
    place = tempfile.mkdtemp(prefix="mcp-confine-compat-", dir="/opt" if os.geteuid() == 0 else None)
    os.chmod(place, 0o755)
    yield Path(place)
    shutil.rmtree(place)


def _npm(name: str) -> str:
    done = subprocess.run(["npm", "config", "get", name], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _pip(name: str) -> str:
    for path in ("/etc/pip.conf", os.path.expanduser("~/.config/pip/pip.conf"), os.path.expanduser("~/.pip/pip.conf")):
        settings = configparser.RawConfigParser()
        settings.read(path)
        if settings.has_option("global", name):
            return settings.get("global", name)
    return os.environ.get("PIP_" + name.upper().replace("-", "_"), "")


@pytest.fixture(scope="session")
def registry():
    """The address of the npm registry that this machine is configured for."""
    found = _npm("registry") if shutil.which("npm") else ""
    return found or pytest.skip("needs npm, to ask for its registry")


@pytest.fixture(scope="session")
def online(registry):
    """The variables that this machine's launchers need to reach their registries."""
    variables = {name: os.environ[name] for name in CARRIED if name in os.environ}
    variables["npm_config_registry"] = registry
    index = _pip("index-url")
    if index:
        variables["UV_DEFAULT_INDEX"] = index
    return variables


@pytest.fixture(scope="session")
def uv(shelf):
    """The folder with `uv` and `uvx`, which are single programs."""
    for name in ("uv", "uvx"):
        found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        if not found:
            pytest.skip("needs uv")
        (shelf / "uv").mkdir(exist_ok=True)
        shutil.copy(found, shelf / "uv" / name)
    return shelf / "uv"
