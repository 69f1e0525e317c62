"""Who a run meets, and what is asked of each to tell this rack from another."""

from __future__ import annotations

from collections.abc import Collection

from kvgate.campaign import seen
from kvgate.gate.ask import Need
from kvgate.inventory.model import Rack


def met(gate: str, rack: Rack, hosts: Collection[str]) -> set[str]:
    """Hosts that a run meets: those it asks; after G1 all that can be asked, for the rack must be the one that passed."""
    rest = rack.hosts.items() if gate != "G1" else ()
    return {*hosts, *(name for name, host in rest if host.access != "none")}


def identities(rack: Rack, hosts: Collection[str]) -> list[Need]:
    """What tells this rack from another; asked of every host that is asked anything, in the same session."""
    return [Need(host, probe) for host, probe in seen.questions(rack) if host in hosts]
