"""The things of a rack that clauses are about: id, traits that a clause can select on, and the ordered thing itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checks.acceptance import Acceptance, Subject
from checks.decision import Owed
from kvgate.inventory.model import Accelerators, Connection, Disk, Host, Mount, Nic, Rack, Raid
from kvgate.inventory.references import below, promised
from kvgate.inventory.serving import Arm

Ordered = Disk | Raid | Nic | Mount | Connection | Accelerators


@dataclass(frozen=True)
class Thing:
    """One subject. ``host`` is the inventory name of its host (empty for the rack); ``ordered`` is what was ordered.

    Attributes of ``ordered`` are reachable on the thing itself: ``disk.serial`` is ``disk.ordered.serial``.
    """

    kind: Subject
    id: str
    host: str
    ordered: Any
    machine: Host | None
    rack: Rack
    traits: tuple[tuple[str, str], ...]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ordered, name)


def baseline_hosts(rack: Rack) -> frozenset[str]:
    """Nodes that G2 measures one node on: those that serve an arm, else the first node that lets itself be loaded."""
    if rack.serving is not None:
        arms = [arm for shape in rack.serving.shapes.values() for arm in shape.arms.values()]
        return frozenset(arm.host for arm in arms if arm.role != "reader")
    nodes = [name for name, host in rack.hosts.items() if host.role == "node" and host.access == "shell"]
    return frozenset(nodes[:1])


def _word(value: object) -> str:
    return "yes" if value is True else "no" if value is False else "none" if value is None else str(value)


def _traits(name: str, host: Host, **more: object) -> tuple[tuple[str, str], ...]:
    platform = host.accelerators.platform if host.accelerators else None
    traits = {"role": host.role, "platform": platform, "access": host.access, **more}
    return tuple((key, _word(value)) for key, value in traits.items())


def _host_traits(host: Host) -> dict[str, object]:
    system = host.system
    return {
        "system": system is not None,
        "service": system is not None and system.service is not None,
        "cmdline": system is not None and bool(system.cmdline),
        "sysctl": system is not None and bool(system.sysctl),
        "modules": system is not None and bool(system.modules),
        "rdma": system is not None and any(nic.role == "storage" and nic.rdma for nic in host.nics),
        "storage_nic": any(nic.role == "storage" for nic in host.nics),
    }


def things(rack: Rack) -> Iterator[Thing]:
    """Every subject of the rack, in inventory order. Ids are unique within a kind."""
    about = {
        "fabric": rack.fabric is not None,
        "nvmeof": any(host.nvmeof for host in rack.hosts.values()),
        "accelerators": any(host.accelerators is not None for host in rack.hosts.values()),
        "serving": rack.serving is not None,
        "nodes": any(host.role == "node" and host.access != "none" for host in rack.hosts.values()),
    }
    yield Thing(Subject.RACK, "rack", "", rack, None, rack, tuple((key, _word(value)) for key, value in about.items()))
    for name, host in rack.hosts.items():
        yield Thing(Subject.HOST, name, name, host, host, rack, _traits(name, host, **_host_traits(host)))
        parts: list[tuple[Subject, str, Ordered, Mapping[str, object]]] = []
        parts += [
            (
                Subject.DISK,
                disk.serial,
                disk,
                {"disk": disk.role, "slot": disk.bdf is not None, "scratch": disk.scratch},
            )
            for disk in host.disks
        ]
        parts += [(Subject.RAID, raid.device, raid, {"level": raid.level}) for raid in host.raid]
        for nic in host.nics:
            nic_traits = {
                "nic": nic.role, "driver": nic.driver, "media": nic.media, "rdma": nic.rdma is not None,
                "pcie": nic.pcie is not None, "cabled": nic.switch is not None, "fec": nic.fec, "numa": nic.numa is not None,
                "addressed": nic.address is not None,
                "peer_direct": host.accelerators is not None and host.accelerators.peer_direct,
            }  # fmt: skip
            parts.append((Subject.NIC, nic.name, nic, nic_traits))
        for mount in host.mounts:
            mount_traits = {
                "filesystem": mount.filesystem, "striped": mount.stripe is not None, "arm": mount.arm,
                "below": below(mount), "baseline": name in baseline_hosts(rack), "sheet": promised(rack, host, mount) is not None,
                "beside_nfs": any(below(one) == "nfs" for one in host.mounts), "remount": mount.remount,
            }  # fmt: skip
            parts.append((Subject.MOUNT, mount.path, mount, mount_traits))
        parts += [
            (Subject.CONNECTION, link.nqn, link, {"ana": link.ana, "transport": link.transport}) for link in host.nvmeof
        ]
        if (cards := host.accelerators) is not None:
            card_traits = {
                "gds": cards.gds, "nvswitch": cards.nvswitch, "partitioned": cards.compute_partition is not None,
                "firmware": cards.firmware is not None,
            }  # fmt: skip
            parts.append((Subject.ACCELERATORS, "accelerators", cards, card_traits))
        for kind, part, ordered, more in parts:
            yield Thing(kind, f"{name}:{part}", name, ordered, host, rack, _traits(name, host, **more))
    yield from _serving(rack)


@dataclass(frozen=True)
class Concurrency:
    """One concurrency of one shape: what G3's clauses compare arms at."""

    level: int
    shape: str
    arms: Mapping[str, Arm]
    tensor_parallel: int


def _serving(rack: Rack) -> Iterator[Thing]:
    """Shapes, their arms and concurrencies; a rack without ``serving`` has none."""
    serving = rack.serving
    for name, shape in serving.shapes.items() if serving is not None else ():
        assert serving is not None  # noqa: S101 - the loop has nothing else to go through
        roles = {arm.role for arm in shape.arms.values()}
        instances = max((len(arm.instances) for arm in shape.arms.values()), default=0)
        about = {
            "primary": name == serving.primary, "instances": "several" if instances > 1 else "one",
            "recompute": "recompute" in roles, "nfs": "nfs" in roles, "readers": "reader" in roles,
            "canaries": serving.workload.canaries > 0,
        }  # fmt: skip
        traits = tuple((key, _word(value)) for key, value in about.items())
        yield Thing(Subject.SHAPE, name, "", shape, None, rack, traits)
        for arm_name, arm in shape.arms.items():
            more = (*traits, ("arm", arm.role), ("evict", serving.evict))
            machine = rack.hosts.get(arm.host)
            yield Thing(Subject.ARM, f"{name}/{arm_name}", arm.host, arm, machine, rack, more)
        for level in serving.workload.concurrencies:
            ordered = Concurrency(level, name, shape.arms, shape.tensor_parallel)
            yield Thing(Subject.CONCURRENCY, f"{name}/c{level}", "", ordered, None, rack, traits)


def owed(acceptance: Acceptance, rack: Rack, gate: str) -> list[tuple[Owed, Thing]]:
    """Clauses x subjects that a run of ``gate`` owes, from agreement and inventory alone. Raises KeyError: unknown trait."""
    everything = list(things(rack))
    return [
        (Owed(clause_id, thing.id, clause.blocking), thing)
        for clause_id, clause in acceptance.gate(gate).items()
        for thing in everything
        if thing.kind is clause.subject and clause.applies(dict(thing.traits))
    ]
