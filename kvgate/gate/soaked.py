"""The journals of a soak in the evidence of a run, read to facts. Live and replayed runs read the same bytes through the same lines."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from checks.parsers import soak_journal, soak_state
from checks.phrase import say
from checks.probe import Probe, UnreadableOutput
from checks.soak.facts import HostSoak, condense
from checks.soak.track import gather, track
from kvgate.errors import CannotTell, KvgateError, Unreadable
from kvgate.evidence.store import AskedProbe, Evidence, StoredAnswer, StoredFailure
from kvgate.gate.answers import Answers
from kvgate.gate.collect import replay
from kvgate.mask import MASK
from kvgate.transport.base import Answer, Batch

#: One segment as it was collected from the host.
SEGMENT = Probe("soak.journal", ("cat", "journal"), soak_journal.parse)

#: What the host said of the worker when it was last asked.
STATE = Probe("soak.state", ("kvgate", "soak", "status"), soak_state.parse)
_STATE = "soak-state"

#: From so many bytes on, hosts are read by several processes; so many, that a laptop's memory holds what they read at once.
_LARGE = 64 * 2**20
READERS = 3

#: Kind of the journal line that says how many segments of a host were taken.
TAKEN = "soak-journal"


class Soaked:
    """Journals kept with a run, by host. What cannot be read is UNDECIDED for that host alone."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._known: dict[str, HostSoak | CannotTell] = {}

    def keep(self, host: str, segments: Iterable[bytes], state: bytes | None = None) -> None:
        """Take a host's segments into the evidence, in order and byte for byte, and what it said of the worker. Raises Unwritable."""
        count = 0
        for count, raw in enumerate(segments, start=1):
            asked = AskedProbe(SEGMENT.id, f"cat journal-{count:06d}.jsonl", SEGMENT.level.value)
            self._take(host, _key(count), asked, raw)
        if state is not None:
            self._take(host, _STATE, AskedProbe(STATE.id, "kvgate soak status", STATE.level.value), state)
        self._answers.evidence.note(TAKEN, host=host, segments=count)
        self._answers.evidence.sync()
        self._known.pop(host, None)

    def _take(self, host: str, key: str, asked: AskedProbe, raw: bytes) -> None:
        batch = Batch(host, {key: Answer(key, raw, b"", 0, 0.0)})
        for name, number in self._answers.evidence.keep(batch, {key: asked}, 0).items():
            self._answers.keep(host, name, 0, number)

    def host(self, host: str) -> HostSoak:
        """Return one host's soak. Raises CannotTell: no journal, one that was changed, or one that cannot be read."""
        if not self._known:
            self._read_at_once()
        if host not in self._known:
            try:
                self._known[host] = self._read(host)
            except CannotTell as error:
                self._known[host] = error
        found = self._known[host]
        if isinstance(found, CannotTell):
            raise found
        return found

    @property
    def known(self) -> dict[str, HostSoak]:
        """Hosts whose journal was asked for and could be read."""
        return {host: found for host, found in self._known.items() if isinstance(found, HostSoak)}

    def numbers(self, host: str) -> list[int]:
        """Evidence numbers of a host's segments, then of what it said of the worker."""
        state = self._state(host)
        return [*self._places(host), *([] if state is None else [state])]

    def _places(self, host: str) -> list[int]:
        places = (self._answers.place(host, _key(number)) for number in range(1, self._segments(host) + 1))
        return [place for place in places if place is not None]

    def _state(self, host: str) -> int | None:
        return self._answers.place(host, _STATE)

    def _read_at_once(self) -> None:
        """Read all hosts side by side where there is much to read; what a process could not read is read again here, and says why."""
        evidence = self._answers.evidence
        hosts = sorted({str(line["host"]) for line in evidence.notes(TAKEN)})
        kept = {host: [evidence.answer(number) for number in self._places(host)] for host in hosts}
        sizes = [one.stdout_blob[1] for answers in kept.values() for one in answers if isinstance(one, StoredAnswer)]
        if len(hosts) < 2 or sum(sizes) < _LARGE:
            return
        evidence.sync()
        readers = min(READERS, len(hosts), os.cpu_count() or 1)
        with ProcessPoolExecutor(readers, mp_context=get_context("spawn")) as pool:
            jobs = {
                host: pool.submit(_host, evidence.path, host, self._places(host), self._state(host)) for host in hosts
            }
            for host, job in jobs.items():
                with contextlib.suppress(BrokenProcessPool):
                    if (found := job.result()) is not None and found.plan.host == host:
                        self._known[host] = found

    def _segments(self, host: str) -> int:
        taken: list[Mapping[str, object]] = [
            line for line in self._answers.evidence.notes(TAKEN) if line.get("host") == host
        ]
        count = taken[-1].get("segments") if taken else 0
        return count if isinstance(count, int) else 0

    def _read(self, host: str) -> HostSoak:
        numbers = self._places(host)
        if not numbers:
            raise CannotTell(
                say(
                    "no journal of a soak was collected from {host}: `kvgate soak start`, then `kvgate soak collect`",
                    host=host,
                )
            )

        try:
            found = _facts(self._answers.evidence, host, numbers, self._state(host))
        except UnreadableOutput as error:
            raise Unreadable(
                say("{host}: the journal of the soak cannot be read: {why}", host=host, why=str(error))
            ) from None
        if found.plan.host != host:
            raise CannotTell(say("the journal of {host} is that of {other}", host=host, other=found.plan.host))
        return found


def kept(evidence: Evidence) -> dict[str, HostSoak]:
    """What the journals of a run tell, by host; a host whose journal cannot be read is left out. Raises Damaged."""
    soaked = Soaked(replay(evidence))
    for host in sorted({str(line["host"]) for line in evidence.notes(TAKEN)}):
        with contextlib.suppress(CannotTell):
            soaked.host(host)
    return soaked.known


def _facts(evidence: Evidence, host: str, numbers: Iterable[int], state: int | None) -> HostSoak:
    """What segments in the evidence tell, with what the host said of the worker. Raises CannotTell, UnreadableOutput."""

    def segments() -> Iterator[soak_journal.Segment]:
        for number in numbers:
            kept = evidence.answer(number)
            if isinstance(kept, StoredFailure):
                raise kept.error()
            try:
                segment = soak_journal.parse(kept.stdout.decode("utf-8", "surrogateescape"))
            except UnreadableOutput:
                if MASK not in kept.stdout:
                    raise
                raise Unreadable(
                    say(
                        "{host}: the journal of the soak held a secret, which was masked before it was kept: its lines can no longer be "
                        "proved. Take the secret out of what the soak runs and prints, and soak again",
                        host=host,
                    )
                ) from None
            yield segment

    said = None if state is None else evidence.answer(state)
    if isinstance(said, StoredFailure):
        raise said.error()
    with _uncollected():
        story, samples = gather(segments())
        return condense(track(story, samples, None if said is None else soak_state.parse(said.stdout.decode())))


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """No search for cycles meanwhile: a journal makes millions of small tables that have none, and each search walks them all."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


def _host(folder: Path, host: str, numbers: list[int], state: int | None) -> HostSoak | None:
    """The facts of one host, in a process of its own; None where they cannot be told."""
    try:
        return _facts(Evidence.open(folder), host, numbers, state)
    except (KvgateError, UnreadableOutput):
        return None


def _key(number: int) -> str:
    return f"soak-journal/{number:06d}"
