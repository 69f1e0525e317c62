"""One ordered connection as the kernel has it: the controllers that carry its NQN, and the namespaces behind them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from checks.parsers.sysfs_nvme import Controller, Namespace, NvmeTree


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path ends, and which address of this host it starts at (empty when the kernel chose)."""

    address: str
    port: str
    source: str

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


@dataclass(frozen=True, slots=True)
class Link:
    """All that a host's NVMe tree says about one NQN. ``others`` are the fabrics NQNs that are connected instead or besides."""

    nqn: str
    paths: tuple[Controller, ...]
    iopolicies: tuple[str, ...]
    namespaces: tuple[Namespace, ...]
    others: tuple[str, ...]


def link(tree: NvmeTree, nqn: str) -> Link:
    """Gather the controllers, subsystems and block devices of one NQN; paths to a namespace are not namespaces."""
    paths = tuple(one for one in tree.fabrics if one.subsysnqn == nqn)
    shared = [one for one in tree.subsystems if one.nqn == nqn]
    own = [space for one in paths for space in one.namespaces if "c" not in space.name.removeprefix("nvme")]
    spaces = {space.name: space for space in (*own, *(space for one in shared for space in one.namespaces))}
    return Link(
        nqn=nqn,
        paths=paths,
        iopolicies=tuple(one.iopolicy for one in shared if one.iopolicy is not None),
        namespaces=tuple(sorted(spaces.values(), key=lambda space: space.name)),
        others=tuple(sorted({one.subsysnqn or "?" for one in tree.fabrics} - {nqn})),
    )


def target(address: str | None) -> Target | None:
    """``traddr=A,trsvcid=P[,host_traddr=H]`` (commas or blanks between) -> Target; None when there is no address in it."""
    given = dict(re.findall(r"(\w+)=([^,\s]+)", address or ""))
    if not {"traddr", "trsvcid"} <= given.keys():
        return None
    source = given.get("host_traddr") or given.get("src_addr") or given.get("host_iface") or ""
    return Target(given["traddr"], given["trsvcid"], source)


def same_address(one: str, other: str) -> bool:
    """Whether two texts name the same IP address, however they spell it."""
    try:
        return ipaddress.ip_address(one) == ipaddress.ip_address(other)
    except ValueError:
        return one == other
