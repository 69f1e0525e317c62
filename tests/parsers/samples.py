"""The data files of the parsers: ``<command>/<version>--<case>.txt`` and the expected reading beside it, ``.json``."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import checks.parsers

ROOT = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """One output of a tool and what must be read from it: ``fact`` or the text that a refusal must hold."""

    command: str
    path: Path = field(repr=False)
    expected: Mapping[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        return f"{self.command}/{self.path.stem}"

    @property
    def raw(self) -> bytes:
        return self.path.read_bytes()

    @property
    def readable(self) -> bool:
        return "fact" in self.expected


def text(raw: bytes) -> str:
    """Decode as the gate does."""
    return raw.decode("utf-8", "backslashreplace")


@cache
def parsers() -> dict[str, Callable[[str], Any]]:
    """Command -> parse function of every parser file."""
    found: dict[str, Callable[[str], Any]] = {}
    for info in pkgutil.iter_modules(checks.parsers.__path__):
        if info.name == "TEMPLATE" or info.name.startswith("_"):
            continue
        module = importlib.import_module(f"checks.parsers.{info.name}")
        assert module.COMMAND not in found, f"{module.COMMAND} has two parsers"
        found[module.COMMAND] = module.parse
    return found


@cache
def samples() -> tuple[Sample, ...]:
    """All samples of all parsers; a text without its reading is left out here and caught by a test of its own."""
    return tuple(
        Sample(command, path, json.loads(path.with_suffix(".json").read_text("utf-8")))
        for command in parsers()
        for path in sorted((ROOT / command).glob("*.txt"))
        if path.with_suffix(".json").exists()
    )


def plain(value: object) -> Any:
    """Turn a fact into what JSON can hold: dataclasses to objects, tuples and sets to lists, keys to text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value
