"""When an NVMe-oF connection is good enough: paths, timers, queues, namespaces."""

from __future__ import annotations

from collections.abc import Iterable

from checks import bounds
from checks.fabric.facts import Link, same_address, target
from checks.parsers.nvme_discover import Record
from checks.parsers.nvme_list_subsys import Subsystem
from checks.parsers.sysfs_nvme import NvmeTree
from checks.phrase import Phrase, listed, say
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict, worst

_NOT_LIVE = frozenset({"new", "connecting", "resetting", "deleting", "deleting (no IO)", "dead"})


def _absent(required: Phrase | str) -> Verdict:
    return Verdict.undecided(
        say("the subsystem is not connected, so there is nothing to look at; connect it first"), required
    )


def _list(words: Iterable[object]) -> str:
    return ", ".join(str(word) for word in words) or "-"


def connected(link: Link, address: str, port: int) -> Verdict:
    """A controller of the ordered NQN leads to the ordered address and port."""
    required = say("{nqn} at {address}:{port}", nqn=link.nqn, address=address, port=port)
    if not link.paths:
        note = say("connected instead: {others}", others=_list(link.others)) if link.others else None
        return Verdict.of(False, say("no controller carries this NQN"), required, note=note)
    ends = [target(path.address) for path in link.paths]
    known = [end for end in ends if end is not None]
    if any(same_address(end.address, address) and end.port == str(port) for end in known):
        return Verdict.of(True, _list(known), required)
    if len(known) < len(ends):
        return Verdict.undecided(
            say("the kernel gives no address for a path: {addresses}", addresses=_list(p.address for p in link.paths)),
            required,
        )
    return Verdict.of(False, _list(known), required)


def paths_live(link: Link, ordered: int) -> Verdict:
    """As many paths as ordered, each of its own, every one live. I/O that flows over another path excuses nothing."""
    required = say("{ordered} live", ordered=ordered)
    live = [path for path in link.paths if path.state == "live"]
    ends = {(end.address, end.port, end.source) for path in link.paths if (end := target(path.address)) is not None}
    count = (Quantity("live paths", len(live), ""),)
    measured = say("{live} of {ordered} live", live=len(live), ordered=ordered)
    if not link.paths:
        return Verdict.of(False, say("no path"), required, quantities=count)
    bad = [path for path in link.paths if path.state != "live"]
    if bad:
        states = _list(f"{path.name} ({target(path.address) or path.address or '?'}) {path.state}" for path in bad)
        if len(link.paths) == ordered and all(path.state not in _NOT_LIVE for path in bad):
            return Verdict.undecided(
                say("states that kvgate does not know: {states}", states=states), required, measured
            )
        return Verdict.of(False, measured, required, note=say("not live: {states}", states=states), quantities=count)
    if len(live) < ordered:
        note = say(
            "only {paths} is left; the kernel does not retry a path that it has given up",
            paths=_list(target(path.address) or path.name for path in live),
        )
        return Verdict.of(False, measured, required, note=note, quantities=count)
    if len(ends) < len(live):
        note = say("several controllers run from the same port to the same port: that is one path, not several")
        return Verdict.of(False, measured, required, note=note, quantities=count)
    alone = say("one path has no redundancy: when it fails, I/O stops") if ordered == 1 else None
    return Verdict.of(len(live) == ordered, measured, required, note=alone, quantities=count)


def transport_is(link: Link, ordered: str) -> Verdict:
    """Every path uses the ordered transport."""
    if not link.paths:
        return _absent(ordered)
    return worst(
        bounds.same_text(say("transport of {name}", name=path.name), path.transport, ordered) for path in link.paths
    )


def every_namespace_optimized(link: Link) -> Verdict:
    """Each namespace has at least one live path whose ANA state is optimized."""
    required = say("an optimized live path for every namespace")
    if not link.paths or not link.namespaces:
        return _absent(required)
    states: dict[int, list[str]] = {space.nsid: [] for space in link.namespaces if space.nsid is not None}
    if len(states) < len(link.namespaces):
        return Verdict.undecided(say("the kernel does not number every namespace"), required)
    for path in link.paths:
        for space in path.namespaces:
            if space.nsid is not None and space.ana_state is not None:
                state = space.ana_state if path.state == "live" else f"{space.ana_state} ({path.state})"
                states.setdefault(space.nsid, []).append(state)
    if blind := [str(nsid) for nsid, found in states.items() if not found]:
        return Verdict.undecided(
            say(
                "no ANA state for namespace {nsids}: native multipath is off, or the array reports none",
                nsids=_list(blind),
            ),
            required,
        )
    measured = "; ".join(f"nsid {nsid}: {_list(found)}" for nsid, found in sorted(states.items()))
    holds = all("optimized" in found for found in states.values())
    if not holds and any(path.state not in _NOT_LIVE | {"live"} for path in link.paths):
        return Verdict.undecided(say("a path is in a state that kvgate does not know"), required, measured)
    return Verdict.of(holds, measured, required)


