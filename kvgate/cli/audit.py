"""``kvgate audit``: ledger, evidence and certificates against one another."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from kvgate.audit.walk import Asked, Counts, walk
from kvgate.certificates import trust as trusts
from kvgate.cli import options, speech
from kvgate.ledger.findings import KINDS
from kvgate.ledger.repository import Ledger
from kvgate.reports.messages import Reader, language
from kvgate.reports.steps import Steps


@click.command(
    "audit",
    help=speech.read(
        "Walk through ledger, evidence and certificates and name everything that is not what was written. "
        "Changes nothing.\n\n"
        "Exit status: 0 nothing was found, 1 something was, 4 refused, 6 it could not be told. What no audit "
        "can find: runbooks/threat-model.md.\n\n"
        "Example: kvgate audit --anchor ../from-the-customer/G1.json --trust keys/allowed_signers"
    ),
)
@click.option(
    "--anchor", "anchors", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="CERT",
    help=speech.read(
        "a certificate or start ticket that left this machine: only that shows a log cut at its end or written anew; repeatable"
    ),
)  # fmt: skip
@click.option(
    "--trust",
    type=click.Path(path_type=Path),
    envvar="KVGATE_TRUST",
    help=speech.read("whose keys count (allowed_signers)"),
)
@click.option(
    "--evidence", type=click.Path(path_type=Path, file_okay=False), envvar="KVGATE_EVIDENCE",
    help=speech.read("where runs are kept  [default: where the ledger says]"),
)  # fmt: skip
@click.option(
    "--certificates", type=click.Path(path_type=Path, file_okay=False), default=Path("var/certificates"), show_default=True,
    help=speech.read("folder of certificates, beside those in the ledger"),
)  # fmt: skip
@options.LEDGER
@options.JSON
def audit(
    anchors: tuple[Path, ...], trust: Path | None, evidence: Path | None, certificates: Path, ledger: str, as_json: bool
) -> None:
    """Walk through ledger, evidence and certificates and name everything that is not what was written."""
    read, counts, steps = Reader(language()), Counts(), Steps(sys.stderr)
    known = trusts.load(trust) if trust is not None else None
    book = Ledger.open(ledger, write=False)
    steps.total = len(book.runs())
    found = []
    for finding in walk(book, Asked(evidence, certificates, anchors, known), counts, steps):
        found.append(finding)
        if not as_json:
            steps.end()
            click.echo(f"{finding.kind}: {finding.text}")
    steps.end()
    if as_json:
        told = {
            "found": [asdict(one) for one in found],
            **asdict(counts),
            "anchors": len(anchors),
            "trusted": trust is not None,
        }
        told["head"] = {"seq": counts.head[0], "hash": counts.head[1]}
        click.echo(json.dumps(told, ensure_ascii=False))
        sys.exit(1 if found else 0)
    for kind in dict.fromkeys(one.kind for one in found):
        click.echo(f"{kind} = {read.phrase(KINDS[kind])}", err=True)
    click.echo(
        read(
            "{runs} runs, {decisions} decisions, {folders} evidence folders ({lines} lines, {blobs} blobs), {certificates} documents",
            runs=counts.runs, decisions=counts.decisions, folders=counts.folders, lines=counts.lines, blobs=counts.blobs,
            certificates=counts.certificates,
        ),
        err=True,
    )  # fmt: skip
    if trust is None and counts.certificates:
        click.echo(read("signatures were not looked at: name a trust file with --trust"), err=True)
    if not anchors:
        click.echo(
            read("no --anchor: a log that was cut at its end, or written anew as a whole, would not have been noticed"),
            err=True,
        )
    click.echo(read("{count} findings", count=len(found)) if found else read("nothing was found"))
    sys.exit(1 if found else 0)


COMMANDS = (audit,)
