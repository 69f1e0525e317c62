"""``kvgate doctor``: can this machine run the gates on that rack? Every finding with its remedy; nothing is changed."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
import pytest

from checks.phrase import Phrase, joined, plain, say
from checks.serving.tools import TOOLS, Driver, is_known, unknown, version_words
from kvgate.cli import options, speech
from kvgate.errors import CannotTell, HostKeyRefused, KvgateError, PermissionDenied
from kvgate.gate import options as gate_options
from kvgate.gate.preview import Preview
from kvgate.gate.start import transport_for
from kvgate.gate_run import GateRun
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.ledger.repository import Ledger
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from kvgate.transport.base import Answer, Batch, Command

_CLOCK_SECONDS = 0.5
_FREE_BYTES = 10**9
_DRIVER = "version of the load tool"


@dataclass(frozen=True)
class Finding:
    """One thing looked at. ``good`` None means it could not be told."""

    where: Phrase | str
    what: Phrase
    good: bool | None
    found: Phrase | str
    remedy: Phrase | str = ""

    def plain(self) -> dict[str, Any]:
        """English values under stable keys; no remedy where nothing is to be mended."""
        shown = {item.name: getattr(self, item.name) for item in fields(self)}
        shown = {name: str(value) if isinstance(value, Phrase) else value for name, value in shown.items()}
        return {**shown, "remedy": "" if self.good else shown["remedy"]}


_HERE = say("here")


#: How tools tell their version; the others have no way that is quick and harmless.
VERSION = {
    "chronyc": "chronyc --version", "dmidecode": "dmidecode --version", "ethtool": "ethtool --version", "findmnt": "findmnt --version",
    "ip": "ip -V", "ipmitool": "ipmitool -V", "lspci": "lspci --version", "lldpctl": "lldpctl -v", "mdadm": "mdadm --version",
    "nvme": "nvme version", "rdma": "rdma -V", "smartctl": "smartctl --version", "xfs_info": "xfs_info -V",
}  # fmt: skip


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
    words = ["-p", "kvgate.pytest_plugin", "-m", gate, "--inventory", str(inventory), "--plan", "-q"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        pytest.main([*words, str(gate_options.folder(gate))], [catch])  # named, so that it is found from any folder
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
    existing = _existing(evidence)
    free = shutil.disk_usage(existing).free
    found = say("{free:.1f} GB free at {path}", free=free / 1e9, path=str(existing))
    yield Finding(_HERE, say("space for evidence"), free >= _FREE_BYTES, found, say("free at least 1 GB"))
    writable = existing.is_dir() and os.access(existing, os.W_OK)
    remedy = say("make {path} a folder that you can write to, or name another with --evidence", path=str(existing))
    yield Finding(_HERE, say("evidence folder"), writable, str(existing), remedy)
    yield _ledger(ledger)
    names = {host.identity or rack.defaults.identity for host in rack.hosts.values()}
    for name in sorted(name for name in names if name):
        yield _login_key(name)


def _existing(path: Path) -> Path:
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())


def _ledger(url: str) -> Finding:
    """Look at the ledger without making or upgrading it."""
    file = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not file.exists():
        parent = _existing(file)
        good = parent.is_dir() and os.access(parent, os.W_OK)
        found = say("{path} is not there yet; the first run makes it", path=str(file))
        return Finding(
            _HERE,
            say("ledger"),
            good,
            found,
            say("make {path} a folder that you can write to, or use --ledger", path=str(parent)),
        )
    try:
        Ledger.open(url, write=False)
    except KvgateError as error:
        return Finding(
            _HERE, say("ledger"), False, error.phrase, say("mend what it says, or name another with --ledger")
        )
    return Finding(_HERE, say("ledger"), True, url.split("@")[-1])


def _login_key(name: str) -> Finding:
    path = Path(name).expanduser()
    if not path.is_file():
        remedy = say("correct `identity` in the inventory")
        if not path.is_absolute():
            remedy = say(
                "correct `identity` in the inventory (a relative path starts where the command runs: {path})",
                path=str(Path.cwd()),
            )
        return Finding(_HERE, say("login key"), False, say("{path}: no such file", path=str(path)), remedy)
    mode = stat.S_IMODE(path.stat().st_mode)
    return Finding(
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
        if not planned.instead:  # a stand-in is missed only where the first tool is
            tools.setdefault(planned.host, set()).add(planned.command.split()[0])
    if plan is None:
        yield Finding(
            _HERE,
            say("plan"),
            None,
            say("G1 could not be planned"),
            say(
                "{command} says why",
                command=shlex.join(["pytest", "-m", "G1", "--plan", "--inventory", inventory.file]),
            ),
        )
    ordered = driver_of(inventory.rack)
    asked = {
        name: [*_questions(sorted(tools[name])), *(_driver_question(ordered) if ordered and ordered[0] == name else ())]
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
        yield from _host(name, batches[name], sorted(tools[name]))
        if ordered and ordered[0] == name:
            yield driver_found(name, ordered[1], batches[name].answers[_DRIVER])


def _questions(tools: Sequence[str]) -> Iterator[Command]:
    yield Command("id", "id -u")
    for tool in tools:
        yield Command(f"tool {tool}", f"command -v {shlex.quote(tool)}")
        if tool in VERSION:
            yield Command(f"version {tool}", VERSION[tool])


def _host(name: str, batch: Batch, tools: Sequence[str]) -> Iterator[Finding]:
    who = batch.answers["id"]
    if isinstance(who, CannotTell):
        what = say("reach")
        if isinstance(who, (HostKeyRefused, PermissionDenied)):
            what = say("host key") if isinstance(who, HostKeyRefused) else say("root")
        yield Finding(name, what, False, who.phrase, say("the message says what to do"))
        return
    yield Finding(name, say("reach"), True, say("logged in"))
    yield Finding(name, say("host key"), True, batch.host_key)
    user = who.stdout.decode(errors="replace").strip()
    remedy = say("become: sudo with a NOPASSWD rule, or log in as root")
    yield Finding(name, say("root"), user == "0", say("user id {number}", number=user or say("not told")), remedy)
    if batch.clock is None:
        yield Finding(name, say("clock"), None, say("no time given"), say("check `date` on the host"))
    else:
        middle = (batch.clock.low + batch.clock.high) / 2
        good = abs(middle) <= _CLOCK_SECONDS
        found = say("{seconds:+.3f} s against this machine", seconds=middle)
        yield Finding(name, say("clock"), good, found, say("synchronise both with NTP (chrony)"))
    yield from _tools(name, batch, tools)


def _tools(name: str, batch: Batch, tools: Sequence[str]) -> Iterator[Finding]:
    answers = {tool: batch.answers[f"tool {tool}"] for tool in tools}
    untold = [tool for tool, answer in answers.items() if isinstance(answer, CannotTell)]
    missing = [tool for tool, answer in answers.items() if isinstance(answer, Answer) and answer.status != 0]
    parts = [say("{there} of {count} tools", there=len(tools) - len(missing) - len(untold), count=len(tools))]
    parts += [say("missing: {words}", words=", ".join(missing))] if missing else []
    parts += [say("not told: {words}", words=", ".join(untold))] if untold else []
    good = False if missing else None if untold or not tools else True
    yield Finding(name, say("tools"), good, joined(parts), say("install them, or declare those facts in the inventory"))
    versions = [f"{tool} {version}" for tool in tools if (version := _version(batch.answers.get(f"version {tool}")))]
    if versions:
        yield Finding(name, say("versions"), True, ", ".join(versions))


def driver_of(rack: Rack) -> tuple[str, Driver] | None:
    """The load host and the tool that drives G3's cells there; None where kvgate's own client does."""
    if rack.serving is None or rack.serving.driver.tool not in TOOLS:
        return None
    one = rack.serving.driver
    return rack.serving.load_host, Driver(one.tool, one.version or "", one.folder or "", one.tokenizer or "")


def _driver_question(ordered: tuple[str, Driver]) -> Iterator[Command]:
    _, driver = ordered
    yield Command(_DRIVER, shlex.join(version_words(driver, TOOLS[driver.tool])), limit=60.0)


def driver_found(name: str, driver: Driver, answer: Answer | CannotTell) -> Finding:
    """What the load tool's own environment says of its version, against the inventory and what is known of its results."""
    tool, what = TOOLS[driver.tool], say("load tool")
    put = say(
        "install {tool} {version} there, or order `driver: {{tool: own}}`", tool=tool.name, version=driver.version
    )
    if isinstance(answer, CannotTell):
        return Finding(name, what, None, answer.phrase, say("the message says what to do"))
    said = (answer.stdout + answer.stderr).decode("utf-8", "replace").split()
    if answer.status in (126, 127):
        found = say("{path} cannot be run: no such environment", path=f"{driver.folder}/bin/python3")
        return Finding(
            name, what, False, found, say("correct `driver: folder` in the inventory, or make the environment there")
        )
    if answer.status != 0 and "IndexError:" in said:
        return Finding(name, what, False, say("no {tool} in {folder}", tool=tool.name, folder=driver.folder), put)
    version = said[0] if answer.status == 0 and len(said) == 1 else ""
    if re.fullmatch(r"\d+(\.\w+)+([+.-]\w+)*", version, re.ASCII) is None:
        found = say("no version can be read: {said}", said=" ".join(said)[-160:] or say("nothing said"))
        remedy = say("run {command} on {host} by hand", command=shlex.join(version_words(driver, tool)), host=name)
        return Finding(name, what, None, found, remedy)
    if not is_known(tool.known, version):
        if _numbers(version) < min(_numbers(one) for one in tool.known):
            known = ", ".join(tool.known)
            found = say("{tool} {version} is too old: known are {known}", tool=tool.name, version=version, known=known)
        else:
            found = unknown(tool.name, version, tool.known)
        return Finding(name, what, False, found, put)
    if version.partition("+")[0] != driver.version:
        found = say(
            "{tool} {version}, the inventory orders {wanted}", tool=tool.name, version=version, wanted=driver.version
        )
        return Finding(name, what, False, found, say("install the ordered version, or order the one that is there"))
    return Finding(name, what, True, f"{tool.name} {version}")


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def _version(answer: Answer | CannotTell | None) -> str:
    if not isinstance(answer, Answer):
        return ""
    said = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    number = re.search(r"\b[vV]?(\d+(?:\.\d+)+[\w.-]*|\d+\b)", said)
    return number[1].rstrip(".") if number and answer.status == 0 else ""


@click.command(
    "doctor",
    help=speech.read(
        "Look whether this laptop can run the gates on the rack of INVENTORY. Exit 1 when something must be "
        "mended first."
    ),
)
@click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    envvar="KVGATE_INVENTORY",
    required=True,
    help=speech.read("the rack"),
)
@options.LEDGER
@options.evidence(speech.read("where raw outputs are kept"))
@click.option("--json", "as_json", is_flag=True, help=speech.read("findings with stable keys, for programs"))
def doctor(inventory: Path, ledger: str, evidence: Path, as_json: bool) -> None:
    """Look at this machine and at every host."""
    read, out = Reader(language()), terminal.console(sys.stdout)
    rack = reader.read(inventory)
    findings = [*laptop(ledger, evidence, rack.rack), *hosts(rack, preview("G1", inventory))]
    if as_json:
        click.echo(json.dumps([finding.plain() for finding in findings], ensure_ascii=False))
    else:
        words: dict[bool | None, str] = {True: read("ok"), False: read("mend"), None: read("unknown")}
        rows: list[tuple[Any, ...]] = [
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
