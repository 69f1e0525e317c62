"""Whether measured rounds may stand for the device: possible at all, undisturbed, of one fio, repeatable, and going nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from checks.around import causes
from checks.block.burst import Watched
from checks.block.rounds import Round
from checks.ceiling import Ceiling, beyond
from checks.phrase import Phrase, joined, say
from checks.statistics.steadiness import drift_percent, variation_percent
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Verdict

#: Bytes a second that a device moves when nobody uses it: a filesystem's log, atimes.
_NOTHING = 10**6


@dataclass(frozen=True, slots=True)
class Held:
    """What rounds are held to before they are numbers, all in percent.

    ``variation`` from round to round at most; ``drift`` what each may add to the one before, where they go one way; ``busy``
    what others may move on the device, of what the load moves. ``ceiling`` is what carries the data, or what to declare of it;
    requests are of ``block`` bytes.
    """

    variation: float
    drift: float
    busy: float
    ceiling: Ceiling | Phrase
    block: int = 0


#: What is required of every request, where nothing else is.
_ANSWERED = say("every request is answered without an error")


def broken(measured: Measured[Any], required: Phrase = _ANSWERED) -> Verdict | None:
    """STOP where the device or filesystem answered a round with an error, whatever the other rounds gave; None: it did not."""
    if not measured.broken:
        return None
    note = say(
        "what was under load answered with an error: read the kernel's log of that host (dmesg) from that minute, mend or "
        "replace what failed there, then both parties reopen the campaign"
    )
    return Verdict.of(False, joined(measured.broken), required, note=note)


def doubtful(measured: Measured[Round], held: Held) -> Phrase | None:
    """Say why rounds are not the device's own, whatever they repeat: impossible, disturbed, of several fios; None: they may be."""
    if measured.broken:
        return joined(measured.broken)
    if why := beyond([one.bytes_per_second for one in measured.facts], held.ceiling, held.block):
        return why
    if len(versions := {one.version for one in measured.facts}) > 1:
        return say(
            "rounds of different versions of fio are not compared: {versions}", versions=", ".join(sorted(versions))
        )
    return next((why for one in measured.facts if (why := disturbed(one, held.busy)) is not None), None)


def disturbed(found: Round, percent: float) -> Phrase | None:
    """Say that others used the device before or during a round by more than ``percent`` of its load, or None."""
    most = max(percent / 100 * found.bytes_per_second, _NOTHING)
    if found.before is not None and found.before > most:
        return say(
            "{device} was busy before the load began: it moved {rate}/s for others",
            device=found.device, rate=show_bytes(int(found.before)),
        )  # fmt: skip
    across = [found.across or 0.0]
    if isinstance(found.watched, Watched):
        if found.watched.bytes_per_second > (1 + percent / 100) * found.bytes_per_second + _NOTHING:
            more = found.watched.bytes_per_second - found.bytes_per_second
            return say(
                "{device} was busy: it moved {rate}/s more than fio asked for",
                device=found.device, rate=show_bytes(int(more)),
            )  # fmt: skip
        across.append(found.watched.other)
    if max(across) > most:
        return say(
            "{device} was busy: it moved {rate}/s the other way, which fio did not ask for",
            device=found.device, rate=show_bytes(int(max(across))),
        )  # fmt: skip
    return None


def unsteady(values: Sequence[float], held: Held, cause: Callable[[], Phrase]) -> Phrase | None:
    """Say that rounds vary too much or go one way, and what was seen that may be the cause; None: they repeat."""
    try:
        variation, drift = variation_percent(values), drift_percent(values)
    except ValueError as error:
        return say("{why}", why=str(error))
    if variation > held.variation:
        return say(
            "the rounds vary by {variation:.1f} percent, wanted at most {most:g}: {cause}",
            variation=variation, most=held.variation, cause=cause(),
        )  # fmt: skip
    return heading(drift, held.drift, len(values), cause)


def heading(drift: float, most: float, count: int, cause: Callable[[], Phrase]) -> Phrase | None:
    """Say that rounds go one way by ``most`` percent a round or more; None: they stay."""
    if abs(drift) < most:
        return None
    return say(
        "not at its level: each of {count} rounds gives {drift:+.1f} percent on the one before, wanted less than {most:g}: {cause}",
        count=count, drift=drift, most=most, cause=cause(),
    )  # fmt: skip


def cause(measured: Measured[Round]) -> Phrase:
    """What was seen beside the rounds that may explain why they differ."""
    heat = [one for found in measured.facts for one in found.celsius if one is not None]
    busy = [found.cpu_percent for found in measured.facts if found.cpu_percent is not None]
    seen: list[Phrase] = []
    told = any(look.celsius for hosts in measured.around for one in hosts.values() for look in (one.before, one.after))
    if heat and not told and max(heat) - min(heat) >= 5:
        seen.append(say("the disk went from {low} to {high} C", low=min(heat), high=max(heat)))
    if busy and max(busy) >= 90:
        seen.append(say("fio needed {cpu:.0f} percent of a core", cpu=max(busy)))
    return causes.cause(measured.around, seen)
