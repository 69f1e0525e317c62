"""The written form of a draft: the inventory's own YAML, each value with the remark that tells a person what to do with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

ORDER, AGREED = "compare with the order", "compare with the agreement"
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*|\d+(?:\.\d+)? [A-Za-z]+(?:/s)?", re.ASCII)
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})

Scalar = str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A value that a host told; ``remark`` says with what it must be compared."""

    value: Scalar
    remark: str = ORDER


@dataclass(frozen=True, slots=True)
class Open:
    """A value that nobody told or that only people decide: written as a placeholder, so that the draft is refused until then."""

    wanted: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a line of its own."""

    text: str


Leaf = Known | Open
Node = Leaf | Sequence["Entry | Remark"] | tuple["Item", ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value: a leaf, a mapping (list of entries) or a list of mappings (tuple of items)."""

    key: str
    value: Node


@dataclass(frozen=True, slots=True)
class Item:
    """One mapping of a list."""

    entries: Sequence[Entry | Remark]


@dataclass(frozen=True, slots=True)
class Decision:
    """One placeholder of a draft: where it stands, what is wanted, why the host did not tell."""

    where: str
    wanted: str
    reason: str


@dataclass
class Page:
    """A draft being written."""

    lines: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def text(self) -> str:
        """Return the whole file."""
        return "\n".join(self.lines) + "\n"

    def comment(self, text: str, depth: int = 0) -> None:
        """Write one line of our own words as a comment."""
        self.lines.append(f"{'  ' * depth}# {text}".rstrip())

    def mapping(self, entries: Iterable[Entry | Remark], depth: int = 0, where: str = "", dash: bool = False) -> None:
        """Write a mapping; ``dash`` puts the dash of a list before its first key."""
        for entry in entries:
            if isinstance(entry, Remark):
                self.comment(one_line(entry.text), depth - dash)
                continue
            lead = "  " * (depth - 1) + "- " if dash else "  " * depth
            self._entry(entry, lead, depth, f"{where}.{entry.key}".lstrip("."))
            dash = False

    def _entry(self, entry: Entry, lead: str, depth: int, where: str) -> None:
        head = f"{lead}{entry.key if _KEY.fullmatch(entry.key) else quoted(entry.key)}:"
        if isinstance(entry.value, Known | Open):
            self.lines.append(f"{head} {self._leaf(entry.value, where)}")
        elif isinstance(entry.value, tuple):
            self.lines.append(head if entry.value else f"{head} []")
            for number, item in enumerate(entry.value):
                self.mapping(item.entries, depth + 2, f"{where}[{number}]", dash=True)
        else:
            self.lines.append(head if any(isinstance(part, Entry) for part in entry.value) else f"{head} {{}}")
            self.mapping(entry.value, depth + 1, where)

    def _leaf(self, leaf: Leaf, where: str) -> str:
        if isinstance(leaf, Known):
            return _remarked(written(leaf.value), leaf.remark)
        wanted = re.sub(r"[<>]", "", one_line(leaf.wanted))
        self.decisions.append(Decision(where, wanted, one_line(leaf.reason)))
        return _remarked(quoted(f"<{wanted}>"), leaf.reason)


def _remarked(text: str, remark: str) -> str:
    return f"{text}  # {one_line(remark)}" if remark else text


def one_line(text: str) -> str:
    """Show a text on one line, with nothing in it that a terminal or a parser of YAML would obey."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def written(value: Scalar) -> str:
    """Write a value as YAML: text is quoted unless it can be nothing but text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(scalar(word) for word in value) + "]"
    return scalar(value)


def scalar(text: str) -> str:
    """Write a text; only plain words stay without quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else quoted(text)


def quoted(text: str) -> str:
    """Write a text in double quotes, as YAML escapes it."""
    return '"' + "".join(_escapes(text)) + '"'


def _escapes(text: str) -> Iterator[str]:
    for letter in text:
        if letter in '"\\':
            yield "\\" + letter
        elif letter.isprintable():
            yield letter
        else:
            yield f"\\U{ord(letter):08x}"
