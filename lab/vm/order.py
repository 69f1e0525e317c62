"""What the virtual rack consists of: serials, addresses and sizes, once, for the machines and for the inventory."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
NQN = "nqn.2026-01.lab.kvrack:array"
NAMESPACE = "5b7c2f10-64a1-4f0e-9d8e-0a1c00000001"
ARRAY_SERIAL = "VRACKARRAY0000001"
BIOS = "1.0.vrack"
CPU = "Virtual rack CPU"
MEMORY = 2 * GIB


@dataclass(frozen=True, slots=True)
class Ordered:
    """One machine: its disks by serial, its storage port, and the address of it."""

    name: str
    number: int
    user: str
    address: str
    serials: tuple[str, ...]
    disk: int  # bytes of each disk
    lba: int  # bytes a logical block

    @property
    def mac(self) -> str:
        """Of the storage port; the management port has another third byte."""
        return f"52:54:00:20:00:{self.number:02x}"

    @property
    def management_mac(self) -> str:
        """Of the port that SSH comes in by."""
        return f"52:54:00:10:00:{self.number:02x}"

    @property
    def uuid(self) -> str:
        """Of the machine, as its firmware tells it."""
        return f"7a4b1c00-1ab0-4000-8000-{self.number:012x}"

    @property
    def hostnqn(self) -> str:
        """The name this machine connects by."""
        return f"nqn.2014-08.org.nvmexpress:uuid:{self.uuid}"


ARRAY = Ordered(
    "array", 1, "root", "192.168.100.10", tuple(f"VRACK0000000{number}" for number in (1, 2, 3, 4)), 2 * GIB, 4096
)
NODE = Ordered("node", 2, "ops", "192.168.100.11", ("VRACKLOCAL01",), 4 * GIB, 512)
MACHINES = (ARRAY, NODE)


def settings(ordered: Ordered, time_port: int) -> str:
    """Write what a machine's own scripts are told, as shell assignments; every value is a plain word."""
    values = {
        "TIME_PORT": str(time_port),
        "ARRAY_ADDRESS": ARRAY.address,
        "NODE_ADDRESS": NODE.address,
        "NODE_HOSTNQN": NODE.hostnqn,
        "NQN": NQN,
        "NAMESPACE_UUID": NAMESPACE,
        "ARRAY_SERIAL": ARRAY_SERIAL,
        "SERIALS": f"'{' '.join(ordered.serials)}'",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
