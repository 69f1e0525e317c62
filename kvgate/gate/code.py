"""Which code judges: a digest of every module that asks, reads or decides, and which modules a piece of code stands on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from kvgate.codec import canonical, digest, parse_object

#: What a verdict stands on besides its own clause and parsers.
MACHINERY = ("kvgate.agreement", "kvgate.codec", "kvgate.evidence", "kvgate.gate", "kvgate.inventory")

_PACKAGES = ("checks", "gates", *MACHINERY)


@cache
def modules() -> Mapping[str, str]:
    """Module -> SHA-256 of its source. Takes some milliseconds, once a process."""
    found: dict[str, str] = {}
    for path in _sources():
        found[_name(path)] = digest(path.read_bytes())
    return MappingProxyType(found)


def _root() -> Path:
    return Path(str(files("checks"))).parent


def _sources() -> list[Path]:
    found: list[Path] = []
    for name in _PACKAGES:
        place = _root().joinpath(*name.split("."))
        found += place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    return sorted(found)


def _name(path: Path) -> str:
    parts = path.relative_to(_root()).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def written() -> str:
    """All digests as one text, as a run keeps them."""
    return canonical(dict(modules()))


def read(text: str) -> Mapping[str, str]:
    """Inverse of :func:`written`; what is no such text says nothing about any module."""
    try:
        return {name: value for name, value in parse_object(text).items() if isinstance(value, str)}
    except ValueError:
        return {}


def changed(then: Mapping[str, str]) -> frozenset[str]:
    """Modules that are other ones than they were, came, or went; none when nothing was kept of them."""
    now = modules()
    return frozenset(name for name in {*then, *now} if then.get(name) != now.get(name)) if then else frozenset()


def stands_on(names: Iterable[str]) -> frozenset[str]:
    """Return these modules and every module of kvgate that they import, directly or not."""
    found: set[str] = set()
    waiting = [name for name in names if name in modules()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(name)
    return frozenset(found)


@cache
def _imports(name: str) -> tuple[str, ...]:
    path = _root().joinpath(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found: list[str] = []
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return tuple(one for one in found if one in modules())


def used_by(body: Callable[..., Any]) -> frozenset[str]:
    """Return the modules that a function names, besides its own."""
    found: set[str] = set()
    for word in _words(body.__code__):
        thing = body.__globals__.get(word)
        found.add(thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None) or "")
    return frozenset(found & modules().keys()) - {body.__module__}


def _words(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _words(constant)
    return found
