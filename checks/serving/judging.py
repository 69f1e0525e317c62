"""From measured rounds to verdicts: every cell is held to its proof first, and only then are arms compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from checks.phrase import Phrase, say
from checks.serving import comparable, comparison, criteria
from checks.serving.cells import Cell, Pair, several, unfit
from checks.serving.comparable import Arm
from checks.serving.figures import Figures, figures
from checks.serving.limits import Limits
from checks.serving.reconciliation import Row, reconcile, unequal_hits, unproven
from checks.serving.reconciliation import anew as anew_rows
from checks.serving.rounds import ArmRound, Round
from checks.serving.site import Site
from checks.serving.validity import faults
from checks.statistics.percentile import median
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict, worst

Compare = Callable[[Sequence[Pair]], Verdict]


def rows(arm: ArmRound, limits: Limits) -> tuple[Row, ...]:
    """The reconciliation of one arm in one round, line by line."""
    if arm.traffic is None:
        return ()
    if arm.expected is None:
        return anew_rows(arm.traffic, arm.client.count, arm.prompt_tokens, limits.tolerances)
    measured = {name: rate for role, name, rate in limits.measured if role == arm.side.role}
    expected = replace(arm.expected, ceilings={**arm.expected.ceilings, **measured})
    return reconcile(arm.traffic, expected, limits.tolerances)


def proof(arm: ArmRound, limits: Limits) -> tuple[Phrase, ...]:
    """Why nothing shows that this arm did what it was measured for; empty where everything does."""
    kept = _stored(arm, limits) if arm.side.store else ()
    return (*arm.silent, *arm.disordered, *kept, *unproven(rows(arm, limits)))


def _stored(arm: ArmRound, limits: Limits) -> list[Phrase]:
    """What lay in the store before the eviction: all of it, or what is measured afterwards is something else."""
    if arm.stored is None or arm.due is None:
        return [say("nothing was counted in the store")]
    found = []
    if arm.due.files is not None and arm.stored.files != arm.due.files:
        found.append(
            say("{count} files lay in the store, wanted {wanted}", count=arm.stored.files, wanted=arm.due.files)
        )  # fmt: skip
    if abs(arm.stored.size / arm.due.size - 1) * 100 > limits.stored_percent:
        found.append(
            say(
                "{size} lay in the store, wanted {wanted} within {percent} %",
                size=show_bytes(arm.stored.size), wanted=show_bytes(arm.due.size), percent=f"{limits.stored_percent:g}",
            )
        )  # fmt: skip
    return found


def loaded(arm: ArmRound, site: Site, concurrency: int, limits: Limits) -> tuple[Phrase, ...]:
    """Why the load itself is not what it was to be."""
    found = list(faults(arm.run, limits.planned(site, concurrency)))
    if arm.client.lag_p99_s > limits.lag:
        found.append(
            say(
                "the client came {lag:.3f} s late to what was due (p99), at most {most} s: the load host is busy",
                lag=arm.client.lag_p99_s, most=f"{limits.lag:g}",
            )
        )  # fmt: skip
    return tuple(found)


def cell(arm: ArmRound, site: Site, concurrency: int, limits: Limits, also: tuple[Phrase, ...] = ()) -> Cell:
    """Figures of one arm in one round, if its load and its proof hold."""
    reasons = (*loaded(arm, site, concurrency, limits), *proof(arm, limits), *also)
    return Cell(None, reasons) if reasons else Cell(figures(arm.run, concurrency), ())


def pairs(found: Sequence[Round], site: Site, limits: Limits) -> tuple[Pair, ...]:
    """Rounds as pairs of cells, each valid or with every reason why it is not."""
    made = []
    for one in found:
        hits: tuple[Phrase, ...] = ()
        if one.local.traffic is not None and one.array.traffic is not None:
            hits = unequal_hits(one.local.traffic, one.array.traffic, limits.tolerances.arms)
        local = cell(one.local, site, one.concurrency, limits)
        array = cell(one.array, site, one.concurrency, limits, hits)
        made.append(Pair(one.number, local, array))
    return tuple(made)


def enough(found: Sequence[Round], site: Site, limits: Limits) -> bool:
    """Whether no further round is wanted: the interval is narrow enough, or what is wrong would be wrong in the next one too."""
    made = pairs(found, site, limits)
    if unfit(made, limits.rules):
        return True
    budget = site.rounds + site.more_rounds
    both = [comparison.ttft(made, limits.rules), comparison.throughput(made, limits.rules)]
    return comparison.more_rounds(both, limits.rules, len(made), budget) == 0


def valid(measured: Measured[Round], site: Site, limits: Limits) -> Verdict:
    """Every request of every round was answered as planned, and the client kept the load that it was to keep."""
    required = say("every round a load as planned: all answered, lengths equal, concurrency kept")
    found = [
        (one.number, arm.side.role, loaded(arm, site, one.concurrency, limits))
        for one in measured.facts
        for arm in (one.local, one.array)
    ]
    return _all_hold(found, required, say("{count} loads as planned", count=len(found)))


def proven(measured: Measured[Round], site: Site, limits: Limits) -> Verdict:
    """Tokens by source, store, device and port tell the same bytes, on both arms in every round."""
    required = say("tokens, store, device and port tell the same bytes")
    found = [
        (one.number, arm.side.role, proof(arm, limits)) for one in measured.facts for arm in (one.local, one.array)
    ]
    count = sum(len(rows(arm, limits)) for one in measured.facts for arm in (one.local, one.array))
    verdict = _all_hold(found, required, say("{count} lines of the reconciliation hold", count=count))
    return replace(verdict, quantities=_table(measured, limits))


def _table(measured: Measured[Round], limits: Limits) -> tuple[Quantity, ...]:
    """The reconciliation of the last round, line by line, as the ledger keeps it for the report."""
    return lines([arm for one in measured.facts[-1:] for arm in (one.local, one.array)], limits)


def lines(arms: Sequence[ArmRound], limits: Limits) -> tuple[Quantity, ...]:
    """The reconciliation of some arms, line by line, as numbers."""
    return tuple(
        Quantity(f"{arm.side.role}: {row.what}{end}", float(value), row.unit)
        for arm in arms
        for row in rows(arm, limits)
        for end, value in (("", row.found), (" (expected)", row.expected))
        if value is not None
    )


def _all_hold(found: Sequence[tuple[int, str, tuple[Phrase, ...]]], required: Phrase, good: Phrase) -> Verdict:
    wrong = [(number, role, reasons) for number, role, reasons in found if reasons]
    if not found:
        return Verdict.undecided(say("no round was measured"), required)
    if not wrong:
        return Verdict.of(True, good, required)
    number, role, reasons = wrong[0]
    why = say("round {round}, {arm}: {why}", round=number, arm=role, why=several(reasons))
    if len(wrong) > 1:
        why = say("{first}; and {count} more arms of rounds", first=why, count=len(wrong) - 1)
    return Verdict.undecided(why, required)


def steady(measured: Measured[Round], site: Site, limits: Limits) -> Verdict:
    """The rounds of both arms repeat, do not drift, and not too many of them are void."""
    required = say(
        "{rounds} rounds that vary by at most {percent} % and do not drift",
        rounds=limits.rules.rounds, percent=f"{limits.rules.variation_percent:g}",
    )  # fmt: skip
    reasons = [*voided(measured, limits), *unfit(pairs(measured.facts, site, limits), limits.rules)]
    if reasons:
        return Verdict.undecided(several(reasons), required)
    if not measured.facts:
        return Verdict.undecided(say("no round was measured"), required)
    return Verdict.of(
        True, say("{count} rounds, {void} void", count=len(measured.facts), void=len(measured.voided)), required
    )


def voided(measured: Measured[Any], limits: Limits) -> list[Phrase]:
    """Why the rounds that were taken out are too many; empty where they are not."""
    run = len(measured.facts) + len(measured.voided)
    if len(measured.voided) * limits.rules.one_void_in <= run:
        return []
    return [
        say(
            "{count} of {run} rounds were taken out, at most 1 in {one_in} may be",
            count=len(measured.voided), run=run, one_in=limits.rules.one_void_in,
        )
    ]  # fmt: skip


def compared(measured: Measured[Round], site: Site, limits: Limits, required: Phrase, compare: Compare) -> Verdict:
    """Compare the arms by ``compare`` if their rounds may decide."""
    if reasons := voided(measured, limits):
        return Verdict.undecided(several(reasons), required)
    return compare(pairs(measured.facts, site, limits))


def ttft(measured: Measured[Round], site: Site, limits: Limits, least: float) -> Verdict:
    """TTFT p50 of the array arm lies ``least`` percent below the local arm's."""
    required = criteria.drop(Decimal(0), least).required
    return compared(measured, site, limits, required, lambda made: criteria.ttft_drop(made, limits.rules, least))


