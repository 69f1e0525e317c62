"""No criterion passes by finding nothing: empty lists, absent values and no subjects are never a PASS without a reason."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

import checks
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Outcome, Verdict

_NUMBERS = "every number of this fact must have been read, and 0 or 1 is a reading like another"
_FLAGS = "every flag of this fact must have been read"
#: Criteria that hold of what looks empty here, with why that is no vacuous truth.
TRUE_OF_NONE: dict[str, str] = {
    "accelerator.paths.reachable_by_adapter": _FLAGS,
    "block.memory.if_told": "it hands on a verdict that was given, and takes a PASS away",
    "block.memory.from_its_disks": "it hands on a verdict that was given, and takes a PASS away",
    "host.clock.clocks_agree": _NUMBERS,
    "host.criteria.kernel_ordered": "the release must have been read; this test hands the same text to both sides",
    "host.settings.iommu_passes_through": "the command line must have been read; no device behind an IOMMU is the answer 'off'",
    "nvme.criteria.few_unsafe_shutdowns": _NUMBERS,
    "nvme.criteria.new": _NUMBERS,
    "nvme.criteria.no_media_errors": _NUMBERS,
    "nvme.criteria.no_warning": _NUMBERS,
    "nvme.criteria.spare_whole": _NUMBERS,
    "nvme.criteria.wholly_allocated": _NUMBERS,
    "raid.mounted.checksummed": _FLAGS,
    "raid.mounted.striped": _NUMBERS,
    "serving.chunk.told": "it hands on a verdict that was given, and takes a PASS away",
    "serving.criteria.drop": _NUMBERS,
    "soak.judging.finished": "it hands on a verdict that was given, and takes a PASS away",
    "serving.criteria.drop_of": "a comparison is made of two valid rounds at least, or not at all",
    "serving.criteria.gain": _NUMBERS,
    "serving.sensitivity.backed": "it hands on a verdict that was given, and takes a PASS away",
}


def criteria() -> Iterator[Callable[..., Verdict]]:
    """Every public function of the checks that gives a verdict."""
    for info in pkgutil.walk_packages(checks.__path__, "checks."):
        if ".parsers" in info.name or info.name in ("checks.verdict", "checks.bounds"):
            continue
        module = importlib.import_module(info.name)
        for name, found in vars(module).items():
            if not name.startswith("_") and inspect.isfunction(found) and found.__module__ == info.name:
                hints = typing.get_type_hints(found)
                if hints.get("return") is Verdict:
                    yield found


def empty(kind: Any, number: int) -> Any:
    """Return the emptiest value of a type: None where it may be, no items, and ``number`` where a number must stand."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if type(None) in arguments else empty(arguments[0], number)
    if origin is typing.Literal:
        return arguments[0]
    if origin is Callable:
        return lambda *_: Verdict.undecided(say("nothing to compare"))
    if origin is Interval:
        return Interval(empty(arguments[0], number), empty(arguments[0], number), 1.0)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return tuple(empty(one, number) for one in arguments)
    whole = origin or kind
    if isinstance(whole, type):
        return _of_type(whole, number)
    raise AssertionError(f"no empty value for {kind!r}")


def _of_type(kind: type, number: int) -> Any:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{one.name: empty(hints[one.name], number) for one in dataclasses.fields(kind)})
    if kind is bool:
        return bool(number)
    if kind in (int, float, Decimal):
        return kind(number)
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    if kind is str or kind.__name__ in ("Phrase", "Hashable", "object"):
        return "" if number == 0 else "x"
    if issubclass(kind, Mapping):
        return {}
    if issubclass(kind, Iterable):
        return ()
    return None  # a protocol: what is absent


def passes(criterion: Callable[..., Verdict]) -> bool:
    hints = typing.get_type_hints(criterion)
    names = list(inspect.signature(criterion).parameters)
    for number in (0, 1):
        try:
            verdict = criterion(**{name: empty(hints[name], number) for name in names})
        except (ValueError, LookupError):
            continue  # refused as a mistake of who asks; the gate makes it undecided
        if verdict.outcome is Outcome.PASS:
            return True
    return False


ALL = {f"{one.__module__.removeprefix('checks.')}.{one.__name__}": one for one in criteria()}


def test_there_are_criteria() -> None:
    assert len(ALL) > 100


@pytest.mark.parametrize("name", sorted(ALL))
def test_nothing_found_is_no_pass(name: str) -> None:
    assert passes(ALL[name]) is (name in TRUE_OF_NONE)
