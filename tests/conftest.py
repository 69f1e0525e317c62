"""Fixtures of every room."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def alone() -> Iterator[None]:
    """One test that makes marked load on this machine at a time: each refuses, as it must, to measure beside another's."""
    with (Path(tempfile.gettempdir()) / "kvgate-tests-load.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


#: What a command or its children read; what a library tells its own processes is not ours to judge.
OURS = ("KVGATE", "_KVGATE", "LANG", "LC_", "HOME", "PATH", "PYTHON", "SSH_", "TZ", "COLUMNS", "NO_COLOR")


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """No test leaves anything in the environment for the next one: not a language, not a place."""
    before = _ours()
    yield
    assert _ours() == before


def _ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(OURS)}
