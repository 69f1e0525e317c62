"""Whether the soak that is judged was written down before it began, and which ones begun before it came to no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from checks.phrase import Phrase, joined, say
from checks.soak.attempts import Start, Starts, named, remembered
from checks.soak.facts import HostSoak
from checks.soak.judging import count, finished
from checks.verdict import Verdict

_NAMED = 4


def written_down(starts: Starts | None, hosts: Mapping[str, HostSoak], apart: float) -> Verdict:
    """The journals are of a soak whose start the ledger has, with the same plans, written down before it began.

    ``apart``: seconds by which the clocks of ledger and host may differ. Soaks that were begun before and came to no verdict are named.
    """
    required = say(
        "a start in the ledger, before the soak began, of the plans that ran; earlier starts without a verdict named"
    )
    if starts is None:
        note = say("the evidence of this run does not hold what the ledger has of starts: run the gate again")
        return Verdict.undecided(note, required)
    names = sorted({one.plan.soak for one in hosts.values()})
    before = starts.abandoned(names[0] if len(names) == 1 else "-")
    measured = _measured(names, starts, before)
    if starts.problems:
        note = say("the ledger's list of starts cannot be believed: {why}", why=starts.problems[0])
        return Verdict.undecided(note, required, measured)
    if wrong := [why for host, soak in hosts.items() for why in _unlike(host, soak, starts, apart)]:
        return Verdict.undecided(joined(wrong[:_NAMED]), required, measured)
    if changed := [host for host, soak in hosts.items() if _planned(soak, starts) != soak.plan.digest]:
        note = say(
            "{hosts}: the plan that ran there is not the one that was written down at the start: it was changed on the host",
            hosts=", ".join(changed),
        )  # fmt: skip
        return Verdict.of(False, measured, required, note=note)
    verdict = Verdict.of(True, measured, required, quantities=count("abandoned", len(before)))
    for soak in hosts.values():
        verdict = finished(soak, verdict)
    return verdict


def _planned(soak: HostSoak, starts: Starts) -> str:
    """Digest of the plan that was written down for a host; "" where none was."""
    one = starts.of(soak.plan.soak)
    return "" if one is None else one.plans.get(soak.plan.host, "")


def _measured(names: Sequence[str], starts: Starts, before: Sequence[Start]) -> Phrase:
    told = say("{soaks}; soaks begun before without a verdict: {count}", soaks=", ".join(names), count=len(before))
    known = [one for name in names if (one := starts.of(name)) is not None]
    parts = [told, *([named(known)] if known else []), *([named(before)] if before else [])]
    if strange := starts.strange():
        parts.append(
            say("begun on these hosts and not among the soaks of this rack in the ledger: {count}", count=len(strange))
        )
        parts.append(remembered(strange))
    if starts.unasked:
        parts.append(say("not told what began on: {hosts}", hosts=", ".join(starts.unasked)))
    return joined(parts)


def _unlike(host: str, soak: HostSoak, starts: Starts, apart: float) -> list[Phrase]:
    name = soak.plan.soak
    one = starts.of(name)
    if one is None or not one.started:
        return [
            say(
                "{host}: the ledger has no start of {soak}: it was begun elsewhere or by hand, and nobody can count what was begun before "
                "it. Judge it with the ledger that has its start (--ledger), or end it (`kvgate soak stop`) and start one from here",
                host=host, soak=name,
            )
        ]  # fmt: skip
    if host not in one.plans:
        return [say("{host}: the start of {soak} that is written down names no plan of it", host=host, soak=name)]
    early = datetime.fromisoformat(one.started).timestamp() - soak.begun_utc / 1e6
    if early > apart:
        return [
            say(
                "{host}: {soak} began {early:.0f} s before its start was written down: end it and start anew, or mend the clocks",
                host=host, soak=name, early=early,
            )
        ]  # fmt: skip
    return []
