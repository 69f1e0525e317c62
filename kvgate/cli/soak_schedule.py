"""``kvgate soak schedule``: soaks at set times, from start to judgement, by systemd or cron of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from checks.phrase import say
from kvgate.cli import options, soak_signing, speech
from kvgate.errors import NotAllowed
from kvgate.gate import options as gate_options
from kvgate.inventory import reader
from kvgate.ledger.engine import secret
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.soak import schedule as plans
from kvgate.soak.plan import soaked
from kvgate.soak.schedule import EVERY, Book, Entry

SOAKS = click.option(
    "--soaks", type=click.Path(path_type=Path), default=Path(gate_options.DEFAULT_SOAKS), show_default=True,
    envvar="KVGATE_SOAKS",
    help=speech.read("where soaks are collected"),
)  # fmt: skip


@click.command(
    "schedule",
    help=speech.read(
        "Let this machine start, collect and judge a soak at a time to come, once or again and again, by a systemd timer "
        "or a crontab line. Without --at: list what is planned, what it came to, and what was missed. A run that is no PASS leaves its "
        "unit failed: systemctl --failed shows it, and its exit status tells STOP (1) from UNDECIDED (6) and refused (4).\n\n"
        'Example: kvgate soak schedule --inventory inventories/rack-a.yaml --allow-load --at "2026-12-04 18:00" --every weekly '
        "--key keys/timer --party customer"
    ),
)
@click.option("--inventory", type=click.Path(path_type=Path), envvar="KVGATE_INVENTORY", help=speech.read("the rack"))
@SOAKS
@click.option(
    "--at",
    type=click.DateTime(["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S"]),
    help=speech.read("first time, local"),
)
@click.option(
    "--every", type=click.Choice(EVERY), default="once", show_default=True, help=speech.read("how often from then on")
)
@click.option("--name", default="soak", show_default=True, help=speech.read("name of the entry"))
@soak_signing.alone
@click.option(
    "--way",
    type=click.Choice(["systemd", "crontab"]),
    help=speech.read("what starts it  [default: what this machine has]"),
)
@click.option(
    "--units",
    type=click.Path(path_type=Path),
    help=speech.read("write the units here and leave it to you to enable them"),
)
@click.option("--list", "list_", is_flag=True, help=speech.read("what is planned, what it came to, what was missed"))
@click.option("--remove", metavar="NAME", help=speech.read("forget an entry and remove its timer or line"))
@options.JSON
def schedule(
    inventory: Path | None, soaks: Path, at: datetime | None, every: plans.Every, name: str, allow_load: bool, key: Path | None,
    party: str | None, trust: Path | None, ledger: str, evidence: Path, way: str | None, units: Path | None, list_: bool,
    remove: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Plan, list or remove."""
    book = Book(soaks)
    if remove is not None:
        _remove(book, remove, units)
    elif at is not None and not list_:
        if inventory is None or not allow_load:
            raise NotAllowed(
                say("a soak to come needs --inventory FILE and --allow-load: nobody is asked when it begins")
            )
        plans.apart(every, *_planned(inventory))
        signs = [*soak_signing.options(inventory, key, party, trust), *_kept(ledger, evidence)]
        _plan(book, inventory, soaks, at, every, name, signs, way or _way(units), units)
    _list(book, as_json=as_json)


def _planned(inventory: Path) -> tuple[float, float]:
    """Seconds that a soak of this rack counts, and that it takes beside. Raises NotAllowed, Refused."""
    rack = reader.read(inventory).rack
    soaked(rack)
    assert rack.soak is not None  # noqa: S101 - soaked() has refused it
    return rack.soak.duration, rack.soak.spare


def _kept(ledger: str, evidence: Path) -> list[str]:
    """Options for where results go: whatever starts it later has another environment. Raises NotAllowed for a password."""
    with contextlib.suppress(ArgumentError):
        if secret(make_url(ledger)):
            raise NotAllowed(
                say(
                    "the ledger's URL holds a password, and a timer's unit can be read by everybody: leave it out of the URL and "
                    "put it into ~/.pgpass"
                )
            )
    return ["--ledger", ledger, "--evidence", str(evidence.absolute())]


def _way(units: Path | None) -> str:
    if units is not None or Path("/run/systemd/system").is_dir():
        return "systemd"
    if shutil.which("crontab"):
        return "crontab"
    raise NotAllowed(
        say("this machine has neither systemd running nor crontab: --units DIR writes the units for another one")
    )


