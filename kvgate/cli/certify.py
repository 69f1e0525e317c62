"""``kvgate certify`` and ``kvgate cosign``: a decided run becomes a certificate when both parties have signed it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import click

from checks.phrase import Phrase, say
from checks.verdict import Outcome
from kvgate.campaign import order, standing, statements, tickets
from kvgate.campaign.documents import Documents
from kvgate.campaign.standing import Campaign
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate, Previous
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.evidence import compare
from kvgate.certificates.examine import Asked, Examination, examine
from kvgate.certificates.issue import certificate
from kvgate.certificates.keys import Signer
from kvgate.certificates.trust import Trust
from kvgate.cli import beside, certified, complete, deviation, options, signing, speech
from kvgate.cli.again import judged_again
from kvgate.errors import NotAllowed, Refused, Unproven
from kvgate.gate import options as gate_options
from kvgate.gate.stored import find_run
from kvgate.ledger.repository import Ledger, RunRecord
from kvgate.reports import certificates as shown
from kvgate.reports.messages import Reader, language


@click.command(
    "certify",
    help=speech.read(
        "Certify RUN: a complete PASS, or a STOP as a signed record of it. The first signature makes a DRAFT; "
        "see cosign.\n\n"
        "The evidence is checked and judged again first, and must come to what the ledger says.\n\n"
        "Example: kvgate certify 20261129T19 --key keys/vendor --party vendor"
    ),
)
@click.argument("run", shell_complete=complete.runs)
@signing.KEY
@signing.PARTY
@signing.TRUST
@options.LEDGER
@options.evidence(speech.read("where runs are kept"))
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help=speech.read("file to write  [default: var/certificates/GATE-RUN.json]"),
)
@click.option(
    "--valid-days",
    type=click.IntRange(1, 3650),
    help=speech.read("days that it counts  [default: by the calendar, or 70]"),
)
def certify(
    run: str,
    key: Path,
    party: str,
    trust: Path | None,
    ledger: str,
    evidence: Path,
    out: Path | None,
    valid_days: int | None,
) -> None:
    """Certify a run."""
    read = Reader(language())
    with contextlib.closing(Ledger.open(ledger, write=False)) as book:
        record = book.run(run)
        folder = find_run(gate_options.Options(record.gate, None, ledger, evidence), record.id)
        known = signing.in_force(book, record.campaign, trust)
        signer = signing.key_of(key, party, known)
        made = statement_of(book, record, folder, known, valid_days, party, signer)
        already = certified.already(book, record, made, known)
    if (
        already is not None
        and valid_days is not None
        and already.made.predicate.expires[:10] != made.predicate.expires[:10]
    ):
        raise NotAllowed(
            say(
                "run {run} has a certificate that counts until {end}: another one of the same decision would look as if it had been signed "
                "anew; leave --valid-days out to have that one written again",
                run=record.id, end=already.made.predicate.expires[:10],
            )
        )  # fmt: skip
    envelope = made.sealed().signed_by(signer) if already is None else already.envelope
    path = out or Path("var/certificates") / f"{record.gate}-{record.id}.json"
    if already is not None and certified.is_there(path, envelope):
        certified.there(already, path, read)
        return
    if path.exists():
        raise NotAllowed(certified.in_the_way(path, envelope))
    signing.write(path, envelope.to_bytes())
    if already is not None:
        certified.written_again(already, path, read)
        return
    signing.keep(ledger, record.campaign, record.id, envelope)
    for line in shown.summary(made, read):
        click.echo(line, err=True)
    click.echo(
        read(
            "DRAFT, signed by {party}; it opens nothing until the other party co-signs: "
            "kvgate cosign {path} --key FILE --party {other} --trust FILE",
            party=party,
            other=signing.other(party),
            path=str(path),
        ),
        err=True,
    )
    click.echo(path)


def statement_of(
    book: Ledger, run: RunRecord, folder: Path, trust: Trust | None, days: int | None, party: str, key: Signer
) -> Certificate:
    """Return the certificate that a party is about to sign, with the waivers that count, the start ticket and the gate before.

    ``days`` that it counts; None: by the calendar.
    """
    at = standing.now()
    campaign = standing.read(book, run.campaign, Documents(book, run.campaign, trust, at))
    attempt = next(one for one in campaign.attempts if one.run.id == run.id)
    if attempt.outcome is Outcome.PASS and (by := campaign.taken_back_by(attempt)) is not None:
        raise NotAllowed(order.taken_back(attempt, by))
    allowed = campaign.days(attempt)
    if days is not None and days > allowed:
        raise NotAllowed(
            say(
                "found --valid-days {days}, wanted at most {allowed}: so long a PASS of {gate} counts by the agreed calendar",
                days=days,
                allowed=allowed,
                gate=run.gate,
            )
        )
    return certificate(
        book, run, folder, judged_again(folder), previous=_previous(campaign, run), waivers=attempt.for_certificate(),
        days=days or allowed, ticket=tickets.to_certify(book, run, trust, at, party, key.public),
    )  # fmt: skip


def _previous(campaign: Campaign, run: RunRecord) -> Previous | None:
    """Return the certificate of the gate before that the run began on, a FINAL one first. Raises NotAllowed when there is none."""
    gate = order.before(run.gate)
    if gate is None:
        return None
    earlier = [one for one in campaign.passes(gate) if one.run.seq < run.seq]
    kept = [one.certified for one in earlier if one.certified.document is not None]
    kept.sort(key=lambda one: one.state != "FINAL")
    if not kept or kept[0].document is None:
        raise NotAllowed(
            say("{gate} of campaign {campaign} has no certificate: certify it first", gate=gate, campaign=run.campaign)
        )
    return Previous(gate=gate, document=kept[0].document)


@click.command(
    "cosign",
    help=speech.read(
        "Add a party's signature to CERT (a certificate, a waiver, a reopening) over the same bytes: everything is "
        "verified and shown first, then you are asked.\n\n"
        "Example: kvgate cosign G1.json --key keys/customer --party customer --trust keys/allowed_signers"
    ),
)
@click.argument("cert", type=click.Path(path_type=Path))
@signing.KEY
@signing.PARTY
@signing.TRUST
@options.LEDGER
@options.evidence(speech.read("folder of the run, or the one that holds it"))
@click.option(
    "--previous",
    type=click.Path(path_type=Path),
    help=speech.read("certificate of the gate before  [default: the one in the ledger]"),
)
@click.option(
    "--waiver", "waivers", type=click.Path(path_type=Path), multiple=True,
    help=speech.read("waiver that CERT stands on, signed by both parties; several times  [default: those in the ledger]"),
)  # fmt: skip
@click.option(
    "--without-ledger",
    is_flag=True,
    help=speech.read("sign without counting earlier attempts: your own risk, and said so"),
)
@click.option(
    "--without-evidence", is_flag=True, help=speech.read("sign what you cannot judge again: your own risk, and said so")
)
@click.option("--yes", is_flag=True, help=speech.read("do not ask"))
def cosign(
    cert: Path,
    key: Path,
    party: str,
    trust: Path | None,
    ledger: str,
    evidence: Path,
    previous: Path | None,
    waivers: tuple[Path, ...],
    without_ledger: bool,
    without_evidence: bool,
    yes: bool,
) -> None:
    """Add a party's signature to CERT over the same bytes."""
    read = Reader(language())
    if trust is None:
        raise NotAllowed(
            say(
                "whose signature is on it? name your own trust file with --trust FILE (or KVGATE_TRUST): a line for each party, "
                "its name before its public key, as in 'vendor ssh-ed25519 AAAA...'"
            )
        )
    known = signing.trusted(trust)
    if (kind := _other_kind(cert)) is not None and known is not None:
        deviation.cosign(kind, cert, envelopes.load(cert), key, party, known, ledger, yes)
        return
    data, before = beside.bytes_of(cert), beside.bytes_of(previous) if previous else None
    asked = Asked(signing.moment(None), known, draft=True, simulated=True, previous=before)
    found = examine(data, asked)
    if found.certificate is not None and found.certificate.predicate.decision == "STOP":
        found = examine(data, replace(asked, decision="STOP"))
    if found.certificate is not None:
        found = found.with_checks(
            beside.all_of_it(found.certificate, asked, ledger, waivers, without_ledger=without_ledger)
        )
    if found.certificate is not None and not without_evidence:
        folder = signing.folder_of(evidence, found.certificate.predicate.run)
        found = found.with_checks(compare(found.certificate, folder, judged_again))
    for line in shown.checks(found, read):
        click.echo(line, err=True)
    if found.outcome is not Outcome.PASS or found.envelope is None or found.certificate is None:
        raise Unproven(_refusal(cert, found))
    if found.certificate.predicate.decision == "PASS" and not without_ledger:
        _still_counts(ledger, found.certificate, known)
    for line in shown.summary(found.certificate, read):
        click.echo(line, err=True)
    if without_evidence:
        click.echo(read("! the evidence was not looked at"), err=True)
    if without_ledger:
        click.echo(read("! earlier attempts were not counted"), err=True)
    _not_yet(found, party)
    signer = signing.key_of(key, party, known)
    if not yes and not click.confirm(read("sign this as {party}?", party=party), err=True):
        raise Refused(say("nothing was signed"))
    both = _signed(cert, found.envelope, signer)
    signing.keep(ledger, found.certificate.predicate.campaign, found.certificate.predicate.run, both)
    state = examine(both.to_bytes(), Asked(signing.moment(None), known)).state
    click.echo(read("{state}, signed by {party} over the same bytes", state=state, party=party), err=True)
    click.echo(cert)


