"""The numbers of G3's clauses as the judgement takes them: what a cell is held to, and what rounds must be to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.serving.cells import Rules
from checks.serving.reconciliation import Tolerances
from checks.serving.site import Site
from checks.serving.validity import Planned


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them. ``stored_percent``: how far the bytes in the store may lie off; ``lag`` seconds the client may be late."""

    least_requests: int
    waves: int
    occupied_percent: float
    clock_step: float
    lag: float
    stored_percent: float
    tolerances: Tolerances
    rules: Rules

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


def limits(terms: Mapping[str, float], site: Site) -> Limits:
    """Take the numbers of a clause. Raises KeyError for one that is not there: none has a default."""
    return Limits(
        least_requests=int(terms["requests"]),
        waves=int(terms["waves"]),
        occupied_percent=terms["occupied"],
        clock_step=terms["clock_step"],
        lag=terms["lag"],
        stored_percent=terms["stored"],
        tolerances=Tolerances(
            sources=terms["sources"],
            device=terms["from_hbm"],
            host=terms["from_dram"],
            stored=terms["from_store"],
            store=terms["store_agrees"],
            block_less=terms["device_less"],
            block_more=terms["device_more"],
            other_block=terms["other_device"],
            rdma_less=terms["port_less"],
            rdma_more=terms["port_more"],
            arms=terms["arms_agree"],
        ),
        rules=Rules(
            seed=site.seed,
            rounds=max(int(terms["rounds"]), site.rounds),
            resamples=int(terms["resamples"]),
            width_points=terms["width"],
            variation_percent=terms["variation"],
            drift_percent=terms["drift"],
            one_void_in=int(terms["one_void_in"]),
        ),
    )
