"""When a PCI Express link is as ordered. The endpoint is judged, never the port above it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from checks.bounds import at_least, exactly
from checks.parsers.lspci import PciEndpoint
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Quantity, Verdict, worst

#: GT/s of each generation, PCI Express base specification.
GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


class Link(Protocol):
    """What sysfs tells of an endpoint, disk or adapter: speeds in GT/s, counters since boot."""

    @property
    def current_gts(self) -> float | None: ...  # noqa: D102
    @property
    def current_lanes(self) -> int | None: ...  # noqa: D102
    @property
    def max_gts(self) -> float | None: ...  # noqa: D102
    @property
    def max_lanes(self) -> int | None: ...  # noqa: D102
    @property
    def numa_node(self) -> int | None: ...  # noqa: D102
    @property
    def aer_correctable(self) -> int | None: ...  # noqa: D102
    @property
    def aer_nonfatal(self) -> int | None: ...  # noqa: D102
    @property
    def aer_fatal(self) -> int | None: ...  # noqa: D102


_GONE = say("no such device answers; see the clause that looks for it")
_NO_AER = say(
    "the kernel has no AER counters for it: the firmware keeps them; read the BMC's log, or boot with pcie_ports=native"
)

_HALF_AER = say("only some of its AER counters could be read: run again")


def trained_speed(link: Link | None, generation: int) -> Verdict:
    """The link trained to at least the generation ordered; a device that cannot do more is named as such."""
    required = say("at least {speed} GT/s (generation {generation})", speed=GTS[generation], generation=generation)
    if link is None:
        return Verdict.undecided(_GONE, required)
    note = None
    if link.max_gts is not None and link.max_gts < GTS[generation]:
        note = say("the device itself can do {most} GT/s only: it is not what was ordered", most=link.max_gts)
    return at_least("link speed", link.current_gts, GTS[generation], "GT/s", note)


def trained_lanes(link: Link | None, lanes: int) -> Verdict:
    """The link trained to exactly the lanes ordered."""
    if link is None:
        return Verdict.undecided(_GONE, say("exactly {lanes} lanes", lanes=lanes))
    note = None
    if link.max_lanes is not None:
        note = say("the device can do x{most}", most=link.max_lanes)
    return exactly("link width", link.current_lanes, lanes, "lanes", note)


def no_uncorrected_errors(link: Link | None, allowed: int) -> Verdict:
    """Since boot the device saw at most ``allowed`` fatal and nonfatal errors."""
    required = say("at most {allowed} fatal and nonfatal errors since boot", allowed=allowed)
    if link is None:
        return Verdict.undecided(_GONE, required)
    if link.aer_fatal is None and link.aer_nonfatal is None:
        return Verdict.not_offered(_NO_AER, required)
    if link.aer_fatal is None or link.aer_nonfatal is None:
        return Verdict.undecided(_HALF_AER, required)
    measured = say("{fatal} fatal, {nonfatal} nonfatal", fatal=link.aer_fatal, nonfatal=link.aer_nonfatal)
    quantities = (Quantity("fatal", link.aer_fatal, "errors"), Quantity("nonfatal", link.aer_nonfatal, "errors"))
    return Verdict.of(
        link.aer_fatal + link.aer_nonfatal <= allowed, measured, required, "errors", quantities=quantities
    )


def no_new_corrected_errors(links: Interval[Link | None], allowed: int) -> Verdict:
    """Between two readings at most ``allowed`` corrected errors were counted; a counter that went back tells nothing."""
    required = say("at most {allowed} new corrected errors", allowed=allowed)
    if links.before is None or links.after is None:
        return Verdict.undecided(_GONE, required)
    before, after = links.before.aer_correctable, links.after.aer_correctable
    if before is None and after is None:
        return Verdict.not_offered(_NO_AER, required)
    if before is None or after is None:
        return Verdict.undecided(_HALF_AER, required)
    if after < before:
        why = say(
            "the counter went back from {before} to {after}: device or host was reset", before=before, after=after
        )
        return Verdict.undecided(why, required)
    measured = say(
        "{new} new in {seconds} s, {total} since boot", new=after - before, seconds=round(links.seconds, 1), total=after
    )
    return Verdict.of(
        after - before <= allowed, measured, required, "errors", quantities=(Quantity("new", after - before, "errors"),)
    )


def payload(endpoints: Collection[PciEndpoint], bdf: str | None, least: int, least_read: int) -> Verdict:
    """The device may move at least ``least`` bytes a packet and ask for ``least_read`` bytes a read."""
    required = say("MaxPayload >= {least} B, MaxReadReq >= {read} B", least=least, read=least_read)
    found = [one for one in endpoints if one.bdf == bdf]
    if bdf is None or len(found) != 1:
        return Verdict.undecided(_GONE, required)
    size, read = found[0].max_payload, found[0].max_read_request
    if size is None or read is None:
        return Verdict.undecided(say("lspci gives no MaxPayload for {bdf}", bdf=bdf), required)
    measured = say("MaxPayload {size} B, MaxReadReq {read} B", size=size, read=read)
    return Verdict.of(size >= least and read >= least_read, measured, required, "B")


def same_node(link: Link | None, others: Collection[Link | None]) -> Verdict:
    """The device hangs on the same NUMA node as all the ``others``."""
    required = say("same NUMA node as the storage port")
    nodes = [one.numa_node if one is not None else None for one in (link, *others)]
    if not others or any(node is None for node in nodes):
        why = say("a NUMA node is not given (-1 or device absent): {nodes}", nodes=str(nodes))
        return Verdict.undecided(why, required)
    measured = say("device on node {node}, storage ports on {nodes}", node=str(nodes[0]), nodes=str(nodes[1:]))
    return worst([Verdict.of(node == nodes[0], measured, required) for node in nodes[1:]])
