"""``nvme smart-log DEVICE``, JSON or text: the health of a disk.

``critical_warning`` is a number in 1.x to 2.10 and from 2.13 on, an object with ``value`` in 2.11, 2.12 and with ``-v``, and
digits in quotes in some 2.2 and 2.3 builds. Temperatures are Kelvin in JSON; the text gives both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from checks.lexing import json_document, lines, whole
from checks.probe import UnreadableOutput

COMMAND = "nvme-smart-log"

_TEXT = {
    "critical_warning": "critical_warning",
    "temperature": "temperature",
    "available_spare": "avail_spare",
    "available_spare_threshold": "spare_thresh",
    "percentage_used": "percent_used",
    "data_units_read": "data_units_read",
    "data_units_written": "data_units_written",
    "power_cycles": "power_cycles",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
    "num_err_log_entries": "num_err_log_entries",
}

#: What counts heat: minutes above the warning and the critical temperature, how often and for how many seconds the disk slowed
#: itself down a little (1) or a lot (2). Older disks and tools have none of it.
_HEAT = {
    "warning_temp_time": "warning_temperature_time",
    "critical_comp_time": "critical_composite_temperature_time",
    "thm_temp1_trans_count": "thermal_management_t1_trans_count",
    "thm_temp2_trans_count": "thermal_management_t2_trans_count",
    "thm_temp1_total_time": "thermal_management_t1_total_time",
    "thm_temp2_total_time": "thermal_management_t2_total_time",
}
_TEXT |= {label: key for key, label in _HEAT.items()}


@dataclass(frozen=True, slots=True)
class SmartLog:
    """Counters since the disk was made. Data units are 512,000 bytes; spare and wear in percent; ``kelvin`` 0 = not given.

    ``heat`` are the counters of heat that were told, by their names in JSON.
    """

    critical_warning: int
    kelvin: int | None
    available_spare: int
    spare_threshold: int
    percent_used: int
    data_units_read: int
    data_units_written: int
    power_cycles: int
    power_on_hours: int
    unsafe_shutdowns: int
    media_errors: int
    error_log_entries: int
    heat: tuple[tuple[str, int], ...] = ()


def parse(text: str) -> SmartLog:
    """Read JSON if there is any, else the text form."""
    table = json_document(text) if re.search(r"^[ \t]*[\[{]", text, re.MULTILINE) else _text(text)
    warning = table.get("critical_warning") if isinstance(table, dict) else None
    return SmartLog(
        critical_warning=whole(warning if isinstance(warning, dict) else table, _key(warning)),
        kelvin=whole(table, "temperature") or None,
        available_spare=_percent(table, "avail_spare"),
        spare_threshold=_percent(table, "spare_thresh"),
        percent_used=_percent(table, "percent_used"),
        data_units_read=whole(table, "data_units_read"),
        data_units_written=whole(table, "data_units_written"),
        power_cycles=whole(table, "power_cycles"),
        power_on_hours=whole(table, "power_on_hours"),
        unsafe_shutdowns=whole(table, "unsafe_shutdowns"),
        media_errors=whole(table, "media_errors"),
        error_log_entries=whole(table, "num_err_log_entries"),
        heat=tuple(_heat(table)),
    )


def _heat(table: Any) -> Iterator[tuple[str, int]]:
    """Counters of heat, those that can be read: they are told beside the health of a disk and decide nothing of it."""
    for key in _HEAT:
        if key in table:
            with suppress(UnreadableOutput):
                yield key, whole(table, key)


def _key(warning: object) -> str:
    return "value" if isinstance(warning, dict) else "critical_warning"


def _percent(table: Any, key: str) -> int:
    value = whole(table, key)
    if value > 255:
        raise UnreadableOutput(f"{key} is {value}, wanted one byte")
    return value


def _text(text: str) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for line in lines(text):
        label, colon, value = line.partition(":")
        key = _TEXT.get(label.strip().lower().replace(" ", "_")) if colon else None
        if key is None:
            continue
        if key in found:
            raise UnreadableOutput(f"{label.strip()!r} stands twice")
        try:
            found[key] = _value(key, value.strip())
        except UnreadableOutput:
            if key not in _HEAT:
                raise
    return found


def _value(key: str, value: str) -> str | int:
    if key == "temperature":
        # both "42 C (315 Kelvin)" and "50°C (323 Kelvin)"; very old versions print Celsius alone
        if kelvin := re.fullmatch(r"\d{1,3} ?(?:°| ?º)? ?C \((\d{1,3}) ?(?:Kelvin|K)\)", value):
            return kelvin[1]
        if celsius := re.fullmatch(r"(\d{1,3}) ?°? ?C", value, re.ASCII):
            return int(celsius[1]) + 273
        raise UnreadableOutput(f"temperature is {value[:40]!r}")
    if key == "critical_warning" and re.fullmatch(r"0x[0-9a-fA-F]{1,2}", value):
        return int(value, 16)
    # 1.x groups thousands as the locale says; commas in strict groups of three can be nothing else.
    number = re.fullmatch(r"(\d{1,39}|\d{1,3}(?:,\d{3}){1,12})(?:%| \([\d.]+ [kMGTPE]?B\))?", value, re.ASCII)
    if number is None:
        raise UnreadableOutput(f"{key} is {value[:40]!r}, wanted a whole number")
    return number[1].replace(",", "")