def _plan(
    book: Book, inventory: Path, soaks: Path, at: datetime, every: plans.Every, name: str, signs: list[str], way: str,
    units: Path | None,
) -> None:  # fmt: skip
    if any(one.name == name for one in book.entries()):
        raise NotAllowed(say("{name} is planned already: --remove {name} first, or give another --name", name=name))
    argv = [
        sys.executable, "-m", "kvgate", "soak", "run", "--entry", name, "--allow-load", "--inventory", str(inventory.absolute()),
        "--soaks", str(soaks.absolute()), *signs,
    ]  # fmt: skip
    moment = at if at.tzinfo is not None else at.astimezone()
    now, (duration, spare) = datetime.now(UTC), _planned(inventory)
    one = plans.entry(name, moment, every, argv, Path.cwd(), now, way)
    one = replace(one, rack=reader.read(inventory).fingerprint, takes=duration + spare)
    plans.clear(one, book.entries(), now)
    if way == "crontab":
        _cron([*_lines(), plans.crontab(one)])
    else:
        folder = units or _folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{plans.unit(one)}.service").write_text(plans.service(one), "utf-8")
        (folder / f"{plans.unit(one)}.timer").write_text(plans.timer(one), "utf-8")
        if units is None:
            _systemctl("daemon-reload")
            _systemctl("enable", "--now", f"{plans.unit(one)}.timer")
    book.write([*book.entries(), one])


def _remove(book: Book, name: str, units: Path | None) -> None:
    known = book.entries()
    one = next((entry for entry in known if entry.name == name), None)
    if one is None:
        raise NotAllowed(say("nothing is planned under the name {name}", name=name))
    if one.way == "crontab":
        _cron([line for line in _lines() if not line.endswith(f"# {plans.unit(one)}")])
    else:
        if units is None:
            _systemctl("disable", "--now", f"{plans.unit(one)}.timer")
        for ending in ("service", "timer"):
            ((units or _folder()) / f"{plans.unit(one)}.{ending}").unlink(missing_ok=True)
        if units is None:
            _systemctl("daemon-reload")
    book.write([entry for entry in known if entry is not one])


def _folder() -> Path:
    return Path("/etc/systemd/system") if os.geteuid() == 0 else Path.home() / ".config" / "systemd" / "user"


def _systemctl(*words: str) -> None:
    argv = ["systemctl", *([] if os.geteuid() == 0 else ["--user"]), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotAllowed(say("{command} failed: {why}", command=" ".join(argv), why=done.stderr.strip()))


def _lines() -> list[str]:
    done = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False)  # noqa: S607 - the operator's own PATH
    return done.stdout.splitlines() if done.returncode == 0 else []


def _cron(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(["crontab", "-"], input=text, capture_output=True, text=True, check=False)  # noqa: S607 - as above
    if done.returncode != 0:
        raise NotAllowed(say("crontab refused the lines: {why}", why=done.stderr.strip()))


def _row(book: Book, one: Entry, now: datetime) -> dict[str, object]:
    runs = book.runs(one.name)
    begun = [run["at"] for run in runs if run["event"] == "begun"]
    ended = [run for run in runs if run["event"] == "ended"]
    coming = one.next(now)
    return {
        "name": one.name, "every": one.every, "way": one.way, "next": coming.isoformat() if coming else None,
        "begun": begun[-1] if begun else None, "ended": ended[-1]["at"] if ended else None,
        "status": ended[-1]["status"] if ended and runs[-1]["event"] == "ended" else None, "result": book.result(one.name),
        "missed": [moment.isoformat() for moment in book.missed(one, now)],
        "command": list(one.argv),
    }  # fmt: skip


def _list(book: Book, *, as_json: bool) -> None:
    now = datetime.now(UTC)
    rows = [_row(book, one, now) for one in book.entries()]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    read = Reader(language())
    names = ("name", "every", "way", "next", "begun", "ended")
    shown = []
    for entry, one in zip(book.entries(), rows, strict=True):
        missed = ", ".join(moment.isoformat() for moment in book.missed(entry, now)) or "-"
        cells = ["-" if one[name] is None else str(one[name]) for name in names]
        result = "-" if one["result"] is None else read.word(str(one["result"]))
        code = "" if one["status"] is None else f" ({one['status']})"
        shown.append((*cells, f"{result}{code}", missed))
    heads = (
        read("name"), read("every"), read("by"), read("next (UTC)"), read("last begun"), read("last ended"), read("result"),
        read("missed"),
    )  # fmt: skip
    terminal.console(sys.stdout).print(terminal.listing(shown, *heads))
