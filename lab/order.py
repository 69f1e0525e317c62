"""The rack that was ordered: names, serials, addresses of every virtual host, as values for the answer templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PLATFORMS = ("rocm", "ascend", "nvidia")
NQN = "nqn.2024-03.example.kvarray:fx100-a"


@dataclass(frozen=True)
class Ordered:
    """One virtual host: its name, role, platform and the values that its answers are filled with."""

    name: str
    role: str
    platform: str
    folders: tuple[str, ...]
    values: dict[str, Any]

    @property
    def nfs(self) -> bool:
        """Whether the host mounts what the array serves as NFS too."""
        return "nfs" in self.folders


def _hex(number: int, width: int) -> str:
    return f"{number:0{width}x}"


def array() -> Ordered:
    """Return the array: four disks, one 100GbE port."""
    values: dict[str, Any] = {
        "name": "fx100-a",
        "n": "0",
        "ip": "192.168.100.10",
        "peer_ip": "192.168.100.11",
        "mac": "b8:3f:d2:10:00:0a",
        "nqn": NQN,
        "gid": "0000:0000:0000:0000:0000:ffff:c0a8:640a",
        "gid_linklocal": "fe80:0000:0000:0000:ba3f:d2ff:fe10:000a",
        "boot_id": "6b766761-7465-4c61-a000-00000000000a",
        "hostnqn": "nqn.2014-08.org.nvmexpress:uuid:6f0b7c1e-2222-4a4a-9a9a-00000000000a",
        "hostid": "6f0b7c1e-2222-4a4a-9a9a-00000000000a",
        "nic": "ens1f0np0",
        "rdma": "mlx5_0",
        "kernel": "6.8.0-60-generic",
        "disk_model": "SAMSUNG MZQL23T8HCLS-00A07",
        "disk_firmware": "GDC5602Q",
    }
    values |= {f"serial{i}": f"S7Y0NX0W10000{i}" for i in range(1, 5)}
    return Ordered("fx100-a", "array", "none", ("common", "array"), values)


def node(number: int, platform: str, *, nfs: bool = False) -> Ordered:
    """Return node ``number`` (from 1) of one platform; up to 4,000 nodes have values of their own."""
    third, fourth = divmod(10 + number, 250)
    address = f"192.168.{100 + third}.{fourth}"
    mapped = f"0000:0000:0000:0000:0000:ffff:c0a8:{_hex((100 + third) * 256 + fourth, 4)}"
    tail = _hex(number, 12)
    values: dict[str, Any] = {
        "name": f"node-{number:02d}",
        "n": str(number),
        "ip": address,
        "peer_ip": "192.168.100.10",
        "mac": f"b8:3f:d2:20:{_hex(number // 256, 2)}:{_hex(number % 256, 2)}",
        "nqn": NQN,
        "gid": mapped,
        "gid_linklocal": f"fe80:0000:0000:0000:ba3f:d2ff:fe20:{_hex(number, 4)}",
        "boot_id": f"6b766761-7465-4c61-b000-{tail}",
        "hostnqn": f"nqn.2014-08.org.nvmexpress:uuid:0a1b2c3d-2222-4b4b-8c8c-{tail}",
        "hostid": f"0a1b2c3d-2222-4b4b-8c8c-{tail}",
        "nic": "ens1f0np0",
        "rdma": "mlx5_0",
        "serial1": f"PHLN{number:08d}",
        "kernel": "6.8.0-60-generic",
        "disk_model": "SAMSUNG MZQL23T8HCLS-00A07",
        "disk_firmware": "GDC5602Q",
    }
    folders = ("common", "node", platform, *(("nfs",) if nfs else ()))
    return Ordered(f"node-{number:02d}", "node", platform, folders, values)


def rack(nodes: int = 2, platform: str = "rocm", *, nfs: bool = False) -> list[Ordered]:
    """Return one array and its nodes; ``nfs``: every node mounts an export of the array beside its volume."""
    if platform not in PLATFORMS:
        raise ValueError(f"found platform {platform!r}, wanted one of {', '.join(PLATFORMS)}")
    return [array(), *(node(number, platform, nfs=nfs) for number in range(1, nodes + 1))]
