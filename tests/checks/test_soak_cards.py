"""Errors of accelerators in a soak: which counts of a card are uncorrected, which corrected, and that silence is not zero."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from checks.soak.tools import TOOLS

FOLDER = Path(__file__).parents[1] / "parsers/nvidia-smi"
nvidia = TOOLS["accelerator"]["nvidia-smi"]


@pytest.mark.parametrize(
    ("name", "cards"), [("515-xml--a10g-idle-gen1-x8", 1), ("590-xml--8x-h200", 8), ("590-q-text--h200-idle", 1)]
)
def test_every_form_tells_both_memories_of_every_card(name: str, cards: int) -> None:
    found = nvidia((FOLDER / f"{name}.txt").read_text("utf-8"))
    for number in range(cards):
        for kind in ("sram", "dram"):
            assert found[f"card{number}_{kind}_uncorrectable"] == 0
            assert found[f"card{number}_aggregate_{kind}_uncorrectable"] == 0
            assert found[f"card{number}_{kind}_correctable"] == 0
    assert f"card{cards}_sram_uncorrectable" not in found


def test_parity_and_secded_are_added_up_and_one_number_stands_for_itself() -> None:
    new = (FOLDER / "590-xml--8x-h200.txt").read_text("utf-8")
    new = new.replace("<sram_uncorrectable_parity>0<", "<sram_uncorrectable_parity>2<", 1)
    new = new.replace("<sram_uncorrectable_secded>0<", "<sram_uncorrectable_secded>3<", 1)
    assert nvidia(new)["card0_sram_uncorrectable"] == 5
    old = (FOLDER / "515-xml--a10g-idle-gen1-x8.txt").read_text("utf-8")
    assert nvidia(old.replace("<sram_uncorrectable>0<", "<sram_uncorrectable>4<", 1))["card0_sram_uncorrectable"] == 4


def test_a_card_that_tells_nothing_of_one_memory_has_no_number_there() -> None:
    text = (FOLDER / "590-xml--8x-h200.txt").read_text("utf-8")
    found = nvidia(re.sub(r"<dram_uncorrectable>\d+<", "<dram_uncorrectable>N/A<", text))
    assert math.isnan(found["card0_dram_uncorrectable"])
    assert found["card0_sram_uncorrectable"] == 0
    # One of both columns is enough.
    once = text.replace("<dram_uncorrectable>0<", "<dram_uncorrectable>N/A<", 1)
    assert "card0_dram_uncorrectable" not in nvidia(once)
    assert nvidia(once)["card0_aggregate_dram_uncorrectable"] == 0
