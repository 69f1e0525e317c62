"""The three outcomes of a clause and the verdict that carries one. There is no fourth and no default."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from checks.phrase import Phrase, plain


class Outcome(StrEnum):
    """What a clause came to: the rack is good, the rack is wrong, or it could not be told."""

    PASS = "PASS"
    STOP = "STOP"
    UNDECIDED = "UNDECIDED"


#: Worst first: a STOP outweighs what could not be told, which outweighs a PASS.
SEVERITY = (Outcome.STOP, Outcome.UNDECIDED, Outcome.PASS)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One measured number with its unit, as the ledger stores it."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of one clause on one subject: what was measured, what is required, why.

    ``declarable`` marks an UNDECIDED whose only reason is that the device does not offer the fact: a person may answer instead.
    ``acceptable`` marks an UNDECIDED that was measured and read, and that both parties may accept by a waiver.
    """

    outcome: Outcome
    measured: Phrase
    required: Phrase
    unit: str = ""
    note: Phrase | None = None
    quantities: tuple[Quantity, ...] = ()
    declarable: bool = field(default=False, compare=False)
    acceptable: bool = False

    @classmethod
    def of(
        cls,
        holds: bool,
        measured: Phrase | str,
        required: Phrase | str,
        unit: str = "",
        note: Phrase | None = None,
        quantities: tuple[Quantity, ...] = (),
    ) -> Verdict:
        """PASS if ``holds``, else STOP. Raises TypeError unless ``holds`` is a real bool: None is not False."""
        if not isinstance(holds, bool):
            raise TypeError(f"a verdict needs True or False, got {holds!r}")
        outcome = Outcome.PASS if holds else Outcome.STOP
        return cls(outcome, plain(measured), plain(required), unit, note, quantities)

    @classmethod
    def undecided(cls, note: Phrase, required: Phrase | str = "", measured: Phrase | str = "") -> Verdict:
        """The clause could not be told; ``note`` says why and what would help."""
        return cls(Outcome.UNDECIDED, plain(measured), plain(required), note=note)

    @classmethod
    def not_offered(cls, note: Phrase, required: Phrase | str = "", measured: Phrase | str = "") -> Verdict:
        """UNDECIDED because kernel, firmware or device does not offer the fact at all; a declaration may stand in.

        Never for a value that was there and could not be read: that stays :meth:`undecided`, whatever anybody declares.
        """
        return cls(Outcome.UNDECIDED, plain(measured), plain(required), note=note, declarable=True)

    @classmethod
    def to_accept(
        cls,
        note: Phrase,
        measured: Phrase | str,
        required: Phrase | str,
        unit: str = "",
        quantities: tuple[Quantity, ...] = (),
    ) -> Verdict:
        """UNDECIDED though it was measured: better than agreed, say, so that somebody must explain it first.

        Both parties may accept it by a waiver. Never for a value that could not be read.
        """
        return cls(Outcome.UNDECIDED, plain(measured), plain(required), unit, note, quantities, acceptable=True)

    def with_note(self, note: Phrase) -> Verdict:
        """Return the same verdict with another note."""
        return replace(self, note=note)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts; the first of equals, and of those that could not be told one that no
    declaration may answer. Raises ValueError when there is none to weigh.
    """
    found = sorted(verdicts, key=lambda verdict: (SEVERITY.index(verdict.outcome), verdict.declarable))
    if not found:
        raise ValueError("no verdicts to weigh: a clause must never pass by finding nothing")
    return found[0]


def number(value: object) -> float | None:
    """Return ``value`` if it is a finite real number, else None. Text, booleans, None, NaN and infinity are no numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value
