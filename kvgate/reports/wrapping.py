"""Sentences that wrap in every language: between words, and between Chinese characters, never before a closing mark."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.measure import Measurement
from rich.text import Text

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uff10-\uff5a"
_OPEN, _CLOSE = "（《「“", "，。；：、）》」”！？"
#: A piece that is kept together: opening marks, one wide character or one word, closing marks, blanks.
_PIECE = re.compile(rf"[{_OPEN}]*(?:[{_WIDE}]|[^\s{_WIDE}{_OPEN}{_CLOSE}]+)?[{_CLOSE}]*[ \t]*")


class Sentence(Text):
    """A text that rich may break between any two wide characters too; rich itself breaks at blanks only."""

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """Break into lines of at most ``width`` cells; a piece that is longer is folded."""
        del console, justify, overflow, tab_size, no_wrap
        lines = Lines()
        for paragraph in self.split(allow_blank=True):
            for line in paragraph.divide(_breaks(paragraph.plain, width)):
                line.rstrip()
                lines.append(line)
        return lines

    def __rich_measure__(self, console: Console, options: object) -> Measurement:
        """At least the longest piece, at most the longest line."""
        del console, options
        longest = max((cell_len(line) for line in self.plain.splitlines()), default=0)
        piece = max((cell_len(piece.rstrip()) for piece in _PIECE.findall(self.plain)), default=0)
        return Measurement(piece, longest)


def broken(text: str, width: int) -> list[str]:
    """Return the lines of one paragraph, each at most ``width`` cells."""
    ends = [*_breaks(text, width), len(text)]
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


def _breaks(text: str, width: int) -> list[int]:
    found: list[int] = []
    used = place = 0
    for piece in filter(None, _PIECE.findall(text)):
        cells = cell_len(piece.rstrip())
        if used and used + cells > width:
            found.append(place)
            used = 0
        if cells > width:
            for offset, character in enumerate(piece):
                if used and used + cell_len(character) > width:
                    found.append(place + offset)
                    used = 0
                used += cell_len(character)
        else:
            used += cell_len(piece)
        place += len(piece)
    return found
