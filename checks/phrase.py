"""Sentences that people read, kept as template and values until a report knows the reader's language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def _same(template: str) -> str:
    return template


@dataclass(frozen=True, slots=True)
class Phrase:
    """An English template with named values; ``str()`` is its English text."""

    template: str
    values: tuple[tuple[str, str | int | float | bool | Phrase], ...] = ()

    def render(self, translate: Callable[[str], str] = _same) -> str:
        """Fill the translated template; a translation that lost a placeholder falls back to English."""
        values = {name: v.render(translate) if isinstance(v, Phrase) else v for name, v in self.values}
        try:
            return translate(self.template).format(**values) if self.template else ""
        except (KeyError, IndexError, ValueError, AttributeError, TypeError):
            return self.template.format(**values)

    def __str__(self) -> str:
        return self.render()


def say(template: str, /, **values: str | int | float | bool | Phrase) -> Phrase:
    """Build a :class:`Phrase`; the template must be a literal so that the message catalogue can be extracted."""
    return Phrase(template, tuple(values.items()))


def joined(parts: Sequence[Phrase | str]) -> Phrase:
    """``one; two; three`` as one phrase: the separator is the reader's. Raises IndexError when there is nothing to join."""
    if len(parts) <= 1:
        return plain(parts[0])
    middle = len(parts) // 2
    return say("{first}; {rest}", first=joined(parts[:middle]), rest=joined(parts[middle:]))


def beside(*parts: Phrase | None) -> Phrase | None:
    """Return whatever there is of some remarks as one; None where there is none."""
    found = [part for part in parts if part is not None]
    return joined(found) if found else None


def listed(parts: Sequence[Phrase | str]) -> Phrase:
    """``one, two, three`` as one phrase. Raises IndexError when there is nothing to list."""
    if len(parts) <= 1:
        return plain(parts[0])
    middle = len(parts) // 2
    return say("{first}, {rest}", first=listed(parts[:middle]), rest=listed(parts[middle:]))


def plain(text: Phrase | str) -> Phrase:
    """Return the text as a phrase that no language changes."""
    return text if isinstance(text, Phrase) else say("{text}", text=text)
