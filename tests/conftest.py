"""Fixtures of every room."""

from __future__ import annotations

import fcntl
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
