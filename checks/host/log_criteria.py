"""When the kernel log of a host is silent about a trouble. A log that does not hold the whole boot proves no silence."""

from __future__ import annotations

from collections.abc import Sequence

from checks.host.facts import complete, devices
from checks.parsers.dmesg import Event, KernelLog
from checks.phrase import Phrase, say
from checks.verdict import Quantity, Verdict

_SHOWN = 200


def whole(log: KernelLog) -> Verdict:
    """The kernel log holds the whole boot. One that plainly does not is a fault to mend, not a question left open."""
    required = say("complete since boot")
    if not complete(log):
        return Verdict.of(False, say("begins at {time}", time=log.first_time or "-"), required, note=_incomplete(log))
    return Verdict.of(True, say("from boot to {time}", time=log.last_time), required)


def silent(log: KernelLog, found: Sequence[Event], allowed: int = 0) -> Verdict:
    """At most ``allowed`` of the events that this clause is about; what was found names the first line and its time."""
    required = say("none since boot") if allowed == 0 else say("at most {limit} since boot", limit=allowed)
    if len(found) > allowed:
        quantities = (Quantity("log lines", len(found), ""),)
        return Verdict.of(False, _count(found), required, note=_first(found), quantities=quantities)
    if not complete(log):
        return Verdict.undecided(_incomplete(log), required)
    note = _first(found) if found else say("log read to {time}", time=log.last_time)
    return Verdict.of(True, _count(found) if found else say("none"), required, note=note)


def _count(found: Sequence[Event]) -> Phrase:
    named = devices(found)
    if not named:
        return say("log lines: {count}", count=len(found))
    return say("log lines: {count}, about {devices}", count=len(found), devices=named[:_SHOWN])


def _first(found: Sequence[Event]) -> Phrase:
    first, last = found[0], found[-1]
    message = first.message[:_SHOWN]
    if first.time == last.time:
        return say("{time}: {message}", time=first.time or "-", message=message)
    return say("first {time}: {message} (last {last})", time=first.time or "-", message=message, last=last.time or "-")


def _incomplete(log: KernelLog) -> Phrase:
    if log.missed:
        return say("the journal says that it missed kernel messages: silence is not proved")
    return say(
        "the kernel log begins at {time}, not at the boot: keep the journal on disk or boot with log_buf_len=16M",
        time=log.first_time or "-",
    )
