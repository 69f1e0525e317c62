"""From a validation error to faults that a person can act on: place, what was found, what was wanted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from checks.phrase import Phrase, plain, say
from checks.units import UnitError
from kvgate.errors import Fault
from kvgate.inventory.strict_yaml import Document, Key, Spelled

_SHOWN = 3  # places of one fault; the rest is counted

_PATTERNS = {
    r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$": say("a PCI address such as 0000:41:00.0 (lower case)"),
    r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$": say("a MAC address such as b8:3f:d2:10:00:0a (lower case, in quotes)"),
    r"^SHA256:[A-Za-z0-9+/]{43}$": say("an OpenSSH fingerprint such as SHA256:... (43 characters, ssh-keygen -lf)"),
    r"^/[A-Za-z0-9_./:-]*$": say("an absolute path of letters, digits and _ . / : -"),
    r"^[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]{0,254}$": say("an address, a host name or an alias of ssh_config"),
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$": say("a name of letters, digits and _ . -, at most 63 characters"),
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
        left = [group for group in alike.values() if _left(group[0])]
        alone += [_together(group) for group in left or alike.values()]
    return tuple(alone)


def placeholder(text: str) -> Phrase:
    """What is found where somebody still has to decide."""
    return say("the placeholder {text!r}", text=text)


def _left(fault: Fault) -> bool:
    return isinstance(fault.found, Phrase) and fault.found.template == placeholder("").template


def _together(alike: Sequence[Fault]) -> Fault:
    where = list(dict.fromkeys(fault.where for fault in alike))
    more = f", ... ({len(where)})" if len(where) > _SHOWN else ""
    return replace(alike[0], where=", ".join(where[:_SHOWN]) + more)


def _in_document(part: str | int) -> bool:
    # pydantic names the branch of a union in the location; those words are no keys of the file.
    return isinstance(part, int) or not (
        part.startswith(("literal[", "function-", "constrained-", "nullable", "tuple["))
        or part in {"int", "str", "float", "bool"}
    )


def _shown(value: Any, document: Document, path: Key) -> Phrase:
    if value is None:
        return say("{value} (a null)", value=str(document.spelled.get(path, value)))
    if isinstance(value, bool):
        return say("{value} (a truth value)", value=document.spelled.get(path, str(value)))
    if isinstance(value, (Spelled, int, float)):
        return say("{value} (a number)", value=document.spelled.get(path, str(value)))
    if isinstance(value, (dict, tuple)):
        return say("a mapping") if isinstance(value, dict) else say("a list")
    return plain(repr(value))


#: What pydantic wants, by the name of its complaint; what is not here is told in its own English words.
_KINDS = {
    "int_type": say("a whole number"), "bool_type": say("true or false"), "float_type": say("a number"),
    "model_type": say("a mapping"), "dict_type": say("a mapping"), "mapping_type": say("a mapping"),
    "tuple_type": say("a list"), "date_type": say("a date such as 2026-11-30"),
    "date_parsing": say("a date such as 2026-11-30"), "date_from_datetime_parsing": say("a date such as 2026-11-30"),
}  # fmt: skip
_BOUNDS = {
    "greater_than_equal": ("ge", say("at least {bound}", bound="")), "less_than_equal": ("le", say("at most {bound}", bound="")),
    "string_too_short": ("min_length", say("at least {bound} characters", bound="")),
    "string_too_long": ("max_length", say("at most {bound} characters", bound="")),
}  # fmt: skip


def _words(kind: str, item: Any, document: Document, path: Key, model: type[BaseModel]) -> tuple[Phrase, Phrase, bool]:
    value, context = item["input"], item.get("ctx", {})
    found = _shown(value, document, path)
    if kind == "missing":
        return say("nothing"), say("the key {name!r}", name=str(path[-1])), False
    if kind == "extra_forbidden":
        known = _known_keys(model, path)
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        wanted = say("one of {words}", words=", ".join(known))
        if near:
            wanted = say("{name!r} (known: {words})", name=near[0], words=", ".join(known))
        return say("the unknown key {name!r}", name=str(path[-1])), wanted, True
    if kind == "string_type":
        spelled = document.spelled.get(path)
        return (
            found,
            say('text; put it in quotes: "{text}"', text=spelled) if spelled is not None else say("text"),
            False,
        )
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        return found, _PATTERNS.get(pattern, say("text like {pattern}", pattern=pattern)), False
    if kind == "literal_error":
        return found, say("one of {words}", words=str(context.get("expected")).replace(" or ", ", ")), False
    if kind in _KINDS:
        return found, _KINDS[kind], False
    if kind in _BOUNDS and _BOUNDS[kind][0] in context:
        name, wanted = _BOUNDS[kind]
        return found, replace(wanted, values=(("bound", context[name]),)), False
    if kind == "value_error":
        error = context.get("error")
        if isinstance(error, UnitError):
            return error.found, error.wanted, False
        message = str(error or item["msg"])
        before, comma, rest = message.partition(", wanted ")
        return (plain(before.removeprefix("found ")), plain(rest), False) if comma else (found, plain(message), False)
    return found, plain(item["msg"].removeprefix("Input should be ").removeprefix("Value should ")), False


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
