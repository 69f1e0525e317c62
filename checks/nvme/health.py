"""Health of a disk in one shape, whichever tool gave it."""

from __future__ import annotations

from dataclasses import dataclass

from checks.parsers import nvme_smart_log, smartctl

#: NVMe counts data in thousands of 512-byte blocks.
DATA_UNIT = 512_000
#: The tools themselves convert with 273, not 273.15.
KELVIN = 273


@dataclass(frozen=True, slots=True)
class Health:
    """Health of one disk: temperature in Celsius, spare and wear in percent, writes in bytes.

    ``heat`` are counters of heat by name, as far as the tool tells them.
    """

    critical_warning: int
    celsius: int | None
    available_spare: int
    spare_threshold: int
    percent_used: int
    written_bytes: int
    power_on_hours: int
    unsafe_shutdowns: int
    media_errors: int
    error_log_entries: int
    heat: tuple[tuple[str, int], ...] = ()


def health_by_nvme(text: str) -> Health:
    """Read ``nvme smart-log``: Kelvin becomes Celsius, data units become bytes."""
    log = nvme_smart_log.parse(text)
    return _health(log, None if log.kelvin is None else log.kelvin - KELVIN, log.heat)


def health_by_smartctl(text: str) -> Health:
    """Read ``smartctl -a -j``: temperatures are Celsius already."""
    log = smartctl.parse(text)
    return _health(log, log.celsius)


def _health(
    log: nvme_smart_log.SmartLog | smartctl.Smartctl, celsius: int | None, heat: tuple[tuple[str, int], ...] = ()
) -> Health:
    return Health(
        critical_warning=log.critical_warning,
        celsius=celsius,
        available_spare=log.available_spare,
        spare_threshold=log.spare_threshold,
        percent_used=log.percent_used,
        written_bytes=log.data_units_written * DATA_UNIT,
        power_on_hours=log.power_on_hours,
        unsafe_shutdowns=log.unsafe_shutdowns,
        media_errors=log.media_errors,
        error_log_entries=log.error_log_entries,
        heat=heat,
    )
