"""How far the load of a run is: on a terminal one line that changes, else a line now and then."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Sequence
from typing import IO

from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict
from kvgate.gate.moment import Moment
from kvgate.gate.tried import Ended
from kvgate.reports.messages import Reader, language

_NOW_AND_THEN = 30.0  # seconds between lines where there is no terminal

#: What the long steps of a round are called while they run.
_STEPS = {
    "lay out": say("laying out files"), "fill": say("filling the disk"), "load": say("measuring"), "serve": say("measuring"),
    "write": say("writing"), "save": say("saving"), "verify": say("reading back"), "anew": say("connecting anew"),
}  # fmt: skip


class Load:
    """Tells every round, what it came to, and meanwhile the live number and the time left."""

    def __init__(self, stream: IO[str], *, simulated: bool = False) -> None:
        self._stream, self.read, self._simulated = stream, Reader(language()), simulated
        self._terminal = stream.isatty()
        self._said = 0.0
        self._title: Phrase | None = None
        self._proofs: set[str] = set()

    def __call__(self, moment: Moment) -> None:
        """Tell one moment of a round."""
        read = self.read
        title = read.phrase(moment.title)
        if moment.proof is not None:
            told = self._proof(moment.proof)
            if told not in self._proofs:  # made-up rounds are the same for every arm with the same limits
                self._proofs.add(told)
                self._line([title, told], lasting=True)
            return
        number = self._number(moment)
        if moment.ended is not None:
            told = self._deciding(moment.ended) if moment.decides else self._outcome(moment.ended)
            self._line([number, title, told], lasting=True)
            return
        minutes = math.ceil(moment.left / 60)
        left = read("about {minutes} min of load left", minutes=minutes)
        if self._simulated:
            left = read("about {minutes} min of the rack's own time left (simulated: far fewer here)", minutes=minutes)
        share = moment.done / max(moment.done + moment.left, 1e-9)
        parts = [f"{share:4.0%}", number, title, self._step(moment), read.phrase(moment.live), left]
        # Without a terminal the first round of a load is told, and the others when they are over.
        begins = not self._terminal and moment.elapsed == 0 and moment.title != self._title
        self._title = moment.title
        self._line(parts, lasting=begins, less=(3, 0))

    def _number(self, moment: Moment) -> str:
        if moment.number > moment.of:
            return self.read(
                "round {number} (extra: of the {of} planned some are void or differ too much)",
                number=moment.number, of=moment.of,
            )  # fmt: skip
        return self.read("round {number} of {of}", number=moment.number, of=moment.of)

    def _step(self, moment: Moment) -> str:
        named = _STEPS.get(moment.step)
        if named is None or not moment.elapsed:
            return ""
        return f"{self.read.phrase(named)} {int(moment.elapsed) // 60}:{int(moment.elapsed) % 60:02d}"

    def _proof(self, found: Verdict) -> str:
        """Whether the judgement was shown to be able to fail, before the first round."""
        told = self.read.phrase(found.measured)
        if found.outcome is Outcome.PASS:
            return self.read("the judgement can fail, computed from made-up rounds of fixed input: {shown}", shown=told)
        why = self.read.phrase(found.note)
        return self.read("not measured, the judgement cannot be trusted: {why}", why=why)

    def _outcome(self, ended: Ended) -> str:
        if ended.void is not None:
            return self.read("void: {why}", why=self.read.phrase(ended.void))
        if ended.failed is not None:
            return self.read("could not be told: {why}", why=self.read.phrase(ended.failed.phrase))
        brief = getattr(ended.fact, "brief", None)
        return self.read("measured") if brief is None else self.read.phrase(brief)

    def _deciding(self, ended: Ended) -> str:
        """A round by which the gate is lost, said so at once: hours of load may follow that change nothing about it."""
        why = self._outcome(ended) if ended.failed is None else self.read.phrase(ended.failed.phrase)
        return self.read("decides: STOP: {why} (neither another round nor a new attempt takes that back)", why=why)

    def _line(self, parts: list[str], *, lasting: bool, less: Sequence[int] = ()) -> None:
        """Write a line; ``less`` are the parts that a narrow terminal goes without, in this order."""
        now = time.monotonic()
        if not lasting and not self._terminal and now - self._said < _NOW_AND_THEN:
            return
        self._said = now
        line = f"  {'  '.join(part for part in parts if part)}"
        if self._terminal:
            from rich.cells import cell_len, set_cell_size  # as wide as a terminal shows it, Chinese too

            width = shutil.get_terminal_size().columns - 1
            for place in less:
                if cell_len(line) > width:
                    parts[place] = ""
                    line = f"  {'  '.join(part for part in parts if part)}"
            line = f"\r\x1b[K{set_cell_size(line, width).rstrip()}" + ("\n" if lasting else "")
        else:
            line += "\n"
        self._stream.write(line)
        self._stream.flush()
