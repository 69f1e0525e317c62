"""The order of the virtual rack, written as the inventory file that an operator would have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from lab.vm.order import ARRAY, BIOS, CPU, MEMORY, NODE, NQN

#: Below the rack's folder: the private key that opens both machines, and the folder of the parties' keys.
IDENTITY, PARTIES = "id_ed25519", "keys"

_FORM = Path(__file__).with_name("inventory.yaml")


def text(
    ports: Mapping[str, int], keys: Mapping[str, str], kernel: str, processors: int, firmware: str, folder: Path
) -> str:
    """Write the inventory for machines on ``ports`` with host keys of the fingerprints ``keys``; ``firmware`` is QEMU's version.

    ``folder`` holds the operator's private key and the keys of both parties.
    """
    values = {
        "identity": str(folder / IDENTITY), "keys": str(folder / PARTIES), "kernel": kernel,
        "processors": str(processors), "cpu": CPU, "bios": BIOS,
        "memory": f"{MEMORY >> 30} GiB", "nqn": NQN, "firmware": firmware, "today": datetime.now(UTC).date().isoformat(),
        "array_port": str(ports["array"]), "array_key": keys["array"], "array_mac": ARRAY.mac, "array_address": ARRAY.address,
        "array_disk": f"{ARRAY.disk} B",
        "node_port": str(ports["node"]), "node_key": keys["node"], "node_mac": NODE.mac, "node_address": NODE.address,
        "node_disk": f"{NODE.disk} B", "local": NODE.serials[0],
    }  # fmt: skip
    values |= {f"serial{number}": serial for number, serial in enumerate(ARRAY.serials, 1)}
    return Template(_FORM.read_text("utf-8")).substitute(values)
