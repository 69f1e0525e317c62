"""Waivers and reopenings in a few plain lines: what somebody is about to sign, and what is left of it today."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.campaign.statements import Reopening, Waiver
from kvgate.reports.messages import Reader


def waiver(said: Waiver, read: Reader) -> Iterator[str]:
    """What a waiver says."""
    yield read(
        "waiver: {gate} of {campaign}, attempt {attempt}, run {run}",
        gate=said.gate, campaign=said.campaign, attempt=said.attempt, run=said.run,
    )  # fmt: skip
    for one in said.deviations:
        note = f" ({one.note})" if one.note else ""
        yield "  " + read(
            "{outcome} {clause} on {subject}: measured {measured}, required {required}{note}",
            outcome=one.outcome, clause=one.clause, subject=one.subject, measured=one.measured or "-",
            required=one.required or "-", note=note,
        )  # fmt: skip
    yield read("accepted until the end of {until} (UTC), because: {reason}", until=said.until, reason=said.reason)


def reopening(said: Reopening, read: Reader) -> Iterator[str]:
    """What a reopening says."""
    yield read("reopening of campaign {campaign}, because: {reason}", campaign=said.campaign, reason=said.reason)
    for one in said.stops:
        yield "  " + read(
            "after {outcome} of {gate}, attempt {attempt}, run {run}",
            outcome=one.outcome, gate=one.gate, attempt=one.attempt, run=one.run,
        )  # fmt: skip
