"""Whose a controller's name is: numbers are given anew at every boot and connection, so that a name tells nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checks.soak.tables import Table, Words

#: What a controller is known by (runbooks/soak-journal.md): a port of the same array at another address is another path.
_IDENTITY = ("transport", "subsysnqn", "serial", "address")

#: Subsystems that answer ``nvme discover``: the kernel makes a controller for as long as the answer takes.
_DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"

_PATH = re.compile(r"nvme(\d+)c(\d+)n(\d+)", re.ASCII)

_Who = tuple[str | None, ...]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Renamed:
    """A controller that has another name within one boot: it was taken away and connected anew between two rows of the table."""

    subject: str
    before: int
    after: int


def settled(table: Table) -> tuple[Table, tuple[Renamed, ...]]:
    """The table of stream ``nvme`` with every controller under the name that it was first seen with, and who was connected anew.

    Controllers of discovery are left out: they come and go with every question. Where two controllers cannot be told apart, their
    names stay as they are.
    """
    kept = _kept(table)
    if not kept.all():
        table = _only(table, kept)
    if not (names := _names(table)):
        return table, ()
    subject = np.array(
        [names.get((int(boot), str(old)), old) for boot, old in zip(table.boot, table.subject, strict=True)],
        dtype=object,
    )
    renamed = tuple(_renamed(table, subject))
    return replace(table, subject=subject), renamed


def _text(table: Table, field: str) -> Words:
    return table.texts.get(field, np.full(len(table), None, dtype=object))


def _kept(table: Table) -> Flags:
    kept: Flags = (_text(table, "subsysnqn") != _DISCOVERY) & (_text(table, "cntrltype") != "discovery")
    return kept


def _only(table: Table, rows: Flags) -> Table:
    """Some rows; a sample of which none is left was taken all the same, as one without subjects."""
    subject = table.subject.copy()
    rest = np.isin(table.seq, table.seq[rows])
    first = np.concatenate(([True], table.seq[1:] != table.seq[:-1]))
    alone = ~rest & first
    subject[alone] = ""
    mine = rows | alone
    blank = alone[mine]
    return replace(
        table, seq=table.seq[mine], tick=table.tick[mine], utc=table.utc[mine], mono=table.mono[mine], boot=table.boot[mine],
        subject=subject[mine],
        numbers={name: np.where(blank, np.nan, values[mine]) for name, values in table.numbers.items()},
        texts={name: _blank(words[mine], blank) for name, words in table.texts.items()},
    )  # fmt: skip


def _blank(words: Words, rows: Flags) -> Words:
    found = words.copy()
    found[rows] = None
    return found


def _names(table: Table) -> Mapping[tuple[int, str], str]:
    """(Boot, name) -> the name under which that controller, or path of a controller, was first seen."""
    columns = [_text(table, field) for field in _IDENTITY]
    known: dict[_Who, str] = {}
    found: dict[tuple[int, str], str] = {}
    rows = list(
        dict.fromkeys(zip(table.boot.tolist(), table.subject, *columns, strict=True))
    )  # few, of very many samples
    for boot, name, *told in rows:
        who = tuple(told)
        if who[1] is None and who[2] is None:
            continue  # a path, or a controller that could not be read
        if known.setdefault(who, name) != found.setdefault((boot, name), known[who]):
            return {}  # one name was two controllers within one boot: nobody tells which lines are whose
    if all(old == new for (_, old), new in found.items()) or not _apart(table, found):
        return {}
    numbers = {(boot, old[4:]): new[4:] for (boot, old), new in found.items()}
    for boot, old, *_ in rows:
        if path := _PATH.fullmatch(old):
            one, two, space = path.groups()
            found[boot, old] = f"nvme{numbers.get((boot, one), one)}c{numbers.get((boot, two), two)}n{space}"
    return found


def _apart(table: Table, names: Mapping[tuple[int, str], str]) -> bool:
    """Whether no two controllers of one sample would have one name."""
    rows = {
        (int(seq), names.get((int(boot), str(name)), str(name)))
        for seq, boot, name in zip(table.seq, table.boot, table.subject, strict=True)
    }
    return len(rows) == len({(int(seq), str(name)) for seq, name in zip(table.seq, table.subject, strict=True)})


def _renamed(table: Table, subject: Words) -> Iterable[Renamed]:
    last: dict[str, int] = {}
    for place, name in enumerate(subject):
        before = last.get(name)
        if (
            before is not None
            and table.boot[before] == table.boot[place]
            and table.subject[before] != table.subject[place]
        ):
            yield Renamed(str(name), before, place)
        last[name] = place
