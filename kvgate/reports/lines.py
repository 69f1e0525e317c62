"""What is said in plain lines, without tables and colours: refusals, one verdict, progress while hosts are asked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO

from checks.acceptance import Clause
from checks.phrase import Phrase
from checks.verdict import Outcome
from kvgate.campaign import commands
from kvgate.errors import BadInput, CannotTell, Declined, OutOfOrder, Refused
from kvgate.gate.collect import AGAIN
from kvgate.gate.earlier import Earlier, answers_kept
from kvgate.gate.judged import Judged
from kvgate.gate.session import GateSession
from kvgate.gate.stored import Then
from kvgate.ledger.rows import TAKEN_UP, RunRecord
from kvgate.reports.messages import Reader, language
from kvgate.transport.base import Batch


def refusal(error: Refused) -> str:
    """Why a run was refused, one fault a line, ready for exit status 4."""
    read = Reader(language())
    if isinstance(error, BadInput):
        head = read.ngettext(
            "refused before any host was contacted; {count} fault:",
            "refused before any host was contacted; {count} faults:",
            len(error.faults),
        )
        return "\n".join([head, *(f"  {read.phrase(fault.phrase)}" for fault in error.faults)])
    if isinstance(error, OutOfOrder):
        head = read("refused before any host was contacted; {gate} may not start:", gate=error.gate)
        reasons = (f"  {read.phrase(why)}\n    {read('do: ')}{read.phrase(do)}" for why, do in error.reasons)
        return "\n".join([head, *reasons])
    if isinstance(error, Declined):
        return read("refused: {reason}", reason=error.phrase)
    return read("refused before any host was contacted: {reason}", reason=error.phrase)


def loud(phrase: Phrase | None) -> Iterator[str]:
    """Yield what must not be overlooked when a run begins: that other keys count than those of the first attempt."""
    if phrase is not None:
        yield f"! {Reader(language()).phrase(phrase)}"


def earlier(found: Sequence[Earlier], taken_up: bool) -> Iterator[str]:
    """Yield what became of the runs before this one, or which run is taken up now, and how to go on with one."""
    read = Reader(language())
    for one in found:
        head = read(
            "run {run} (attempt {number}, begun {when} UTC by {who} on {host})",
            run=one.run.id,
            number=one.run.attempt,
            when=one.run.started[:19].replace("T", " "),
            who=one.run.operator,
            host=one.run.host,
        )
        far = read(
            "{stored} of {owed} verdicts are stored, {count} still to be told",
            stored=one.stored,
            owed=one.owed,
            count=one.untold,
        )
        if one.answers is not None:
            far += read(", {answers} answers of hosts too", answers=one.answers)
        if taken_up:
            yield read("goes on with {run}: {far}", run=head, far=far)
        else:
            yield f"{head}{read(': ')}{_fate(one, read)}{read('; ')}{far}"
    if found and not taken_up:
        yield read(
            "this is a new attempt and asks everything; --only-stale goes on with the last run instead of beginning one"
        )


def interrupting() -> str:
    """Return what is said at once when a signal comes: that it was heard, and what happens now."""
    read = Reader(language())
    return read(
        "kvgate: interrupted; what was answered is kept and judged, so that no STOP of it is lost, then the run ends"
    )


def unsigned(resumed: RunRecord | None) -> str:
    """Return what a run without a signed start ticket is good for, and how to sign, in one line; ``resumed``: it was begun before."""
    read = Reader(language())
    if resumed is not None:
        return read(
            "not signed: run {run} was begun without a signed start ticket, and no key can sign it afterwards: it can be shown, but a "
            "PASS of it cannot be certified; for a certificate begin anew, without --only-stale: {command}",
            run=resumed.id,
            command=commands.to_run(resumed.gate),
        )
    return read(
        "not signed: this run can be shown, but a PASS of it cannot be certified; to sign its start ticket: --key FILE --party NAME "
        "(or KVGATE_KEY and KVGATE_PARTY)"
    )


def _fate(one: Earlier, read: Reader) -> str:
    if one.alive:
        return read("another process is at it now")
    if one.run.state == "started" or one.run.why.startswith(TAKEN_UP):
        return read("it never ended: it was killed, its machine went down, or it runs elsewhere")
    if one.run.state == "interrupted":
        return read("it was interrupted: {why}", why=one.run.why)
    return read("it ended UNDECIDED")


def stored(session: GateSession) -> str:
    """What an interrupted run leaves behind, and how to go on with it."""
    read = Reader(language())
    answers = 0 if session.evidence is None else answers_kept(session.evidence.path)
    stops = sum(one.blocking and row.verdict.outcome is Outcome.STOP for one, row in session.judged.items())
    if stops:
        return read(
            "{count} of {owed} verdicts and {answers} answers of hosts are stored; {stops} had come to STOP: that counts as a STOP of "
            "{gate}, and no new attempt takes that back; the same command with --only-stale asks only the rest",
            count=session.kept, owed=len(session.owed), answers=answers, stops=stops, gate=session.gate,
        )  # fmt: skip
    return read(
        "{count} of {owed} verdicts and {answers} answers of hosts are stored, and the gate stays UNDECIDED; the same "
        "command with --only-stale asks only the rest",
        count=session.kept,
        owed=len(session.owed),
        answers=answers,
    )


def unvouched(then: Then, ledger: str, read: Reader) -> str | None:
    """Return the warning that nobody vouches for a folder of evidence, or None where a ledger does."""
    if then.vouched:
        return None
    if then.held:
        return read(
            "the ledger at {ledger} holds this run and has not sealed it yet, because the run has no end so far: what "
            "follows rests on the evidence folder as it is now, and nobody vouches that it is the one that was taken",
            ledger=ledger,
        )
    return read(
        "no ledger at {ledger} sealed this run: what follows rests on the evidence folder alone, and nobody vouches "
        "that it is the one that was taken",
        ledger=ledger,
    )


def one_line(clause: Clause, judged: Judged) -> str:
    """One verdict on one line, for pytest's own report and for JUnit XML."""
    read = Reader(language())
    verdict = judged.verdict
    parts = [read("{outcome}: {text}", outcome=verdict.outcome.value, text=read.text(clause.text).rstrip(".。"))]
    if measured := read.phrase(verdict.measured):
        parts.append(read("measured {value}", value=measured))
    if required := read.phrase(verdict.required):
        parts.append(read("required {value}", value=required))
    if note := read.phrase(verdict.note):
        parts.append(note)
    return read("; ").join(parts)


class Progress:
    """One line a host while the hosts are asked."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.read = Reader(language())
        self._began = time.monotonic()

    def __call__(self, title: str, batch: Batch) -> None:
        """Tell how a host answered in one round."""
        failures = [answer for answer in batch.answers.values() if isinstance(answer, CannotTell)]
        if title == AGAIN and not failures:
            return  # the verdicts are being shown meanwhile
        count = len(batch.answers)
        parts = [self.read("{good} of {count} questions answered", good=count - len(failures), count=count)]
        if failures:
            reason, times = Counter(str(failure) for failure in failures).most_common(1)[0]
            parts.append(f"{times} x {reason}")
        parts += [f"({note})" for note in batch.notes]
        seconds = time.monotonic() - self._began
        self._stream.write(f"  {seconds:5.1f} s  {batch.host:<20} {'  '.join(parts)}\n")
        self._stream.flush()
