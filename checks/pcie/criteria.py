"""When a PCI Express link is as ordered. The endpoint is judged, never the port above it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from checks.bounds import at_least, exactly
from checks.parsers.lspci import PciEndpoint
from checks.parsers.sysfs_aer import AerService
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Quantity, Verdict, worst

#: GT/s of each generation, PCI Express base specification.
GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


class Link(Protocol):
    """What sysfs tells of an endpoint, disk or adapter: speeds in GT/s."""

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


class Counted(Protocol):
    """AER counters since boot of a device and of the port above it, which sees what the device sends badly."""

    @property
    def aer_correctable(self) -> int | None: ...  # noqa: D102
    @property
    def aer_nonfatal(self) -> int | None: ...  # noqa: D102
    @property
    def aer_fatal(self) -> int | None: ...  # noqa: D102
    @property
    def port_correctable(self) -> int | None: ...  # noqa: D102
    @property
    def port_nonfatal(self) -> int | None: ...  # noqa: D102
    @property
    def port_fatal(self) -> int | None: ...  # noqa: D102


_GONE = say(
    "the device is not there, so there is nothing to look at: mend the clause that looks for it (G1.2.1, G1.3.1, G1.6.1) first"
)
_NO_AER = say(
    "the kernel has no AER counters for it: the firmware keeps them; read the BMC's log, or boot with pcie_ports=native"
)
_NOBODY_COUNTS = say(
    "nobody counts: the kernel runs no AER service, so its zeros mean nothing; read the BMC's log, or boot with pcie_ports=native"
)

_HALF_AER = say("only some of its AER counters could be read: run again")


def trained_speed(link: Link | None, generation: int) -> Verdict:
    """The link trained to at least the generation ordered; a device that cannot do more is named as such."""
    required = say("at least {speed:g} GT/s (generation {generation})", speed=GTS[generation], generation=generation)
    if link is None:
        return Verdict.undecided(_GONE, required)
    note = None
    if link.max_gts is not None and link.max_gts < GTS[generation]:
        note = say("the device itself can do {most:g} GT/s only: it is not what was ordered", most=link.max_gts)
    known = link.current_gts if link.current_gts in GTS.values() else None
    return at_least(say("link speed"), known, GTS[generation], "GT/s", note)


def trained_lanes(link: Link | None, lanes: int) -> Verdict:
    """The link trained to exactly the lanes ordered."""
    if link is None:
        return Verdict.undecided(_GONE, say("exactly {lanes} lanes", lanes=lanes))
    note = None
    if link.max_lanes is not None:
        note = say("the device can do x{most}", most=link.max_lanes)
    return exactly(say("link width"), link.current_lanes, lanes, "lanes", note)


def no_uncorrected_errors(link: Counted | None, service: AerService, allowed: int) -> Verdict:
    """Since boot the device and the port above saw at most ``allowed`` fatal and nonfatal errors together."""
    required = say("at most {allowed} fatal and nonfatal errors since boot, at both ends", allowed=allowed)
    if link is None:
        return Verdict.undecided(_GONE, required)
    counts = (link.aer_fatal, link.aer_nonfatal, link.port_fatal, link.port_nonfatal)
    known = [count for count in counts if count is not None]
    words = ["?" if count is None else str(count) for count in counts]
    measured = say(
        "{fatal} fatal, {nonfatal} nonfatal; port above: {above} fatal, {more} nonfatal",
        fatal=words[0], nonfatal=words[1], above=words[2], more=words[3],
    )  # fmt: skip
    if sum(known) > allowed:
        return Verdict.of(False, measured, required, "errors", quantities=(Quantity("errors", sum(known), "errors"),))
    if not service.counts:
        return Verdict.not_offered(_NOBODY_COUNTS, required, measured)
    if len(known) < len(counts):
        return Verdict.not_offered(_NO_AER, required, measured)
    return Verdict.of(True, measured, required, "errors", quantities=(Quantity("errors", sum(known), "errors"),))


def no_new_corrected_errors(links: Interval[Counted | None], service: AerService, allowed: int) -> Verdict:
    """Between two readings at most ``allowed`` corrected errors at both ends; a counter that went back tells nothing."""
    required = say("at most {allowed} new corrected errors, at both ends", allowed=allowed)
    if links.before is None or links.after is None:
        return Verdict.undecided(_GONE, required)
    pairs = (
        (links.before.aer_correctable, links.after.aer_correctable),
        (links.before.port_correctable, links.after.port_correctable),
    )
    told = [(before, after) for before, after in pairs if before is not None and after is not None]
    if back := [pair for pair in told if pair[1] < pair[0]]:
        before, after = back[0]
        why = say(
            "the counter went back from {before} to {after}: device or host was reset", before=before, after=after
        )
        return Verdict.undecided(why, required)
    new = sum(after - before for before, after in told)
    measured = say(
        "{new} new in {seconds} s, {total} since boot",
        new=new, seconds=round(links.seconds, 1), total=sum(after for _, after in told),
    )  # fmt: skip
    if new > allowed:
        return Verdict.of(False, measured, required, "errors", quantities=(Quantity("new", new, "errors"),))
    if not service.counts:
        return Verdict.not_offered(_NOBODY_COUNTS, required)
    if len(told) < len(pairs):
        return Verdict.not_offered(_NO_AER, required)
    return Verdict.of(True, measured, required, "errors", quantities=(Quantity("new", new, "errors"),))


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
        why = say(
            "the kernel gives no NUMA node for all of them (found {nodes}; ?: -1, or the device is not there): "
            "see the BIOS (NPS, SRAT) and that both answer",
            nodes=_nodes(nodes),
        )
        return Verdict.undecided(why, required)
    measured = say("device on node {node}, storage ports on {nodes}", node=_nodes(nodes[:1]), nodes=_nodes(nodes[1:]))
    return worst([Verdict.of(node == nodes[0], measured, required) for node in nodes[1:]])


def _nodes(nodes: Collection[int | None]) -> str:
    return ", ".join("?" if node is None else str(node) for node in nodes) or "-"
