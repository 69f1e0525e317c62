"""The plan of a soak on one host, as the judge reads it from the journal's first line (runbooks/soak-journal.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.lexing import json_document
from checks.probe import UnreadableOutput

#: What may follow an interruption.
POLICIES = ("restart_clock", "resume")


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of samples: ``every`` in seconds of the soak, ``subjects`` those that the plan names (none: all there are)."""

    every: float
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """One load or action; times in seconds of the soak. ``again``: begun anew as soon as it ended. ``every`` 0: once."""

    name: str
    first: float
    every: float
    again: bool
    limit: float
    scheduled: bool
    within: float


@dataclass(frozen=True, slots=True)
class Policy:
    """What an interruption costs: the clock begins anew, or up to ``interruptions`` of ``longest`` seconds are passed over."""

    interruption: str
    interruptions: int
    longest: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What was to be done on one host for ``seconds`` of the soak; ``scale`` is 1 for a soak that counts; ``digest``: of its text."""

    soak: str
    host: str
    role: str
    scale: float
    seconds: float
    streams: Mapping[str, Stream]
    loads: tuple[Load, ...]
    policy: Policy
    digest: str = ""

    @property
    def minutes(self) -> int:
        """Minutes of the plan, a begun one counted."""
        return int(-(-self.seconds // 60))


def parse(text: str) -> Plan:
    """Read the plan, or refuse: a key that is missing, a number that is none, a policy that nobody knows."""
    table = json_document(text)
    if not isinstance(table, dict) or table.get("form") != 1:
        raise UnreadableOutput("the plan of the soak is no plan of form 1")
    policy = _part(table, "policy")
    found = Policy(
        _text(policy, "interruption"), int(_number(policy, "interruptions", 0)), _number(policy, "longest", 0)
    )
    if found.interruption not in POLICIES:
        raise UnreadableOutput(f"the plan's policy is {found.interruption!r}, wanted one of {', '.join(POLICIES)}")
    seconds, scale = _number(table, "seconds"), _number(table, "scale")
    if seconds <= 0 or scale <= 0:
        raise UnreadableOutput(f"the plan has {seconds:g} seconds at scale {scale:g}, wanted both above 0")
    streams = {name: _stream(name, one) for name, one in _part(table, "streams").items()}
    loads = table.get("loads")
    if not isinstance(loads, list):
        raise UnreadableOutput("the plan's loads are no list")
    return Plan(
        soak=_text(table, "soak"),
        host=_text(table, "host"),
        role=_text(table, "role"),
        scale=scale,
        seconds=seconds,
        streams=streams,
        loads=tuple(_load(one) for one in loads),
        policy=found,
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _stream(name: str, table: Any) -> Stream:
    if not isinstance(table, dict):
        raise UnreadableOutput(f"the plan's stream {name} is no object")
    every = _number(table, "every")
    if every <= 0:
        raise UnreadableOutput(f"the plan samples {name} every {every:g} s, wanted above 0")
    subjects: tuple[str, ...] = ()
    for key in ("commands", "units", "paths", "pages"):
        if isinstance(found := table.get(key), (dict, list)):
            subjects += tuple(str(one) for one in found)
    return Stream(every, subjects)


def _load(table: Any) -> Load:
    if not isinstance(table, dict):
        raise UnreadableOutput("a load of the plan is no object")
    return Load(
        name=_text(table, "name"),
        first=_number(table, "first", 0),
        every=_number(table, "every", 0),
        again=table.get("again") is True,
        limit=_number(table, "limit", 0),
        scheduled=table.get("scheduled") is True,
        within=_number(table, "within", 0),
    )


def _part(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key)
    if not isinstance(found, dict):
        raise UnreadableOutput(f"the plan has no {key}")
    return found


def _text(table: Mapping[str, Any], key: str) -> str:
    found = table.get(key)
    if not isinstance(found, str) or not found:
        raise UnreadableOutput(f"the plan has no {key}")
    return found


def _number(table: Mapping[str, Any], key: str, default: float | None = None) -> float:
    found = table.get(key, default)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < 1e12:
        raise UnreadableOutput(f"the plan's {key} is {found!r:.40}, wanted a number that is not negative")
    return float(found)
