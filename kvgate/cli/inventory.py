"""``kvgate inventory``: check a file, export the schema, draft one from live hosts."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

import click

from checks.phrase import say
from kvgate import agreement as agreements
from kvgate.campaign import parties
from kvgate.cli import speech
from kvgate.draft import first_contact, page
from kvgate.errors import BadInput, CannotTell, NotAllowed, because
from kvgate.inventory import reader
from kvgate.inventory.coverage import gaps
from kvgate.inventory.model import Defaults, Rack
from kvgate.inventory.subjects import things
from kvgate.reports import basis
from kvgate.reports.lines import Progress
from kvgate.reports.messages import Reader, language
from kvgate.transport.ssh_config import Resolver


@click.group("inventory", help=speech.read("Check, describe or draft an inventory file."))
def group() -> None:
    """Hold the commands about inventory files."""


@group.command(
    "check",
    help=speech.read(
        "Validate FILE; every fault at once with line and column. Contacts nothing. Exit 4 when there are faults."
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help=speech.read("faults or summary as JSON"))
def check(file: Path, as_json: bool) -> None:
    """Validate an inventory."""
    read = Reader(language())
    try:
        inventory = reader.read(file)
        overlay = inventory.rack.acceptance
        agreement = agreements.read(file.parent / overlay if overlay else None)
        owed = agreements.what_is_owed(agreement, inventory.rack, str(file), "G1")
    except BadInput as error:
        if not as_json:
            raise
        faults = [asdict(replace(fault, found=str(fault.found), wanted=str(fault.wanted))) for fault in error.faults]
        click.echo(json.dumps({"faults": faults}))
        raise SystemExit(4) from None
    if as_json:
        click.echo(
            json.dumps(
                {
                    "faults": [],
                    "rack": inventory.rack.rack,
                    "hosts": list(inventory.rack.hosts),
                    "fingerprint": inventory.fingerprint,
                    "owed": {"G1": len(owed)},
                    "overlaid": [asdict(change) for change in agreement.overlaid],
                    "not_covered": [{"what": str(gap.what), "hosts": list(gap.hosts)} for gap in gaps(inventory.rack)],
                }
            )
        )
        return
    count = sum(1 for _ in things(inventory.rack))
    click.echo(
        read(
            "{file}: good; rack {rack}, {hosts}, {things}, {owed} owed by G1",
            file=str(file),
            rack=inventory.rack.rack,
            hosts=read.ngettext("{count} host", "{count} hosts", len(inventory.rack.hosts)),
            things=read.ngettext("{count} subject", "{count} subjects", count),
            owed=read.ngettext("{count} verdict", "{count} verdicts", len(owed)),
        )
    )
    if parties.of_inventory(inventory) is None:
        click.echo(
            read("no public keys of the parties lie where it says: what is signed counts only with --trust FILE")
        )
    for line in (*basis.agreed(agreement, read), *basis.not_covered(inventory.rack, read)):
        click.echo(line)


@group.command(
    "schema",
    help=speech.read("Print the JSON Schema of inventory files, for editors (yaml-language-server: $schema=...)."),
)
def schema() -> None:
    """Print the JSON Schema."""
    click.echo(json.dumps(Rack.model_json_schema(), indent=2, ensure_ascii=False))


@group.command(
    "draft",
    help=speech.read(
        "Look at live HOSTs, read-only, and write an inventory of what was SEEN, to be compared with what was "
        "ORDERED.\n\n"
        "HOST is [array:|node:][NAME=][USER@]ADDRESS[:PORT]; aliases of ssh_config work. A host whose key "
        "nobody verified is refused. Whatever people decide stays a placeholder, so `kvgate inventory check` "
        "refuses the draft until they have. Exit 6 when a host was not met.\n\n"
        "Example: kvgate inventory draft array:fx100-a node:node-01 --user ops -o draft.yaml"
    ),
)
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help=speech.read("file to write; never overwritten"),
)
@click.option(
    "--role",
    type=click.Choice(["array", "node"]),
    help=speech.read("role of hosts that do not say theirs (array:HOST, node:HOST)"),
)
@click.option(
    "--host-key",
    "keys",
    multiple=True,
    metavar="HOST=SHA256:...",
    help=speech.read("verified fingerprint; else known_hosts is read"),
)
@click.option("--user", help=speech.read("who logs in (default: as ssh_config says)"))
@click.option(
    "--become",
    type=click.Choice(["none", "sudo"]),
    default="sudo",
    show_default=True,
    help=speech.read("how to ask as root"),
)
@click.option(
    "--identity",
    type=click.Path(path_type=Path),
    help=speech.read("private key file (default: ssh_config and the agent)"),
)
@click.option("--port", type=click.IntRange(1, 65535), help=speech.read("SSH port of hosts that do not say theirs"))
@click.option("--json", "as_json", is_flag=True, help=speech.read("what was met and what is left to decide, as JSON"))
def draft(
    hosts: tuple[str, ...],
    output: Path,
    role: str | None,
    keys: tuple[str, ...],
    user: str | None,
    become: str,
    identity: Path | None,
    port: int | None,
    as_json: bool,
) -> None:
    """Write down what live hosts show."""
    read = Reader(language())
    if output.exists() or output.is_symlink():
        raise NotAllowed(
            say("{path} is there already and is not overwritten: name another file, or move it away", path=str(output))
        )
    if not output.absolute().parent.is_dir():
        raise NotAllowed(
            say(
                "found no folder {folder}, wanted one to write {name} into: make it, or name another",
                folder=str(output.absolute().parent),
                name=output.name,
            )
        )
    if identity is not None and not identity.expanduser().is_file():
        raise NotAllowed(say("found no key file {path}, wanted a private key", path=str(identity)))
    wanted = tuple(replace(one, role=one.role or role) for one in first_contact.hosts(hosts, port))
    pins = first_contact.pins(wanted, keys, Resolver(), user)
    defaults = Defaults(
        user=user, become=cast("Literal['none', 'sudo']", become), identity=str(identity) if identity else None
    )
    transport = page.transport(wanted, pins, defaults)
    try:
        made = page.draft(
            wanted, pins, defaults, transport, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", Progress(sys.stderr)
        )
    finally:
        transport.close()
    lost = {name: looked.lost for name, looked in made.hosts.items() if looked.lost}
    if len(lost) == len(wanted):
        raise CannotTell(say("no host was met, so nothing was written: {reasons}", reasons="; ".join(lost.values())))
    _write(output, made.page.text())
    if as_json:
        met = [
            {
                "name": name,
                "role": made.roles[name][0],
                "why": made.roles[name][1],
                "met": not looked.lost,
                "reason": looked.lost,
            }
            for name, looked in made.hosts.items()
        ]
        decide = [asdict(decision) for decision in made.page.decisions]
        click.echo(json.dumps({"file": str(output), "hosts": met, "decide": decide}, ensure_ascii=False))
    click.echo(
        read(
            "{file}: {met} of {count} hosts seen; {open} values wait for a decision; it shows what was SEEN, not what was ORDERED",
            file=str(output),
            met=len(wanted) - len(lost),
            count=len(wanted),
            open=len(made.page.decisions),
        ),
        err=True,
    )
    for name, reason in lost.items():
        click.echo(read("! {host} was not met: {reason}", host=name, reason=reason), err=True)
    raise SystemExit(6 if lost else 0)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise NotAllowed(
            say("{path} appeared while the hosts were asked and is not overwritten: name another file", path=str(path))
        ) from None
    except OSError as error:
        raise NotAllowed(
            say("{path} cannot be written ({why}): name another file", path=str(path), why=because(error))
        ) from None


COMMANDS = (group,)
