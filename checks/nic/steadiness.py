"""When a port is steady: counters judged by the difference of two looks. A counter that is absent was not read as zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from checks.nic.counters import ERRORS, matching
from checks.parsers.ethtool_S import Counters
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.sysfs_aer import AerService
from checks.parsers.sysfs_net import NetDevice
from checks.phrase import say
from checks.verdict import Outcome, Quantity, Verdict


def no_errors(before: Counters, after: Counters, driver: str, seconds: float) -> Verdict:
    """No counter of damaged or lost frames rose between the two looks; the list of names depends on the driver."""
    required = say("no error counter rises")
    if driver not in ERRORS:
        return Verdict.not_offered(
            say("kvgate knows no error counters of driver {driver}: read ethtool -S by hand", driver=driver), required
        )
    table, first, last = ERRORS[driver], dict(before.port), dict(after.port)
    absent = [name for name in table.required if not matching(name, last)]
    names = [name for pattern in (*table.required, *table.optional) for name in matching(pattern, last)]
    return _still({name: (first.get(name), last[name]) for name in names}, absent, seconds)


def no_uncorrectable_blocks(before: Fec, after: Fec, seconds: float) -> Verdict:
    """No block went by that the error correction could not mend; corrected blocks may rise."""
    pair = (before.uncorrectable_blocks, after.uncorrectable_blocks)
    if after.uncorrectable_blocks is None:
        return Verdict.undecided(
            say("driver or ethtool gives no FEC block counts"), say("no uncorrectable block in the interval")
        )
    return _still({"uncorrectable_blocks": pair}, [], seconds)


def no_flaps(before: NetDevice, after: NetDevice, seconds: float) -> Verdict:
    """The link is up and did not go down or come up between the two looks."""
    required = say("link up, no change of carrier")
    if after.carrier is False or (after.carrier is None and after.state == "down"):
        return Verdict.of(False, say("the link is down"), required)
    if after.carrier is None:
        return Verdict.undecided(say("the kernel does not tell the carrier"), required)
    if after.carrier_changes is None:
        return Verdict.undecided(say("the kernel does not count changes of carrier"), required)
    counts = {"carrier_changes": (before.carrier_changes, after.carrier_changes)}
    if after.carrier_downs is not None:
        counts["carrier_down_count"] = (before.carrier_downs, after.carrier_downs)
    return _still(counts, [], seconds)


def no_aer(before: NetDevice, after: NetDevice, service: AerService, correctable: int, seconds: float) -> Verdict:
    """No fatal or non-fatal PCI Express error, at most ``correctable`` mended ones, at card and port above, in between."""
    tables = (
        ("correctable", before.aer_correctable, after.aer_correctable, correctable),
        ("nonfatal", before.aer_nonfatal, after.aer_nonfatal, 0),
        ("fatal", before.aer_fatal, after.aer_fatal, 0),
        ("port above: correctable", before.port_correctable, after.port_correctable, correctable),
        ("port above: nonfatal", before.port_nonfatal, after.port_nonfatal, 0),
        ("port above: fatal", before.port_fatal, after.port_fatal, 0),
    )
    if all(first is None and last is None for _, first, last, _ in tables):
        why = say("the kernel has no AER counters for it: the firmware keeps them; read the BMC's log")
        return Verdict.not_offered(why, say("no rise"))
    absent = [kind for kind, _, last, _ in tables if last is None]
    counts: dict[str, tuple[int | None, int | None]] = {}
    allowed: dict[str, int] = {}
    for kind, first, last, limit in tables:
        for name, count in last or ():
            counts[f"{kind} {name}"] = (dict(first or ()).get(name), count)
            allowed[f"{kind} {name}"] = limit
    verdict = _still(counts, absent, seconds, allowed)
    if verdict.outcome is Outcome.PASS and not service.counts:
        why = say(
            "nobody counts: the kernel runs no AER service, so its zeros mean nothing; read the BMC's log, or boot with pcie_ports=native"
        )
        return Verdict.not_offered(why, verdict.required, verdict.measured)
    return replace(verdict, declarable=True) if absent and verdict.outcome is Outcome.UNDECIDED else verdict


def _still(
    counts: Mapping[str, tuple[int | None, int | None]],
    absent: list[str],
    seconds: float,
    allowed: Mapping[str, int] | None = None,
) -> Verdict:
    required = say("no rise")
    limits = allowed or {}
    rose = {n: b - a for n, (a, b) in counts.items() if a is not None and b is not None and b - a > limits.get(n, 0)}
    if rose:
        return Verdict.of(
            False,
            say(
                "rose in {seconds:.0f} s: {text}", seconds=seconds, text=", ".join(f"{n} +{d}" for n, d in rose.items())
            ),
            required,
            quantities=tuple(Quantity(name, rise, "events") for name, rise in rose.items()),
        )
    if absent or not counts:
        return Verdict.undecided(say("not given: {names}", names=", ".join(absent) or say("any counter")), required)
    if odd := list(_unusable(counts)):
        return Verdict.undecided(
            say("unreadable, or went backwards (reset or reloaded driver): {names}", names=", ".join(odd)), required
        )
    return Verdict.of(
        True, say("none of {count} counters rose in {seconds:.0f} s", count=len(counts), seconds=seconds), required
    )


def _unusable(counts: Mapping[str, tuple[int | None, int | None]]) -> Iterator[str]:
    for name, (first, last) in counts.items():
        if first is None or last is None or last < first:
            yield name
