"""What speaks of the computer that runs the rack, not of kvgate: a limit that ran out, a machine that ended, what time alone upsets.

In the short form, which CI runs on any computer, these are skipped with their reason; in the long form they fail.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from lab.vm.rack import NoRack, Rack

SHORT_FORM = os.environ.get("KVGATE_RACK", "") == "short"
#: Words of every reason that kvgate gives where a limit ran out or a connection ended (``TimedOut`` and ``LinkLost``).
LATE = (
    "did not end within", "did not begin after", "nothing more came after", "no end within", "did not decide on the login",
    "did not answer within", "did not finish the SSH handshake", "sent no SSH banner", "no answer to TCP", "took no command for",
    "ssh got no answer", "transport itself hangs", "the connection ended", "ended the connection", "the shell that ran the batch ended",
    "the reply stopped to make sense", "arrived damaged", "itself was never asked", "but got no connection to",
)  # fmt: skip
#: Seconds in which a machine with a processor of its own answers a question that does nothing.
PROMPT = 15.0


class TooSlow(Exception):
    """This computer gave the machines too little time for what was asked of them."""


def late(reason: str) -> bool:
    """Whether a reason says that a limit ran out, or that the connection ended."""
    return any(words in reason for words in LATE)


def of_the_computer(error: BaseException, ended: Iterable[str] = ()) -> str | None:
    """Why an error speaks of the computer; None: it speaks of what was tested. ``ended``: machines that are gone."""
    if gone := sorted(ended):
        return f"{' and '.join(gone)} ended while it was tested: {error}"
    if isinstance(error, TooSlow | NoRack | subprocess.TimeoutExpired):
        return f"this computer is too slow for the virtual rack now: {error}"
    return None


def excused(report: pytest.TestReport, error: BaseException | None, rack: Rack) -> None:
    """Let a test that failed in the short form because of the computer be one that was skipped for it."""
    if not SHORT_FORM or not report.failed or error is None:
        return
    if (why := of_the_computer(error, _ended(rack))) is not None:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {why}")


def held_up(reasons: Iterable[str]) -> None:
    """Raise TooSlow in the short form where one of these says that a limit ran out."""
    if SHORT_FORM and (found := [one for one in reasons if late(one)]):
        raise TooSlow(found[0])


def upset(found: Mapping[Any, str], starved: Mapping[str, str], clause: Callable[[Any], str]) -> None:
    """Raise TooSlow in the short form where all of what was found wrong is about clauses that time alone can upset."""
    if SHORT_FORM and found and all(clause(place) in starved for place in found):
        place, said = next(iter(found.items()))
        raise TooSlow(f"{starved[clause(place)]} ({clause(place)}: {said})")


def until(
    holds: Callable[[], object], limit: float, nothing: Callable[[], object], what: str, prompt: float = PROMPT
) -> None:
    """Wait until something holds. ``nothing`` asks the machine for nothing at all.

    Raises TooSlow where it does not hold in time and that takes more than ``prompt`` seconds, else AssertionError.
    """
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            began = time.monotonic()
            nothing()
            if (took := time.monotonic() - began) > prompt:
                raise TooSlow(f"{what}: not within {limit:.0f} s, and it took {took:.0f} s to do nothing")
            raise AssertionError(f"{what}: not within {limit:.0f} s")
        time.sleep(2)


def _ended(rack: Rack) -> list[str]:
    try:
        return [machine.name for machine in rack.machines() if machine.pid() is None]
    except NoRack:
        return []
