"""The numbers of a clause as the judgement takes them: what a cell is held to, and what rounds must be to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from checks.phrase import Phrase
from checks.serving.cells import Rules
from checks.serving.reconciliation import Tolerances
from checks.serving.site import Site
from checks.serving.validity import Planned

#: Role of an arm, name of a rate, bytes a second.
Measured = tuple[tuple[str, Phrase, float | None], ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them. ``stored_percent``: how far the bytes in the store may lie off; ``lag`` seconds the client may be late.

    ``measured`` are rates in bytes a second that an arm cannot have read beyond, because they were measured on its device:
    role of the arm, name, rate; None where there should be one and is none.
    """

    least_requests: int
    waves: int
    occupied_percent: float
    clock_step: float
    lag: float
    stored_percent: float
    tolerances: Tolerances
    rules: Rules
    measured: Measured = ()

    def planned(self, site: Site, concurrency: int) -> Planned:
        """What each cell was to be."""
        return Planned(
            concurrency=concurrency,
            tokens_in=site.prompt_tokens,
            tokens_out=site.output_tokens,
            least_requests=self.least_requests,
            waves=self.waves,
            occupied_percent=self.occupied_percent,
            clock_step=self.clock_step,
        )


def limits(terms: Mapping[str, float], site: Site, measured: Measured = ()) -> Limits:
    """Take the numbers of a clause that compares arms. Raises KeyError for one that is not there: none has a default."""
    rules = Rules(
        seed=site.seed,
        rounds=max(int(terms["rounds"]), site.rounds),
        resamples=int(terms["resamples"]),
        width_points=terms["width"],
        variation_percent=terms["variation"],
        drift_percent=terms["drift"],
        one_void_in=int(terms["one_void_in"]),
    )
    found = _cells(terms, rules)
    return replace(found, tolerances=replace(found.tolerances, arms=terms["arms_agree"]), measured=measured)


def alone(terms: Mapping[str, float], site: Site, stores: bool) -> Limits:
    """Take the numbers of a clause about one arm by itself; one that keeps no KV has none about stores. Raises KeyError."""
    rules = Rules(
        seed=site.seed,
        rounds=int(terms["rounds"]),
        variation_percent=terms["variation"],
        step_percent=terms["drift"],
        sure_percent=terms.get("sure", 0.0),
        one_void_in=int(terms["one_void_in"]),
    )
    return _cells(terms, rules) if stores else _load(terms, rules)


def together(terms: Mapping[str, float], site: Site, measured: Measured = ()) -> Limits:
    """Take the numbers of a clause about all nodes at once: of its rounds none is compared with another. Raises KeyError.

    What was ``measured`` on the array arm's device holds for its node, whose name is its role there.
    """
    rules = Rules(seed=site.seed, rounds=int(terms["rounds"]), one_void_in=int(terms["one_void_in"]))
    ceilings = tuple((site.array.host, name, rate) for role, name, rate in measured if role == "array")
    return replace(_cells(terms, rules), measured=ceilings)


def _load(terms: Mapping[str, float], rules: Rules) -> Limits:
    return Limits(
        least_requests=int(terms["requests"]),
        waves=int(terms["waves"]),
        occupied_percent=terms["occupied"],
        clock_step=terms["clock_step"],
        lag=terms["lag"],
        stored_percent=0.0,
        tolerances=Tolerances(sources=terms["sources"], device=terms["from_hbm"]),
        rules=rules,
    )


def _cells(terms: Mapping[str, float], rules: Rules) -> Limits:
    found = _load(terms, rules)
    tolerances = replace(
        found.tolerances,
        host=terms["from_dram"],
        stored=terms["from_store"],
        store=terms["store_agrees"],
        block_less=terms["device_less"],
        block_more=terms["device_more"],
        other_block=terms["other_device"],
        rdma_less=terms["port_less"],
        rdma_more=terms["port_more"],
    )
    return replace(found, stored_percent=terms["stored"], tolerances=tolerances)
