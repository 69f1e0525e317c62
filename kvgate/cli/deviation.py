"""``kvgate waive`` and ``kvgate reopen``: what both parties accept, signed by one of them here and co-signed by the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import click

from checks.phrase import say
from kvgate.campaign import reopening, standing, statements, waivers
from kvgate.campaign.documents import Documents
from kvgate.campaign.statements import Reopening, Waiver
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.cli import complete, options, signing, speech
from kvgate.errors import NotAllowed, Refused, Unproven
from kvgate.gate.unfinished import unjudged
from kvgate.ledger.repository import Ledger
from kvgate.reports import deviations as shown
from kvgate.reports.messages import Reader, language

_OUT = click.option(
    "--out", "-o", type=click.Path(path_type=Path), help=speech.read("file to write  [default: below var/certificates]")
)
_REASON = click.option("--reason", required=True, help=speech.read("why; it is signed with the rest"))


@click.command(
    "waive",
    help=speech.read(
        "Accept that CLAUSE of RUN is not met (on SUBJECT, or wherever it was not). It counts when the other "
        "party co-signed it.\n\n"
        "What could not be read cannot be waived. The clause is shown as waived from then on, never as "
        "passed.\n\n"
        "Example: kvgate waive 20261129T19 G1.2.9:fx100-a:S7Y0NX0W100003 --reason 'replaced in week 3' "
        "--until 2026-12-31 --key keys/vendor --party vendor"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@click.argument("clause", metavar="CLAUSE[:SUBJECT]", shell_complete=complete.clauses)
@_REASON
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    metavar="DATE",
    help=speech.read("last day on which it counts (UTC)"),
)
@signing.KEY
@signing.PARTY
@signing.TRUST
@options.LEDGER
@_OUT
def waive(
    run: str, clause: str, reason: str, until: datetime, key: Path, party: str, trust: Path | None, ledger: str,
    out: Path | None,
) -> None:  # fmt: skip
    """Accept that clause of a run is not met (on SUBJECT, or wherever it was not)."""
    read = Reader(language())
    clause, _, subject = clause.partition(":")
    with contextlib.closing(Ledger.open(ledger)) as book:
        record = book.run(run)
        signer = signing.key_of(key, party, signing.in_force(book, record.campaign, trust))
        at = standing.now()
        proposed = waivers.propose(book, record, clause, subject or None, reason, until.date(), at)
        envelope = proposed.signed_by(signer)
        path = out or Path("var/certificates") / f"waiver-{record.gate}-{clause}-{proposed.digest[:8]}.json"
        _write(book, statements.WAIVER, path, envelope, record.campaign, record.id)
    _said(path, party, shown.waiver(statements.read(envelope, statements.WAIVER, Waiver), read), read)


@click.command(
    "reopen",
    help=speech.read(
        "Let a campaign that a STOP ended go on. It counts when the other party co-signed it; the STOP stays "
        "and is counted.\n\n"
        "Example: kvgate reopen --reason 'disk S7Y0NX0W100003 replaced' --key keys/vendor --party vendor"
    ),
)
@_REASON
@click.option("--campaign", help=speech.read("which campaign, where the ledger holds several"))
@signing.KEY
@signing.PARTY
@signing.TRUST
@options.LEDGER
@_OUT
def reopen(
    reason: str, campaign: str | None, key: Path, party: str, trust: Path | None, ledger: str, out: Path | None
) -> None:
    """Let a campaign that a STOP ended go on."""
    read = Reader(language())
    with contextlib.closing(Ledger.open(ledger)) as book:
        name = campaign_of(book, campaign)
        known = signing.in_force(book, name, trust)
        signer = signing.key_of(key, party, known)
        documents = Documents(book, name, known, standing.now())
        stops = standing.read(book, name, documents).stopping()
        envelope = reopening.propose(name, stops, documents, reason, documents.at).signed_by(signer)
        path = out or Path("var/certificates") / f"reopening-{name}-{envelope.digest[:8]}.json"
        _write(book, statements.REOPENING, path, envelope, name, None)
    _said(path, party, shown.reopening(statements.read(envelope, statements.REOPENING, Reopening), read), read)


def campaign_of(book: Ledger, name: str | None) -> str:
    """Return the campaign that is meant: the named one, or the ledger's only one. Raises NotAllowed."""
    found = list(dict.fromkeys(run.campaign for run in book.runs()))
    if name is not None and name not in found:
        raise NotAllowed(
            say(
                "this ledger has no run of campaign {name!r}; it has {value}",
                name=name,
                value=", ".join(found) or "none at all",
            )
        )
    if name is None and len(found) != 1:
        what = f"several campaigns ({', '.join(found)}): name one with --campaign" if found else "no runs yet"
        raise NotAllowed(say("this ledger has {what}", what=what))
    return name or found[0]


