"""The whole draft: who must compare what, then the inventory's keys in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.fabric.probes import target
from checks.nvme.probes import controllers
from checks.probe import Probe
from checks.raid.probes import arrays
from kvgate import agreement as agreements
from kvgate.draft import accelerators, fabric, machine, network, storage
from kvgate.draft.first_contact import Pin, Wanted
from kvgate.draft.form import Entry, Item, Known, Leaf, Open, Page, Remark
from kvgate.draft.look import Looked, Progress, look
from kvgate.inventory.model import Defaults, Host
from kvgate.transport.base import Transport
from kvgate.transport.ssh import SshTransport

_HEAD = """\
DRAFT of an inventory: what was SEEN on live hosts ({when}), not what was ORDERED.
A rack that is compared with itself always passes: a missing disk, a slow slot, old firmware would be agreed to by accident.
Before this file is used:
  vendor       compares disks, RAID and the array's ports with order, delivery note and slot plan
  customer     compares nodes, accelerators, mounts and services with the order
  network team compares ports, switches and `fabric` with the cabling plan and the agreement, and answers `declared`
  both         check every host_key at the console, name the campaign, their keys, and sign the file together
What must be there and was not seen is written in by hand: a draft cannot know it.
Every "<...>" waits for a decision; `kvgate inventory check FILE` refuses the file until none is left. Then remove this head.
Fields: inventories/README.md."""


_CACHE = (
    "memory of the array that may answer reads: {size: 64 GB}; {size: 0 B} if it has none; {flushed: true} if the vendor empties it "
    "between rounds; or delete the line"
)


@dataclass(frozen=True)
class Draft:
    """A draft as text, what it leaves open, and how each host was met."""

    page: Page
    hosts: Mapping[str, Looked]
    roles: Mapping[str, tuple[str | None, str]]


def transport(wanted: Sequence[Wanted], pins: Mapping[str, Pin], defaults: Defaults) -> Transport:
    """Return the SSH transport for hosts whose keys were verified."""
    hosts = {
        one.name: Host(
            role="node" if one.role is None else one.role,  # type: ignore[arg-type]
            address=one.address,
            port=one.port or 22,
            user=one.user,
            host_key=pins[one.name].fingerprint,
        )
        for one in wanted
    }
    return SshTransport(hosts, defaults)


def draft(
    wanted: Sequence[Wanted],
    pins: Mapping[str, Pin],
    defaults: Defaults,
    transport: Transport,
    when: str,
    progress: Progress | None = None,
) -> Draft:
    """Look at every host, read-only, and write down what was seen. Never raises for a host that does not answer."""
    roles = {one.name: one.role for one in wanted}
    hosts = look(roles, transport, lambda name: _first(roles[name]), lambda one: _then(one, roles[one.name]), progress)
    found = {one.name: (one.role, "given") if one.role else _guess(hosts[one.name]) for one in wanted}
    page = Page()
    for line in _HEAD.format(when=when).splitlines():
        page.comment(line)
    page.mapping(_whole(wanted, pins, defaults, hosts, found))
    return Draft(page, hosts, found)


def _first(role: str | None) -> Iterator[Probe[Any]]:
    yield from storage.first()
    yield from network.first()
    yield from machine.first()
    if role != "array":
        yield from accelerators.first()


def _then(looked: Looked, role: str | None) -> Iterator[Probe[Any]]:
    role = role or _guess(looked)[0]
    yield from storage.then(looked)
    yield from network.then(looked)
    yield from fabric.then(looked)
    yield from machine.then(looked, role)
    yield from accelerators.then(looked)


def _guess(looked: Looked) -> tuple[str | None, str]:
    """Role by what was seen, and why; None when the signs are none or contradict each other."""
    served, tree, raids = looked.may(target()), looked.may(controllers()), looked.may(arrays())
    array = ["exports NVMe-oF subsystems"] if served and served.ports else []
    node = ["is connected to NVMe-oF subsystems"] if tree and tree.fabrics else []
    node += [f"carries {platform} accelerators"] if (platform := accelerators.platform_of(looked)) else []
    if not array and not node and raids and raids.arrays and tree and tree.local:
        array = ["has an md array and no accelerators"]
    if bool(array) == bool(node):
        return None, " but ".join([*array, *node]) or "nothing seen tells it"
    return ("array" if array else "node"), " and ".join(array or node)


def _whole(
    wanted: Sequence[Wanted],
    pins: Mapping[str, Pin],
    defaults: Defaults,
    hosts: Mapping[str, Looked],
    roles: Mapping[str, tuple[str | None, str]],
) -> Iterator[Entry | Remark]:
    yield Entry("rack", Open("name of this rack"))
    yield Entry("campaign", Open("name of this acceptance campaign"))
    keys = {party: Entry("key", Open(f"file of the {party}'s public key")) for party in ("vendor", "customer")}
    yield Entry("parties", [Entry(party, [entry]) for party, entry in keys.items()])
    words = {"user": defaults.user, "become": defaults.become, "identity": defaults.identity}
    yield Entry("defaults", [Entry(key, Known(value, "")) for key, value in words.items() if value is not None])
    yield Entry("fabric", fabric.entries(hosts.values()))
    yield Entry("hosts", [
        Entry(one.name, list(_host(one, pins[one.name], hosts[one.name], roles[one.name]))) for one in wanted
    ])  # fmt: skip
    yield Remark(
        "What nobody can ask over SSH. Who knows answers, by name; an entry that is deleted leaves its clause UNDECIDED."
    )
    yield Entry("declared", tuple(_declared()))


def _host(wanted: Wanted, pin: Pin, looked: Looked, role: tuple[str | None, str]) -> Iterator[Entry | Remark]:
    name, why = role
    leaf: Leaf = Open("array or node", why)
    if name is not None:
        leaf = Known(name, "as given" if wanted.role else f"guessed: {why}; decide")
    if looked.lost:
        yield Remark(f"NOT MET: {looked.lost}")
    yield Entry("role", leaf)
    yield Entry("address", Known(wanted.address, ""))
    if wanted.port is not None:
        yield Entry("port", Known(wanted.port, ""))
    if wanted.user is not None:
        yield Entry("user", Known(wanted.user, ""))
    yield Entry("host_key", Known(pin.fingerprint, f"{pin.how}; compare at the console"))
    if looked.lost:
        yield Entry("system", Open("everything of this host", "it was not met"))
        return
    yield Entry("system", list(machine.system(looked, name)))
    yield from storage.entries(looked)
    if name == "array":
        yield Entry(
            "cache",
            Open(_CACHE, "ask the vendor, no host tells it; not declared, no rate on the array's volume is decided"),
        )
    yield from network.entries(looked)
    if name != "array":
        yield from accelerators.entries(looked)


def _declared() -> Iterator[Item]:
    for clause_id, clause in agreements.read().acceptance.clauses.items():
        if clause.answer == "declared" and clause.subject.value == "rack":
            yield Item([
                Remark(clause.text.en),
                Entry("clause", Known(clause_id, "")),
                Entry("subject", Known("rack", "")),
                Entry("value", Open("what was seen")),
                Entry("conforms", Open("true or false")),
                Entry("by", Open("name, team")),
                Entry("on", Open("date such as 2026-11-28")),
            ])  # fmt: skip
