"""What people read of a run that was judged again: which verdicts differ from the stored ones, and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from checks.verdict import Verdict
from kvgate.gate.comparison import Comparison, Difference, why
from kvgate.gate.session import GateSession
from kvgate.reports.messages import Reader
from kvgate.reports.wrapping import Sentence

_SHOWN = 20  # differences in words only; those of another outcome are all shown

Line = Text | Sentence


def compared(session: GateSession, read: Reader) -> Iterator[Line]:
    """Yield nothing for a run that was just made; else what is the same, and every difference with its reason."""
    comparison = session.comparison()
    if comparison is None:
        return
    yield Text("")
    yield Sentence(_head(comparison, read))
    inner = [one for one in comparison.differences if not one.decides]
    for one in comparison.differences:
        if one.decides:
            yield Sentence("  " + _difference(one, read), style="bold")
    for one in inner[:_SHOWN]:
        yield Sentence("  " + _difference(one, read))
    if len(inner) > _SHOWN:
        yield Text("  " + read("and {count} more", count=len(inner) - _SHOWN))


def _head(comparison: Comparison, read: Reader) -> str:
    then = comparison.then
    if not then.source:
        return read("nothing to compare with: neither a ledger nor the evidence holds the verdicts of this run")
    differ = len(comparison.differences)
    where = read("the ledger") if then.source == "ledger" else read("the evidence")
    said = read(
        "judged then by kvgate {version}; beside the verdicts in {where}: {same} the same, {differ} differ",
        version=then.version or "-",
        where=where,
        same=comparison.same,
        differ=differ,
    )
    outcomes = sum(one.decides for one in comparison.differences)
    return said + (read("; ") + read("{count} of them in their outcome", count=outcomes) if differ else "")


def _difference(one: Difference, read: Reader) -> str:
    place = f"{one.owed.clause} {one.owed.subject}"
    reason = read.phrase(why(one))
    if one.decides:
        told = read("{then} then, {now} now", then=_before(one, read), now=_outcome(one.now, read))
    else:
        told = read(
            "{outcome} as then, told otherwise: {then} -> {now}",
            outcome=_outcome(one.now, read),
            then=_words(one.then, read),
            now=_words(one.now, read),
        )
    return read("{place}: {told}; {reason}", place=place, told=told, reason=reason)


def _before(one: Difference, read: Reader) -> str:
    return read("not decided") if one.then is None and one.owed_then else _outcome(one.then, read)


def _outcome(verdict: Verdict | None, read: Reader) -> str:
    return read("not owed") if verdict is None else verdict.outcome.value


def _words(verdict: Verdict | None, read: Reader) -> str:
    if verdict is None:
        return "-"
    return read.phrase(verdict.measured) or read.phrase(verdict.note) or read.phrase(verdict.required)


def as_json(session: GateSession) -> dict[str, object]:
    """Return the same with stable keys, for programs."""
    comparison = session.comparison()
    assert comparison is not None  # noqa: S101 - asked of a run that is judged again only
    then = comparison.then
    decision = session.decided or session.decision()
    return {
        "gate": session.gate,
        "outcome": decision.outcome.value,
        "then": then.outcome.value if then.outcome is not None else None,
        "compared_with": then.source or None,
        "vouched": then.vouched,
        "held": then.held,
        "code_then": then.version,
        "agreement": session.agreement.digest,
        "same": comparison.same,
        "differences": [
            {
                "clause": one.owed.clause,
                "subject": one.owed.subject,
                "blocking": one.owed.blocking,
                "owed_then": one.owed_then,
                "then": _json(one.then),
                "now": _json(one.now),
                "reasons": [str(reason) for reason in one.reasons],
            }
            for one in comparison.differences
        ],
        "trouble": list(dict.fromkeys((*session.remarks, *session.trouble))),
    }


def _json(verdict: Verdict | None) -> dict[str, str] | None:
    if verdict is None:
        return None
    return {
        "outcome": verdict.outcome.value,
        "measured": str(verdict.measured),
        "required": str(verdict.required),
        "note": str(verdict.note or ""),
    }
