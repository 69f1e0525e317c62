"""Which runs of a ledger were on one rack, whatever they called the campaign: by parts that were ordered or that answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvgate.errors import BadInput
from kvgate.inventory import parts
from kvgate.inventory.parts import Part
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, SeenRow

#: Scope of what answered that no inventory orders by its serial.
_CARDS = "accelerators"


class Racks:
    """All runs of a ledger, each with the parts that it has in common with a rack."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.runs = ledger.runs()
        self._texts: dict[str, str] = {}
        for campaign in dict.fromkeys(run.campaign for run in self.runs):
            self._texts |= ledger.inventories(campaign)

    def of(self, run: RunRecord) -> frozenset[Part]:
        """Parts of the rack of a run: what its inventory orders, and the accelerators that answered."""
        return self._ordered(run) | self._cards(run)

    def shared(self, run: RunRecord, wanted: frozenset[Part]) -> frozenset[Part]:
        """Which of these parts belonged to the rack of a run. An inventory that cannot be read at all names none."""
        cards = frozenset(one for one in wanted if one[0] == _CARDS)
        try:
            found = parts.names(self._texts.get(run.inventory_digest, ""), wanted - cards)
        except BadInput:
            found = frozenset()
        return found | (cards & self._cards(run) if cards else frozenset())

    def same(self, wanted: frozenset[Part], *, simulated: bool) -> list[RunRecord]:
        """Return the runs on a rack with one of these parts; the embedded rack is never a real one."""
        return [run for run in self.runs if run.simulated is simulated and self.shared(run, wanted)]

    def attempts(self, run: RunRecord) -> list[RunRecord]:
        """Return every attempt at the same gate before this one: of its campaign, and on its rack under any other name."""
        own = self.of(run)
        return [
            other
            for other in self.runs
            if other.gate == run.gate and other.seq < run.seq
            and (other.campaign == run.campaign or other.fingerprint == run.fingerprint
                 or (other.simulated is run.simulated and self.shared(other, own)))
        ]  # fmt: skip

    def _ordered(self, run: RunRecord) -> frozenset[Part]:
        try:
            return parts.parts(self._texts.get(run.inventory_digest, ""))
        except BadInput:
            return frozenset()

    def _cards(self, run: RunRecord) -> frozenset[Part]:
        return cards(self._ledger.seen(run))


def cards(rows: Iterable[SeenRow]) -> frozenset[Part]:
    """Accelerators that answered, as parts; what could not be told names none."""
    return frozenset(
        parts.part(_CARDS, value) for row in rows if row.scope == _CARDS and not row.untold for value in row.values
    )


def names_of(runs: Sequence[RunRecord], campaign: str) -> list[str]:
    """Return the other names under which there are such runs, oldest first."""
    return [name for name in dict.fromkeys(run.campaign for run in runs) if name != campaign]
