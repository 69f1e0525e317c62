"""From a validation error to faults that a person can act on: place, what was found, what was wanted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from kvgate.errors import Fault
from kvgate.inventory.strict_yaml import Document, Key, Spelled

#: How a fault about a left placeholder begins.
PLACEHOLDER = "the placeholder"

_SHOWN = 3  # places of one fault; the rest is counted

_PATTERNS = {
    r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$": "a PCI address such as 0000:41:00.0 (lower case)",
    r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$": "a MAC address such as b8:3f:d2:10:00:0a (lower case, in quotes)",
    r"^SHA256:[A-Za-z0-9+/]{43}$": "an OpenSSH fingerprint such as SHA256:... (43 characters, ssh-keygen -lf)",
    r"^/[A-Za-z0-9_./:-]*$": "an absolute path of letters, digits and _ . / : -",
    r"^[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]{0,254}$": "an address, a host name or an alias of ssh_config",
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$": "a name of letters, digits and _ . -, at most 63 characters",
}


def faults(error: ValidationError, document: Document, model: type[BaseModel]) -> Iterator[Fault]:
    """Every fault of a validation, in document order of discovery."""
    for item in error.errors(include_url=False):
        path: Key = tuple(part for part in item["loc"] if _in_document(part))
        found, wanted, at_key = _words(item["type"], item, document, path, model)
        yield document.fault(path, found, wanted, key=at_key)


def once_each(found: Iterable[Fault]) -> tuple[Fault, ...]:
    """Faults in the order of the file, each told once: what stands in a profile is wrong in every host of it.

    Where a placeholder was left, what is wrong with its text is no fault of its own.
    """
    places: dict[tuple[int, int], dict[tuple[str, str], list[Fault]]] = {}
    alone: list[Fault] = []
    for fault in sorted(dict.fromkeys(found), key=lambda fault: (fault.line, fault.column)):
        if fault.line:
            words = str(fault.found), str(fault.wanted)
            places.setdefault((fault.line, fault.column), {}).setdefault(words, []).append(fault)
        else:
            alone.append(fault)
    for alike in places.values():
        left = [group for (words, _), group in alike.items() if words.startswith(PLACEHOLDER)]
        alone += [_together(group) for group in left or alike.values()]
    return tuple(alone)


def _together(alike: Sequence[Fault]) -> Fault:
    where = list(dict.fromkeys(fault.where for fault in alike))
    more = f", ... ({len(where)})" if len(where) > _SHOWN else ""
    return replace(alike[0], where=", ".join(where[:_SHOWN]) + more)


def _in_document(part: str | int) -> bool:
    # pydantic names the branch of a union in the location; those words are no keys of the file.
    return isinstance(part, int) or not (
        part.startswith(("literal[", "function-", "constrained-", "nullable")) or part in {"int", "str"}
    )


def _shown(value: Any, document: Document, path: Key) -> str:
    if isinstance(value, bool) or value is None:
        return f"{document.spelled.get(path, value)} (a {'truth value' if value is not None else 'null'})"
    if isinstance(value, (Spelled, int, float)):
        return f"{document.spelled.get(path, value)} (a number)"
    if isinstance(value, (dict, tuple)):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value)


def _words(kind: str, item: Any, document: Document, path: Key, model: type[BaseModel]) -> tuple[str, str, bool]:
    value, context = item["input"], item.get("ctx", {})
    found = _shown(value, document, path)
    if kind == "missing":
        return "nothing", f"the key {path[-1]!r}", False
    if kind == "extra_forbidden":
        known = _known_keys(model, path)
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        wanted = f"{near[0]!r} (known: {', '.join(known)})" if near else f"one of {', '.join(known)}"
        return f"the unknown key {path[-1]!r}", wanted, True
    if kind == "string_type":
        spelled = document.spelled.get(path)
        quoted = f'text; put it in quotes: "{spelled}"' if spelled is not None else "text"
        return found, quoted, False
    if kind == "string_pattern_mismatch":
        return found, _PATTERNS.get(context.get("pattern", ""), f"text like {context.get('pattern')}"), False
    if kind == "literal_error":
        return found, f"one of {context.get('expected')}", False
    if kind in ("int_type", "bool_type", "float_type"):
        return (
            found,
            {"int_type": "a whole number", "bool_type": "true or false", "float_type": "a number"}[kind],
            False,
        )
    if kind == "value_error":
        message = str(context.get("error", item["msg"]))
        before, comma, wanted = message.partition(", wanted ")
        return (before.removeprefix("found "), wanted, False) if comma else (found, message, False)
    wanted = item["msg"].removeprefix("Input should be ").removeprefix("Value should ")
    return found, wanted, False


def _known_keys(model: type[BaseModel], path: Key) -> list[str]:
    here: Any = model
    for part in path[:-1]:
        if isinstance(part, int):
            continue
        annotation = here.model_fields[part].annotation if _is_model(here) and part in here.model_fields else here
        here = _inner(annotation)
    return sorted(here.model_fields) if _is_model(here) else []


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inner(annotation: Any) -> Any:
    if _is_model(annotation):
        return annotation
    for argument in reversed(getattr(annotation, "__args__", ()) or ()):
        if _is_model(found := _inner(argument)):
            return found
    return annotation
