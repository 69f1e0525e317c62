"""Counters that must not move in a soak: which they are, by how much each rose and in which minute it first did."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checks.nic.counters import ERRORS as PORT_ERRORS
from checks.roce.losses import ERRORS as ROCE_ERRORS
from checks.soak.sampling import good
from checks.soak.tools import TOOLS, Read, read
from checks.soak.track import Track

#: What accelerators count: of AMD and NVIDIA cards, and of Ascend chips by the words of npu-smi.
_UNCORRECTED = (
    r"card\d+_(?:(?:cache_)?uncorrectable|deferred|(?:aggregate_)?[sd]ram_uncorrectable|rows_uncorrectable|pages_double|sram_threshold)"
    r"|NPU \d+ chip \d+ (?:(?:HBM|DDR) Double Bit .+|health not OK)"
)
_CORRECTED = (
    r"card\d+_(?:[sd]ram_correctable|correctable|cache_correctable|rows_correctable)|NPU \d+ .+ Single Bit Error Count"
)

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
        ("accelerator", r"card\d+_thermal_.*"),
    ),
    "accelerator": (
        (
            "accelerator",
            _UNCORRECTED,
        ),
    ),
    "corrected": (("accelerator", _CORRECTED),),
    "pause": (("ethtool", r"rx_prio\d_pause_duration|pfc_pri\d_rx_duration_us|rx_pripause_\d_1us_count"),),
}  # fmt: skip

GROUPS = tuple(_FIELDS)

#: Groups that a boot itself moves: ports come up and controllers connect. What stands in the first sample after it is its doing.
_BOOTED = frozenset({"link", "reset"})

#: Groups that rise at any time: where they do is told no closer than by the samples that are read at first.
_OFTEN = frozenset({"pause", "corrected"})

#: Groups of which every counter that was told once must be told in every sample that is read: a card that is gone counts nothing.
_WHOLE = frozenset({"accelerator"})


#: How fields end that are a state and no count: 1 is wrong, however long it has been so.
_STATE = " not OK"

#: Tools of accelerators that tell temperatures, and neither a count of throttling nor a limit for them.
NO_HEAT = {"npu-smi": "npu-smi tells temperatures of the chips, and neither a count of throttling nor a limit for them"}


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
    wanted = re.compile(
        "|".join(pattern for group, fields in _FIELDS.items() for _, pattern in fields if group not in _OFTEN)
    )
    tools = {stream: read(track, stream, wanted) for stream in TOOLS if stream in track.plan.streams}
    return {group: _group(track, group, fields, tools) for group, fields in _FIELDS.items()}


def _group(track: Track, group: str, fields: Sequence[tuple[str, str]], tools: Mapping[str, Read | str]) -> Counted:
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
                if group in _WHOLE and np.isnan(values).any():
                    untold.append((stream, _silent(subject, name, seconds, values)))
                rise = _rise(track, stream, subject, name, seconds, values, group in _BOOTED)
                if rise is not None:
                    moved.append(rise)
            if group == "heat" and subject in NO_HEAT:
                untold.append((stream, NO_HEAT[subject]))
        if group == "accelerator" and "npu-smi" in found:
            untold += [(stream, why) for why in _uncounted(found)]
        watched += names
    return Counted(watched, tuple(moved), tuple(untold))


def _uncounted(found: Read) -> list[str]:
    """Ascend chips that stand in the table of npu-smi and in no report of errors of memory."""
    names = {tool: [name for name in columns if name.startswith("NPU ")] for tool, (_, columns) in found.items()}
    reported = {" ".join(name.split()[:4]) for name in names.get("npu-smi-ecc", [])}
    listed = {" ".join(name.split()[:4]) for name in names["npu-smi"]}
    return [f"npu-smi tells no errors of memory of {chip}" for chip in sorted(listed - reported)]


def _silent(subject: str, name: str, seconds: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> str:
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) == len(values):
        return f"{subject} does not tell {name}"
    return f"{subject} does not tell {name} in {len(missing)} of {len(values)} samples, first in minute {int(seconds[missing[0]] // 60)}"


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
    by, minute, back = 0.0, None, None
    if name.endswith(_STATE) and len(value) and value[0] > 0:  # a state counts from the first sample on
        by, minute = float(value[0]), int(when[0] // 60)
    elif not steps.any():
        return None
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


def _sampled(track: Track, stream: str) -> Read | str:
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
