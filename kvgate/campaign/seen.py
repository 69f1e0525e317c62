"""What answered in a run: serials of disks and accelerators, MACs of ports, host keys, read in the same session as the gate.

Only parts that were ordered count: a disk that is there too is no part of the rack. What could not be told is said so and is
never taken for the same as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from checks.accelerator.serials import serials
from checks.nic.probes import interfaces
from checks.nvme.probes import controllers
from checks.phrase import Phrase, listed, say
from checks.probe import Probe
from kvgate.campaign.scopes import DEPENDS, NAMES, Place, Scope, changes, disk_scope, port_scope, touching
from kvgate.errors import CannotTell
from kvgate.inventory.model import Host, Rack
from kvgate.ledger.rows import SeenRow

Fact = TypeVar("Fact")


class Answered(Protocol):
    """The kept answers of a run."""

    def fact(self, host: str, probe: Probe[Fact], sample: int = 1) -> Fact:
        """Return a fact. Raises CannotTell."""
        ...

    def host_key(self, host: str) -> str:
        """Return the key the host presented. Raises CannotTell."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """One scope of one host as it answered; ``untold`` says why it could not be told, and then ``values`` is empty."""

    host: str
    scope: Scope
    values: tuple[str, ...]
    untold: str = ""

    @property
    def place(self) -> Place:
        """Host and scope."""
        return self.host, self.scope

    def row(self) -> SeenRow:
        """Return it as the ledger keeps it."""
        return SeenRow(self.host, self.scope.value, self.values, self.untold)


def questions(rack: Rack) -> list[tuple[str, Probe[Any]]]:
    """What must be asked so that the rack can be told from another; each once a host."""
    found: list[tuple[str, Probe[Any]]] = []
    for name, host in rack.hosts.items():
        if host.access == "none":
            continue
        if host.disks:
            found.append((name, controllers()))
        if host.nics:
            found.append((name, interfaces()))
        if host.accelerators is not None:
            found.append((name, serials(host.accelerators.platform)))
    return found


def look(rack: Rack, answers: Answered) -> list[Seen]:
    """Read who answered, host by host and scope by scope. Raises nothing: what could not be told is part of it."""
    return [seen for name, host in rack.hosts.items() if host.access != "none" for seen in _host(name, host, answers)]


def _host(name: str, host: Host, answers: Answered) -> Iterator[Seen]:
    yield from _told(name, {Scope.HOST}, lambda: {Scope.HOST: {answers.host_key(name)}})
    if host.disks:
        scopes = {disk_scope(host, disk) for disk in host.disks}
        yield from _told(name, scopes, lambda: _disks(name, host, answers))
    if host.nics:
        yield from _told(name, {port_scope(nic) for nic in host.nics}, lambda: _ports(name, host, answers))
    if (cards := host.accelerators) is not None:
        probe = serials(cards.platform)
        yield from _told(name, {Scope.ACCELERATORS}, lambda: {Scope.ACCELERATORS: {*answers.fact(name, probe)}})


def _told(name: str, scopes: set[Scope], read: Callable[[], Mapping[Scope, set[str]]]) -> Iterator[Seen]:
    try:
        found = read()
    except CannotTell as error:
        for scope in sorted(scopes):
            yield Seen(name, scope, (), str(error) or type(error).__name__)
        return
    for scope in sorted(scopes):
        yield Seen(name, scope, tuple(sorted(found.get(scope, ()))))


def _disks(name: str, host: Host, answers: Answered) -> dict[Scope, set[str]]:
    there = {one.serial.strip() for one in answers.fact(name, controllers()).local if one.serial is not None}
    found: dict[Scope, set[str]] = {}
    for disk in host.disks:
        if disk.serial in there:
            found.setdefault(disk_scope(host, disk), set()).add(disk.serial)
    return found


def _ports(name: str, host: Host, answers: Answered) -> dict[Scope, set[str]]:
    there = {one.mac.lower() for one in answers.fact(name, interfaces()) if one.mac is not None}
    found: dict[Scope, set[str]] = {}
    for nic in host.nics:
        if nic.mac in there:
            found.setdefault(port_scope(nic), set()).add(nic.mac)
    return found


def stored(rows: Sequence[SeenRow]) -> dict[Place, Seen]:
    """Return what the ledger kept, the newest of each place; a scope of another version of kvgate is passed over."""
    known = {scope.value: scope for scope in Scope}
    found = [Seen(row.host, known[row.scope], row.values, row.untold) for row in rows if row.scope in known]
    return {one.place: one for one in found}


def identity(found: Mapping[Place, Seen]) -> dict[Place, frozenset[str]]:
    """Return what was told, by host and scope."""
    return {place: frozenset(seen.values) for place, seen in found.items() if not seen.untold}


def another(gate: str, passed: Mapping[Place, Seen], now: Mapping[Place, Seen]) -> list[Phrase]:
    """Why the rack that answers now is not, or may not be, the one that passed the gate before; empty when it is the same."""
    before, after = identity(passed), identity(now)
    found = [
        say("this is not the rack that passed {gate}, run {gate} again: {change}", gate=gate, change=change.phrase())
        for change in touching(gate, changes(before, after, told=True))
    ]
    dark: dict[tuple[str, str], list[Phrase]] = {}
    for host, scope in sorted(before.keys() - after.keys()):
        if scope in DEPENDS[gate]:
            why = now[host, scope].untold if (host, scope) in now else "not asked"
            dark.setdefault((host, why), []).append(NAMES[scope])
    return found + [
        say(
            "whether {host} is the one that passed {gate} cannot be told now: {scopes} ({why})",
            host=host, gate=gate, scopes=listed(scopes), why=why,
        )
        for (host, why), scopes in dark.items()
    ]  # fmt: skip
