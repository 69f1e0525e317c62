"""``kvgate audit``: ledger, evidence and certificates against one another."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from sqlalchemy import make_url

from kvgate.audit.walk import Asked, Counts, walk
from kvgate.certificates import trust as trusts
from kvgate.cli import options, speech
from kvgate.ledger.findings import KINDS, Finding
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
    "--certificates", type=click.Path(path_type=Path, file_okay=False),
    help=speech.read(
        "folder of certificates, weighed with those in the ledger  "
        "[default: certificates beside a ledger file, else var/certificates]"
    ),
)  # fmt: skip
@options.LEDGER
@options.JSON
def audit(
    anchors: tuple[Path, ...],
    trust: Path | None,
    evidence: Path | None,
    certificates: Path | None,
    ledger: str,
    as_json: bool,
) -> None:
    """Walk through ledger, evidence and certificates and name everything that is not what was written."""
    read, counts, steps = Reader(language()), Counts(), Steps(sys.stderr)
    known = trusts.load(trust) if trust is not None else None
    book = Ledger.open(ledger, write=False)
    steps.total = len(book.runs())
    found = []
    folder, guessed = (certificates, False) if certificates is not None else _beside(ledger)
    for finding in walk(book, Asked(evidence, folder, guessed, anchors, known), counts, steps):
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
            "elsewhere": str(counts.elsewhere) if counts.elsewhere else None,
        }
        told["head"] = {"seq": counts.head[0], "hash": counts.head[1]}
        click.echo(json.dumps(told, ensure_ascii=False))
        sys.exit(_status(found, counts))
    for kind in dict.fromkeys(one.kind for one in found):
        click.echo(f"{kind} = {read.phrase(KINDS[kind])}", err=True)
    click.echo(
        read(
            "{runs}, {decisions}, {folders} ({lines}, {blobs}), {certificates}",
            runs=read.ngettext("{count} run", "{count} runs", counts.runs),
            decisions=read.ngettext("{count} decision", "{count} decisions", counts.decisions),
            folders=read.ngettext("{count} evidence folder", "{count} evidence folders", counts.folders),
            lines=read.ngettext("{count} line", "{count} lines", counts.lines),
            blobs=read.ngettext("{count} blob", "{count} blobs", counts.blobs),
            certificates=read.ngettext("{count} document", "{count} documents", counts.certificates),
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
    if counts.elsewhere is not None:
        click.echo(
            read(
                "the certificates in {folder} are of another ledger (no run in common) and were not weighed; name the folder "
                "of this ledger's with --certificates",
                folder=str(counts.elsewhere),
            ),
            err=True,
        )
    click.echo(read.ngettext("{count} finding", "{count} findings", len(found)) if found else read("nothing was found"))
    sys.exit(_status(found, counts))


def _beside(ledger: str) -> tuple[Path, bool]:
    """Folder of certificates that nobody named, and whether it was merely guessed to be this ledger's."""
    usual, url = Path("var/certificates"), make_url(ledger)
    if url.get_backend_name() != "sqlite" or not url.database:
        return usual, True
    near = Path(url.database).parent / usual.name
    return (near, False) if near.is_dir() else (usual, near.resolve() != usual.resolve())


def _status(found: Sequence[Finding], counts: Counts) -> int:
    """1 for a finding; 6 where certificates that lie here could not be put beside the ledger."""
    return 1 if found else 6 if counts.elsewhere is not None else 0


COMMANDS = (audit,)
