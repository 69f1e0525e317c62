"""When the light is good enough: every lane by the module's own limits, with room below; temperature; flags."""

from __future__ import annotations

from collections.abc import Iterator

from checks import physical
from checks.nic import facts
from checks.parsers.ethtool_m import Lane, Limits, Module
from checks.phrase import Phrase, joined, say
from checks.verdict import Quantity, Verdict


def levels_within(module: Module, margin_db: float) -> Verdict:
    """Every lane's power (and bias) is between the module's warning limits, power also ``margin_db`` above its low alarm."""
    required = say("every lane within the module's warning limits, {margin} dB above low alarm", margin=margin_db)
    if (wrong := _no_optic(module, required)) is not None:
        return wrong
    lanes, wanted = facts.lit_lanes(module), facts.optical_lanes(module)
    if wanted is None and any(_unused(lane) for lane in lanes) and not all(_unused(lane) for lane in lanes):
        note = say("some lanes are dark both ways, and the module's type does not say how many it has")
        return Verdict.undecided(note, required)
    found = [problem for lane in lanes for problem in _problems(lane, module, margin_db)]
    if found:
        return Verdict.of(False, joined(found), required)
    if not lanes:  # active optical cables often keep no levels
        return Verdict.not_offered(say("the module gives no optical levels"), required)
    if wanted is not None and len(lanes) != wanted:
        return Verdict.undecided(
            say("levels of {found} lanes, wanted {wanted}", found=len(lanes), wanted=wanted), required
        )
    limits = module.thresholds
    if limits.rx is None or limits.tx is None:
        return Verdict.not_offered(say("the module gives no limits of its own"), required)
    if not (facts.usable(limits.rx) and facts.usable(limits.tx)):
        return Verdict.undecided(say("the module's own limits contradict each other: read it again"), required)
    if any(lane.tx_dbm is None or lane.rx_dbm is None for lane in lanes):
        return Verdict.undecided(say("a lane has no sent or received power"), required)
    powers = [lane.rx_dbm for lane in lanes if lane.rx_dbm is not None]
    return Verdict.of(
        True,
        say("{count} lanes, weakest received {power:.2f} dBm", count=len(lanes), power=min(powers)),
        required,
        "dBm",
        quantities=(Quantity("weakest received power", min(powers), "dBm"),),
    )


def cool(module: Module, margin: float) -> Verdict:
    """The module is more than ``margin`` degrees C below its own high warning."""
    required = say("more than {margin} °C below the module's high warning", margin=margin)
    if (wrong := _no_optic(module, required)) is not None:
        return wrong
    limits = module.thresholds.temperature
    if module.temperature_c is None or limits is None:
        return Verdict.not_offered(say("the module gives no temperature, or no limits for it"), required)
    if not facts.usable(limits):
        return Verdict.undecided(say("the module's own limits contradict each other: read it again"), required)
    if physical.celsius(module.temperature_c) is None:
        why = say("{value} °C is no temperature of a module in use", value=module.temperature_c)
        return Verdict.undecided(why, required)
    return Verdict.of(
        module.temperature_c < limits.high_warning - margin,
        say("{value} °C, high warning {limit} °C", value=module.temperature_c, limit=limits.high_warning),
        required,
        "degrees C",
        quantities=(Quantity("module temperature", module.temperature_c, "degrees C"),),
    )


def no_flags(module: Module) -> Verdict:
    """No alarm, warning, loss or fault flag is raised. Flags latch until read: judge the second of two readings."""
    required = say("no flag raised")
    if (wrong := _no_optic(module, required)) is not None:
        return wrong
    if module.raised:
        return Verdict.of(False, "; ".join(" ".join(label.split()) for label in module.raised), required)
    if not module.flags:
        return Verdict.not_offered(say("the module keeps no alarm and warning flags"), required)
    return Verdict.of(True, say("no flag raised"), required)


def _no_optic(module: Module, required: Phrase) -> Verdict | None:
    if not facts.copper(module):
        return None
    what = f"{module.vendor or '?'} {module.part or '?'}"
    return Verdict.of(
        False, say("a copper cable is plugged ({what}), an optical module was ordered", what=what), required
    )


def _unused(lane: Lane) -> bool:
    return lane.tx_dark and lane.rx_dark


def _problems(lane: Lane, module: Module, margin_db: float) -> Iterator[Phrase]:
    where = say("lane {number}", number=lane.number) if lane.number is not None else say("the lane")
    for name, level, dark, limits, margin, unit in (
        (say("rx"), lane.rx_dbm, lane.rx_dark, module.thresholds.rx, margin_db, "dBm"),
        (say("tx"), lane.tx_dbm, lane.tx_dark, module.thresholds.tx, margin_db, "dBm"),
        (say("bias current"), lane.bias_ma, False, module.thresholds.bias, None, "mA"),
    ):
        if dark:
            yield say("{lane} {what}: no light", lane=where, what=name)
        elif level is not None and limits is not None and facts.usable(limits):
            yield from _outside(say("{lane} {what}", lane=where, what=name), level, limits, margin, unit)


def _outside(what: Phrase, level: float, limits: Limits, margin: float | None, unit: str) -> Iterator[Phrase]:
    if not limits.low_warning <= level <= limits.high_warning:
        yield say(
            "{what}: {level} {unit}, warning limits {low} to {high}",
            what=what, level=level, unit=unit, low=limits.low_warning, high=limits.high_warning,
        )  # fmt: skip
    elif margin is not None and level < limits.low_alarm + margin:
        yield say(
            "{what}: {level} {unit}, only {margin:.2f} above the low alarm {alarm}",
            what=what, level=level, unit=unit, margin=level - limits.low_alarm, alarm=limits.low_alarm,
        )  # fmt: skip
