"""Whether hosts are at the end of a soak what G1 found them to be: its clauses asked again, and judged by the same criteria."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checks.phrase import Phrase, joined, say
from checks.soak.facts import HostSoak
from checks.soak.judging import ahead, count
from checks.verdict import Outcome, Verdict

_NAMED = 6

Place = tuple[str, str]


@dataclass(frozen=True)
class Arrived:
    """Verdicts of G1's clauses as they come out now, by clause and subject; ``accepted``: those that were no PASS in the G1 that
    opened the campaign's later gates, with what they were then (waived by both parties, or advisory).
    """

    now: Mapping[Place, Verdict]
    accepted: Mapping[Place, str] = field(default_factory=dict)

    def fresh(self, outcome: Outcome) -> list[Place]:
        """Places that come out so now, and did not then."""
        return [
            place
            for place, one in self.now.items()
            if one.outcome is outcome and self.accepted.get(place) != outcome.value
        ]


def as_it_arrived(found: Arrived, soaks: Mapping[str, HostSoak]) -> Verdict:
    """No clause of G1 that held when the rack arrived fails now; one that cannot be told now leaves it undecided."""
    required = say("every clause of G1 as it was when G1 passed")
    if going := next((soak for soak in soaks.values() if soak.running), None):
        return Verdict.undecided(say("asked again when the soak has ended; {ahead}", ahead=ahead(going)), required)
    stopped, untold = found.fresh(Outcome.STOP), found.fresh(Outcome.UNDECIDED)
    measured = say(
        "{count} verdicts of G1 asked again: {stopped} stop now, {untold} cannot be told now, {accepted} are as they were accepted",
        count=len(found.now), stopped=len(stopped), untold=len(untold),
        accepted=sum(found.now[place].outcome.value == was for place, was in found.accepted.items() if place in found.now),
    )  # fmt: skip
    quantities = count("stopped", len(stopped))
    if stopped:
        return Verdict.of(False, measured, required, note=_named(found, stopped), quantities=quantities)
    if not found.now:
        return Verdict.undecided(say("no clause of G1 was asked again"), required)
    if untold:
        return Verdict.undecided(_named(found, untold), required, measured)
    same = [
        place for place, was in found.accepted.items() if place in found.now and found.now[place].outcome.value == was
    ]
    note = say("accepted then, and now: {what}", what=_named(found, same)) if same else None
    return Verdict.of(True, measured, required, note=note, quantities=quantities)


def _named(found: Arrived, places: list[Place]) -> Phrase:
    parts: list[Phrase] = []
    for clause, subject in places[:_NAMED]:
        one = found.now[clause, subject]
        what = one.note or one.measured or say("no reason given")
        parts.append(say("{clause} on {subject}: {what}", clause=clause, subject=subject, what=what))
    if len(places) > _NAMED:
        parts.append(say("and {more} more", more=len(places) - _NAMED))
    return joined(parts)