def throughput(
    measured: Measured[Round], site: Site, limits: Limits, low: float, high: float, decimals: int
) -> Verdict:
    """Throughput of the array arm lies in the band above the local arm's."""
    required = criteria.gain(Decimal(0), low, high, decimals).required
    return compared(
        measured, site, limits, required, lambda made: criteria.throughput_gain(made, limits.rules, low, high, decimals)
    )


def alike(found: Mapping[int, Measured[Round]], site: Site) -> Verdict:
    """Both arms were the same engines in every round but for where the KV lies."""
    verdicts = []
    for concurrency, measured in sorted(found.items()):
        for one in measured.facts:
            for number, (mine, theirs) in enumerate(zip(one.local.settings, one.array.settings, strict=True)):
                verdict = comparable.comparable(
                    as_arm(site, one.local, mine), as_arm(site, one.array, theirs), site.may_differ
                )
                where = say(
                    "c{level} round {round}, instance {number}", level=concurrency, round=one.number, number=number + 1
                )
                if verdict.note is not None:
                    verdict = verdict.with_note(say("{where}: {why}", where=where, why=verdict.note))
                verdicts.append(verdict)
    if not verdicts:
        return Verdict.undecided(say("no round was measured"))
    return worst(verdicts)


def as_arm(site: Site, arm: ArmRound, settings: Mapping[str, str | None]) -> Arm:
    """One engine of an arm as arms are compared."""
    word, _, backend = site.kind.partition("-")
    return Arm(
        name=arm.side.role,
        store_path=arm.side.store,
        store_device=arm.side.mount,
        engine=site.engine,
        store=word,
        backend=(backend or word).replace("-", "_"),
        restarted=site.evict == "restart",
        settings=settings,
    )


