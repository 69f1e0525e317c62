"""What a rack's gate will say nothing about, because its inventory orders nothing there. A PASS must never seem to cover it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.phrase import Phrase, say
from kvgate.inventory.model import Accelerators, Host, Rack, System
from kvgate.inventory.references import below
from kvgate.inventory.serving import Serving


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that nobody vouches for, and the hosts it concerns (none: the rack as a whole)."""

    what: Phrase
    hosts: tuple[str, ...] = ()


def gaps(rack: Rack) -> list[Gap]:
    """Return all gaps, the widest first, each with every host that has it."""
    found: dict[Phrase, list[str]] = {}
    for name, host in rack.hosts.items():
        for what in _host(host):
            found.setdefault(what, []).append(name)
    return [*(Gap(what) for what in _rack(rack)), *(Gap(what, tuple(hosts)) for what, hosts in found.items())]


def _rack(rack: Rack) -> Iterator[Phrase]:
    roles = {host.role for host in rack.hosts.values()}
    if "array" not in roles:
        yield say("the array: no host has the role array")
    if "node" not in roles:
        yield say("the nodes: no host has the role node")
    if rack.serving is None:
        yield say("how models are served, and so G3 and G4: no 'serving'")
    elif _silent_workers(rack.serving):
        yield say(
            "hits of every worker of the KV store: an instance with fewer 'metrics' pages than its engine and workers"
        )
    if rack.serving is not None and (silent := _not_reading(rack, rack.serving)):
        yield say("the array while all nodes read it: no arm of role 'reader' for {nodes}", nodes=", ".join(silent))
    if rack.fabric is None:
        yield say("the switches, and that all ports treat traffic alike: no 'fabric'")


def _not_reading(rack: Rack, serving: Serving) -> list[str]:
    """Nodes that mount the array and take no part where all nodes read it at once."""
    arms = serving.shapes[serving.primary].arms.values() if serving.primary in serving.shapes else ()
    read = {arm.host for arm in arms if arm.role in ("array", "reader")}
    return [
        name
        for name, host in rack.hosts.items()
        if host.role == "node" and host.access == "shell" and name not in read
        and any(below(mount) == "array" for mount in host.mounts)
    ]  # fmt: skip


def _silent_workers(serving: Serving) -> bool:
    """LMCache's workers each count for themselves: the page of one says nothing of the others."""
    return serving.store.kind.startswith("lmcache") and any(
        len(instance.metrics) < 1 + shape.tensor_parallel > 2
        for shape in serving.shapes.values()
        for arm in shape.arms.values()
        if arm.store is not None
        for instance in arm.instances
    )


def _host(host: Host) -> Iterator[Phrase]:
    if host.access == "none":
        yield say("nothing is measured, and clock and kernel log are not looked at: 'access: none'")
    if host.system is None:
        yield say("processors, memory, firmware, kernel and its settings: no 'system'")
    else:
        yield from _system(host.system)
    if not host.disks:
        yield say("local disks: no 'disks'")
    if any(disk.sheet is None and disk.role != "system" for disk in host.disks):
        yield say("what data sheets promise: a disk without 'sheet'")
    if any(disk.bdf is None for disk in host.disks):
        yield say("slots of disks: a disk without 'bdf'")
    storage = [nic for nic in host.nics if nic.role == "storage"]
    if not storage:
        yield say("storage ports: no 'nics' of role storage")
    if any(nic.rdma is None for nic in storage):
        yield say("RoCE: a storage port without 'rdma'")
    if any(nic.pcie is None for nic in storage):
        yield say("PCI Express links of network cards: a storage port without 'pcie'")
    if any(nic.numa is None for nic in storage):
        yield say("NUMA nodes of network cards: a storage port without 'numa'")
    if host.role == "array" and not host.raid:
        yield say("the RAID: no 'raid'")
    if host.role == "array" and host.cache is None:
        yield say("that the array's disks answer and not its memory (G2, G3): no 'cache'")
    if host.role == "node":
        yield from _node(host)


def _system(system: System) -> Iterator[Phrase]:
    # Nothing agreed, nothing owed: that the clause is not asked is worth a word.
    for name, agreed in (("cmdline", system.cmdline), ("sysctl", system.sysctl), ("modules", system.modules)):
        if not agreed:
            yield say("nothing is agreed on '{name}'", name=name)


def _node(host: Host) -> Iterator[Phrase]:
    if not host.nvmeof:
        yield say("connections to the array: no 'nvmeof'")
    if not host.mounts:
        yield say("filesystems: no 'mounts'")
    if host.accelerators is None:
        yield say("accelerators: no 'accelerators'")
    else:
        yield from _cards(host.accelerators)
    if host.system is not None and host.system.service is None:
        yield say("limits of the service: no 'service'")


def _cards(cards: Accelerators) -> Iterator[Phrase]:
    if cards.firmware is None:
        yield say("firmware ordered of accelerators: no 'firmware'")
    if cards.platform == "nvidia" and not cards.nvswitch:
        yield say("the NVSwitch fabric: no 'nvswitch: true'")
    if cards.platform == "nvidia" and not cards.gds:
        yield say("GPUDirect Storage: no 'gds: true'")
    if cards.platform == "rocm" and cards.compute_partition is None:
        yield say("partitions of accelerators: no 'compute_partition'")
