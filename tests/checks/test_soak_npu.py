"""What the samples of npu-smi come to: every real output that is kept here is read, and what is missing is not zero."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from checks.probe import UnreadableOutput
from checks.soak.tools import TOOLS

KEPT = Path(__file__).parents[1] / "parsers" / "npu-smi"
TABLE, ECC = TOOLS["accelerator"]["npu-smi"], TOOLS["accelerator"]["npu-smi-ecc"]


@pytest.mark.parametrize("path", sorted(KEPT.glob("*-info-text--*.txt")), ids=lambda path: path.stem)
def test_health_of_every_table_that_was_captured(path: Path) -> None:
    found = TABLE(path.read_text())
    assert found
    assert all(name.endswith("health not OK") for name in found)
    assert set(found.values()) <= {0.0, 1.0}


def test_a_word_of_health_that_is_not_known_is_not_well() -> None:
    text = (KEPT / "25.5-info-text--1x910B2C.txt").read_text()
    assert TABLE(text) == {"NPU 2 chip 0 health not OK": 0.0}
    assert TABLE(text.replace("| OK            |", "| Alarm         |")) == {"NPU 2 chip 0 health not OK": 1.0}
    assert math.isnan(TABLE(text.replace("| OK            |", "| UNKNOWN       |"))["NPU 2 chip 0 health not OK"])


def test_errors_of_every_chip_by_the_tool_s_own_labels() -> None:
    text = (KEPT / "24.1-ecc-text--8x910B3.txt").read_text()
    found = ECC(text)
    assert len(found) == 8 * 8
    assert found["NPU 7 chip 0 HBM Double Bit Aggregate Total Err Cnt"] == 0
    label = "HBM Double Bit Error Count               : "
    assert math.isnan(ECC(text.replace(f"{label}0", f"{label}NA", 1))["NPU 0 chip 0 HBM Double Bit Error Count"])
    with pytest.raises(UnreadableOutput, match="lacks"):
        ECC(text.replace("HBM Double Bit Error Count  ", "HBM Double Bits Error Count ", 1))


@pytest.mark.parametrize("read", [TABLE, ECC])
def test_no_output_is_no_health(read: object) -> None:
    assert callable(read)
    with pytest.raises(UnreadableOutput):
        read("")
