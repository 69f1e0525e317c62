"""What is said in plain lines, without tables and colours: refusals, one verdict, progress while hosts are asked."""

from __future__ import annotations

import time
from collections import Counter
from typing import IO

from checks.acceptance import Clause
from kvgate.errors import BadInput, CannotTell, Refused
from kvgate.gate.collect import AGAIN
from kvgate.gate.session import Judged
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
    return read("refused before any host was contacted: {reason}", reason=error.phrase)


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
