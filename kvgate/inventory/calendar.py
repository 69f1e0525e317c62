"""The plan of a campaign in an inventory: its weeks, when each gate is planned, and how long a PASS counts."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field, StrictInt

from kvgate.inventory.base import Days, Strict

#: The gates of a campaign, in order.
GATES = ("G1", "G2", "G3", "G4")


class Planned(Strict):
    """When a gate is planned, both days included, and for how many days after it passed its PASS opens the next gate."""

    start: Annotated[date, Field(strict=False)]
    end: Annotated[date, Field(strict=False)]
    valid: Days = 70


class PlannedGates(Strict):
    """All four gates: a plan without one of them is no plan of the campaign."""

    G1: Planned
    G2: Planned
    G3: Planned
    G4: Planned


class Calendar(Strict):
    """The campaign's weeks, counted from ``begins``, and the gates in them."""

    begins: Annotated[date, Field(strict=False)]
    weeks: Annotated[StrictInt, Field(ge=1, le=104)] = 10
    gates: PlannedGates

    def of(self, gate: str) -> Planned:
        """Return the plan of one gate. Raises KeyError."""
        return {"G1": self.gates.G1, "G2": self.gates.G2, "G3": self.gates.G3, "G4": self.gates.G4}[gate]
