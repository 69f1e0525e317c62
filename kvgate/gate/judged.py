"""One verdict as it is recorded: how it was reached, on which evidence, read by which code."""

from __future__ import annotations

from dataclasses import dataclass

from checks.verdict import Verdict


@dataclass
class Judged:
    """A verdict with ``basis`` (``measured`` or ``declared``) and ``reason`` (class name of what could not be told).

    ``readers`` are the modules whose parsers read its evidence, ``unasked`` what it would have asked and the run did not.
    """

    verdict: Verdict
    basis: str = "measured"
    reason: str = ""
    evidence: tuple[int, ...] = ()
    readers: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
