"""Is a folder of evidence still what was written? Every line, every blob; all that is wrong at once, each by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kvgate.codec import Seal, digest
from kvgate.errors import Damaged
from kvgate.evidence.blobs import Blobs, merkle_root
from kvgate.evidence.chain import scan
from kvgate.evidence.packing import references
from kvgate.evidence.record import read_batch, read_question

#: Seconds by which a clock may be corrected between two lines.
CORRECTION = 2.0


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """Result of a full check. ``strays`` are blobs that no line names: harmless leftovers of a crash.

    ``set_back`` names lines whose UTC went backwards: no damage by itself, an auditor wants to know.
    """

    run: str
    lines: int
    head: str
    root: str
    blobs: int
    strays: int
    problems: tuple[str, ...]
    set_back: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_folder(folder: Path, seal: Seal | None = None) -> EvidenceCheck:
    """Check one run's folder, against its seal if one is known; writes nothing, raises nothing for bad content.

    Without a seal, an end that was cut off at a line's end or a changed last line cannot be noticed; with it they are.
    """
    problems: list[str] = []
    named: dict[str, int] = {}
    run, head, count, clock = "", "", 0, ("", 0.0)
    set_back: list[str] = []
    wall: tuple[str, float, datetime] | None = None
    sealed_head = ""
    sealed: set[str] = set()
    try:
        with (folder / "journal.jsonl").open("rb") as stream:
            for line in scan(stream):
                count = line.number
                head = digest(line.raw)
                if line.flaw:
                    problems.append(f"line {line.number} {line.flaw}")
                run = str(line.record.get("run", "")) if line.number == 1 else run
                clock = _clock(line.number, line.record, clock, problems)
                wall = _wall(line.number, line.record, wall, set_back)
                _content(line.number, line.record, named, problems)
                if seal is not None and line.number == seal.lines:
                    sealed_head, sealed = head, set(named)
    except OSError as error:
        problems.append(f"the journal cannot be read: {error.strerror}")
    if not count:
        problems.append("the journal is empty")
    blobs = Blobs(folder / "blobs")
    for name, size in named.items():
        try:
            blobs.read(name, size)
        except Damaged as error:
            problems.append(str(error))
    if seal is not None:
        problems += _against(seal, count, sealed_head, merkle_root(sealed))
    strays = sum(1 for path in (folder / "blobs").glob("*/*.gz") if path.parent.name + path.stem not in named)
    return EvidenceCheck(run, count, head, merkle_root(named), len(named), strays, tuple(problems), tuple(set_back))


def _against(seal: Seal, count: int, head: str, root: str) -> list[str]:
    if count < seal.lines:
        return [f"{seal.lines - count} lines are missing at the end: {count} are there, {seal.lines} were sealed"]
    found = []
    if head != seal.head:
        found.append(f"line {seal.lines} is not the one that was sealed: it or a line before it was changed")
    if root != seal.root:
        found.append("the blobs named are not the ones that were sealed")
    return found


def _clock(number: int, record: Mapping[str, object], before: tuple[str, float], found: list[str]) -> tuple[str, float]:
    """Monotonic time never runs backwards within one boot of the operator's machine."""
    boot, now = record.get("boot"), record.get("monotonic")
    if not isinstance(boot, str) or not isinstance(now, (int, float)):
        return before
    if boot and boot == before[0] and now < before[1]:
        found.append(f"line {number} is older than the line before it ({now:.6f} s < {before[1]:.6f} s, same boot)")
    return boot, float(now)


def _wall(
    number: int, record: Mapping[str, object], before: tuple[str, float, datetime] | None, found: list[str]
) -> tuple[str, float, datetime] | None:
    """Between two lines of one boot UTC goes on as monotonic time does; across boots it may only grow.

    It may go on faster: monotonic time stands still while a laptop sleeps.
    """
    boot, monotonic, utc = record.get("boot"), record.get("monotonic"), record.get("utc")
    try:
        now = datetime.fromisoformat(str(utc))
    except ValueError:
        return before
    if now.tzinfo is None or not isinstance(boot, str) or not isinstance(monotonic, (int, float)):
        return before
    if before is not None:
        went = (now - before[2]).total_seconds()
        due = float(monotonic) - before[1] if boot == before[0] and boot else 0.0
        if went < due - CORRECTION:
            found.append(f"line {number}: the clock was set back by {due - went:.0f} s, to {utc}")
    return boot, float(monotonic), now


def _content(number: int, record: Mapping[str, object], named: dict[str, int], found: list[str]) -> None:
    try:
        if record.get("kind") in ("answer", "failure"):
            read_question(record, Blobs(Path()))
        elif record.get("kind") == "batch":
            read_batch(record)
        for name, size in references(record):
            if len(name) != 64 or set(name) - set("0123456789abcdef"):
                found.append(f"line {number} names a blob {name!r:.80}, which is no SHA-256")
            elif named.setdefault(name, size) != size:
                found.append(
                    f"line {number} says that blob {name[:12]} has {size} bytes, an earlier line {named[name]}"
                )
    except Damaged as error:
        found.append(f"line {number} cannot be read: {error}")
