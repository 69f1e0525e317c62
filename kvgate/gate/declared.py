"""What people answered for in the inventory, where nobody can measure: alone, or in the place of what could not be told."""

from __future__ import annotations

from fnmatch import fnmatchcase

from checks.decision import Owed
from checks.phrase import Phrase, say
from checks.verdict import Verdict
from kvgate.errors import CannotTell
from kvgate.gate.judged import Judged
from kvgate.inventory.model import Rack


class NotDeclared(CannotTell):
    """Nobody has answered, in the inventory, for a fact that cannot be asked."""


def declared(rack: Rack, owed: Owed) -> Verdict:
    """Return what was declared for a clause on a subject. Raises NotDeclared."""
    found = [one for one in rack.declared if one.clause == owed.clause and fnmatchcase(owed.subject, one.subject)]
    if found:
        # Of several answers the bad one counts: a wide "all is well" never covers what somebody saw on one port.
        declaration = min(found, key=lambda one: one.conforms)
        note = say("declared by {who} on {day}", who=declaration.by, day=declaration.on.isoformat())
        return Verdict.of(declaration.conforms, declaration.value, say("what the clause says"), note=note)
    raise NotDeclared(
        say(
            "nobody has answered for it: add {clause} on {subject} to `declared` in the inventory, with who says so",
            clause=owed.clause,
            subject=owed.subject,
        )
    )


def instead(rack: Rack, owed: Owed, untold: Verdict, reason: str) -> Judged:
    """What a person declared instead of what nobody can measure there; without a declaration it stays UNDECIDED."""
    try:
        verdict = declared(rack, owed)
    except NotDeclared:
        return Judged(untold, reason=reason)
    note = say("{declared}, because it could not be measured: {reason}", declared=_said(verdict), reason=_said(untold))
    return Judged(verdict.with_note(note), "declared", reason)


def _said(verdict: Verdict) -> Phrase:
    return verdict.note or say("no reason given")
