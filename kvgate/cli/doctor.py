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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import pytest

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


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``good`` None means it could not be told."""

    where: str
    what: str
    good: bool | None
    found: str
    remedy: str = ""


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
    yield Finding("here", "python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or newer")
    ssh = shutil.which("ssh")
    yield Finding(
        "here", "ssh", ssh is not None, ssh or "none", "install the OpenSSH client: aliases and jump hosts need it"
    )
    existing = next(path for path in (evidence.absolute(), *evidence.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    yield Finding(
        "here",
        "space for evidence",
        free >= _FREE_BYTES,
        f"{free / 1e9:.1f} GB free at {existing}",
        "free at least 1 GB",
    )
    writable = os.access(existing, os.W_OK)
    yield Finding(
        "here", "evidence folder", writable, str(existing), f"make {existing} writable or name another with --evidence"
    )
    try:
        Ledger.open(ledger).close()
        yield Finding("here", "ledger", True, ledger.split("@")[-1])
    except KvgateError as error:
        yield Finding("here", "ledger", False, str(error), "mend what it says, or name another with --ledger")
    names = {host.identity or rack.defaults.identity for host in rack.hosts.values()}
    for name in sorted(name for name in names if name):
        path = Path(name).expanduser()
        if not path.is_file():
            yield Finding("here", "login key", False, f"{path}: no such file", "correct `identity` in the inventory")
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        yield Finding("here", "login key", mode & 0o077 == 0, f"{path} has mode {mode:o}", f"chmod 600 {path}")


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
            yield Finding(name, "access", True, f"{host.access}: only what is declared or allowed is asked")
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
        yield Finding(name, "reach", False, str(who), "the message says what to do")
        return
    yield Finding(name, "reach", True, f"{batch.host_key}")
    root = who.stdout.strip() == b"0"
    yield Finding(
        name,
        "root",
        root,
        f"user id {who.stdout.decode(errors='replace').strip()}",
        "become: sudo with a NOPASSWD rule, or log in as root",
    )
    if batch.clock is None:
        yield Finding(name, "clock", None, "no time given", "check `date` on the host")
    else:
        middle = (batch.clock.low + batch.clock.high) / 2
        good = abs(middle) <= _CLOCK_SECONDS
        yield Finding(
            name, "clock", good, f"{middle:+.3f} s against this machine", "synchronise both with NTP (chrony)"
        )
    missing = sorted(
        tool for tool in tools if isinstance(answer := batch.answers[f"tool {tool}"], Answer) and answer.status != 0
    )
    found = f"{len(tools) - len(missing)} of {len(tools)} tools" + (
        f"; missing: {', '.join(missing)}" if missing else ""
    )
    yield Finding(name, "tools", not missing, found, "install them, or declare those facts in the inventory")


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
        click.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        words: dict[bool | None, str] = {True: "ok", False: read("mend"), None: read("unknown")}
        rows: list[tuple[Any, ...]] = [
            (finding.where, finding.what, words[finding.good], finding.found, "" if finding.good else finding.remedy)
            for finding in findings
        ]
        out.print(terminal.listing(rows, read("where"), read("what"), "", read("found"), read("do")))
    sys.exit(0 if all(finding.good for finding in findings) else 1)


COMMANDS = (doctor,)
