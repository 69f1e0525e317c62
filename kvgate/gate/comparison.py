"""A run judged again beside what it came to then: which verdicts differ, and what changed meanwhile that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.decision import Owed
from checks.phrase import Phrase, joined, say
from checks.verdict import Verdict
from kvgate.agreement import Overlaid
from kvgate.certificates.code import code_version
from kvgate.codec import canonical, verdict_to_json
from kvgate.gate import code
from kvgate.gate.judged import Judged
from kvgate.gate.stored import Then

#: Parts of a clause that a verdict does not stand on.
_WORDS = ("text",)


@dataclass(frozen=True)
class Difference:
    """One verdict that is another one now; ``now`` is None where it is not owed, ``then`` where it was not owed or not
    decided (``owed_then`` says which).
    """

    owed: Owed
    then: Verdict | None
    now: Verdict | None
    reasons: tuple[Phrase, ...]
    owed_then: bool

    @property
    def decides(self) -> bool:
        """Whether the outcome is another one, not only its words or numbers."""
        return self.then is None or self.now is None or self.then.outcome is not self.now.outcome


@dataclass(frozen=True)
class Comparison:
    """All owed verdicts of a run, then and now."""

    then: Then
    same: int
    differences: tuple[Difference, ...]  # those of another outcome first


def compare(
    then: Then,
    now: Mapping[Owed, Judged],
    terms: Sequence[Overlaid],
    bodies: Mapping[str, Callable[..., Any]],
) -> Comparison:
    """Compare by clause and subject. ``terms`` are what differs between the agreement then and the one judged by now;
    ``bodies`` the gate tests by clause.
    """
    before = {item[:2]: (item, judged) for item, judged in then.verdicts.items()}
    after = {item[:2]: (item, judged) for item, judged in now.items()}
    found: list[Difference] = []
    same = 0
    for place in dict.fromkeys((*before, *after)):
        item, old = before.get(place, (None, None))
        other, new = after.get(place, (None, None))
        if old is not None and new is not None and item == other and _equal(old, new):
            same += 1
            continue
        owed = other or item
        assert owed is not None  # noqa: S101 - the place stands in one of the two
        reasons = tuple(_reasons(then, owed, old, new, terms, bodies))
        owed_then = old is not None or _owed(then, place)
        found.append(Difference(owed, old.verdict if old else None, new.verdict if new else None, reasons, owed_then))
    found.sort(key=lambda one: not one.decides)
    return Comparison(then, same, tuple(found))


def _equal(old: Judged, new: Judged) -> bool:
    return old.basis == new.basis and canonical(verdict_to_json(old.verdict)) == canonical(verdict_to_json(new.verdict))


def _reasons(
    then: Then,
    owed: Owed,
    old: Judged | None,
    new: Judged | None,
    terms: Sequence[Overlaid],
    bodies: Mapping[str, Callable[..., Any]],
) -> Iterator[Phrase]:
    changes = [change for change in terms if change.clause == owed.clause and change.what not in _WORDS]
    yield from (_term(change) for change in changes)
    if old is None or new is None:
        if not changes:
            yield _owing(then, old is None, _owed(then, owed[:2]))
        return
    if new.unasked:
        yield say(
            "question changed: this version asks what the run did not ask: {what}",
            what=", ".join(sorted({*new.unasked})),
        )
    explained = bool(changes or new.unasked)
    if not then.modules:
        if not explained:
            yield say(
                "judged then by kvgate {then}, which kept no digests of its code; this is {now}",
                then=then.version,
                now=code_version(),
            )
        return
    yield from _code(then, new, bodies.get(owed.clause), explained)


def _term(change: Overlaid) -> Phrase:
    values = {"name": change.what, "before": change.before, "after": change.after}
    if change.what == "clause":
        return say("clause changed: {before} -> {after}", before=change.before, after=change.after)
    return say("limit changed: {name} {before} -> {after}", **values)


def _owed(then: Then, place: tuple[str, str]) -> bool:
    return then.owed is not None and place in then.owed


def _owing(then: Then, new: bool, owed_then: bool) -> Phrase:
    if new and owed_then:
        return say("the run ended before it was decided")
    versions = {"then": then.version, "now": code_version()}
    if new:
        return say("kvgate {then} did not owe it; this is {now}", **versions)
    return say("kvgate {then} owed it; this version, {now}, does not", **versions)


def _code(then: Then, new: Judged, body: Callable[..., Any] | None, explained: bool) -> Iterator[Phrase]:
    changed = code.changed(then.modules)
    parsers = changed & code.stands_on(new.readers)
    own = frozenset((body.__module__,)) if body is not None else frozenset()
    judging = changed & (own | code.stands_on(code.used_by(body)) if body is not None else frozenset())
    judging = frozenset(name for name in judging - parsers if not name.startswith("checks.parsers."))
    if parsers:
        yield say("parser changed: {modules}", modules=", ".join(sorted(parsers)))
    if judging:
        yield say("judging changed: {modules}", modules=", ".join(sorted(judging)))
    if explained or parsers or judging:
        return
    rest = frozenset(name for name in changed if name.startswith(code.MACHINERY))
    if rest:
        yield say("kvgate changed: {modules}", modules=", ".join(sorted(rest)))
    else:
        yield say(
            "neither code nor limits changed that it stands on: the stored verdict is not what was judged then, or the "
            "judging is not the same each time"
        )


def why(difference: Difference) -> Phrase:
    """All reasons of one difference as one phrase."""
    return joined(difference.reasons)
