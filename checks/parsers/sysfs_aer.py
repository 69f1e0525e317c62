"""``grep -Hs '' /sys/bus/pci_express/drivers/aer/*:pcie*/uevent``: the ports at which the kernel itself counts PCI Express errors.

Every device with the AER capability shows ``aer_dev_*``, counted or not. Where the firmware kept AER to itself, or the kernel
was booted with ``pci=noaer``, no port has this service and those files stay at zero whatever happens. The kernel release
stands first in the output: a host without the service still answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "sysfs-aer"

RELEASE = "/proc/sys/kernel/osrelease"
_RELEASE = re.compile(rf"{RELEASE}:(\S+)")
_PORT = re.compile(
    r"/sys/bus/pci_express/drivers/aer/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]):pcie[0-9a-f]{3}/uevent:([A-Z_]+)=(\S*)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class AerService:
    """``ports``: PCI addresses of the root ports (and event collectors) whose errors the kernel takes and counts."""

    kernel: str
    ports: tuple[str, ...]

    @property
    def counts(self) -> bool:
        """Whether the kernel counts errors at all."""
        return bool(self.ports)


def parse(text: str) -> AerService:
    """Read the ports bound to the driver ``aer``; a port of another driver is refused."""
    rows = lines(text)
    release = _RELEASE.fullmatch(rows[0])
    if release is None:
        raise UnreadableOutput(
            f"found {rows[0][:60]!r}, wanted {RELEASE} first: the output may be cut at its beginning"
        )
    ports: list[str] = []
    for row in rows[1:]:
        found = _PORT.fullmatch(row)
        if found is None or (found[2] == "DRIVER" and found[3] != "aer"):
            raise UnreadableOutput(f"found {row[:90]!r}, wanted ports of the driver aer")
        if found[2] == "DRIVER":
            ports.append(found[1])
    if len(set(ports)) != len(ports):
        raise UnreadableOutput("one port stands twice")
    return AerService(release[1], tuple(ports))
