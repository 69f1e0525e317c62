"""What a host answered when it was last asked what became of its soak's worker (``kvgate soak status``), one JSON object.

The journal tells its own end where there was room for it; this tells it where there was none, or where the worker was killed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "soak-state"

_STATES = frozenset({"running", "ended", "vanished", "absent", "damaged"})
_UTC = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment of the host: ``mono`` in seconds of its boot ``boot``."""

    utc: str
    mono: float
    boot: str


@dataclass(frozen=True, slots=True)
class Exit:
    """What the worker left when it ended. ``seq``: its last line, None where nobody knows; ``full``: since when there was no room."""

    at: Moment
    why: str
    status: int
    seq: int | None
    full: Moment | None


@dataclass(frozen=True, slots=True)
class SoakState:
    """State of the worker of one host when it was asked, at ``asked``; ``exit`` of one that ended."""

    soak: str
    host: str
    state: str
    asked: Moment
    exit: Exit | None


def parse(text: str) -> SoakState:
    """Read the answer, or refuse: a state that nobody knows, an end without its reason."""
    table = json_document(text)
    state = entry(table, "state", str)
    if state not in _STATES:
        raise UnreadableOutput(f"state is {state!r:.40}, wanted one of {', '.join(sorted(_STATES))}")
    done = entry(table, "exit", dict)
    if bool(done) != (state == "ended"):
        raise UnreadableOutput(f"state is {state} and exit {'told' if done else 'empty'}: one of them is wrong")
    return SoakState(
        entry(table, "soak", str), entry(table, "host", str), state, _moment(table), _exit(done) if done else None
    )


def _exit(done: dict[str, Any]) -> Exit:
    why = entry(done, "why", str)
    if not why:
        raise UnreadableOutput("exit has no reason")
    seq, full = done.get("seq"), done.get("full")
    if seq is not None and (isinstance(seq, bool) or not isinstance(seq, int) or seq < 0):
        raise UnreadableOutput(f"seq of exit is {seq!r:.40}, wanted a number of a line")
    return Exit(_moment(done), why, entry(done, "status", int), seq, None if full is None else _moment(full))


def _moment(table: Any) -> Moment:
    utc, boot = entry(table, "utc", str), entry(table, "boot", str)
    if _UTC.fullmatch(utc) is None:
        raise UnreadableOutput(f"utc is {utc!r:.40}, wanted a moment of UTC with microseconds")
    mono = table.get("mono")
    if isinstance(mono, bool) or not isinstance(mono, (int, float)) or not 0 <= mono < 1e10:
        raise UnreadableOutput(f"mono is {mono!r:.40}, wanted seconds")
    return Moment(utc, float(mono), boot)
