"""Counters in what tools print: each output of a soak's samples read to named numbers, as few outputs as tell where they change."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from checks.lexing import integer
from checks.parsers import amd_smi_metric, ethtool_S, npu_smi, nvidia_smi, nvme_smart_log
from checks.parsers.nvidia_smi import EccErrors
from checks.probe import UnreadableOutput
from checks.soak.sampling import good
from checks.soak.track import Track

#: Subject -> seconds of the soak and the columns of its counters; NaN where a sample does not tell one.
Read = Mapping[str, tuple[npt.NDArray[np.float64], Mapping[str, npt.NDArray[np.float64]]]]

#: So many samples of a soak are read at first (of documents that take long, fewer); where two differ, those between them too.
_READ = 450
_READ_LONG = 150
#: Tools whose every sample is read: they tell states, which come and go between two samples.
_STATES = frozenset({"npu-smi"})


def _smart(text: str) -> dict[str, float]:
    log = nvme_smart_log.parse(text)
    found: dict[str, float] = {
        "media_errors": log.media_errors, "critical_warning": log.critical_warning,
        "unsafe_shutdowns": log.unsafe_shutdowns, "error_log_entries": log.error_log_entries,
    }  # fmt: skip
    for name in ("warning_temp_time", "critical_comp_time", "thm_temp1_trans_count", "thm_temp2_trans_count"):
        if seen := re.search(rf'"{name}"\s*:\s*(\d+)', text):
            found[name] = float(seen.group(1))
    return found


def _ethtool(text: str) -> dict[str, float]:
    return {name: float(count) for name, count in ethtool_S.parse(text).port if count is not None}


def _amd(text: str) -> dict[str, float]:
    """Counters of AMD cards, card by card. A partition that tells none has none: they stand with its card."""
    found: dict[str, float] = {}
    for card in amd_smi_metric.parse(text):
        numbers: list[tuple[str, int | None]] = [
            ("uncorrectable", card.uncorrectable), ("deferred", card.deferred), ("cache_uncorrectable", card.cache_uncorrectable),
            ("correctable", card.correctable), ("cache_correctable", card.cache_correctable),
            *((f"thermal_{name}", count) for name, count in card.thermal),
        ]  # fmt: skip
        found |= {f"card{card.gpu}_{name}": float(count) for name, count in numbers if count is not None}
    return found


def _nvidia(text: str) -> dict[str, float]:
    """Counters of NVIDIA cards, card by card: SRAM and DRAM, since the driver was loaded and (``aggregate``) ever.

    A card without counts of uncorrected errors in both kinds of memory has NaN there: ECC is off, or the driver does not say.
    """
    found: dict[str, float] = {}
    for number, card in enumerate(nvidia_smi.parse(text).cards):
        now, ever = card.volatile, card.aggregate
        needed = {
            "sram_uncorrectable": (_sram(now), _sram(ever)), "dram_uncorrectable": (now.dram_uncorrectable, ever.dram_uncorrectable),
        }  # fmt: skip
        numbers: dict[str, int | None] = {
            "sram_correctable": now.sram_correctable, "dram_correctable": now.dram_correctable,
            "rows_uncorrectable": card.remapped_uncorrectable, "rows_correctable": card.remapped_correctable,
            "pages_double": card.retired_double, "sram_threshold": {"Yes": 1, "No": 0}.get(card.sram_threshold_exceeded or ""),
            "thermal_hw_us": card.hw_thermal_us, "thermal_sw_us": card.sw_thermal_us,
        }  # fmt: skip
        for name, (recent, total) in needed.items():
            numbers |= {name: recent, f"aggregate_{name}": total}
            if recent is None and total is None:
                found[f"card{number}_{name}"] = math.nan
        found |= {f"card{number}_{name}": float(count) for name, count in numbers.items() if count is not None}
    return found


def _sram(errors: EccErrors) -> int | None:
    """Uncorrected errors of SRAM: one number before drivers 5xx, parity and SEC-DED since."""
    parts = [errors.sram_uncorrectable, errors.sram_parity, errors.sram_secded]
    known = [count for count in parts if count is not None]
    return sum(known) if known else None


#: What npu-smi calls an error of memory that was not corrected; HBM, and DDR where a board has it.
_NPU_ERRORS = re.compile(r"(?:HBM|DDR) (?:Single|Double) Bit .+", re.ASCII)
_NPU_NEEDED = "HBM Double Bit Error Count"
_NPU_UNWELL = frozenset({"Warning", "Alarm", "Critical"})


def _npu(text: str) -> dict[str, float]:
    """Health of Ascend chips: 0 where it is OK, 1 where it is not, NaN where the table does not tell."""
    found = npu_smi.parse(text)
    if not found.table:
        raise UnreadableOutput("no table of chips")
    return {
        f"NPU {chip.npu} chip {chip.chip} health not OK": 0.0
        if chip.health == "OK"
        else 1.0
        if chip.health in _NPU_UNWELL
        else math.nan
        for chip in found.table
    }


def _npu_ecc(text: str) -> dict[str, float]:
    """Counters of memory errors of Ascend chips, by the tool's own labels; NaN where it prints NA."""
    found: dict[str, float] = {}
    for report in npu_smi.parse(text).reports:
        values = dict(report.entries)
        if report.npu is None or report.chip is None or _NPU_NEEDED not in values:
            raise UnreadableOutput(f"a report lacks its NPU, its chip or {_NPU_NEEDED!r}")
        for label, value in values.items():
            if _NPU_ERRORS.fullmatch(label):
                name = f"NPU {report.npu} chip {report.chip} {label}"
                found[name] = math.nan if value is None else float(integer(value, label))
    if not found:
        raise UnreadableOutput("no report of a chip")
    return found


