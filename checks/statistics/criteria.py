"""When repeated measurements may be used at all: steady, repeatable. They never stop anything: what is unsteady was not measured."""

from __future__ import annotations

from collections.abc import Sequence

from checks.phrase import Phrase, say
from checks.statistics.steadiness import steadiness, variation_percent
from checks.verdict import Quantity, Verdict


def steady_state(
    values: Sequence[float], window: int = 5, range_percent: float = 20.0, rise_percent: float = 10.0
) -> Verdict:
    """The last ``window`` rounds, of equal length, are steady by SNIA's rule; else UNDECIDED: precondition longer."""
    required = say(
        "{window} rounds with a range within {range} % and a slope within {rise} %, both against the mean",
        window=window, range=f"{range_percent:g}", rise=f"{rise_percent:g}",
    )  # fmt: skip
    try:
        found = steadiness(values, window)
    except ValueError as error:
        return Verdict.undecided(say("steadiness cannot be told: {why}", why=str(error)), required)
    measured = say(
        "range {range:.2f} %, slope {rise:+.2f} %", range=found.range_percent, rise=found.rise_percent
    )  # fmt: skip
    if not found.holds(range_percent, rise_percent):
        return Verdict.undecided(
            say("not steady yet: precondition longer, or find what disturbs it"), required, measured
        )
    quantities = (Quantity("range", found.range_percent, "%"), Quantity("slope", found.rise_percent, "%"))
    return Verdict.of(True, measured, required, "%", quantities=quantities)


def repeatable(what: Phrase, values: Sequence[float], percent: float = 5.0, least: int = 3) -> Verdict:
    """At least ``least`` rounds whose coefficient of variation is at most ``percent``; else UNDECIDED: find the cause."""
    required = say("{least} rounds that vary by at most {percent} %", least=least, percent=f"{percent:g}")
    try:
        variation = variation_percent(values)
    except ValueError as error:
        return Verdict.undecided(say("{what}: {why}", what=what, why=str(error)), required)
    measured = say("{rounds} rounds vary by {variation:.2f} %", rounds=len(values), variation=variation)
    if len(values) < least:
        return Verdict.undecided(say("too few rounds"), required, measured)
    if round(variation, 9) > percent:
        why = say("{what} does not repeat: look for heat, clock frequency, another load", what=what)
        return Verdict.undecided(why, required, measured)
    return Verdict.of(True, measured, required, "%", quantities=(Quantity("variation", variation, "%"),))
