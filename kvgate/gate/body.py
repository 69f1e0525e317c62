"""A gate test as it is called: the body, and what it is given."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from checks.decision import Owed
from checks.phrase import say
from kvgate.errors import CannotTell
from kvgate.gate import options
from kvgate.gate.ask import Asker
from kvgate.inventory.subjects import Thing


@dataclass(frozen=True, repr=False)  # pytest shows arguments of every frame: never a whole rack for each
class GateTest:
    """One gate test on one subject: the callable and the names of its parameters."""

    owed: Owed
    thing: Thing
    body: Callable[..., None]
    parameters: tuple[str, ...]

    def arguments(self, ask: Asker, terms: Mapping[str, Any], decide_: Any, declared: Any) -> dict[str, Any]:
        """Fill the parameters; the one that is none of ours is the subject."""
        known = {
            "ask": ask, "measure": ask.measure, "baseline": ask.baseline, "soak": ask.soak, "starts": ask.starts,
            "arrival": ask.arrival, "terms": terms, "decide": decide_, "declared": declared,
        }  # fmt: skip
        return {name: known.get(name, self.thing) for name in self.parameters}


@cache
def bodies(gate: str) -> dict[str, Callable[..., None]]:
    """Clause id -> gate test of a gate, as the package of gate tests holds them, whatever a run chose of them."""
    package = importlib.import_module(f"{options.gates_root().name}.{options.GATES[gate]}")
    found: dict[str, Callable[..., None]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        for name, body in vars(importlib.import_module(f"{package.__name__}.{info.name}")).items():
            for mark in getattr(body, "pytestmark", []) if name.startswith("test_") else ():
                if mark.name == "clause":
                    found[str(mark.args[0])] = body
    return found


def test_of(owed: Owed, thing: Thing) -> GateTest | None:
    """The gate test of something owed; None where this version has none."""
    body = bodies(owed.clause.partition(".")[0]).get(owed.clause)
    return None if body is None else GateTest(owed, thing, body, tuple(inspect.signature(body).parameters))


class TermsThen(dict[str, Any]):
    """Limits of an agreement that may be older than the gate test that asks for them."""

    def __missing__(self, name: str) -> Any:
        raise CannotTell(
            say("this version decides by a limit {name}, which the agreement of the run does not have", name=name)
        )