def ceiling(
    measured: Measured[Round], anew: Measured[ArmRound], site: Site, concurrency: int, limits: Limits
) -> Verdict:
    """Both arms beat computing everything anew, in TTFT and in throughput."""
    made = pairs(measured.facts, site, limits)
    required = criteria.beats_recompute(None, None, None, lower=True).required
    reasons = [*unfit(made, limits.rules)]
    for one in anew.facts:
        wrong = tuple(
            row for row in rows(one, limits) if row.holds is False
        )  # what it computed, where the engine tells it
        reasons += [*one.silent, *loaded(one, site, concurrency, limits), *(unproven(wrong) if wrong else ())]
    if reasons:
        return Verdict.undecided(several(reasons), required)
    told = [figures(one.run, concurrency) for one in anew.facts]
    both = [
        criteria.beats_recompute(*_medians(made, told, lambda one: one.ttft_p50), lower=True),
        criteria.beats_recompute(*_medians(made, told, lambda one: one.throughput), lower=False),
    ]
    lowest = worst(both)
    untold = tuple(row for one in anew.facts for row in rows(one, limits) if row.holds is None)
    if lowest.outcome is Outcome.STOP and untold:  # restored KV makes computing anew quick: that must be ruled out
        return Verdict.undecided(several(list(unproven(untold))), required)
    measured_both = say("TTFT p50 {ttft} s; throughput {rate} tok/s", ttft=both[0].measured, rate=both[1].measured)
    return Verdict(lowest.outcome, measured_both, lowest.required, lowest.unit, lowest.note, lowest.quantities)


def _medians(
    made: Sequence[Pair], anew: Sequence[Figures], value: Callable[[Figures], float]
) -> tuple[float | None, float | None, float | None]:
    """Medians over the rounds of what is computed anew, the local arm and the array arm."""
    local = [value(pair.local.figures) for pair in made if pair.local.figures is not None]
    array = [value(pair.array.figures) for pair in made if pair.array.figures is not None]
    return _median([value(one) for one in anew]), _median(local), _median(array)


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
