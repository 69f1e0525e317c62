"""``nvme list -o json``: the NVMe namespaces that nvme-cli sees.

Seen: the flat list (1.x to 2.10, 2.13 and later) and the list nested below host, subsystem and controller (2.11, 2.12;
others with ``-v``). ``UsedBytes`` is not the size. An empty list from a tool that worked is a fact, not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document, whole
from checks.probe import UnreadableOutput

COMMAND = "nvme-list"


@dataclass(frozen=True, slots=True)
class NvmeDevice:
    """One namespace. ``transport`` and ``nsid`` are None where this shape does not tell them."""

    path: str
    nsid: int | None
    model: str
    serial: str
    firmware: str
    size_bytes: int
    sector_bytes: int
    transport: str | None


def parse(text: str) -> tuple[NvmeDevice, ...]:
    """Read either shape; refuses one namespace listed twice."""
    found: list[NvmeDevice] = []
    for one in entry(json_document(text), "Devices", list):
        found.extend(_nested(one) if isinstance(one, dict) and "Subsystems" in one else [_flat(one)])
    if len({one.path for one in found}) != len(found):
        raise UnreadableOutput("one namespace is listed twice")
    return tuple(sorted(found, key=lambda one: one.path))


def _word(table: Any, key: str) -> str:
    value: str = entry(table, key, str)
    if not value.strip():
        raise UnreadableOutput(f"{key!r} is blank")
    return value.strip()


def _flat(one: Any) -> NvmeDevice:
    return NvmeDevice(
        path=_word(one, "DevicePath"),
        nsid=whole(one, "NameSpace") if isinstance(one, dict) and "NameSpace" in one else None,
        model=_word(one, "ModelNumber"),
        serial=_word(one, "SerialNumber"),
        firmware=_word(one, "Firmware"),
        size_bytes=whole(one, "PhysicalSize"),
        sector_bytes=whole(one, "SectorSize"),
        transport=None,
    )


def _nested(host: Any) -> Iterator[NvmeDevice]:
    for subsystem in entry(host, "Subsystems", list):
        controllers = entry(subsystem, "Controllers", list, "Subsystem")
        shared = subsystem.get("Namespaces") or []
        if shared and not controllers:
            raise UnreadableOutput("a subsystem has namespaces and no controller")
        for controller in controllers:
            for namespace in entry(controller, "Namespaces", list, "Controller"):
                yield _below(controller, namespace)
        for namespace in shared if isinstance(shared, list) else []:
            yield _below(controllers[0], namespace)


def _below(controller: Any, namespace: Any) -> NvmeDevice:
    return NvmeDevice(
        path=f"/dev/{_word(namespace, 'NameSpace')}",
        nsid=whole(namespace, "NSID"),
        model=_word(controller, "ModelNumber"),
        serial=_word(controller, "SerialNumber"),
        firmware=_word(controller, "Firmware"),
        size_bytes=whole(namespace, "PhysicalSize"),
        sector_bytes=whole(namespace, "SectorSize"),
        transport=_word(controller, "Transport"),
    )
