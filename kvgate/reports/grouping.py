"""What is alike is told once: clauses in ranges, reasons that keep the same clauses open, subjects with the same finding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checks.decision import Owed
from checks.phrase import Phrase, joined
from checks.verdict import Verdict

#: Clauses that one reason keeps undecided, from which on it is told once.
MANY = 4

Rows = Sequence[tuple[Owed, Verdict]]
_JOIN = joined(["", ""]).template


@dataclass(frozen=True)
class Alike:
    """Reasons that keep the same clauses open, each on as many verdicts."""

    reasons: tuple[Phrase, ...]
    rows: tuple[tuple[Owed, Verdict], ...]

    def clauses(self, *, blocking: bool) -> list[str]:
        """Ids, each once, in the order of the document."""
        return list(dict.fromkeys(owed.clause for owed, _ in self.rows if owed.blocking is blocking))


def alike(rows: Rows) -> list[Alike]:
    """Undecided verdicts -> what each reason, or several on the same clauses, keeps open. Other verdicts are left out.

    A reason that names only reasons which are told anyway (a clause about all nodes, of which three are down) joins the first
    group that has one of them.
    """
    by_reason: dict[Phrase, list[tuple[Owed, Verdict]]] = {}
    for owed, verdict in rows:
        if verdict.note is not None:
            by_reason.setdefault(verdict.note, []).append((owed, verdict))
    shared = {note: found for note, found in by_reason.items() if len({owed.clause for owed, _ in found}) >= MANY}
    told = {str(note) for note in shared if len(parts(note)) == 1}
    groups: dict[tuple[str, ...], list[Phrase]] = {}
    for note, found in shared.items():
        if len(parts(note)) == 1:
            groups.setdefault(_place(found), []).append(note)
    members = {note: place for place, notes in groups.items() for note in notes}
    by_text = {str(note): place for note, place in members.items()}
    gathered = {place: [row for note in notes for row in by_reason[note]] for place, notes in groups.items()}
    for note, found in by_reason.items():
        if note in members:
            continue
        pieces = [str(part) for part in parts(note)]
        if len(pieces) > 1 and told.issuperset(pieces):
            gathered[by_text[pieces[0]]] += found
        elif note in shared:
            gathered[(str(note),)] = found
            groups[(str(note),)] = [note]
    return [Alike(tuple(groups[place]), tuple(found)) for place, found in gathered.items()]


def _place(found: Rows) -> tuple[str, ...]:
    """Clauses about a host or a part of it; one about the whole rack names only the first host that could not tell."""
    own = dict.fromkeys(owed.clause for owed, _ in found if owed.subject != "rack")
    return tuple(own or dict.fromkeys(owed.clause for owed, _ in found))


def parts(phrase: Phrase) -> list[Phrase]:
    """Take apart what :func:`checks.phrase.joined` put together."""
    if phrase.template != _JOIN:
        return [phrase]
    return [piece for _, value in phrase.values if isinstance(value, Phrase) for piece in parts(value)]


def order(clause: str) -> tuple[int, ...]:
    """Sort key of a clause id, as the document has it: G1.1.2 before G1.1.10."""
    return tuple(int(number) for number in re.findall(r"\d+", clause))


def spans(clauses: Iterable[str]) -> Iterator[str]:
    """``G1.2.1 G1.2.2 G1.2.3 G1.2.9`` -> ``G1.2: 1-3 9``, one text a section."""
    sections: dict[str, list[int]] = {}
    for clause in clauses:
        section, _, last = clause.rpartition(".")
        sections.setdefault(section, []).append(int(last))
    for section, numbers in sections.items():
        ranges: list[list[int]] = []
        for number in sorted(numbers):
            if ranges and number == ranges[-1][-1] + 1:
                ranges[-1].append(number)
            else:
                ranges.append([number])
        yield f"{section}: {' '.join(_range(one) for one in ranges)}"


def _range(numbers: Sequence[int]) -> str:
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 2 else " ".join(map(str, numbers))


def same(found: Mapping[Owed, str]) -> list[list[Owed]]:
    """Subjects whose finding reads the same but for the names of subject and host, in the order given."""
    groups: dict[str, list[Owed]] = {}
    for owed, text in found.items():
        plain = text.replace(owed.subject, "*").replace(owed.subject.partition(":")[0], "*")
        groups.setdefault(plain, []).append(owed)
    return list(groups.values())