def iopolicy_is(link: Link, ordered: str) -> Verdict:
    """The kernel spreads I/O over the paths by the ordered policy."""
    if not link.paths:
        return _absent(ordered)
    if not link.iopolicies:
        return Verdict.undecided(
            say("the kernel shows no I/O policy: native multipath is off or not built in"), ordered
        )
    return worst(bounds.same_text(say("I/O policy"), policy, ordered) for policy in link.iopolicies)


def native_multipath_on(tree: NvmeTree) -> Verdict:
    """The kernel's own NVMe multipath is on, so that a second path joins the same block device."""
    required = "nvme_core.multipath=Y"
    if tree.multipath is None:
        return Verdict.undecided(
            say("the kernel shows no such parameter: nvme_core is not loaded or built without multipath"), required
        )
    return Verdict.of(tree.multipath, f"nvme_core.multipath={'Y' if tree.multipath else 'N'}", required)


def timers_are(link: Link, ctrl_loss: int, reconnect_delay: int, fast_io_fail: int, keep_alive: int) -> Verdict:
    """The timers of every path, in seconds, are those ordered; -1 is never. Worst of all paths and timers.

    The kernel stores the loss timer as a number of attempts and shows attempts x delay, so a time that is no multiple of
    the delay reads as the next one.
    """
    if not link.paths:
        return _absent(say("the timers ordered"))
    rounded = ctrl_loss if ctrl_loss < 0 else -(-ctrl_loss // reconnect_delay) * reconnect_delay
    found: list[tuple[Phrase, Verdict]] = []
    for path in link.paths:
        loss = rounded if path.ctrl_loss_tmo == rounded and path.reconnect_delay == reconnect_delay else ctrl_loss
        for timer, seconds, wanted in (
            ("ctrl_loss_tmo", path.ctrl_loss_tmo, loss),
            ("reconnect_delay", path.reconnect_delay, reconnect_delay),
            ("fast_io_fail_tmo", path.fast_io_fail_tmo, fast_io_fail),
            ("kato", path.kato, keep_alive),
        ):
            what = say("{timer} of {path}", timer=timer, path=path.name)
            found.append((what, bounds.exactly(what, seconds, wanted, "s")))
    verdict = worst(one for _, one in found)
    if verdict.outcome is not Outcome.STOP:
        return verdict
    wrong = [
        say("{what} = {value}", what=what, value=one.measured) for what, one in found if one.outcome is Outcome.STOP
    ]
    return verdict.with_note(say("differs: {wrong}", wrong=listed(wrong)))


def io_queues_are(link: Link, ordered: int) -> Verdict:
    """Every path has the ordered number of I/O queues; the kernel's queue_count counts the admin queue too."""
    if not link.paths:
        return _absent(say("{ordered} I/O queues", ordered=ordered))
    return worst(
        bounds.exactly(
            say("I/O queues of {path}", path=path.name),
            None if path.queue_count is None else path.queue_count - 1,
            ordered,
        )
        for path in link.paths
    )


def namespaces_visible(link: Link, ordered: int) -> Verdict:
    """As many namespaces as ordered stand as block devices, each with a size."""
    required = say("{ordered} namespaces with a size", ordered=ordered)
    if not link.paths:
        return _absent(required)
    if any(space.sectors is None for space in link.namespaces):
        return Verdict.undecided(say("the kernel gives no size for a namespace"), required)
    sizes = {space.name: (space.sectors or 0) * 512 for space in link.namespaces}
    measured = _list(f"{name} {show_bytes(size)}" for name, size in sizes.items())
    holds = len(sizes) == ordered and all(size > 0 for size in sizes.values())
    if not holds and not any(path.state == "live" for path in link.paths):
        return Verdict.undecided(say("no path is live: namespaces are not looked for until one is"), required, measured)
    return Verdict.of(holds, measured, required, quantities=(Quantity("namespaces", len(sizes), ""),))


def discovered(records: tuple[Record, ...], nqn: str, address: str, port: int) -> Verdict:
    """The target offers the subsystem to this host at the ordered address."""
    required = say("{nqn} at {address}:{port}", nqn=nqn, address=address, port=port)
    places = [(one.address, one.service) for one in records if one.nqn == nqn]
    holds = any(same_address(where, address) and service == str(port) for where, service in places)
    measured = _list(f"{where}:{service}" for where, service in places) if places else say("not listed")
    seen = _list(sorted({one.nqn for one in records}))
    return Verdict.of(holds, measured, required, note=None if holds else say("the target lists: {seen}", seen=seen))


def tool_agrees(link: Link, subsystems: tuple[Subsystem, ...]) -> Verdict:
    """nvme-cli and the kernel's own files show the same paths in the same states."""
    kernel = {(path.name, path.state) for path in link.paths}
    tool = {(path.name, path.state or "null") for one in subsystems if one.nqn == link.nqn for path in one.paths}
    if not kernel and not tool:
        return _absent(say("the same paths and states"))
    shown = _list(f"{name} {state}" for name, state in sorted(tool))
    return Verdict.of(kernel == tool, shown, _list(f"{name} {state}" for name, state in sorted(kernel)))
