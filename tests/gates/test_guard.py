"""A disk may be named for destruction only if the inventory calls it scratch; everything else is refused before any host is met."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.errors import NotAllowed
from kvgate.gate.options import Options
from kvgate.gate.start import prepare
from tests.inventory.test_reader import written


def options(tmp_path: Path, text: str, *serials: str) -> Options:
    file = tmp_path / "rack.yaml"
    file.write_text(text)
    return Options("G1", file, "sqlite://", tmp_path / "evidence", allow_destructive=serials)


SCRATCH = written(nodes=2).replace('"PHLN00000001", ', '"PHLN00000001", scratch: true, ')


def test_a_scratch_disk_may_be_named(tmp_path: Path) -> None:
    assert prepare(options(tmp_path, SCRATCH, "PHLN00000001")).owed


def test_every_serial_that_may_not_be_written_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed) as refused:
        prepare(options(tmp_path, SCRATCH, "PHLN00000001", "PHLN00000002", "phln00000001", ""))
    said = str(refused.value)
    assert "'PHLN00000002' (node-02), which" in said
    assert "'phln00000001', which no disk" in said
    assert "'', which no disk" in said
    assert "'PHLN00000001'" not in said
    assert said.endswith("wanted a disk that may be written raw: PHLN00000001 (node-01)")


def test_a_rack_without_scratch_disks_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="this inventory has none"):
        prepare(options(tmp_path, written(), "PHLN00000001"))
