"""The fleet lab builds Debian trees and takes minutes, so it runs only where it is asked for: `make test-fleet`."""
from __future__ import annotations


def pytest_ignore_collect(collection_path, config):
    return None if any("fleet" in str(word) for word in config.invocation_params.args) else True