def _still_counts(ledger: str, about: Certificate, trust: Trust | None) -> None:
    """Raises NotAllowed for a PASS that a later STOP of its gate, or of a gate before it, took back."""
    said = about.predicate
    with contextlib.closing(Ledger.open(ledger, write=False)) as book:
        campaign = standing.read(book, said.campaign, Documents(book, said.campaign, trust, standing.now()))
    for attempt in campaign.attempts:
        if attempt.run.id == said.run and (by := campaign.taken_back_by(attempt)) is not None:
            raise NotAllowed(order.taken_back(attempt, by))


def _refusal(cert: Path, found: Examination) -> Phrase:
    untold = {one.name for one in found.checks if one.outcome is Outcome.UNDECIDED}
    if found.outcome is Outcome.STOP or not untold:
        return say("{cert} does not hold: nothing was signed", cert=str(cert))
    if untold == {"attempts"}:
        return say(
            "whether {cert} leaves earlier attempts out could not be told: nothing was signed; name the ledger that has its run "
            "(--ledger URL, or kvgate ledger import what the other party exported), or sign --without-ledger",
            cert=str(cert),
        )
    return say("whether {cert} holds could not be told: nothing was signed; see above what is missing", cert=str(cert))


def _other_kind(cert: Path) -> str | None:
    """Return the kind of a document that is no certificate but is co-signed all the same: a waiver, a reopening."""
    try:
        return statements.kind_of(envelopes.load(cert))
    except Unproven:
        return None  # examine says what is wrong with it


def _not_yet(found: Examination, party: str) -> None:
    if found.endorsement is not None and not found.endorsement.missing:
        raise NotAllowed(say("both parties have signed this already: nothing is missing"))
    if found.endorsement is not None and party in {line.party for line in found.endorsement.signed}:
        raise NotAllowed(
            say("{party} has signed this already; the other party's signature is what is missing", party=party)
        )


def _signed(path: Path, envelope: Envelope, signer: Signer) -> Envelope:
    both = envelope.signed_by(signer)
    if envelopes.load(path) != envelope:
        raise Unproven(say("{path} was changed while you were asked: nothing was signed", path=str(path)))
    signing.write(path, both.to_bytes())
    if envelopes.load(path) != both:
        raise Unproven(say("{path} does not read back as signed", path=str(path)))
    return both


COMMANDS = (certify, cosign)
