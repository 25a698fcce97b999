"""The kernel lab boots a dozen guests, so it runs only where it is asked for: `make test-kernels`."""
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import fetch
import guest
import pytest


def pytest_ignore_collect(collection_path, config):
    return None if any("kernels" in str(word) for word in config.invocation_params.args) else True


def pytest_addoption(parser):
    parser.addoption("--series", default="", help="only kernels of these series, as '6.1 7.1'")
    parser.addoption("--write-page", action="store_true", help="write docs/kernels.md from what was seen")


# What is booted: name to (series, kernel arguments).
def _guests(chosen: list[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    guests = {series: (series, ()) for series in fetch.SERIES if not chosen or series in chosen}
    if not chosen or "7.1" in chosen:
        guests["7.1 off at boot"] = ("7.1", ("lsm=yama,apparmor",))
    return guests


@pytest.fixture(scope="session")
def lab(request):
    """What every guest answered, by name, and the package that its kernel is from; two boot at a time."""
    chosen = request.config.getoption("--series").split()
    wanted = _guests(chosen)
    packages = fetch.series_of(fetch.index())
    newer = [series for series in packages if fetch._version(series) > fetch._version(list(fetch.SERIES)[-1])]
    guest.base()
    guest.tree()
    images = {name: fetch.kernel(series, packages) for name, (series, _) in wanted.items()}
    for series in [] if chosen else newer:  # newer than this lab knows: booted, and taken as it comes
        print(f"{series}: newer than fetch.SERIES; give it a row")
        wanted[series], images[series] = (series, ()), fetch.kernel(series, packages)
    with ThreadPoolExecutor(2) as pool:
        booted = {name: pool.submit(guest.boot, images[name][0], *arguments) for name, (_, arguments) in wanted.items()}
    return {name: (images[name][1], job.result()) for name, job in booted.items()}


def pytest_generate_tests(metafunc):
    guests = _guests(metafunc.config.getoption("--series").split())
    if "booted" in metafunc.fixturenames:
        metafunc.parametrize("booted", guests, indirect=True)
    if "able" in metafunc.fixturenames:
        metafunc.parametrize("able", [name for name, (series, arguments) in guests.items()
                                      if fetch.SERIES[series] and not arguments], indirect=True)
    if "user" in metafunc.fixturenames:
        metafunc.parametrize("user", ["root", "person"])


@pytest.fixture
def booted(request, lab):
    """(name, what it answered) of one guest."""
    return request.param, lab[request.param][1]


@pytest.fixture
def able(request, lab):
    """The same, of the guests that have Landlock."""
    return request.param, lab[request.param][1]
