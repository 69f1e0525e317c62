"""The journals of a soak in the evidence of a run, read to facts. Live and replayed runs read the same bytes through the same lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from checks.parsers import soak_journal
from checks.phrase import say
from checks.probe import Probe, UnreadableOutput
from checks.soak.facts import HostSoak, condense
from checks.soak.track import gather, track
from kvgate.errors import CannotTell, Unreadable
from kvgate.evidence.store import AskedProbe, StoredFailure
from kvgate.gate.answers import Answers
from kvgate.transport.base import Answer, Batch

#: One segment as it was collected from the host.
SEGMENT = Probe("soak.journal", ("cat", "journal"), soak_journal.parse)

#: Kind of the journal line that says how many segments of a host were taken.
TAKEN = "soak-journal"


class Soaked:
    """Journals kept with a run, by host. What cannot be read is UNDECIDED for that host alone."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._known: dict[str, HostSoak | CannotTell] = {}

    def keep(self, host: str, segments: Iterable[bytes]) -> None:
        """Take a host's segments into the evidence, in order and byte for byte. Raises Unwritable."""
        count = 0
        for count, raw in enumerate(segments, start=1):
            key = _key(count)
            batch = Batch(host, {key: Answer(key, raw, b"", 0, 0.0)})
            asked = {key: AskedProbe(SEGMENT.id, f"cat journal-{count:06d}.jsonl", SEGMENT.level.value)}
            for name, number in self._answers.evidence.keep(batch, asked, 0).items():
                self._answers.keep(host, name, 0, number)
        self._answers.evidence.note(TAKEN, host=host, segments=count)
        self._answers.evidence.sync()
        self._known.pop(host, None)

    def host(self, host: str) -> HostSoak:
        """Return one host's soak. Raises CannotTell: no journal, one that was changed, or one that cannot be read."""
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
        """Evidence numbers of a host's segments."""
        places = (self._answers.place(host, _key(number)) for number in range(1, self._segments(host) + 1))
        return [place for place in places if place is not None]

    def _segments(self, host: str) -> int:
        taken: list[Mapping[str, object]] = [
            line for line in self._answers.evidence.notes(TAKEN) if line.get("host") == host
        ]
        count = taken[-1].get("segments") if taken else 0
        return count if isinstance(count, int) else 0

    def _read(self, host: str) -> HostSoak:
        numbers = self.numbers(host)
        if not numbers:
            raise CannotTell(
                say(
                    "no journal of a soak was collected from {host}: `kvgate soak start`, then `kvgate soak collect`",
                    host=host,
                )
            )

        def segments() -> Iterable[soak_journal.Segment]:
            for number in numbers:
                kept = self._answers.evidence.answer(number)
                if isinstance(kept, StoredFailure):
                    raise kept.error()
                yield soak_journal.parse(kept.stdout.decode("utf-8", "surrogateescape"))

        try:
            found = condense(track(*gather(segments())))
        except UnreadableOutput as error:
            raise Unreadable(
                say("{host}: the journal of the soak cannot be read: {why}", host=host, why=str(error))
            ) from None
        if found.plan.host != host:
            raise CannotTell(say("the journal of {host} is that of {other}", host=host, other=found.plan.host))
        return found


def _key(number: int) -> str:
    return f"soak-journal/{number:06d}"
