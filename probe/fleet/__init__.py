"""One host's users, one after the other: what the Ansible modules call.

    users       who is meant, and the loop; a user for whom it failed hides nobody else
    observe     facts and verdict          configure   client entries          prove   handshakes and denials
    wrapper     the wrapper and policies
"""
from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
import zipimport


def _unpack() -> None:
    """Lets the rest of the package be loaded from plain files when this runs out of a module's archive.

    The archive lies in a folder that is closed to all but the user of the connection. A child that has become another
    user could import nothing more out of it, and the self-test, which starts the package's code in processes of their
    own, would find no files.
    """
    package = sys.modules[__name__.rpartition(".")[0]]
    loader = package.__spec__.loader if package.__spec__ else None
    if not isinstance(loader, zipimport.zipimporter):
        return
    folder = tempfile.mkdtemp(prefix="mcp-confine-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    inside = os.path.relpath(package.__path__[0], loader.archive)
    with zipfile.ZipFile(loader.archive) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(inside + "/")])
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o755)  # noqa: S103
        for name in names:
            os.chmod(os.path.join(place, name), 0o644)
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(f"{package.__name__}.") and hasattr(module, "__path__"):
            module.__path__[:] = [path.replace(loader.archive, folder, 1) for path in module.__path__]


_unpack()
