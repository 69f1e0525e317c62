"""YAML 1.2 read strictly: plain data plus the line and column of every key and value. Nothing is guessed, nothing repeated.

ruamel.yaml was chosen over PyYAML (YAML 1.1: ``no`` is false, ``52:54:05`` is a number) and strictyaml (no aliases, no
numbers). Only its composer is used, so that plain scalars keep their own spelling.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from checks.phrase import Phrase, say
from kvgate.errors import BadInput, Fault, because
from kvgate.inventory.syntax import complaint
from kvgate.mask import Masker

Key = tuple[str | int, ...]
_LIMIT_BYTES = 4 * 2**20
_LIMIT_NODES = 200_000
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+", re.ASCII)
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


class Spelled(int):
    """A whole number that remembers how it was written (``0555567``), for the message that refuses it as text."""

    text: str

    def __new__(cls, value: int, text: str) -> Spelled:
        """Keep the number and its spelling."""
        number = super().__new__(cls, value)
        number.text = text
        return number


@dataclass
class Document:
    """A file read: its data, and where each key path stands. ``keys`` holds the place of the key, ``values`` of the value."""

    file: str
    text: str
    data: Any = None
    keys: dict[Key, tuple[int, int]] = field(default_factory=dict)
    values: dict[Key, tuple[int, int]] = field(default_factory=dict)
    spelled: dict[Key, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, path: Key, found: Phrase | str, wanted: Phrase | str, *, key: bool = False) -> Fault:
        """Build a fault at ``path``; a path that is not there is placed at its nearest parent."""
        table = self.keys if key else self.values
        for length in range(len(path), -1, -1):
            if (place := table.get(path[:length]) or self.values.get(path[:length])) is not None:
                return Fault(self.file, place[0], place[1], _dotted(path), found, wanted)
        return Fault(self.file, 0, 0, _dotted(path), found, wanted)


def _dotted(path: Key) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "file"


def read(path: FilePath, absent: Phrase | None = None) -> Document:
    """Read one file; duplicate keys stand in ``faults``. Raises BadInput with the place of the first syntax error.

    ``absent`` is what is wanted of a file that is not there, where more can be said of it.
    """
    file = str(path).encode("utf-8", "backslashreplace").decode()
    try:
        raw = _content(path)
        if raw is None:
            raise _whole(file, say("a folder, pipe or device"), say("a regular file"))
        text = raw.decode("utf-8")
    except OSError as error:
        wanted = absent if isinstance(error, FileNotFoundError) else None
        raise _whole(file, because(error), wanted or say("a readable file")) from None
    except UnicodeDecodeError as error:
        found = say("byte {byte:#04x} at offset {offset}", byte=error.object[error.start], offset=error.start)
        raise _whole(file, found, say("UTF-8 text")) from None
    if len(raw) > _LIMIT_BYTES:
        raise _whole(file, say("more than {count} bytes", count=_LIMIT_BYTES), say("a smaller file"))
    return parse(text, file)


def agreed(path: FilePath, absent: Phrase | None = None) -> Document:
    """Read a file that evidence must keep word for word: what looks like a secret is a fault too. Raises BadInput."""
    document = read(path, absent)
    document.faults += _secrets(document)
    return document


def _secrets(document: Document) -> Iterator[Fault]:
    """What looks like a secret, without repeating it: evidence would mask it, and would keep another text than was agreed."""
    wanted = say(
        "nothing that looks like one, in comments too: evidence keeps no secret, and a document that it does not keep word for word "
        "can never be certified; write it otherwise, or leave it out"
    )
    for line, column in Masker().places(document.text):
        yield Fault(document.file, line, column, "text", say("what looks like a secret"), wanted)


def _content(path: FilePath) -> bytes | None:
    """Read a regular file, never more than a byte beyond the limit; None for what is none: a pipe is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMIT_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _whole(file: str, found: Phrase | str, wanted: Phrase, where: str = "file") -> BadInput:
    return BadInput((Fault(file, 0, 0, where, found, wanted),))


def parse(text: str, file: str) -> Document:
    """Read YAML text; ``file`` is the name used in faults."""
    document = Document(file, text)
    yaml = YAML(typ="safe", pure=True)
    try:
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        line, column, found, wanted = complaint(error, text)
        raise BadInput((Fault(file, line, column, "syntax", found, wanted),)) from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise _whole(
            file,
            say("what cannot be read as YAML 1.2: {why}", why=str(error).splitlines()[0]),
            say("YAML 1.2"),
            "syntax",
        ) from None
    if node is None:
        raise _whole(file, say("nothing"), say("a YAML mapping"))
    reader = _Reader(document)
    try:
        document.data = reader.build(node, ())
    except RecursionError:
        raise _whole(file, say("nesting without end"), say("a finite document")) from None
    document.faults = reader.faults
    return document


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.faults: list[Fault] = []
        self.nodes = 0

    def build(self, node: Node, path: Key) -> Any:
        self.nodes += 1
        if self.nodes > _LIMIT_NODES:
            raise BadInput(
                (self.document.fault((), say("more than {count} values", count=_LIMIT_NODES), say("a smaller file")),)
            )
        self.document.values[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if isinstance(node, MappingNode):
            return dict(self._pairs(node, path))
        if isinstance(node, SequenceNode):
            return tuple(self.build(item, (*path, index)) for index, item in enumerate(node.value))
        return self._scalar(node, path)

    def _pairs(self, node: MappingNode, path: Key) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line, column = key_node.start_mark.line + 1, key_node.start_mark.column + 1
            if not isinstance(key_node, ScalarNode):
                self.faults.append(
                    Fault(self.document.file, line, column, _dotted(path), say("a complex key"), say("a text key"))
                )
                continue
            key = str(key_node.value)
            if key in seen:
                self.faults.append(
                    Fault(
                        self.document.file,
                        line,
                        column,
                        _dotted((*path, key)),
                        say("the key a second time (first on line {line})", line=seen[key]),
                        say("each key once"),
                    )
                )
                continue
            seen[key] = line
            self.document.keys[(*path, key)] = (line, column)
            yield key, self.build(value_node, (*path, key))

    def _scalar(self, node: Node, path: Key) -> Any:
        text = str(node.value)
        if getattr(node, "style", None) in ("'", '"', "|", ">"):
            return text
        self.document.spelled[path] = text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INT.fullmatch(text):
            return Spelled(int(text), text) if len(text) < 20 else text
        if _FLOAT.fullmatch(text):
            return float(text)
        if re.fullmatch(r"[-+]?[0-9]+", text, re.ASCII):
            return Spelled(int(text[:20]), text)  # leading zero: refused as a number and as text alike
        return text
