"""What the ledger has of soaks against what lies on the hosts: who was killed between writing and doing goes on where he was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from checks.phrase import Phrase, say
from checks.soak.attempts import Start, fate
from kvgate.codec import digest
from kvgate.errors import NotAllowed
from kvgate.soak.starts import Book


class Begins:
    """One ``kvgate soak start`` against the book as it stood before any host was asked. Raises NotAllowed without a book."""

    def __init__(self, book: Book | None) -> None:
        if book is None:
            raise NotAllowed(say("no soak is started without a ledger to write it down in: --ledger URL"))
        self._book = book
        self._head, self._starts = book.head(), book.starts()

    def start(self, soak: str, plans: Mapping[str, str]) -> None:
        """Write a start down, or refuse where somebody wrote something since the hosts were asked."""
        one = self._starts.of(soak)
        digests = _digests(plans)
        if one is not None and one.open and dict(one.plans) != digests:
            raise NotAllowed(
                say(
                    "{soak} was written down as started ({fate}) and runs on no host; inventory and agreement plan another one now. "
                    "`kvgate soak stop --soak {soak}` gives it up, then start again",
                    soak=soak, fate=fate(one),
                )
            )  # fmt: skip
        self._book.write("start", soak, digests, after=self._head)

    def goes_on(self, soak: str, plans: Mapping[str, str]) -> None:
        """One that runs, and of which a stop is written down that did not come, is started again; of no other is anything written."""
        one = self._starts.of(soak)
        if one is not None and one.started and (one.stopped or one.removed):
            self._book.write("start", soak, _digests(plans), after=self._head)

    def known(self, soak: str, plans: Mapping[str, str]) -> None:
        """One that this machine knows and no host has: its start is written down if it is not yet."""
        one = self._starts.of(soak)
        if one is None or not one.open:
            self._book.write("start", soak, _digests(plans), after=self._head)

    def left(self, there: Collection[str]) -> str | None:
        """The soak that was written down and that no host ever heard of: whoever wrote it was killed."""
        return _left(self._starts.soaks, there)

    def gone(self, there: Collection[str]) -> None:
        """Raises NotAllowed where a soak that ran is on no host any more and nobody wrote down its end."""
        for one in _own(self._starts.soaks)[-1:]:
            if one.open and one.begun and not one.runs and one.soak not in there:
                raise NotAllowed(
                    say(
                        "{soak} ran ({fate}) and no host has it any more, and no end of it is written down: it was removed by hand, or the "
                        "hosts were set up anew. `kvgate soak stop --soak {soak}` writes its end down; `kvgate soak start --anew` begins "
                        "another all the same",
                        soak=one.soak, fate=fate(one),
                    )
                )  # fmt: skip


def left(book: Book, there: Collection[str]) -> str | None:
    """The soak that was written down and that no host ever heard of."""
    return _left(book.starts().soaks, there)


def _left(soaks: Sequence[Start], there: Collection[str]) -> str | None:
    return next((one.soak for one in _own(soaks)[-1:] if one.open and not one.begun and one.soak not in there), None)


def _own(soaks: Sequence[Start]) -> list[Start]:
    """Less those of other campaigns and inventories: they may stand on other hosts."""
    return [one for one in soaks if not one.under]


def begun(book: Book, soak: str) -> None:
    """Write down that every host was seen to run it, once."""
    one = book.starts().of(soak)
    if one is not None and one.started and not one.begun:
        book.write("begun", soak, {})


def stop(book: Book, soak: str) -> None:
    """Write down that a soak is stopped, once; one whose start nobody wrote down too."""
    one = book.starts().of(soak)
    if one is None or not one.stopped:
        book.write("stop", soak, {})


def unwritten(book: Book, soak: str, *, over: bool) -> Phrase | None:
    """That the ledger does not have the start of a soak, or that it has an end which did not come, and what to do."""
    one = book.starts().of(soak)
    if one is None or not one.started:
        return say(
            "the ledger has no start of {soak}: it was begun elsewhere or by hand, and G4 leaves it undecided. Use the ledger that has "
            "its start (--ledger), or end it (`kvgate soak stop`) and start one from here",
            soak=soak,
        )  # fmt: skip
    if one.stopped and not over:
        return say(
            "a stop of {soak} is written down ({utc}) and it has not ended on every host: `kvgate soak stop` ends it, `kvgate soak start` "
            "goes on with it",
            soak=soak, utc=one.stopped[:19],
        )  # fmt: skip
    return None


def _digests(plans: Mapping[str, str]) -> dict[str, str]:
    return {host: digest(str(text)) for host, text in plans.items()}
