"""Soaks that were begun and came to no verdict of G4, as a run's evidence or the ledger names them: counted, and each by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from checks.soak.attempts import Starts, fate, remembered
from kvgate.errors import KvgateError
from kvgate.evidence.store import Evidence
from kvgate.gate import starts as kept
from kvgate.gate.session import GateSession
from kvgate.reports.messages import Reader


def of_session(session: GateSession, read: Reader) -> Iterator[str]:
    """Those that a run of G4 found in the ledger when it took the journals; nothing of another gate's run."""
    evidence = session.evidence or (session.answers.evidence if session.answers is not None else None)
    if session.gate != "G4" or evidence is None:
        return
    with suppress(KvgateError):  # what is wrong with the evidence is told by the run
        if (found := kept.kept(Evidence.open(evidence.path))) is not None:  # a run that ended has closed its own
            yield from lines(found, read)


def lines(starts: Starts, read: Reader) -> Iterator[str]:
    """How many, each with what is known of it, and what of the list cannot be believed."""
    left = starts.abandoned()
    if left:
        yield read.ngettext(
            "{count} soak was begun and came to no verdict of G4:",
            "{count} soaks were begun and came to no verdict of G4:",
            len(left),
        )
    for one in left:
        yield f"  {one.soak}{read(': ')}{read.phrase(fate(one))}"
    for name, found in starts.strange().items():
        what = read.phrase(remembered({name: found}))
        yield read("! begun on the hosts and not among the soaks of this rack in the ledger: {what}", what=what)
    if starts.unasked:
        yield read("! not told what began on: {hosts}", hosts=read(", ").join(starts.unasked))
    for problem in starts.problems:
        yield f"! {problem}"
