"""What tests of gates share: a raw disk to try the guard on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.loops import loop_device, needs
from tests.gates.rawdisk import MIB, Disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    needs("losetup", "fio")
    with loop_device(tmp_path / "image", 400 * MIB) as node:
        yield Disk(node, tmp_path / "sys").known()
