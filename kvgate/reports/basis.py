"""What a decision stands on besides measurements: overlaid numbers, declarations of people, and what nobody vouches for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from checks.decision import Owed
from kvgate.agreement import Agreement
from kvgate.inventory.coverage import gaps
from kvgate.inventory.model import Rack
from kvgate.reports.messages import Reader

_SHOWN = 12  # subjects or hosts on one line


def agreed(agreement: Agreement, read: Reader) -> Iterator[str]:
    """The agreement by its digest, which both parties can compare, and one line a term that differs from the standard one."""
    changes = agreement.overlaid
    yield read("by the agreement {digest}", digest=agreement.digest[:16])
    if changes:
        yield read.ngettext(
            "{count} term differs from the standard acceptance document:",
            "{count} terms differ from the standard acceptance document:",
            len(changes),
        )
    for change in changes:
        origin = f" ({read.word(change.origin)})" if change.origin else ""
        yield f"  {change.clause} {change.what}: {change.before} -> {change.after}{origin}"


def declared(items: Iterable[Owed], rack: Rack, read: Reader) -> Iterator[str]:
    """One line a person: what that person answered for and kvgate did not measure."""
    people: dict[str, list[str]] = {}
    for item in items:
        by = next(
            (one.by for one in rack.declared if one.clause == item.clause and fnmatchcase(item.subject, one.subject)),
            "-",
        )
        people.setdefault(by, []).append(f"{item.clause} {item.subject}")
    if people:
        count = sum(map(len, people.values()))
        yield read.ngettext(
            "{count} verdict was declared by a person, not measured:",
            "{count} verdicts were declared by people, not measured:",
            count,
        )
    for by, places in people.items():
        yield f"  {by}{read(': ')}{_list(places, read)}"


def not_covered(rack: Rack, read: Reader) -> Iterator[str]:
    """One line a thing that the inventory orders nothing of, with the hosts."""
    found = gaps(rack)
    if found:
        yield read("not vouched for, because the inventory orders nothing there:")
    for gap in found:
        hosts = read(": ") + _list(gap.hosts, read) if gap.hosts else ""
        yield f"  {read.phrase(gap.what)}{hosts}"


def _list(words: Sequence[str], read: Reader) -> str:
    more = len(words) - _SHOWN
    return ", ".join(words[:_SHOWN]) + (" " + read("and {count} more", count=more) if more > 0 else "")