#: Stream -> subject (any where empty) -> how its output is read.
TOOLS: Mapping[str, Mapping[str, Callable[[str], dict[str, float]]]] = {
    "smart": {"": _smart}, "ethtool": {"": _ethtool},
    "accelerator": {"amd-smi": _amd, "nvidia-smi": _nvidia, "npu-smi": _npu, "npu-smi-ecc": _npu_ecc},
}  # fmt: skip


def read(track: Track, stream: str, wanted: re.Pattern[str]) -> Read | str:
    """Read a tool's samples at intervals, and those between two that differ in a ``wanted`` counter; or say why none can be read."""
    table = track.tables.get(stream)
    if table is None or "stdout" not in table.texts:
        return "no sample"
    found: dict[str, tuple[npt.NDArray[np.float64], Mapping[str, npt.NDArray[np.float64]]]] = {}
    for subject in sorted({*table.subject} - {""}):
        rows = np.flatnonzero((table.subject == subject) & good(table))
        known = TOOLS[stream].get(subject) or TOOLS[stream].get("")
        if known is None:
            return f"{subject}: kvgate knows no counters in its output"
        if not len(rows):
            return f"{subject}: no sample that ended well"
        texts = [str(table.texts["stdout"][row]) for row in rows]
        try:
            most = len(texts) if subject in _STATES else _READ_LONG if stream == "accelerator" else _READ
            facts = _facts(texts, cache(known), wanted, most)
        except UnreadableOutput as error:
            return f"{subject}: {error}"
        names = dict.fromkeys(name for fact in facts.values() for name in fact)
        places = sorted(facts)
        columns = {name: np.array([facts[place].get(name, np.nan) for place in places]) for name in names}
        found[subject] = (track.seconds[stream][rows[places]], columns)
    return found if found else "no sample"


def _facts(
    texts: Sequence[str], read: Callable[[str], dict[str, float]], wanted: re.Pattern[str], most: int
) -> dict[int, dict[str, float]]:
    """Place -> counters: of places at intervals, and of those in between that show where a counter changed, by halving."""
    facts: dict[int, dict[str, float]] = {}

    def hard(place: int) -> dict[str, float]:
        if place not in facts:
            facts[place] = read(texts[place])
        # What is not told (NaN) is left out: it equals nothing, not even itself.
        return {name: value for name, value in facts[place].items() if value == value and wanted.fullmatch(name)}

    places = sorted({*range(0, len(texts), max(1, len(texts) // most)), len(texts) - 1})
    spans = list(pairwise(places))
    while spans:
        begin, end = spans.pop()
        first, last = hard(begin), hard(end)
        if end - begin > 1 and first != last:
            middle = (begin + end) // 2
            spans += [(begin, middle), (middle, end)]
    hard(places[0])
    return facts
