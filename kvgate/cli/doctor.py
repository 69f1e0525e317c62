"""``kvgate doctor``: can this machine run the gates on that rack? Every finding with its remedy; nothing is changed."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import pytest

from checks.phrase import Phrase, joined, plain, say
from kvgate.errors import CannotTell, KvgateError
from kvgate.gate import options as gate_options
from kvgate.gate.start import Preview, transport_for
from kvgate.gate_run import GateRun
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.ledger.repository import Ledger
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.transport.base import Answer, Batch, Command

_CLOCK_SECONDS = 0.5
_FREE_BYTES = 10**9
_HERE = say("here")


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``good`` None means it could not be told."""

    where: Phrase | str
    what: Phrase
    good: bool | None
    found: Phrase | str
    remedy: Phrase | str = ""


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        field.name: str(value) if isinstance(value := getattr(finding, field.name), Phrase) else value
        for field in fields(finding)
    }


class _Catch:
    """A pytest plugin that takes the plan of a gate out of the run."""

    preview: Preview | None = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep the plan."""
        run = session.config.pluginmanager.get_plugin(GateRun.NAME)
        self.preview = None if run is None else run.preview


def preview(gate: str, inventory: Path) -> Preview | None:
    """Return what a gate would ask on this inventory."""
    catch = _Catch()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        pytest.main(["-p", "kvgate.pytest_plugin", "-m", gate, "--inventory", str(inventory), "--plan", "-q"], [catch])
    return catch.preview


def laptop(ledger: str, evidence: Path, rack: Rack) -> Iterator[Finding]:
    """What this machine itself needs."""
    yield Finding(
        _HERE, say("python"), sys.version_info >= (3, 11), sys.version.split()[0], say("install Python 3.11 or newer")
    )
    ssh = shutil.which("ssh")
    yield Finding(
        _HERE,
        say("ssh"),
        ssh is not None,
        ssh or say("none"),
        say("install the OpenSSH client: aliases and jump hosts need it"),
    )
    existing = next(path for path in (evidence.absolute(), *evidence.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    yield Finding(
        _HERE,
        say("space for evidence"),
        free >= _FREE_BYTES,
        say("{free:.1f} GB free at {path}", free=free / 1e9, path=str(existing)),
        say("free at least 1 GB"),
    )
    writable = os.access(existing, os.W_OK)
    yield Finding(
        _HERE,
        say("evidence folder"),
        writable,
        str(existing),
        say("make {path} writable or name another with --evidence", path=str(existing)),
    )
    try:
        Ledger.open(ledger).close()
        yield Finding(_HERE, say("ledger"), True, ledger.split("@")[-1])
    except KvgateError as error:
        yield Finding(_HERE, say("ledger"), False, str(error), say("mend what it says, or name another with --ledger"))
    names = {host.identity or rack.defaults.identity for host in rack.hosts.values()}
    for name in sorted(name for name in names if name):
        path = Path(name).expanduser()
        if not path.is_file():
            yield Finding(
                _HERE,
                say("login key"),
                False,
                say("{path}: no such file", path=str(path)),
                say("correct `identity` in the inventory"),
            )
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        yield Finding(
            _HERE,
            say("login key"),
            mode & 0o077 == 0,
            say("{path} has mode {mode:o}", path=str(path), mode=mode),
            f"chmod 600 {path}",
        )


def hosts(inventory: reader.Inventory, plan: Preview | None) -> Iterator[Finding]:
    """What each host answers."""
    tools: dict[str, set[str]] = {name: set() for name in inventory.rack.hosts}
    for planned in plan.asked if plan else ():
        tools.setdefault(planned.host, set()).add(planned.command.split()[0])
    asked = {
        name: [Command("id", "id -u"), *(Command(f"tool {tool}", f"command -v {tool}") for tool in sorted(tools[name]))]
        for name, host in inventory.rack.hosts.items()
        if host.access == "shell"
    }
    for name, host in inventory.rack.hosts.items():
        if host.access != "shell":
            yield Finding(
                name,
                say("access"),
                True,
                say("{access}: only what is declared or allowed is asked", access=host.access),
            )
    transport = transport_for(inventory)
    try:
        batches = transport.run(asked)
    finally:
        transport.close()
    for name in asked:
        yield from _host(name, batches[name], tools[name])


def _host(name: str, batch: Batch, tools: set[str]) -> Iterator[Finding]:
    who = batch.answers["id"]
    if isinstance(who, CannotTell):
        yield Finding(name, say("reach"), False, str(who), say("the message says what to do"))
        return
    yield Finding(name, say("reach"), True, f"{batch.host_key}")
    root = who.stdout.strip() == b"0"
    yield Finding(
        name,
        say("root"),
        root,
        say("user id {number}", number=who.stdout.decode(errors="replace").strip()),
        say("become: sudo with a NOPASSWD rule, or log in as root"),
    )
    if batch.clock is None:
        yield Finding(name, say("clock"), None, say("no time given"), say("check `date` on the host"))
    else:
        middle = (batch.clock.low + batch.clock.high) / 2
        good = abs(middle) <= _CLOCK_SECONDS
        yield Finding(
            name,
            say("clock"),
            good,
            say("{seconds:+.3f} s against this machine", seconds=middle),
            say("synchronise both with NTP (chrony)"),
        )
    missing = sorted(
        tool for tool in tools if isinstance(answer := batch.answers[f"tool {tool}"], Answer) and answer.status != 0
    )
    found = say("{there} of {count} tools", there=len(tools) - len(missing), count=len(tools))
    if missing:
        found = joined([found, say("missing: {words}", words=", ".join(missing))])
    yield Finding(name, say("tools"), not missing, found, say("install them, or declare those facts in the inventory"))


@click.command("doctor")
@click.option("--inventory", type=click.Path(path_type=Path), envvar="KVGATE_INVENTORY", required=True)
@click.option("--ledger", envvar="KVGATE_LEDGER", default=gate_options.DEFAULT_LEDGER, show_default=True)
@click.option(
    "--evidence", type=click.Path(path_type=Path), envvar="KVGATE_EVIDENCE", default=gate_options.DEFAULT_EVIDENCE
)
@click.option("--json", "as_json", is_flag=True)
def doctor(inventory: Path, ledger: str, evidence: Path, as_json: bool) -> None:
    """Look whether this laptop can run the gates on the rack of INVENTORY. Exit 1 when something must be mended first."""
    read, out = Reader(language()), terminal.console(sys.stdout)
    rack = reader.read(inventory)
    findings = [*laptop(ledger, evidence, rack.rack), *hosts(rack, preview("G1", inventory))]
    if as_json:
        click.echo(json.dumps([_plain(finding) for finding in findings], ensure_ascii=False))
    else:
        words: dict[bool | None, str] = {True: read("ok"), False: read("mend"), None: read("unknown")}
        rows = [
            (
                read.phrase(plain(finding.where)),
                read.phrase(finding.what),
                words[finding.good],
                read.phrase(plain(finding.found)),
                "" if finding.good else read.phrase(plain(finding.remedy)),
            )
            for finding in findings
        ]
        out.print(terminal.listing(rows, read("where"), read("what"), "", read("found"), read("do")))
    sys.exit(0 if all(finding.good for finding in findings) else 1)


COMMANDS = (doctor,)
