"""Faults of a host itself: it is down, refuses, keeps silent, breaks off, talks nonsense. What it would have told is not known."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit


def _clauses(text: str) -> frozenset[str]:
    """Read ``1: 2-4 7; 3: 1`` as G1.1.2, G1.1.3, G1.1.4, G1.1.7, G1.3.1."""
    found = set()
    for section in text.split(";"):
        number, _, members = section.partition(":")
        for member in members.split():
            first, _, last = member.partition("-")
            found |= {f"G1.{number.strip()}.{each}" for each in range(int(first), int(last or first) + 1)}
    return frozenset(found)


#: Decided from what a node answers alone, its host key and its clock apart; the last line is about the rack and needs it too.
_NODE = _clauses(
    "1: 2-21 23-25 29 40-51; 2: 1-9 11 13-21 23; 3: 1-3 5-23; 4: 1-17; 5: 8-16 20-28 30-33; 6: 1-16 19-20 22;"
    "1: 26-28; 3: 4; 4: 18-19; 5: 29; 6: 27"
)
_ARRAY = _clauses("1: 2-14 17-21 23-25 29 40-43 45-51; 2: 1-23; 3: 1-23; 4: 1-19; 5: 1-7 34")
_KEY = _clauses("1: 1")
_CLOCK = _clauses("1: 22")

FAULTS: tuple[Fault, ...] = (
    Fault(
        "host-key-changed", "node-01 presents another host key than the inventory pins: another machine, or installed anew",
        "node-01", stops=_KEY, undecided=_NODE | _CLOCK, behaviour="changed-host-key",
    ),
    Fault(
        "login-refused", "node-01 accepts no key of the operator",
        "node-01", undecided=_NODE | _CLOCK | _KEY, behaviour="refuse-login",
    ),
    Fault(
        "node-down", "nothing listens on node-01's SSH port",
        "node-01", undecided=_NODE | _CLOCK | _KEY, behaviour="down",
    ),
    Fault(
        "array-down", "nothing listens on the array's SSH port",
        "array", undecided=_ARRAY | _CLOCK | _KEY, behaviour="down",
    ),
    Fault(
        "node-hangs-up", "node-01 closes every connection before it says a word: too many logins, or a ban",
        "node-01", undecided=_NODE | _CLOCK | _KEY, behaviour="close-early",
    ),
    Fault(
        "node-silent", "node-01 lets in and then says nothing more",
        "node-01", undecided=_NODE | _CLOCK, behaviour="silent",
    ),
    Fault(
        "node-talks-garbage", "node-01 answers with random bytes instead of running what it was sent",
        "node-01", undecided=_NODE | _CLOCK, behaviour="garbage",
    ),
    Fault(
        "link-cut-in-batch", "the connection to node-01 breaks while its first answer is under way",
        "node-01", undecided=_NODE, behaviour="cut-in-batch",
    ),
    Fault(
        "array-cut-in-batch", "the connection to the array breaks while its first answer is under way",
        "array", undecided=_ARRAY, behaviour="cut-in-batch",
    ),
    Fault(
        "login-banner", "every host prints a greeting and stray bytes at login; it hides nothing and must change nothing",
        "all", behaviour="banner",
    ),
    Fault(
        "node-clock-ahead", "node-01's clock is three seconds ahead of every other clock, though its own NTP client is content",
        "node-01", stops=_CLOCK, behaviour="clock-ahead-3",
    ),
    Fault(
        "array-clock-ahead", "the array's clock is three seconds ahead of every other clock",
        "array", stops=_CLOCK, behaviour="clock-ahead-3",
    ),
    Fault(
        "node-command-hangs", "lscpu on node-01 never comes to an end; everything else answers",
        "node-01", undecided=_clauses("1: 3"), edits=(Edit(ask="lscpu.*", hang=True),),
    ),
    Fault(
        "node-command-slow", "lscpu on node-01 takes longer than its limit; everything else answers",
        "node-01", undecided=_clauses("1: 3"), edits=(Edit(ask="lscpu.*", delay=11.0),),
    ),
)  # fmt: skip
