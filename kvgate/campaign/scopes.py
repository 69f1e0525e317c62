"""A rack cut by scope: what makes each part of it this one and no other, and which gates must be run again when it is another.

A scope's values are what was ordered (from an inventory) or what answered (from a run); two racks are compared scope by
scope and host by host. Addresses, logins and names of parties are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from checks.phrase import Phrase, say
from kvgate.codec import canonical, digest
from kvgate.inventory.model import Accelerators, Disk, Host, Nic, Rack


class Scope(StrEnum):
    """A group of parts that the same gates depend on."""

    HOST = "host key"
    SYSTEM = "system"
    ARRAY_DISKS = "array disks"
    LOCAL_DISKS = "local disks"
    SYSTEM_DISKS = "system disks"
    STORAGE_PORTS = "storage ports"
    MANAGEMENT_PORTS = "management ports"
    ACCELERATORS = "accelerators"
    STORAGE_PATH = "storage path"
    FABRIC = "fabric"
    SERVING = "serving"


NAMES: Mapping[Scope, Phrase] = {
    Scope.HOST: say("host key"),
    Scope.SYSTEM: say("system"),
    Scope.ARRAY_DISKS: say("array disks"),
    Scope.LOCAL_DISKS: say("local disks"),
    Scope.SYSTEM_DISKS: say("system disks"),
    Scope.STORAGE_PORTS: say("storage ports"),
    Scope.MANAGEMENT_PORTS: say("management ports"),
    Scope.ACCELERATORS: say("accelerators"),
    Scope.STORAGE_PATH: say("storage path"),
    Scope.FABRIC: say("fabric"),
    Scope.SERVING: say("serving"),
}

_MEASURED = frozenset(Scope) - {Scope.SYSTEM_DISKS, Scope.MANAGEMENT_PORTS}

#: What each gate's answer rests on. G1 looks at all hardware; what is measured does not run over management ports or
#: system disks, but with the models that are served; the soak does without the local disk that G3 compared with.
DEPENDS: Mapping[str, frozenset[Scope]] = {
    "G1": frozenset(Scope) - {Scope.SERVING},
    "G2": _MEASURED,
    "G3": _MEASURED,
    "G4": _MEASURED - {Scope.LOCAL_DISKS},
}

#: Host ("" for the rack) and scope -> what is there.
Place = tuple[str, Scope]
Identity = Mapping[Place, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """One scope of one host that is another one: what went and what came."""

    host: str
    scope: Scope
    gone: tuple[str, ...]
    new: tuple[str, ...]

    def phrase(self) -> Phrase:
        """Say what changed: at most four values on either side."""
        where = self.host or "rack"
        before, after = _few(self.gone), _few(self.new)
        return say(
            "{where}, {scope}: {before} -> {after}", where=where, scope=NAMES[self.scope], before=before, after=after
        )


def ordered(rack: Rack) -> dict[Place, frozenset[str]]:
    """What was ordered, by host and scope."""
    found: dict[Place, set[str]] = {}
    for name, host in rack.hosts.items():
        for scope, value in _of_host(host):
            found.setdefault((name, scope), set()).add(value)
    if rack.fabric is not None:
        found["", Scope.FABRIC] = {f"{key} {value}" for key, value in rack.fabric.model_dump(mode="json").items()}
    if rack.serving is not None:
        terms = rack.serving.model_dump(mode="json")
        found["", Scope.SERVING] = {f"{key} {canonical(value)}" for key, value in terms.items()}
    return {place: frozenset(values) for place, values in found.items()}


def fingerprint(identity: Identity, gate: str | None = None) -> str:
    """SHA-256 over an identity: all of it, or only what a gate depends on."""
    wanted = frozenset(Scope) if gate is None else DEPENDS[gate]
    return digest(
        canonical(sorted([host, scope, sorted(v)] for (host, scope), v in identity.items() if scope in wanted))
    )


def changes(before: Identity, after: Identity, *, told: bool = False) -> list[Change]:
    """Everything in which two identities differ. ``told``: a place that one of them does not tell is no difference."""
    places = before.keys() & after.keys() if told else before.keys() | after.keys()
    found = []
    for host, scope in sorted(places):
        old, new = before.get((host, scope), frozenset()), after.get((host, scope), frozenset())
        if old != new:
            found.append(Change(host, scope, tuple(sorted(old - new)), tuple(sorted(new - old))))
    return found


def touching(gate: str, found: Iterable[Change]) -> list[Change]:
    """Those changes that the gate depends on."""
    return [change for change in found if change.scope in DEPENDS[gate]]


def _few(values: tuple[str, ...]) -> str:
    shown = ", ".join(values[:4]) + (f", ... ({len(values)})" if len(values) > 4 else "")
    return shown or "-"


def disk_scope(host: Host, disk: Disk) -> Scope:
    """Return the scope of a disk: members of the array carry the KV cache, baseline disks are what G3 compares with."""
    if disk.role == "system":
        return Scope.SYSTEM_DISKS
    return Scope.ARRAY_DISKS if host.role == "array" else Scope.LOCAL_DISKS


def port_scope(nic: Nic) -> Scope:
    """Return the scope of a port."""
    return Scope.STORAGE_PORTS if nic.role == "storage" else Scope.MANAGEMENT_PORTS


def _of_host(host: Host) -> Iterator[tuple[Scope, str]]:
    yield Scope.HOST, host.host_key
    for disk in host.disks:
        yield disk_scope(host, disk), f"{disk.serial} ({disk.model}, {disk.firmware})"
    for nic in host.nics:
        yield port_scope(nic), f"{nic.mac} ({nic.name}, {nic.driver} {nic.firmware}, {nic.speed} b/s, MTU {nic.mtu})"
    if host.accelerators is not None:
        yield Scope.ACCELERATORS, _cards(host.accelerators)
    if host.system is not None:
        for key, value in host.system.model_dump(mode="json").items():
            yield Scope.SYSTEM, f"{key} {canonical(value)}"
    for kind in ("raid", "mounts", "nvmeof"):
        for part in getattr(host, kind):
            yield Scope.STORAGE_PATH, f"{kind} {canonical(part.model_dump(mode='json'))}"


def _cards(cards: Accelerators) -> str:
    return f"{cards.count} x {cards.model} ({cards.driver}, {cards.runtime}, {cards.firmware or '-'})"
