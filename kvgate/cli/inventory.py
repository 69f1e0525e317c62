"""``kvgate inventory``: check a file, export the schema, draft one from live hosts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from kvgate import agreement as agreements
from kvgate.errors import BadInput
from kvgate.inventory import reader
from kvgate.inventory.coverage import gaps
from kvgate.inventory.model import Rack
from kvgate.inventory.subjects import things
from kvgate.reports import basis
from kvgate.reports.messages import Reader, language


@click.group("inventory")
def group() -> None:
    """Check, describe or draft an inventory file."""


@group.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="faults or summary as JSON")
def check(file: Path, as_json: bool) -> None:
    """Validate FILE; every fault at once with line and column. Contacts nothing. Exit 4 when there are faults."""
    read = Reader(language())
    try:
        inventory = reader.read(file)
        overlay = inventory.rack.acceptance
        agreement = agreements.read(file.parent / overlay if overlay else None)
        owed = agreements.what_is_owed(agreement, inventory.rack, str(file), "G1")
    except BadInput as error:
        if not as_json:
            raise
        names = ("file", "line", "column", "where", "found", "wanted")
        click.echo(json.dumps({"faults": [{name: getattr(fault, name) for name in names} for fault in error.faults]}))
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
            "{file}: good; rack {rack}, {hosts} hosts, {things} subjects, {owed} verdicts owed by G1",
            file=str(file),
            rack=inventory.rack.rack,
            hosts=len(inventory.rack.hosts),
            things=count,
            owed=len(owed),
        )
    )
    for line in (*basis.overlaid(agreement.overlaid, read), *basis.not_covered(inventory.rack, read)):
        click.echo(line)


@group.command("schema")
def schema() -> None:
    """Print the JSON Schema of inventory files, for editors (yaml-language-server: $schema=...)."""
    click.echo(json.dumps(Rack.model_json_schema(), indent=2, ensure_ascii=False))


COMMANDS = (group,)
