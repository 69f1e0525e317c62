"""The evidence of one run: ``<root>/<run>/journal.jsonl`` and ``blobs/``. Bytes are kept here before anybody reads them.

A folder judges itself on another machine: its first line holds copies of inventory, agreement and versions.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from checks.phrase import say
from kvgate.codec import Seal, phrase_to_json
from kvgate.errors import CannotTell, HostKeyRefused, NotAllowed, Unwritable
from kvgate.evidence.blobs import Blobs, merkle_root
from kvgate.evidence.check import EvidenceCheck, check_folder
from kvgate.evidence.durable import flush_folder, unwritable
from kvgate.evidence.journal import Journal
from kvgate.evidence.packing import pack, reference, references, unpack
from kvgate.evidence.record import (
    AskedProbe,
    Start,
    StoredAnswer,
    StoredBatch,
    StoredFailure,
    read_batch,
    read_question,
)  # fmt: skip
from kvgate.evidence.surroundings import surroundings
from kvgate.mask import Masker
from kvgate.transport.base import Answer, Batch

__all__ = ["AskedProbe", "Evidence", "Start", "StoredAnswer", "StoredBatch", "StoredFailure", "begun", "unbegun"]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
_QUESTIONS = ("answer", "failure")


class Evidence:
    """One run's folder, open. Safe to use from several threads; one process at a time may write."""

    def __init__(self, folder: Path, journal: Journal, masker: Masker) -> None:
        self.path = folder
        self.masker = masker
        self._journal = journal
        self._blobs = Blobs(folder / "blobs")
        self._turn = threading.RLock()

    @classmethod
    def create(cls, root: Path, run: str, start: Mapping[str, object], *, masker: Masker | None = None) -> Evidence:
        """Begin the evidence of a run, durably. Long texts and bytes in ``start`` are kept as blobs.

        Raises ValueError for a run id that is no file name, NotAllowed when the run has evidence already, Unwritable.
        """
        if _RUN.fullmatch(run) is None:
            raise ValueError(f"found run id {run!r}, wanted letters, digits and _ . -")
        folder = root / run
        try:
            root.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
        except FileExistsError as error:
            raise NotAllowed(
                say("there is evidence of a run {run} already: {folder}", run=run, folder=str(folder))
            ) from error
        except OSError as error:
            raise unwritable(error, "evidence (folder)", folder) from error
        masker = masker or Masker()
        try:
            blobs = Blobs(folder / "blobs")
            fields, masked = masker.mask_value({"surroundings": surroundings(), **start})
            contents: list[bytes] = []
            packed = pack(fields, contents)
            blobs.keep(contents)
            journal = Journal.create(folder / "journal.jsonl", run, _fields(packed, masked))
            flush_folder(root)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise unwritable(error, "evidence (folder)", folder) from error
        except Unwritable:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(folder, journal, masker)

    @classmethod
    def open(cls, path: Path, *, write: bool = False, masker: Masker | None = None) -> Evidence:
        """Open a run's folder. With ``write`` it is locked and a cut last line is repaired (see :attr:`repaired`).

        Raises NotAllowed (no such folder, another writer), Damaged naming the line that breaks the chain, Unwritable.
        """
        return cls(path, Journal.open(path / "journal.jsonl", write=write), masker or Masker())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def run(self) -> str:
        """Id of the run, from the first line."""
        return str(self._journal.line(1)["run"])

    @property
    def start(self) -> Start:
        """What was passed to :meth:`create`: texts and bytes as they were, tuples as lists. Raises Damaged."""
        found = unpack(self._journal.line(1), self._blobs)
        assert isinstance(found, dict)  # noqa: S101 - a line is an object, the journal has verified that
        return Start(found)

    @property
    def repaired(self) -> int:
        """How many bytes of an unfinished last line were moved aside when this was opened for writing."""
        return self._journal.repaired

    def keep(self, batch: Batch, asked: Mapping[str, AskedProbe], sample: int) -> dict[str, int]:
        """Keep all that one host answered, or why it did not, and return each key's line number.

        Raises KeyError when a key was not asked for, Unwritable; then none of the batch counts.
        """
        contents: list[bytes] = []
        host = {"host": batch.host, "host_key": batch.host_key, "boot_id": batch.boot_id, "sample": sample}
        clock = None if batch.clock is None else [batch.clock.low, batch.clock.high]
        times = {
            "started_utc": batch.started_utc,
            "started_monotonic": batch.started_monotonic,
            "seconds": batch.seconds,
        }
        notes, masked = self.masker.mask_value(list(batch.notes))
        lines: list[tuple[str, Mapping[str, object]]] = []
        lines.append(("batch", {**host, **times, "clock": clock, "notes": notes, **_count(masked)}))
        for key, answer in batch.answers.items():
            probe = asked[key]
            line, masked = self.masker.mask_text(probe.line)
            question = {
                **host, "key": key, "probe": probe.probe, "line": line, "level": probe.level,
                "asked_at": batch.started_monotonic,
            }  # fmt: skip
            if isinstance(answer, Answer):
                lines.append(("answer", {**question, **self._answer(answer, probe, contents, masked)}))
            else:
                lines.append(("failure", {**question, **self._failure(answer, masked)}))
        with self._turn:
            self._blobs.keep(contents)
            numbers = self._journal.append(lines)
        return dict(zip(batch.answers, numbers[1:], strict=True))

    def note(self, kind: str, **fields: object) -> int:
        """Add a line of another kind (``verdict``, ``decision``, ``note``...) and return its number."""
        return self.append_many([(kind, fields)])[0]

    def append_many(self, many: list[tuple[str, Mapping[str, object]]]) -> list[int]:
        """Add several lines in one write, all or none. Raises Unwritable."""
        contents: list[bytes] = []
        lines = []
        for kind, fields in many:
            if kind in ("start", "batch", *_QUESTIONS):
                raise ValueError(f"lines of kind {kind!r} are not notes")
            clean, masked = self.masker.mask_value(fields)
            lines.append((kind, _fields(pack(clean, contents), masked)))
        with self._turn:
            self._blobs.keep(contents)
            return self._journal.append(lines)

    def sync(self) -> None:
        """Return when everything so far is on the disk and reads back; to be called before verdicts are made."""
        with self._turn:
            self._journal.sync()

    def answer(self, seq: int) -> StoredAnswer | StoredFailure:
        """Return what was kept on that line. Raises KeyError for a line that is no question, Damaged."""
        record = self._journal.line(seq)
        if record["kind"] not in _QUESTIONS:
            raise KeyError(seq)
        return read_question(record, self._blobs)

    def answers(self) -> list[StoredAnswer | StoredFailure]:
        """Every question kept, in order; raw bytes are read when looked at. Raises Damaged naming the line."""
        return [read_question(line, self._blobs) for line in self.lines() if line["kind"] in _QUESTIONS]

    def index(self) -> dict[tuple[str, str, int], StoredAnswer | StoredFailure]:
        """Return the questions by host, ask key and sample number; of one asked again, the latest."""
        return {(found.host, found.key, found.sample): found for found in self.answers()}

    def batches(self) -> list[StoredBatch]:
        """Every conversation with a host, in order."""
        return [read_batch(line) for line in self.lines() if line["kind"] == "batch"]

    def notes(self, kind: str) -> list[dict[str, object]]:
        """Return the lines of one kind, long texts and bytes read back."""
        unpacked = (unpack(line, self._blobs) for line in self.lines() if line["kind"] == kind)
        return [found for found in unpacked if isinstance(found, dict)]

    def lines(self) -> Iterator[Mapping[str, object]]:
        """All lines as they stand, the chain verified on the way. Raises Damaged naming the line."""
        return self._journal.lines()

    def head(self) -> str:
        """SHA-256 of the last line: the head of the chain."""
        return self._journal.head

    def seal(self) -> Seal:
        """Return what a decision carries of this evidence as it stands now."""
        with self._turn:
            named = {name for line in self.lines() for name, _ in references(line)}
            return Seal(len(self._journal), self._journal.head, merkle_root(named))

    def verify(self, seal: Seal | None = None) -> EvidenceCheck:
        """Check every line and blob on the disk; all that is wrong at once."""
        return check_folder(self.path, seal)

    def close(self) -> None:
        """Make everything durable and let go of the lock. Raises Unwritable."""
        with self._turn:
            try:
                self._journal.sync()
            finally:
                self._journal.close()

    def _answer(self, answer: Answer, probe: AskedProbe, contents: list[bytes], masked: int) -> dict[str, object]:
        streams = {}
        for name, raw in (("stdout", answer.stdout), ("stderr", answer.stderr)):
            data, found = self.masker.mask(raw)
            contents.append(data)
            streams[name] = reference(data)
            masked += found
        return {
            **streams, "status": answer.status, "seconds": answer.seconds, "truncated": answer.truncated,
            "tool_version": probe.tool_version, **_count(masked),
        }  # fmt: skip

    def _failure(self, error: CannotTell, masked: int) -> dict[str, object]:
        message, found = self.masker.mask_text(str(error))
        presented = error.presented if isinstance(error, HostKeyRefused) else ""
        # Where something was masked, the parts of the sentence might still hold it: the masked text alone is kept.
        phrase = {} if found else {"phrase": phrase_to_json(error.phrase)}
        return {
            "reason": type(error).__name__,
            "message": message,
            **phrase,
            "presented": presented,
            **_count(masked + found),
        }


def _count(masked: int) -> dict[str, object]:
    return {"masked": masked} if masked else {}


def _fields(packed: object, masked: int) -> Mapping[str, object]:
    if not isinstance(packed, Mapping):
        raise TypeError(f"found {type(packed).__name__}, wanted fields by name")
    return {**packed, **_count(masked)}


def begun(folder: Path) -> bool:
    """Whether a run's folder has a journal with a whole first line: without one nobody was asked."""
    try:
        with (folder / "journal.jsonl").open("rb") as stream:
            return stream.readline().endswith(b"\n")
    except OSError:
        return False


def unbegun(folder: Path) -> None:
    """Remove what a process left that died before the first line of a run's journal was whole; anything else stays untouched.

    Raises NotAllowed while that process lives.
    """
    known = {"blobs", "journal.jsonl"}
    if not folder.is_dir() or begun(folder) or any(one.name not in known for one in folder.iterdir()):
        return
    with suppress(FileNotFoundError), (folder / "journal.jsonl").open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NotAllowed(say("another process is beginning the run in {folder}", folder=str(folder))) from error
    shutil.rmtree(folder, ignore_errors=True)
