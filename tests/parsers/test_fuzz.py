"""Damaged outputs: cut anywhere, a piece twice, a byte changed, a value replaced by N/A. A fact that is true, or a refusal."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.probe import UnreadableOutput
from tests.parsers.mutation import Printed, is_number, leaves, zeros_in, zeros_of
from tests.parsers.samples import Sample, parsers, plain, samples, text

LARGEST = 16_000  # bytes: a larger output is cut to its first lines' worth of examples by the budget below
BUDGET = 2_000_000  # bytes of text that one test reads for one parser: bounds the whole file to a minute on one core

#: A word that a tool prints for a yes-or-no value, or a number: what N/A may stand in for.
_VALUE = re.compile(
    r"(?<![\w.:-])(?:\d+(?:\.\d+)?|yes|no|on|off|true|false|enabled|disabled)(?![\w.:-])", re.IGNORECASE
)
#: Yes-or-no values whose "no" already means "could not be told", so that losing what proves them is no lie.
_UNPROVEN = {"dmesg": {".from_boot"}}

_NEW = object()

#: A label: what stands before a value. Changing its last letter makes it another.
_WORD = re.compile(r"\"[\w ./%-]{2,}(?=\"\s*:)|[A-Za-z_][\w./-]{2,}")


def _readable(command: str) -> list[Sample]:
    found = [sample for sample in samples() if sample.command == command and sample.readable]
    small = [sample for sample in found if len(sample.raw) <= LARGEST]
    return small or sorted(found, key=lambda sample: len(sample.raw))[:1]


COMMANDS = [command for command in parsers() if _readable(command)]


def _examples(command: str) -> int:
    mean = sum(len(sample.raw) for sample in _readable(command)) // len(_readable(command))
    return max(15, min(100, BUDGET // 3 // (mean + 500)))


def _read(command: str, changed: str) -> Any:
    """Return the plain fact or None for a refusal; anything else that is raised fails the test."""
    try:
        return plain(parsers()[command](changed))
    except UnreadableOutput:
        return None


def _settings(command: str) -> settings:
    return settings(
        max_examples=_examples(command),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def _damaged(draw: st.DrawFn, command: str) -> tuple[Sample, str, bytes]:
    sample = draw(st.sampled_from(_readable(command)))
    raw = sample.raw
    places = st.integers(0, max(len(raw) - 1, 0))
    kind = draw(st.sampled_from(("cut", "twice", "byte")))
    if kind == "cut":
        return sample, kind, raw[: draw(places)]
    if kind == "byte":
        at = draw(places)
        return sample, kind, raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :]
    start, length, at = draw(places), draw(st.integers(1, 200)), draw(places)
    return sample, kind, raw[:at] + raw[start : start + length] + raw[at:]


@pytest.mark.parametrize("command", COMMANDS)
def test_damage_gives_a_true_fact_or_a_refusal(command: str) -> None:
    # A parser may sort what it reads into words of its own, such as the kind of a kernel message.
    facts = [sample.expected["fact"] for sample in _readable(command)]
    vocabulary = {value for fact in facts for _, value in leaves(fact) if isinstance(value, str)}

    @_settings(command)
    @given(_damaged(command))
    def run(case: tuple[Sample, str, bytes]) -> None:
        sample, kind, raw = case
        changed, original = text(raw), sample.expected["fact"]
        fact = _read(command, changed)
        if fact is None or fact == original:
            return
        known = dict(leaves(original))
        printed = Printed(changed)
        for place, value in leaves(fact):
            if known.get(place, _NEW) == value:
                continue
            if is_number(value):
                assert math.isfinite(value), f"{sample.id}: {place} is {value}"
                assert printed.shows(value), f"{sample.id}: {place} is {value}, which the output does not print"
            elif isinstance(value, str) and value not in vocabulary:
                assert printed.says(value), f"{sample.id}: {place} is {value!r}, which the output does not print"
        if kind == "byte":
            new, printed_new = zeros_of(fact) - zeros_of(original), zeros_in(changed) - zeros_in(text(sample.raw))
            assert new <= max(printed_new, 0), f"{sample.id}: {new} zeros that the output does not print"

    run()


def _replaced(command: str, pattern: re.Pattern[str], times: int) -> list[tuple[Sample, str, re.Match[str]]]:
    """Places in the samples of one parser, evenly picked within the budget; the same word at most so many times."""
    seen: Counter[str] = Counter()
    found: list[tuple[Sample, str, re.Match[str]]] = []
    for sample in _readable(command):
        before = text(sample.raw)
        here: Counter[str] = Counter()
        for match in pattern.finditer(before):
            here[match[0]] += 1
            if here[match[0]] <= times and seen[match[0]] < 2 * times:
                seen[match[0]] += 1
                found.append((sample, before, match))
    wanted = max(20, BUDGET * len(found) // sum(len(before) + 500 for _, before, _ in found)) if found else 1
    return found[:: max(1, -(-len(found) // wanted))]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_value_never_becomes_one(command: str) -> None:
    for number, (sample, before, value) in enumerate(_replaced(command, _VALUE, 3)):
        unknown = ("N/A", "[N/A]", "-", "Unknown!")[number % 4]
        fact = _read(command, before[: value.start()] + unknown + before[value.end() :])
        if fact is None:
            continue
        original = sample.expected["fact"]
        known = dict(leaves(original))
        assert zeros_of(fact) <= zeros_of(original), f"{sample.id}: {value[0]} -> {unknown} is read as zero"
        for place, now in leaves(fact):
            if place in _UNPROVEN.get(command, ()):
                continue
            if place in known and isinstance(now, bool) and isinstance(known[place], bool):
                assert now == known[place], f"{sample.id}: {value[0]} -> {unknown} turns {place} to {now}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_renamed_label_is_missed(command: str) -> None:
    for sample, before, word in _replaced(command, _WORD, 1):
        changed = before[: word.start()] + word[0][:-1] + ("q" if word[0][-1] != "q" else "x") + before[word.end() :]
        fact = _read(command, changed)
        original = sample.expected["fact"]
        if fact is None or fact == original:
            continue
        assert zeros_of(fact) <= zeros_of(original), (
            f"{sample.id}: without the label {word[0]} something is read as zero"
        )
        printed = Printed(changed)
        known = dict(leaves(original))
        for place, value in leaves(fact):
            if is_number(value) and known.get(place, _NEW) != value:
                assert printed.shows(value), f"{sample.id}: without {word[0]}, {place} is {value}"
