"""A stored run: where its evidence lies, whether a ledger vouches for it, and which verdicts it came to when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checks.decision import Decision, Owed
from checks.phrase import joined, say
from checks.verdict import Outcome
from kvgate.codec import NO_EVIDENCE, Seal, canonical, parse_object, verdict_from_json, verdict_to_json
from kvgate.errors import Damaged, NotAllowed, Refused, Unwritable
from kvgate.evidence.store import Evidence
from kvgate.gate import code
from kvgate.gate.judged import Judged

if TYPE_CHECKING:
    from kvgate.gate.options import Options
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle

#: Kind of the journal line that holds the verdicts of a run, so that its folder alone can be compared.
VERDICTS = "verdicts"


@dataclass(frozen=True)
class Then:
    """What a run came to when it was made. ``source`` is ``ledger``, ``evidence``, or empty when neither holds verdicts."""

    verdicts: Mapping[Owed, Judged]
    source: str
    vouched: bool
    outcome: Outcome | None
    finished: bool  # False: it ended early, and what it owed is not all there
    version: str
    modules: Mapping[str, str]  # digest of each that judged; empty when the run kept none
    held: bool = False  # the ledger knows the run, sealed or not yet
    owed: frozenset[tuple[str, str]] | None = None  # clause and subject; None: neither ledger nor a whole evidence says


def running(run: RunHandle) -> bool:
    """Whether a process on this machine is writing the run's evidence at this moment."""
    folder = Path(run.evidence)
    if not (folder / "journal.jsonl").is_file():
        return False  # it died before it had a journal to write
    try:
        Evidence.open(folder, write=True).close()
    except NotAllowed:
        return True
    except (Refused, Unwritable):
        return False
    return False


def find_run(options: Options, name: str) -> Path:
    """Evidence folder of a run: a folder, a run id or the beginning of one, below the evidence root or where the ledger says.

    Raises NotAllowed when there is none, or more than one.
    """
    for path in (Path(name), options.evidence / name):
        if (path / "journal.jsonl").is_file():
            return path
    found = sorted(
        path.parent for path in options.evidence.glob("*/journal.jsonl") if path.parent.name.startswith(name)
    )
    if name and len(found) == 1:
        return found[0]
    if name and len(found) > 1:
        raise NotAllowed(
            say(
                "{count} runs below {folder} begin with {name!r}: {first}, {second}, ...; write more of it",
                count=len(found),
                folder=str(options.evidence),
                name=name,
                first=found[0].name,
                second=found[1].name,
            )
        )
    where = _by_ledger(options.ledger, name)
    if where is not None and (where / "journal.jsonl").is_file():
        return where
    found_none = say(
        "found {name!r}, wanted a run below {folder} or a folder with a journal.jsonl: `kvgate runs` lists them, "
        "--evidence names another folder",
        name=name,
        folder=str(options.evidence),
    )
    gone = say("{path}, where the ledger says that it lay, has none", path=str(where))
    raise NotAllowed(joined([found_none, gone]) if where else found_none)


def _by_ledger(ledger: str, name: str) -> Path | None:
    from kvgate.ledger.repository import Ledger

    try:
        return Path(Ledger.open(ledger, write=False).run(name).evidence) if name else None
    except (Refused, Unwritable):
        return None


def then(evidence: Evidence, ledger: str) -> Then:
    """Return what the run came to. Raises NotAllowed when the ledger sealed other evidence than this."""
    from kvgate.ledger.repository import Ledger

    start = evidence.start
    given, held, owing = _NOTHING, False, None
    try:
        book = Ledger.open(ledger, write=False)
        run = book.run(evidence.run)
        held, owing = True, frozenset(item[:2] for item in book.owed(run))
        vouched = _vouched(evidence, book)
        rows = {
            item: Judged(row.verdict, row.basis, row.reason, row.evidence) for item, row in book.recorded(run).items()
        }
        standing = book.outcome(run)
        given = rows, "ledger", vouched, standing.outcome, standing.decided
    except NotAllowed as error:
        if isinstance(error, _SealedOther):
            raise
    except (Refused, Unwritable):
        pass
    if not given[2] and not given[0]:
        mine = _kept(evidence)
        given = mine if mine[1] else given
    if owing is None and given[4]:
        owing = frozenset(item[:2] for item in given[0])
    return Then(*given, version=start.code, modules=code.read(start.modules), held=held, owed=owing)


