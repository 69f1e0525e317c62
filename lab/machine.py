"""One virtual host: command line -> captured answer. Answers are templates, filled with the host's own serials and names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any, Protocol

from ruamel.yaml import YAML

MACHINES = Path(__file__).parent / "machines"


@dataclass(frozen=True)
class Reply:
    """What a command prints and how it ends. ``delay`` in seconds; ``hang`` never returns; ``cut`` drops the connection."""

    stdout: bytes = b""
    stderr: bytes = b""
    status: int = 0
    delay: float = 0.0
    hang: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Entry:
    """One captured answer as it stands in a machine file."""

    ask: str
    text: str
    stderr: str = ""
    status: int = 0
    later: str | None = None  # stdout from the second time on (counters that move)


@dataclass(frozen=True)
class Edit:
    """One change of a healthy machine, for all commands that match ``ask`` (a regular expression, full match).

    Either ``replace`` pairs (each old text must be there, else the fault is wrong), or a whole new answer.
    ``again`` limits the edit to the second and later times a command is asked.
    """

    ask: str
    replace: tuple[tuple[str, str], ...] = ()
    every: bool = False  # replace every occurrence, else the first
    stdout: str | None = None
    stderr: str | None = None
    status: int | None = None
    delay: float = 0.0
    hang: bool = False
    cut: bool = False
    again: bool = False


def load(folders: tuple[str, ...], values: Mapping[str, Any], root: Path = MACHINES) -> dict[str, Entry]:
    """Read all answers of the folders, later folders winning, and fill ``${name}`` from ``values``.

    Raises KeyError for a name without a value and ValueError for a command answered twice in one folder.
    """
    found: dict[str, Entry] = {}
    for folder in folders:
        here: dict[str, Entry] = {}
        for file in sorted((root / folder).glob("*.yaml")):
            for raw in _documents(file):
                entry = _fill(raw, values, file)
                if entry.ask in here:
                    raise ValueError(f"{file}: {entry.ask!r} is answered twice")
                here[entry.ask] = entry
        found |= here
    return found


_cache: dict[Path, list[dict[str, Any]]] = {}


def _documents(file: Path) -> list[dict[str, Any]]:
    if file not in _cache:
        _cache[file] = YAML(typ="safe").load(file.read_text("utf-8")) or []
    return _cache[file]


def _fill(raw: dict[str, Any], values: Mapping[str, Any], file: Path) -> Entry:
    if unknown := raw.keys() - {"ask", "text", "file", "stderr", "status", "later"}:
        raise ValueError(f"{file}: unknown keys {sorted(unknown)}")
    text = (file.parent / raw["file"]).read_text("utf-8") if "file" in raw else raw.get("text", "")

    def fill(template: str) -> str:
        return Template(template).substitute(values)

    return Entry(
        ask=fill(raw["ask"]).strip(),
        text=fill(text),
        stderr=fill(raw.get("stderr", "")),
        status=raw.get("status", 0),
        later=fill(raw["later"]) if "later" in raw else None,
    )


class Answering(Protocol):
    """What a host computes instead of having captured it."""

    def answer(self, line: str) -> Reply | None:
        """Answer one command line; None for a command that is none of its own."""
        ...


@dataclass
class Machine:
    """A host that answers. ``asked`` counts how often each command was seen; ``unknown`` keeps what had no answer.

    ``computed`` answers what no captured text can: load, whose numbers depend on what was done before.
    """

    name: str
    entries: dict[str, Entry]
    edits: tuple[Edit, ...] = ()
    asked: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    computed: Answering | None = None
    _unused: set[Edit] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._unused = set(self.edits)

    @property
    def unused(self) -> set[Edit]:
        """Return edits that never met a command: a fault that breaks nothing proves nothing."""
        return self._unused

    def answer(self, line: str) -> Reply:
        """Answer one command line as this host would, faults included; an unknown tool ends with 127 like a shell."""
        line = line.strip()
        count = self.asked[line] = self.asked.get(line, 0) + 1
        entry = self.entries.get(line)
        if (asked := re.fullmatch(r"command -v ([\w./-]+)", line)) is not None:
            reply = self._where(asked[1])
        elif entry is None and self.computed is not None and (found := self.computed.answer(line)) is not None:
            reply = found
        elif entry is None:
            self.unknown.append(line)
            reply = Reply(stderr=f"sh: 1: {line.split()[0]}: not found\n".encode(), status=127)
        else:
            text = entry.later if entry.later is not None and count > 1 else entry.text
            reply = Reply(text.encode(), entry.stderr.encode(), entry.status)
        for edit in self.edits:
            if re.fullmatch(edit.ask, line, re.DOTALL) and not (edit.again and count == 1):
                self._unused.discard(edit)
                reply = _edited(reply, edit, line)
        return reply

    def _where(self, tool: str) -> Reply:
        """Say where a tool is: a host that answers none of its commands does not have it."""
        entries = [ask for ask in self.entries if ask.split()[0] == tool]
        gone = [edit.ask for edit in self.edits if edit.status == 127]
        there = any(not any(re.fullmatch(ask, entry, re.DOTALL) for ask in gone) for entry in entries)
        path = tool if "/" in tool else f"/usr/sbin/{tool}"
        return Reply(f"{path}\n".encode()) if there else Reply(status=127)


def _edited(reply: Reply, edit: Edit, line: str) -> Reply:
    text = reply.stdout.decode("utf-8", "surrogateescape") if edit.stdout is None else edit.stdout
    for old, new in edit.replace:
        if old not in text:
            raise ValueError(f"fault edit finds no {old!r} in the answer of {line!r}")
        text = text.replace(old, new) if edit.every else text.replace(old, new, 1)
    return replace(
        reply,
        stdout=text.encode("utf-8", "surrogateescape"),
        stderr=reply.stderr if edit.stderr is None else edit.stderr.encode(),
        status=reply.status if edit.status is None else edit.status,
        delay=max(reply.delay, edit.delay),
        hang=reply.hang or edit.hang,
        cut=reply.cut or edit.cut,
    )
