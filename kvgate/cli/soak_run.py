"""``kvgate soak run``: one soak from start to judgement, which may be killed anywhere and run again; what a schedule starts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import click

from kvgate.cli import soak_signing, speech
from kvgate.cli.soak_schedule import SOAKS
from kvgate.errors import KvgateError
from kvgate.gate import options as gate_options
from kvgate.gate.stored import running
from kvgate.gate.unfinished import unjudged
from kvgate.inventory import reader
from kvgate.ledger.repository import Ledger
from kvgate.soak.schedule import Book, begun


@click.command(
    "run",
    help=speech.read(
        "Start or resume the soak, collect until it is over, then judge it: the exit status is that of pytest -m G4. What a "
        "schedule runs; may be killed and run again.\n\n"
        "Example: kvgate soak run --inventory inventories/rack-a.yaml --allow-load --key keys/timer --party customer"
    ),
)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    required=True,
    envvar="KVGATE_INVENTORY",
    help=speech.read("the rack"),
)
@SOAKS
@soak_signing.alone
@click.option(
    "--every", type=click.IntRange(1, 3600), default=300, show_default=True, help=speech.read("seconds between looks")
)
@click.option("--entry", help=speech.read("under which name of the schedule this run counts"))
@click.option("--scale", type=float, default=1.0, help=speech.read("times the speed; for the embedded rack alone"))
def run(
    inventory: Path, soaks: Path, allow_load: bool, key: Path | None, party: str | None, trust: Path | None, ledger: str,
    evidence: Path, every: int, entry: str | None, scale: float,
) -> None:  # fmt: skip
    """From start to judgement."""
    book = Book(soaks)
    if entry is not None:
        book.note(entry, "begun", **begun())
    status, judged = 4, False
    try:
        signs = soak_signing.options(inventory, key, party, trust)  # 72 hours later nobody could be asked
        status = 6
        words = ["--inventory", str(inventory), "--soaks", str(soaks)]
        load = ["--allow-load"] if allow_load else []
        begin = [*words, *load, *signs, *([] if scale == 1 else ["--scale", str(scale)])]
        states = _collected(words)  # also what an earlier run left on the hosts
        unfinished = book.unfinished(entry or "")
        judge = unfinished is not None and states.get("") == unfinished and _over(states)
        if not judge:  # an earlier run was killed when its soak was over: there is nothing left but to judge it
            status, soak = _started(begin, ledger)
            if soak is not None:
                book.note(entry or "", "soak", soak=soak)
        while status != 4 and not _over(states := _collected(words)):
            if "vanished" in states.values():
                _started(begin, ledger)
            time.sleep(every)
        if status != 4:
            folder = str(gate_options.folder("G4"))
            again = ["--only-stale"] if died(inventory, ledger) else []
            gate = [
                sys.executable, "-m", "pytest", "-p", "kvgate.pytest_plugin", "-m", "G4", "--inventory", str(inventory), *load, *signs,
                *again, folder,
            ]  # fmt: skip
            # By the environment: what stands on a command line is read by everybody, and a URL may hold a password.
            kept = {"KVGATE_SOAKS": soaks.absolute(), "KVGATE_LEDGER": ledger, "KVGATE_EVIDENCE": evidence.absolute()}
            environment = {**os.environ, **{name: str(value) for name, value in kept.items()}}
            status = subprocess.run(gate, check=False, env=environment).returncode
            judged = True
    finally:
        if entry is not None or judged:
            book.note(entry or "", "ended", status=status, judged=judged)
    raise SystemExit(status)


def died(inventory: Path, ledger: str) -> bool:
    """Whether the process that judged for an earlier run died in it: that attempt is gone on with, for nobody is there to close it."""
    try:
        with contextlib.closing(Ledger.open(ledger, write=False)) as book:
            run = book.unfinished(reader.read(inventory).rack.campaign, "G4")
            return run is not None and (run.state == "started" or unjudged(book, run)) and not running(run)
    except KvgateError:
        return False  # the gate says what is wrong


def _started(words: list[str], ledger: str) -> tuple[int, str | None]:
    """Start or resume, or attach: the exit status, and the name of the soak if there is one. The ledger goes by the environment."""
    argv = [sys.executable, "-m", "kvgate", "soak", "start", *words, "--json"]
    done = subprocess.run(argv, check=False, stdout=subprocess.PIPE, env={**os.environ, "KVGATE_LEDGER": ledger})
    try:
        return done.returncode, str(json.loads(done.stdout)["soak"])
    except (ValueError, KeyError):
        return done.returncode, None


def _collected(words: list[str]) -> dict[str, str]:
    """Collect; host -> state of its worker, and the soak's name under no host's name. Empty where there is none, or nobody answers."""
    argv = [sys.executable, "-m", "kvgate", "soak", "collect", *words, "--json"]
    done = subprocess.run(argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        told = json.loads(done.stdout)
        return {"": str(told["soak"]), **{host["host"]: host["state"] for host in told["hosts"]}}
    except (ValueError, KeyError):
        return {}


def _over(states: dict[str, str]) -> bool:
    """Whether the soak has ended on every host."""
    hosts = [state for host, state in states.items() if host]
    return bool(hosts) and all(state in ("ended", "absent") for state in hosts)
