"""The soak that G4 judges: the one that runs or ran on this rack, started where there is none and load is permitted, then collected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from checks.phrase import Phrase, say
from checks.soak.attempts import Remembered, Starts
from kvgate.errors import CannotTell, NotAllowed, Unwritable
from kvgate.inventory.reader import Inventory
from kvgate.soak.control import Control
from kvgate.soak.starts import Book
from kvgate.soak.store import Copy, Store
from kvgate.soak.told import Told, described
from kvgate.transport.base import Transport


@dataclass(frozen=True, slots=True)
class Journals:
    """What was collected of a soak: called with a host, its segments in order.

    ``remembered``: every start that its hosts know of; ``unasked``: hosts that did not tell.
    """

    store: Store
    remembered: tuple[Remembered, ...] = ()
    unasked: tuple[str, ...] = ()

    def __call__(self, host: str) -> Iterator[bytes]:
        """Read each segment."""
        for _, path in Copy.listed(self.store.path / host):
            yield path.read_bytes()

    def beside(self, starts: Starts) -> Starts:
        """What the ledger has of soaks, with the one that is judged and what hosts remember."""
        return replace(starts, judged=self.store.soak, remembered=self.remembered, unasked=self.unasked)

    def state(self, host: str) -> bytes | None:
        """What the host said of the worker."""
        return self.store.state(host)


def gather(
    inventory: Inventory, transport: Transport, root: Path, book: Book, *, allow_load: bool
) -> tuple[Journals | None, list[Phrase]]:
    """Bring in all that the hosts wrote so far; what stood in the way. None where the rack has no soak at all.

    ``book``: where it is written down that a soak is begun here.

    A soak that is over is judged and never begun anew: that is for ``kvgate soak start``. Raises nothing for a host that does
    not answer: what was collected of it earlier is judged, and its gap is seen there.
    """
    if inventory.rack.soak is None:
        return None, []
    control = Control(inventory, transport, root, book)
    trouble: list[Phrase] = []
    try:
        store = _store(control, allow_load=allow_load)
        if store is None:
            return None, [
                say("no soak runs on this rack: --allow-load lets this gate start one, or `kvgate soak start`")
            ]
        told = control.collect(store)
        if allow_load and any(one.error is None and one.state in ("absent", "vanished") for one in told):
            told = control.start(store)
        trouble += [_why(one) for one in told if one.error is not None or one.state in ("vanished", "damaged")]
        trouble += control.differs(store)
    except (CannotTell, NotAllowed, Unwritable) as error:
        store = control.known()
        trouble.append(error.phrase)
        if store is None:
            return None, trouble
    return Journals(store, control.remembered(), control.untold()), trouble


def _store(control: Control, *, allow_load: bool) -> Store | None:
    """The soak of this rack: running or lying there, or known here; else a new one, if load is permitted. Raises CannotTell, NotAllowed."""
    if (found := control.found()) is not None or not allow_load:
        return found
    store, new = control.attach()
    if new:
        control.start(store)
    return store


def _why(told: Told) -> Phrase:
    if told.error is not None:
        return told.error.phrase
    if told.state == "damaged":
        return say("{host}: {what}", host=told.host, what=described(told))
    return say("{host}: the soak's worker is gone; `kvgate soak start` resumes it", host=told.host)
