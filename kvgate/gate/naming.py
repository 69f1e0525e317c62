"""Which kernel name a device of the inventory has, by what the host itself said of its controllers."""

from __future__ import annotations

from typing import Any

from checks.parsers.sysfs_nvme import NvmeTree
from checks.phrase import say
from checks.probe import Device, Probe, UnreadableOutput
from kvgate.errors import DeviceAbsent


def device_names(host: str, probe: Probe[Any], tree: NvmeTree) -> dict[Device, str]:
    """``/dev/...`` of every device that a probe asks. Raises DeviceAbsent when there is not exactly one with the serial."""
    names: dict[Device, str] = {}
    for device in probe.devices:
        try:
            if device.kind == "namespace":
                name = tree.namespace(device.serial)
            else:
                controller = tree.controller(device.serial)
                name = controller.name if controller else None
        except UnreadableOutput as error:
            raise DeviceAbsent(say("{host}: {why}", host=host, why=str(error))) from None
        if name is None:
            raise DeviceAbsent(
                say(
                    "{host}: no local NVMe disk answers with serial {serial}: see G1.2.1",
                    host=host,
                    serial=device.serial,
                )
            )
        names[device] = f"/dev/{name}"
    return names
