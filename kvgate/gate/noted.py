"""Documents that a run takes into its evidence as one line of a kind, and reads back when it judges or is judged again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kvgate.codec import canonical, parse_object
from kvgate.errors import Damaged
from kvgate.evidence.store import Evidence

Fact = TypeVar("Fact")


def keep(evidence: Evidence, kind: str, document: Mapping[str, Any], **about: object) -> None:
    """Write a document down, with what is said about it in the line itself. Raises Unwritable."""
    evidence.note(kind, **about, rows=canonical(document).encode())


def read(evidence: Evidence, kind: str, what: str, make: Callable[[Mapping[str, Any]], Fact]) -> Fact | None:
    """Return what ``make`` makes of the newest document of a kind; None where there is none. Raises Damaged, which names ``what``."""
    notes = evidence.notes(kind)
    if not notes:
        return None
    try:
        raw = notes[-1]["rows"]
        return make(parse_object(raw if isinstance(raw, bytes) else b""))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Damaged(f"{what} in evidence {evidence.path} cannot be read: {error}") from error


def rows(document: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of the document. Raises KeyError, TypeError."""
    found = document[name]
    if not isinstance(found, list):
        raise TypeError(f"{name} is {type(found).__name__}, wanted a list")
    return found
