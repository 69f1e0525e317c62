"""What npu-smi prints while an Ascend node is soaked: its table as it was captured, and a report of memory errors for every chip in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_UPPER = re.compile(r"^\| (\d+) +(\S+) +\| (OK) ", re.MULTILINE)
_LABELS = (
    "HBM Single Bit Error Count", "HBM Double Bit Error Count", "HBM Single Bit Aggregate Total Err Cnt",
    "HBM Double Bit Aggregate Total Err Cnt", "HBM Single Bit Isolated Pages Count", "HBM Double Bit Isolated Pages Count",
    "HBM Single Bit Next-Isolated Pages Count", "HBM Double Bit Next-Isolated Pages Count",
)  # fmt: skip


def table(captured: str, health: str) -> str:
    """The table, with another word for the health of the chip at place 2."""
    text = captured or _captured()
    place = list(_UPPER.finditer(text))[2]
    return text[: place.start(3)] + health.ljust(2) + text[place.end(3) + max(0, len(health) - 2) :]


def ecc(captured: str, count: Callable[[str], object]) -> str:
    """A report for every chip; ``count`` tells the counters of the chip at place 2, all others are 0."""
    reports = []
    for place, found in enumerate(_UPPER.finditer(captured or _captured())):
        rows = [
            ("NPU ID", found[1]),
            *((label, count(label) if place == 2 else 0) for label in _LABELS),
            ("Chip ID", 0),
        ]
        lines = "".join(f"\t{label:<40} : {value}\n" for label, value in rows)
        reports.append(f"npu-smi info -t ecc -i {found[1]} -c 0\n{lines}\n")
    return "".join(reports)


def _captured() -> str:
    """The table of the embedded rack's Ascend node."""
    text = (Path(__file__).parents[1] / "machines/ascend/accelerators.yaml").read_text("utf-8")
    lines = text.split("- ask:")[1].splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip()[:1] in ("|", "+"))
