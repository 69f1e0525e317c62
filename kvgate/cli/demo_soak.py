"""The soak of the demo: planned, started and collected as on any rack, on hosts whose hours last a fraction of a second. It says so."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import click

from checks.phrase import say
from kvgate.certificates.trust import CUSTOMER
from kvgate.cli import soak_signing
from kvgate.errors import KvgateError, NotAllowed
from kvgate.gate.start import transport_for
from kvgate.inventory import reader
from kvgate.reports.messages import Reader
from kvgate.soak.control import Control
from kvgate.soak.told import elapsed

#: Times the speed of a real soak: 72 h in 13 s.
SCALE = 20_000.0
_LOOK = 2.0
_PATIENCE = 300.0


def soaked(inventory: Path, soaks: Path, ledger: str, read: Reader) -> None:
    """Soak the embedded rack to the end of its plan, its start signed with the customer's key of the demo, where there is one.

    Raises KvgateError for a host that does not answer, or a soak without an end.
    """
    rack = reader.read(inventory)
    soak = rack.rack.soak
    if soak is None:
        raise NotAllowed(
            say("the inventory says nothing of a soak: add `soak` (inventories/README.md has every field)")
        )
    hours = (soak.duration + soak.spare) / 3600
    click.echo(
        read(
            "G4, simulated and TIME-SCALED: {hours:g} h of soak at {scale:g} times the speed, {seconds:.0f} s; samples are a "
            "quarter of an hour apart where a rack takes them each 10 s, and the journals are made up by the embedded hosts. It proves "
            "nothing of time",
            hours=hours, scale=SCALE, seconds=hours * 3600 / SCALE,
        ),
        err=True,
    )  # fmt: skip
    key = inventory.parent / "keys" / CUSTOMER
    whose = CUSTOMER if key.is_file() else None
    with (
        soak_signing.book(rack, ledger, key if whose else None, whose, None) as book,
        contextlib.closing(transport_for(rack)) as transport,
    ):
        control = Control(rack, transport, soaks, book)
        store, _ = control.attach(SCALE)
        told = control.start(store)
        until = time.monotonic() + _PATIENCE
        while not control.over(store):
            if (error := next((one.error for one in told if one.error is not None), None)) is not None:
                raise error
            if time.monotonic() > until:
                raise KvgateError(say("the soak of the demo did not come to its end in {limit:.0f} s", limit=_PATIENCE))
            time.sleep(_LOOK)
            told = control.collect(store)
            done = [passed / 3600 for one in told if (passed := elapsed(one.found)) is not None]
            said = read("soak: {done:.0f} of {hours:g} h", done=min([hours, *done]), hours=hours)
            click.echo(f"  {said}", err=True)
