"""Where a gate run gets the journals of a soak from: the workers on the hosts, by way of what was collected here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kvgate.errors import KvgateError
from kvgate.gate.options import DEFAULT_SOAKS
from kvgate.inventory.reader import Inventory
from kvgate.soak.control import Control
from kvgate.transport.base import Transport

Journals = Callable[[str], Iterable[bytes]]


def journals(inventory: Inventory, transport: Transport, *, start: bool) -> tuple[Journals | None, list[str]]:
    """Start the soak or attach to the one that runs (``start``), collect what is new, and give each host's segments.

    Again and again this comes to the same: what runs goes on, what was collected stays. What did not succeed is told, and the
    clauses say what they lack; None where there is no soak at all.
    """
    root = Path(os.environ.get("KVGATE_SOAKS") or DEFAULT_SOAKS)
    control = Control(inventory, transport, root)
    told: list[str] = []
    try:
        if start:
            store, _ = control.attach()
            control.start(store)
        else:
            found = control.known()
            if found is None:
                return None, told
            store = found
        told += [f"{one.host}: {one.error}" for one in control.collect(store) if one.error is not None]
    except KvgateError as error:
        told.append(str(error))
        if (known := control.known()) is None:
            return None, told
        store = known

    def segments(host: str) -> Iterable[bytes]:
        for _, path in store.copy(host).segments():
            yield path.read_bytes()

    return segments, told
