"""The disk that this machine runs from is looked at by the guard, and refused before anything else is asked of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from checks.block import guard


def test_the_disk_that_the_machine_runs_from_is_refused() -> None:
    source = subprocess.run(["findmnt", "-n", "-o", "SOURCE", "/"], capture_output=True, text=True, check=True).stdout
    device = Path(source.strip())
    if os.geteuid() != 0 or not device.is_block_device() or device.is_symlink():
        pytest.skip("needs root, and a root filesystem on a block device of its own name")
    probe = guard.look("ANY", str(device))
    done = subprocess.run(["sh", "-c", probe.command({})], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == guard.REFUSED
    told = str(probe.parse(done.stdout).refused)
    assert "condition: mount" in told or "condition: partition" in told, (
        told
    )  # what holds it is named, not that it is held
