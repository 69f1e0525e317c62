"""Counters that must not move in a soak: which they are, by how much each rose and in which minute it first did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from checks.nic.counters import ERRORS as PORT_ERRORS
from checks.parsers import amd_smi_metric, ethtool_S, nvidia_smi, nvme_smart_log
from checks.probe import UnreadableOutput
from checks.roce.losses import ERRORS as ROCE_ERRORS
from checks.soak.sampling import good
from checks.soak.track import Track

#: Fields that must not rise, by group: (stream, regular expression of the field).
_FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "disk": (("smart", "media_errors|critical_warning|unsafe_shutdowns|error_log_entries"),),
    "machine": (("aer", "nonfatal|fatal"), ("edac", "ue_count|ue_noinfo_count")),
    "port": (
        ("net", "rx_(?:crc|frame|fifo|missed|length)_errors|tx_errors|tx_(?:carrier|fifo)_errors"),
        ("ethtool", "|".join(one for errors in PORT_ERRORS.values() for one in (*errors.required, *errors.optional))),
    ),
    "roce": (
        (
            "rdma",
            "|".join((
                *dict.fromkeys(one for needed, more in ROCE_ERRORS.values() for one in (*needed, *more)),
                "symbol_error", "port_rcv_errors", "port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
            )),
        ),
    ),
    "storm": (("ethtool", "tx_pause_storm_(?:warning|error)_events|continuous_roce_pause_events"),),
    "link": (("net", "carrier_changes"), ("rdma", "link_downed|link_error_recovery"), ("ethtool", "link_down_events(?:_phy)?")),
    "reset": (("nvme", "reset_count|reconnect_count|command_error_count"),),
    "heat": (
        ("throttle", ".*_throttle_count"),
        ("smart", "warning_temp_time|critical_comp_time|thm_temp[12]_trans_count"),
        ("accelerator", "thermal_.*"),
    ),
    "accelerator": (("accelerator", "uncorrectable|deferred|cache_uncorrectable"),),
    "pause": (("ethtool", r"rx_prio\d_pause_duration|pfc_pri\d_rx_duration_us|rx_pripause_\d_1us_count"),),
}  # fmt: skip

GROUPS = tuple(_FIELDS)

#: Groups that a boot itself moves: ports come up and controllers connect. What stands in the first sample after it is its doing.
_BOOTED = frozenset({"link", "reset"})

#: Of tools, so many samples a soak are read at first; where two differ, those between them too, until the minute is found.
_READ = 450


@dataclass(frozen=True, slots=True)
class Rise:
    """One counter over the soak. ``minute`` is where it first rose; ``back`` where it went backwards without a reboot, else None."""

    stream: str
    subject: str
    field: str
    by: float
    minute: int | None
    back: int | None


@dataclass(frozen=True, slots=True)
class Counted:
    """Counters of one group on one host: how many were watched, those that moved, and which streams told nothing."""

    watched: int
    moved: tuple[Rise, ...]
    untold: tuple[tuple[str, str], ...]


def counted(track: Track) -> dict[str, Counted]:
    """Return the counters of every group."""
    tools = {stream: _tool(track, stream) for stream in _TOOLS if stream in track.plan.streams}
    return {group: _group(track, group, fields, tools) for group, fields in _FIELDS.items()}


_Read = Mapping[str, tuple[npt.NDArray[np.float64], Mapping[str, npt.NDArray[np.float64]]]]


def _group(track: Track, group: str, fields: Sequence[tuple[str, str]], tools: Mapping[str, _Read | str]) -> Counted:
    watched, moved, untold = 0, [], []
    for stream, pattern in fields:
        if stream not in track.plan.streams:
            continue
        found = tools[stream] if stream in tools else _sampled(track, stream)
        if isinstance(found, str):
            untold.append((stream, found))
            continue
        names = 0
        for subject, (seconds, columns) in found.items():
            for name, values in columns.items():
                if re.fullmatch(pattern, name) is None:
                    continue
                names += 1
                rise = _rise(track, stream, subject, name, seconds, values, group in _BOOTED)
                if rise is not None:
                    moved.append(rise)
        watched += names
    return Counted(watched, tuple(moved), tuple(untold))


def _rise(
    track: Track,
    stream: str,
    subject: str,
    name: str,
    seconds: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    booted: bool,
) -> Rise | None:
    known = ~np.isnan(values)
    when, value = seconds[known], values[known]
    steps = np.diff(value)
    if not steps.any():
        return None
    by, minute, back = 0.0, None, None
    reboots = [one.end for one in track.breaks if one.cause == "reboot"]
    for place in np.flatnonzero(steps):
        begin, end, step = float(when[place]), float(when[place + 1]), float(steps[place])
        if any(begin < reboot <= end for reboot in reboots):
            step = 0.0 if booted else float(value[place + 1])  # counters begin anew with the machine
        elif step < 0:
            back = int(end // 60) if back is None else back
            continue
        if step > 0:
            by, minute = by + step, int(end // 60) if minute is None else minute
    return Rise(stream, subject, name, by, minute, back) if by or back is not None else None


def _sampled(track: Track, stream: str) -> _Read | str:
    table = track.tables.get(stream)
    if table is None:
        return "no sample"
    rows = good(table) & (table.subject != "")
    if not rows.any():
        errors = [str(one) for one in table.texts.get("error", np.array([], dtype=object)) if one]
        return errors[0] if errors else "no sample tells anything"
    found = {}
    for subject in sorted({*table.subject[rows]}):
        mine = rows & (table.subject == subject)
        found[subject] = (track.seconds[stream][mine], {name: values[mine] for name, values in table.numbers.items()})
    return found


# ---- outputs of tools


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


def _accelerator(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for card in amd_smi_metric.parse(text):
        numbers: list[tuple[str, Any]] = [
            ("uncorrectable", card.uncorrectable), ("deferred", card.deferred), ("cache_uncorrectable", card.cache_uncorrectable),
            *((f"thermal_{name}", count) for name, count in card.thermal),
        ]  # fmt: skip
        for name, count in numbers:
            if count is not None:
                found[name] = found.get(name, 0.0) + float(count)
    return found


def _cards(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for card in nvidia_smi.parse(text).cards:
        if card.remapped_uncorrectable is not None:
            found["uncorrectable"] = found.get("uncorrectable", 0.0) + float(card.remapped_uncorrectable)
    return found


#: Stream -> subject (any where empty) -> how its output is read.
_TOOLS: Mapping[str, Mapping[str, Callable[[str], dict[str, float]]]] = {
    "smart": {"": _smart}, "ethtool": {"": _ethtool}, "accelerator": {"amd-smi": _accelerator, "nvidia-smi": _cards},
}  # fmt: skip


def _tool(track: Track, stream: str) -> _Read | str:
    """Read a tool's samples at intervals, and all between two that differ in a counter that must not rise."""
    table = track.tables.get(stream)
    if table is None or "stdout" not in table.texts:
        return "no sample"
    wanted = re.compile(
        "|".join(p for fields in _FIELDS.values() for s, p in fields if s == stream and "pause_dur" not in p)
    )
    found: dict[str, tuple[npt.NDArray[np.float64], Mapping[str, npt.NDArray[np.float64]]]] = {}
    for subject in sorted({*table.subject} - {""}):
        rows = np.flatnonzero((table.subject == subject) & good(table))
        known = _TOOLS[stream].get(subject) or _TOOLS[stream].get("")
        if known is None:
            return f"{subject}: kvgate knows no counters in its output"
        read = cache(known)
        if not len(rows):
            return f"{subject}: no sample that ended well"
        try:
            facts = _facts([str(table.texts["stdout"][row]) for row in rows], read, wanted)
        except UnreadableOutput as error:
            return f"{subject}: {error}"
        names = dict.fromkeys(name for fact in facts.values() for name in fact)
        places = sorted(facts)
        columns = {name: np.array([facts[place].get(name, np.nan) for place in places]) for name in names}
        found[subject] = (track.seconds[stream][rows[places]], columns)
    return found if found else "no sample"


def _facts(
    texts: Sequence[str], read: Callable[[str], dict[str, float]], wanted: re.Pattern[str]
) -> dict[int, dict[str, float]]:
    stride = max(1, len(texts) // _READ)
    places = sorted({*range(0, len(texts), stride), len(texts) - 1})
    facts = {place: read(texts[place]) for place in places}

    def hard(place: int) -> dict[str, float]:
        return {name: value for name, value in facts[place].items() if wanted.fullmatch(name)}

    for begin, end in _pairs(places):
        if hard(begin) != hard(end):
            facts |= {place: read(texts[place]) for place in range(begin + 1, end)}
    return facts


def _pairs(places: Sequence[int]) -> Iterable[tuple[int, int]]:
    return pairwise(places)
