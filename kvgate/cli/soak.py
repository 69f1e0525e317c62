"""``kvgate soak``: the job of 72 hours that outlives this machine; started, looked at, collected and stopped from here."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.live import Live

from checks.phrase import Phrase, say
from checks.soak.attempts import Starts
from kvgate.cli import options, signing, soak_signing, speech
from kvgate.cli.soak_run import run
from kvgate.cli.soak_samples import samples
from kvgate.cli.soak_schedule import schedule
from kvgate.errors import Declined, NotAllowed, Unwritable
from kvgate.gate import options as gate_options
from kvgate.gate.start import transport_for
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.reports import soaking, terminal, watching
from kvgate.reports.messages import Reader, language
from kvgate.soak.control import Control
from kvgate.soak.glance import Glance
from kvgate.soak.reckoning import Reckoned, Reckoning
from kvgate.soak.starts import Book
from kvgate.soak.store import Copy, Store
from kvgate.soak.told import Told

_INVENTORY = click.option(
    "--inventory", type=click.Path(path_type=Path), required=True, envvar="KVGATE_INVENTORY", help=speech.read("the rack")
)  # fmt: skip
_SOAKS = click.option(
    "--soaks", type=click.Path(path_type=Path), default=Path(gate_options.DEFAULT_SOAKS), show_default=True,
    envvar="KVGATE_SOAKS",
    help=speech.read("where soaks are collected"),
)  # fmt: skip
_SOAK = click.option("--soak", metavar="NAME", help=speech.read("this one, where several lie on the hosts"))
_UNTOLD = 6
_MOMENT = 2.0  # seconds of a look that reckoning may take


@click.group(
    "soak", help=speech.read("Run, watch and collect the soak of gate G4, which goes on while this machine sleeps.")
)
def soak_group() -> None:
    """Run, watch and collect the soak of gate G4."""


@contextlib.contextmanager
def _control(inventory: Path, soaks: Path) -> Iterator[Control]:
    with _beside(reader.read(inventory), soaks, None) as control:
        yield control


@contextlib.contextmanager
def _beside(rack: Inventory, soaks: Path, book: Book | None) -> Iterator[Control]:
    transport = transport_for(rack)
    control = Control(rack, transport, soaks, book)
    try:
        yield control
    except NotAllowed as error:
        if not control.asked:
            raise
        raise Declined(error.phrase) from error
    finally:
        transport.close()


def _known(control: Control, name: str | None = None) -> Store:
    store = control.found() if name is None else control.named(name)
    if store is None:
        raise NotAllowed(
            say(
                "no soak of this rack lies on its hosts or is known here: `kvgate soak start` starts one, or attaches to one that runs"
            )
        )
    return store


def _scale(store: Store, told: Sequence[Told]) -> float | None:
    scales = {float(one.found["scale"]) for one in told if one.found.get("scale")}
    return scales.pop() if len(scales) == 1 else store.about.get("scale")


def _warn(what: Phrase | None) -> None:
    if what is not None:
        click.echo(f"! {Reader(language()).phrase(what)}", err=True)


def _say(
    store: Store, told: Sequence[Told], good: Sequence[str], *, as_json: bool, new: bool = False, starts: Starts | None = None
) -> None:  # fmt: skip
    """Print what the hosts said and end with 6 where one of them is not as it should be."""
    scale = _scale(store, told)
    if as_json:
        click.echo(json.dumps(soaking.as_json(store, told, scale, new=new, starts=starts), ensure_ascii=False))
    else:
        soaking.show(store, told, scale, sys.stdout, starts)
    if any(one.state not in good for one in told):
        raise SystemExit(_UNTOLD)


@soak_group.command(
    "start",
    help=speech.read(
        "Plan the soak from the inventory, lay the worker out on every host and start it; then this machine may go.\n\n"
        "Where one runs already, attach to it, if it is the one that is asked for; where a worker was killed or its host booted, "
        "resume it. Where one ended and was not collected, say so and begin none. Each start is an attempt: it is written into the ledger "
        "before any host hears of it, and G4 names those that came to no verdict.\n\n"
        "Example: kvgate soak start --inventory inventories/rack-a.yaml --allow-load --key keys/customer --party customer"
    ),
)
@_INVENTORY
@_SOAKS
@soak_signing.ALLOW_LOAD
@soak_signing.writes
@click.option("--scale", type=float, default=1.0, help=speech.read("times the speed; for the embedded rack alone"))
@click.option(
    "--anew",
    is_flag=True,
    help=speech.read("begin another soak though one that ended was not collected: it stays on the hosts"),
)
@options.JSON
def start(
    inventory: Path, soaks: Path, allow_load: bool, ledger: str, key: Path | None, party: str | None, trust: Path | None,
    scale: float, anew: bool, as_json: bool,
) -> None:  # fmt: skip
    """Start the soak, or attach."""
    if not allow_load:
        raise NotAllowed(
            say("a soak makes load on every host for hours: give --allow-load when nobody else needs the rack")
        )
    rack = reader.read(inventory)
    with soak_signing.book(rack, ledger, key, party, trust) as book, _beside(rack, soaks, book) as control:
        store, new = control.attach(scale, anew=anew)
        told = control.start(store)
        _warn(control.unwritten(store))
        _say(store, told, ("running", "ended"), as_json=as_json, new=new, starts=control.counted())


@soak_group.command(
    "status",
    help=speech.read(
        "Ask every host what became of its worker: runs, ended, gone; how long, how much is collected.\n\n"
        "Ends with 6 where a host does not answer or its worker is gone.\n\n"
        "Example: kvgate soak status --inventory inventories/rack-a.yaml"
    ),
)
@_INVENTORY
@_SOAKS
@_SOAK
@options.LEDGER
@signing.TRUST
@options.JSON
def status(inventory: Path, soaks: Path, soak: str | None, ledger: str, trust: Path | None, as_json: bool) -> None:
    """Ask every host."""
    rack = reader.read(inventory)
    with contextlib.ExitStack() as stack:
        book = None
        try:
            book = stack.enter_context(soak_signing.book(rack, ledger, None, None, trust, write=False))
        except (NotAllowed, Unwritable) as error:  # hosts can be asked without
            _warn(say("what was started before is not known: {why}", why=error.phrase))
        control = stack.enter_context(_beside(rack, soaks, book))
        store = _known(control, soak)
        told = control.status(store)
        if book is not None:
            _warn(control.unwritten(store))
        _say(store, told, ("running", "ended"), as_json=as_json, starts=control.counted())


@soak_group.command(
    "collect",
    help=speech.read(
        "Fetch what the hosts wrote since the last time, byte for byte, with the chain checked. May be interrupted "
        "anywhere and run again.\n\n"
        "Example: kvgate soak collect --inventory inventories/rack-a.yaml"
    ),
)
@_INVENTORY
@_SOAKS
@_SOAK
@options.JSON
def collect(inventory: Path, soaks: Path, soak: str | None, as_json: bool) -> None:
    """Fetch what is new."""
    with _control(inventory, soaks) as control:
        store = _known(control, soak)
        _say(store, control.collect(store), ("running", "ended", "vanished"), as_json=as_json)


@soak_group.command(
    "stop",
    help=speech.read(
        "End every worker and everything it started, then collect what it wrote. A soak that was stopped is over, and stays counted: stop "
        "and removal are written into the ledger first.\n\n"
        "Example: kvgate soak stop --inventory inventories/rack-a.yaml --remove"
    ),
)
@_INVENTORY
@_SOAKS
@click.option(
    "--remove", is_flag=True, help=speech.read("remove the soak's folders on the hosts once all of it is here")
)
@_SOAK
@soak_signing.writes
@options.JSON
def stop(
    inventory: Path, soaks: Path, remove: bool, soak: str | None, ledger: str, key: Path | None, party: str | None,
    trust: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """End it and collect."""
    rack = reader.read(inventory)
    with soak_signing.book(rack, ledger, key, party, trust) as book, _beside(rack, soaks, book) as control:
        store = _known(control, soak)
        control.stop(store)
        told = control.collect(store)
        if remove:
            removed = {one.host: one for one in control.remove(store, told)}
            told = [removed.get(one.host, one) for one in told]
        _say(store, told, ("ended", "absent"), as_json=as_json, starts=control.counted())


@soak_group.command(
    "watch",
    help=speech.read(
        "Collect again and again and show what is seen, host by host: hours that count by the rules of the gate, what interrupted "
        "them, samples and how completely they were taken, reads and writes, latency of an I/O on the array and on the local disk, "
        "time to the first token, loads, alarms. Ctrl-C ends the view, not the soak.\n\n"
        "Example: kvgate soak watch --inventory inventories/rack-a.yaml --every 30"
    ),
)
@_INVENTORY
@_SOAKS
@click.option(
    "--every", type=click.IntRange(1, 3600), default=15, show_default=True, help=speech.read("seconds between looks")
)
@click.option("--once", is_flag=True, help=speech.read("look once and end"))
def watch(inventory: Path, soaks: Path, every: int, once: bool) -> None:
    """Show the soak as it goes on."""
    with _control(inventory, soaks) as control:
        store = _known(control)
        seen, wanted = _Seen(store, control.hosts), _wanted(control)
        out = terminal.console(sys.stdout)
        live = out.is_terminal and not once
        with Live(console=out, auto_refresh=False) if live else contextlib.nullcontext() as view:
            while True:
                told = control.collect(store)
                over = _over(told)
                shown = watching.View(store, told, *seen.look(every=once or over), wanted, _scale(store, told))
                if view is None:
                    out.print(shown)
                else:
                    view.update(shown, refresh=True)
                if once or over:
                    break
                time.sleep(every)
    if over:
        click.echo(Reader(language())("the soak is over on every host"), err=True)


def _wanted(control: Control) -> float:
    soak = control.inventory.rack.soak
    assert soak is not None  # noqa: S101 - a Control without one is refused
    return soak.duration


def _over(told: Sequence[Told]) -> bool:
    return all(one.state in ("ended", "absent") for one in told)


class _Seen:
    """Reads on where it stopped in every host's copy."""

    def __init__(self, store: Store, hosts: Sequence[str]) -> None:
        self._store, self._hosts = store, hosts
        self._at: dict[str, tuple[int, int]] = {}
        self._glances = {host: Glance(host) for host in hosts}
        self._reckonings = {host: Reckoning(store, host) for host in hosts}
        self._reckoned = dict.fromkeys(hosts, Reckoned())
        self._next = 0

    def look(self, *, every: bool) -> tuple[dict[str, Glance], dict[str, Reckoned]]:
        """Take in what is new, and reckon what counts: of every host, or of as many as a moment suffices for, others next time."""
        for host in self._hosts:
            number, at = self._at.get(host, (0, 0))
            for segment, path in Copy.listed(self._store.path / host):
                if segment < number:
                    continue
                with path.open("rb") as file:
                    file.seek(at if segment == number else 0)
                    raw = file.read()
                whole = raw[: raw.rfind(b"\n") + 1]
                self._glances[host].take(whole.splitlines(keepends=True))
                self._at[host] = (segment, (at if segment == number else 0) + len(whole))
                number, at = self._at[host]
        until = time.monotonic() + _MOMENT
        for _ in self._hosts:
            host = self._hosts[self._next % len(self._hosts)]
            self._reckoned[host] = self._reckonings[host].look(now=every)
            self._next += 1
            if not every and time.monotonic() > until:
                break
        return self._glances, self._reckoned


soak_group.add_command(schedule)
soak_group.add_command(run)
soak_group.add_command(samples)

COMMANDS = (soak_group,)