def _write(book: Ledger, kind: str, path: Path, envelope: Envelope, campaign: str, run: str | None) -> None:
    if path.exists():
        raise NotAllowed(
            say(
                "{path} is there already: co-sign it (kvgate cosign {path}), or name another file with -o",
                path=str(path),
            )
        )
    signing.write(path, envelope.to_bytes())
    book.keep_envelope(kind, campaign, envelope.to_bytes(), envelope.digest, run)


def _said(path: Path, party: str, lines: Iterable[str], read: Reader) -> None:
    for line in lines:
        click.echo(line, err=True)
    click.echo(
        read("DRAFT, signed by {party}; it has no effect until the other party co-signs: "
             "kvgate cosign {path} --key FILE --party {other} --trust FILE",
             party=party, other=signing.other(party), path=str(path)),
        err=True,
    )  # fmt: skip
    click.echo(path)


def cosign(
    kind: str, path: Path, envelope: Envelope, key: Path, party: str, trust: Trust, ledger: str, yes: bool
) -> None:
    """Co-sign a waiver or a reopening: it must agree with the ledger; it is shown, asked about, signed, and takes effect.

    Raises Unproven, NotAllowed; nothing is signed then.
    """
    read = Reader(language())
    if kind == statements.TICKET:
        raise NotAllowed(say("a start ticket is signed once, by who starts the run: there is nothing to co-sign"))
    weighed = weigh(envelope, trust, standing.now())
    if weighed.state is not State.DRAFT:
        raise Unproven(
            say(
                "{path} is {state}, wanted a DRAFT that the other party signed: {missing}",
                path=str(path),
                state=weighed.state,
                missing=", ".join(weighed.missing),
            )
        )
    if party in {line.party for line in weighed.signed}:
        raise NotAllowed(
            say("{party} has signed this already; the other party's signature is what is missing", party=party)
        )
    with contextlib.closing(Ledger.open(ledger)) as book:
        run, lines = _agrees(book, kind, envelope, read)
        for line in lines:
            click.echo(line, err=True)
        signer = signing.key_of(key, party, trust)
        if not yes and not click.confirm(read("sign this as {party}?", party=party), err=True):
            raise Refused(say("nothing was signed"))
        both = envelope.signed_by(signer)
        if envelopes.load(path) != envelope:
            raise Unproven(say("{path} was changed while you were asked: nothing was signed", path=str(path)))
        signing.write(path, both.to_bytes())
        campaign = statements.campaign_of(both)
        book.keep_envelope(kind, campaign, both.to_bytes(), both.digest, run)
        click.echo(read("FINAL, signed by {party} over the same bytes", party=party), err=True)
        if run is not None:
            _settle(book, run, campaign, trust, read)
    click.echo(path)


def _agrees(book: Ledger, kind: str, envelope: Envelope, read: Reader) -> tuple[str | None, list[str]]:
    """Return the run of a document and its summary. Raises Unproven unless it says what this ledger says."""
    if kind == statements.WAIVER:
        said = statements.read(envelope, kind, Waiver)
        record = book.run(said.run)
        if (why := waivers.contradicts(book, record, said)) is not None:
            raise Unproven(say("this waiver does not hold: {why}; nothing was signed", why=why))
        return record.id, list(shown.waiver(said, read))
    opened = statements.read(envelope, statements.REOPENING, Reopening)
    lines = list(shown.reopening(opened, read))
    for stop in opened.stops:
        if unjudged(book, book.run(stop.run)):
            lines.append(
                "! "
                + read("what run {run} had seen was not judged: it may hold a STOP that nobody has read", run=stop.run)
            )
        last = [one for one in book.decisions(book.run(stop.run)) if one.judgement == 1 and one.kind != "waived"]
        if not last or last[-1].hash != stop.decision:
            raise Unproven(
                say("run {run} came to something else than this reopening says: nothing was signed", run=stop.run)
            )
    return None, lines


def _settle(book: Ledger, run: str, campaign: str, trust: Trust, read: Reader) -> None:
    record = book.run(run)
    decision = waivers.settle(book, record, Documents(book, campaign, trust, standing.now()))
    if decision is not None:
        click.echo(
            read("entered in the decision log: {gate} (run {run}) comes to {outcome} with what is waived",
                 gate=record.gate, run=record.id, outcome=decision.outcome.value),
            err=True,
        )  # fmt: skip


COMMANDS = (waive, reopen)