_Given = tuple[Mapping[Owed, Judged], str, bool, Outcome | None, bool]
_NOTHING: _Given = ({}, "", False, None, False)


class _SealedOther(NotAllowed):
    """The ledger knows the run, with other evidence."""


def _vouched(evidence: Evidence, book: Ledger) -> bool:
    """Tell whether the ledger sealed this evidence of a run that it knows: a folder that was written anew is whole in itself too."""
    entries = [entry for entry in book.decisions(book.run(evidence.run)) if entry.judgement == 1]
    if not entries or not entries[-1].evidence_lines:
        return False
    last = entries[-1]
    check = evidence.verify(Seal(last.evidence_lines, last.evidence_head, last.evidence_root))
    if check.problems:
        raise _SealedOther(
            say(
                "evidence {path} is not what the ledger sealed on {day}: {why}",
                path=str(evidence.path),
                day=str(last.utc),
                why=check.problems[0],
            )
        )
    return True


# ---- verdicts in the evidence itself


def kept(evidence: Evidence, lines: int | None = None) -> Mapping[Owed, Judged]:
    """Return the newest verdicts that stand in the first ``lines`` of the evidence itself; none where it holds none that can be read."""
    return _kept(evidence, lines)[0]


def keep(evidence: Evidence, judged: Mapping[Owed, Judged]) -> None:
    """Write the verdicts of a run into its evidence. Raises Unwritable."""
    rows = [
        [*item, verdict_to_json(one.verdict), list(one.evidence), one.basis, one.reason] for item, one in judged.items()
    ]
    evidence.note(VERDICTS, count=len(rows), rows=canonical({"verdicts": rows}).encode())


def sealed(evidence: Evidence, judged: Mapping[Owed, Judged], kind: str, **fields: object) -> Seal:
    """End a sitting: its verdicts and one line of that kind, all of it read back from the disk. Raises Unwritable where it differs."""
    keep(evidence, judged)
    evidence.note(kind, **fields)
    evidence.sync()
    check = evidence.verify()
    if check.problems or check.head != evidence.head():
        problem = check.problems[0] if check.problems else "its last line is another one"
        what = say("evidence {path} does not read back as written", path=str(evidence.path))
        raise Unwritable(say("{what}: {problem}", what=what, problem=problem))
    return Seal(check.lines, check.head, check.root)


def conclude(
    ledger: Ledger, run: RunHandle, decision: Decision, why: str, evidence: Evidence | None, judged: Mapping[Owed, Judged]
) -> None:  # fmt: skip
    """Store what a run came to, its evidence sealed with it. Raises Unwritable where anything does not read back as it was meant."""
    seal = NO_EVIDENCE
    if evidence is not None:
        told = {"outcome": decision.outcome.value, "verdicts": len(decision.verdicts)}
        seal = sealed(evidence, judged, "decision", **told)
    found = ledger.finish(run, decision, why=why, seal=seal)
    if found is not decision.outcome:
        raise Unwritable(say("the ledger reads {stored} back, not what was written", stored=found))


def _kept(evidence: Evidence, lines: int | None = None) -> _Given:
    """Return the last verdicts that stand in the evidence. What cannot be read is nothing to compare with."""
    try:
        notes, decisions = (
            [one for one in evidence.notes(kind) if lines is None or int(str(one["seq"])) <= lines]
            for kind in (VERDICTS, "decision")
        )
        if not notes:
            return _NOTHING
        found = dict(_row(row) for row in _list(parse_object(_bytes(notes[-1].get("rows"))).get("verdicts")))
        outcome = Outcome(str(decisions[-1].get("outcome"))) if decisions else None
    except (Damaged, ValueError):
        return _NOTHING
    return found, "evidence", False, outcome, bool(decisions)


def _row(row: object) -> tuple[Owed, Judged]:
    clause, subject, blocking, verdict, lines, basis, reason = _list(row)
    numbers = tuple(number for number in _list(lines) if isinstance(number, int))
    return Owed(str(clause), str(subject), blocking is True), Judged(
        verdict_from_json(verdict), str(basis), str(reason), numbers
    )


def _list(found: object) -> list[object]:
    if not isinstance(found, list):
        raise ValueError(f"found {found!r:.80}, wanted a list")
    return found


def _bytes(found: object) -> bytes:
    if not isinstance(found, bytes):
        raise ValueError(f"found {found!r:.80}, wanted bytes")
    return found
