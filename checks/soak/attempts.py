"""Soaks as the ledger tells them: when each was started, stopped, removed and judged, and which of them came to no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from checks.phrase import Phrase, joined, say

_NAMED = 4
_DECIDED = ("PASS", "STOP")


@dataclass(frozen=True, slots=True)
class Start:
    """One soak as the ledger tells it; times in UTC, "" for what was not written down.

    ``times``: how often its start was; ``plans``: host -> digest of its plan; ``runs``: runs of G4 that judged it, each with what it
    came to ("" while it is open); ``signed``: parties that signed every start of it; ``under``: the campaign and inventory that it was
    begun by are others, and it is known by parts of this rack alone.
    """

    soak: str
    started: str
    times: int = 1
    plans: Mapping[str, str] = field(default_factory=dict)
    begun: str = ""
    stopped: str = ""
    removed: str = ""
    runs: tuple[tuple[str, str], ...] = ()
    signed: tuple[str, ...] = ()
    under: str = ""

    @property
    def decided(self) -> bool:
        """Whether a run of G4 judged it to PASS or STOP."""
        return any(outcome in _DECIDED for _, outcome in self.runs)

    @property
    def open(self) -> bool:
        """Whether it was started and nothing of its end is written down."""
        return bool(self.started) and not self.decided and not self.stopped and not self.removed


@dataclass(frozen=True, slots=True)
class Remembered:
    """One start of a soak as the host itself wrote it down, whoever started it and whatever was removed since; ``utc`` by its clock."""

    host: str
    soak: str
    utc: str
    rack: str
    campaign: str


@dataclass(frozen=True, slots=True)
class Starts:
    """All soaks of the rack and campaign, oldest first; ``problems``: what of the ledger cannot be believed.

    ``judged``: the soak that a run of G4 is about, where the list is that of a run. ``remembered``: what its hosts told then, and
    ``unasked`` the hosts that did not tell.
    """

    soaks: tuple[Start, ...] = ()
    problems: tuple[str, ...] = ()
    judged: str = ""
    remembered: tuple[Remembered, ...] = ()
    unasked: tuple[str, ...] = ()

    def strange(self) -> dict[str, list[Remembered]]:
        """Soaks that hosts remember and the ledger does not have, by name, the newest last."""
        known = {one.soak for one in self.soaks}
        found: dict[str, list[Remembered]] = {}
        for one in sorted(self.remembered, key=lambda one: (one.utc, one.host)):
            if one.soak not in known:
                found.setdefault(one.soak, []).append(one)
        return found

    def of(self, soak: str) -> Start | None:
        """The one of that name."""
        return next((one for one in self.soaks if one.soak == soak), None)

    def abandoned(self, judged: str = "") -> list[Start]:
        """Those that came to no verdict and are not the one that is judged, nor the newest one that may still be."""
        last = self.soaks[-1] if self.soaks else None
        kept = judged or self.judged or (last.soak if last is not None and last.open else "")
        return [one for one in self.soaks if not one.decided and one.soak != kept]


def fate(one: Start) -> Phrase:
    """What is known of a soak, for people."""
    parts = [_begin(one)]
    if one.under:
        parts.append(
            say("in the name of campaign {campaign}, by another inventory, on parts of this rack", campaign=one.under)
        )
    if one.stopped:
        parts.append(say("stopped {utc}", utc=_short(one.stopped)))
    if one.removed:
        parts.append(say("removed from the hosts {utc}", utc=_short(one.removed)))
    parts += [say("judged by run {run}: {outcome}", run=run, outcome=outcome or "-") for run, outcome in one.runs]
    if not one.runs:
        parts.append(say("judged by no run of G4"))
    parts.append(
        say("signed by {party}", party=", ".join(one.signed)) if one.signed else say("its start is not signed")
    )
    return joined(parts)


def _begin(one: Start) -> Phrase:
    if not one.started:
        return say("no start of it is written down")
    if one.times > 1:
        return say("started {times} times, first {utc}", times=one.times, utc=_short(one.started))
    if not one.begun:
        return say("started {utc}, not seen to run", utc=_short(one.started))
    return say("started {utc}", utc=_short(one.started))


def _short(utc: str) -> str:
    return utc[:19].replace("T", " ")


def named(soaks: Sequence[Start]) -> Phrase:
    """Several soaks, each with what is known of it."""
    parts = [say("{soak}: {fate}", soak=one.soak, fate=fate(one)) for one in soaks[-_NAMED:]]
    if len(soaks) > _NAMED:
        parts.append(say("and {more} more", more=len(soaks) - _NAMED))
    return joined(parts)


def remembered(soaks: Mapping[str, Sequence[Remembered]]) -> Phrase:
    """Soaks that only the hosts know, each with when, where and in whose name it began."""
    parts = [
        say(
            "{soak}: begun {utc} on {hosts} in the name of rack {rack}, campaign {campaign}",
            soak=name, utc=_short(found[0].utc), hosts=", ".join(dict.fromkeys(one.host for one in found)),
            rack=found[0].rack or "-", campaign=found[0].campaign or "-",
        )
        for name, found in list(soaks.items())[-_NAMED:]
    ]  # fmt: skip
    if len(soaks) > _NAMED:
        parts.append(say("and {more} more", more=len(soaks) - _NAMED))
    return joined(parts)
