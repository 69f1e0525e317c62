"""``smartctl -a -j DEVICE`` on an NVMe disk. The exit status is a bit mask: bits 0-2 mean that the disk was not read.

``smart_status.passed`` is left out on purpose: it stays true beside lost data and exhausted spare. Temperatures are Celsius.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.lexing import entry, json_document, whole
from checks.probe import UnreadableOutput

COMMAND = "smartctl"


@dataclass(frozen=True, slots=True)
class Smartctl:
    """Identity and health log. Data units are 512,000 bytes; spare and wear in percent; capacity in bytes, None = not given."""

    exit_status: int
    model: str
    serial: str
    firmware: str
    total_bytes: int | None
    unallocated_bytes: int | None
    block_bytes: int | None
    critical_warning: int
    celsius: int
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


def parse(text: str) -> Smartctl:
    """Read the health log of an NVMe disk, or refuse with smartctl's own message."""
    table = json_document(text)
    about = entry(table, "smartctl", dict)
    status = whole(about, "exit_status", "smartctl")
    if status & 0b111:
        raise UnreadableOutput(f"smartctl could not read the disk (exit status {status}): {_messages(about)}")
    if entry(entry(table, "device", dict), "protocol", str, "device") != "NVMe":
        raise UnreadableOutput("the device does not speak NVMe")
    log = entry(table, "nvme_smart_health_information_log", dict)
    return Smartctl(
        exit_status=status,
        model=entry(table, "model_name", str).strip(),
        serial=entry(table, "serial_number", str).strip(),
        firmware=entry(table, "firmware_version", str).strip(),
        total_bytes=whole(table, "nvme_total_capacity") if "nvme_total_capacity" in table else None,
        unallocated_bytes=whole(table, "nvme_unallocated_capacity") if "nvme_unallocated_capacity" in table else None,
        block_bytes=whole(table, "logical_block_size") if "logical_block_size" in table else None,
        critical_warning=whole(log, "critical_warning"),
        celsius=_signed(log, "temperature"),
        available_spare=whole(log, "available_spare"),
        spare_threshold=whole(log, "available_spare_threshold"),
        percent_used=whole(log, "percentage_used"),
        data_units_read=whole(log, "data_units_read"),
        data_units_written=whole(log, "data_units_written"),
        power_cycles=whole(log, "power_cycles"),
        power_on_hours=whole(log, "power_on_hours"),
        unsafe_shutdowns=whole(log, "unsafe_shutdowns"),
        media_errors=whole(log, "media_errors"),
        error_log_entries=whole(log, "num_err_log_entries"),
    )


def _messages(about: dict[str, object]) -> str:
    messages = about.get("messages")
    words = [one.get("string") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    return "; ".join(word for word in words if isinstance(word, str)) or "no message"


def _signed(log: object, key: str) -> int:
    value: int = entry(log, key, int)
    if not -273 <= value <= 1000:
        raise UnreadableOutput(f"{key} is {value} C")
    return value
