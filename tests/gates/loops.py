"""Loop devices for tests that make real load: asked for, or the test is skipped with what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def needs(*tools: str) -> None:
    """Skip unless this is root and has these programs."""
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if os.geteuid() != 0:
        lacking.insert(0, "root")
    if lacking:
        pytest.skip(f"needs {', '.join(lacking)}")


@contextmanager
def loop_device(image: Path, size: int) -> Iterator[str]:
    """Lay an empty image behind a loop device and give the device; a machine without one skips."""
    with image.open("wb") as file:
        file.truncate(size)
    found = subprocess.run(
        ["losetup", "--find", "--show", "--partscan", image], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip(f"this machine has no loop device: {found.stderr.strip()}")
    device = found.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=False)
