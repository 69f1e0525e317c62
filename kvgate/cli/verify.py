"""``kvgate verify`` and ``kvgate stamp``: a certificate examined on any machine, and a third party's time on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from checks.phrase import say
from checks.verdict import Outcome
from kvgate.certificates import envelope as envelopes
from kvgate.certificates import stamp as stamps
from kvgate.certificates.evidence import compare
from kvgate.certificates.examine import Asked, Examination, examine
from kvgate.cli import beside, options, signing, speech
from kvgate.cli.again import judged_again
from kvgate.errors import NotAllowed, Unproven
from kvgate.reports import certificates as shown
from kvgate.reports.messages import Reader, language

_FILE = click.Path(path_type=Path)
_STATUS = {Outcome.PASS: 0, Outcome.STOP: 1, Outcome.UNDECIDED: 6}


@click.command(
    "verify",
    help=speech.read(
        "Verify CERT and name every check with its result; needs no ledger and no rack.\n\n"
        "Exit status: 0 only if everything asked for holds, 1 if something does not, 4 if CERT is no "
        "certificate at all, 6 if something could not be told.\n\n"
        "Example: kvgate verify G1.json --trust keys/allowed_signers --evidence var/evidence"
    ),
)
@click.argument("cert", type=_FILE)
@signing.TRUST
@click.option(
    "--revoked", type=_FILE, help=speech.read("revoked keys and certificates  [default: TRUST.revoked, if it is there]")
)
@click.option(
    "--evidence", type=_FILE, help=speech.read("folder of the run, or the one that holds it: hashed and judged again")
)
@click.option(
    "--previous", type=_FILE, help=speech.read("certificate of the gate before: it must be the one that CERT names")
)
@click.option(
    "--waiver", "waivers", type=_FILE, multiple=True,
    help=speech.read("waiver that CERT stands on: it must be signed by both parties; several times"),
)  # fmt: skip
@click.option(
    "--ledger",
    metavar="URL",
    help=speech.read("results database: no earlier attempt may be left out  [default: none is asked]"),
)
@click.option(
    "--timestamp", type=_FILE, help=speech.read("RFC 3161 token over CERT  [default: CERT.tsr, if it is there]")
)
@click.option("--tsa", type=_FILE, help=speech.read("root certificates (PEM) of the time-stamping authority you trust"))
@click.option("--draft", is_flag=True, help=speech.read("one party's signature is enough for this question"))
@click.option("--simulated", is_flag=True, help=speech.read("accept a certificate about the embedded rack"))
@click.option(
    "--expect", type=click.Choice(["PASS", "STOP"]), default="PASS", show_default=True, help=speech.read("the decision")
)
@signing.AT
@options.JSON
def verify(
    cert: Path,
    trust: Path | None,
    revoked: Path | None,
    evidence: Path | None,
    previous: Path | None,
    waivers: tuple[Path, ...],
    ledger: str | None,
    timestamp: Path | None,
    tsa: Path | None,
    draft: bool,
    simulated: bool,
    expect: str,
    at: str | None,
    as_json: bool,
) -> None:
    """Verify CERT and name every check with its result; needs no ledger and no rack."""
    lying = Path(f"{cert}{stamps.SUFFIX}")
    token = timestamp or (lying if lying.is_file() else None)
    asked = Asked(
        at=signing.moment(at),
        trust=signing.trusted(trust, revoked),
        draft=draft,
        decision=expect,
        simulated=simulated,
        token=stamps.load(token) if token else None,
        roots=stamps.load_roots(tsa) if tsa else [],
        previous=beside.bytes_of(previous) if previous else None,
    )
    data = beside.bytes_of(cert)
    found = examine(data, asked)
    if found.envelope is None and not envelopes.resembles(
        data
    ):  # an input that was meant otherwise, and nothing forged
        raise Unproven(
            say(
                "{path} is no certificate: {why}; name the file that `kvgate certify` wrote",
                path=str(cert),
                why=found.checks[0].found,
            )
        )
    if found.certificate is not None:
        found = found.with_checks(beside.asked_for(found.certificate, asked, ledger, waivers))
    if evidence is not None and found.certificate is not None:
        folder = signing.folder_of(evidence, found.certificate.predicate.run)
        found = found.with_checks(compare(found.certificate, folder, judged_again))
    if as_json:
        click.echo(json.dumps(_json(cert, found), ensure_ascii=False))
    else:
        _print(found)
    sys.exit(_STATUS[found.outcome])


def _print(found: Examination) -> None:
    read = Reader(language())
    for line in shown.checks(found, read):
        click.echo(line)
    if found.certificate is not None:
        for line in shown.summary(found.certificate, read):
            click.echo(line)
        for how in beside.not_asked(found.certificate, found.checks).values():
            click.echo(read("not asked: {what}", what=read.phrase(how)))
    if found.outcome is Outcome.PASS:
        click.echo(read("everything asked for holds"))
    elif found.outcome is Outcome.STOP:
        click.echo(read("it does not hold"))
    else:
        click.echo(read("it could not be told whether everything holds"))


def _json(cert: Path, found: Examination) -> dict[str, object]:
    predicate = found.certificate.predicate if found.certificate else None
    return {
        "certificate": str(cert),
        "holds": found.outcome is Outcome.PASS,
        "outcome": found.outcome.value,
        "state": found.state,
        "digest": found.envelope.digest if found.envelope else None,
        "gate": predicate.gate if predicate else None,
        "decision": predicate.decision if predicate else None,
        "simulated": predicate.simulated if predicate else None,
        "campaign": predicate.campaign if predicate else None,
        "rack": predicate.rack if predicate else None,
        "run": predicate.run if predicate else None,
        "attempt": predicate.attempt if predicate else None,
        "attempts_before": len(predicate.attempts) if predicate else None,
        "expires": predicate.expires if predicate else None,
        "signed": [
            {"party": line.party, "key": line.key.fingerprint, "who": line.who}
            for line in (found.endorsement.signed if found.endorsement else ())
        ],
        "not_asked": sorted(beside.not_asked(found.certificate, found.checks)) if found.certificate else [],
        "timestamp": f"{found.stamp.time:%Y-%m-%dT%H:%M:%SZ}" if found.stamp else None,
        "checks": [
            {"check": one.name, "outcome": one.outcome.value, "found": str(one.found)} for one in found.checks
        ],
    }  # fmt: skip


@click.command(
    "stamp",
    help=speech.read(
        "Write a time-stamp request for CERT to CERT.tsq (RFC 3161), or attach the authority's --answer to "
        "it.\n\n"
        "Stamp when both parties have signed: the token covers the signatures.\n\n"
        'Example: kvgate stamp G1.json; curl -H "Content-Type: application/timestamp-query" --data-binary '
        "@G1.json.tsq URL -o answer.tsr; kvgate stamp G1.json --answer answer.tsr --tsa tsa.pem"
    ),
)
@click.argument("cert", type=_FILE)
@click.option(
    "--answer", type=_FILE, help=speech.read("the authority's answer: verified, then kept beside CERT as CERT.tsr")
)
@click.option("--tsa", type=_FILE, help=speech.read("root certificates (PEM) of the authority"))
def stamp(cert: Path, answer: Path | None, tsa: Path | None) -> None:
    """Write a time-stamp request for CERT to CERT.tsq (RFC 3161), or attach the authority's --answer to it."""
    read = Reader(language())
    envelope = envelopes.load(cert)
    if answer is None:
        path = Path(f"{cert}.tsq")
        signing.write(path, stamps.request(envelope))
        click.echo(path)
        return
    if tsa is None:
        raise NotAllowed(say("whose time is it? name the authority's root certificates with --tsa"))
    token = stamps.load(answer)
    found = stamps.verify(token, envelope, stamps.load_roots(tsa))
    path = Path(f"{cert}{stamps.SUFFIX}")
    signing.write(path, token)
    click.echo(
        read("not later than {time}, says {who}", time=f"{found.time:%Y-%m-%dT%H:%M:%SZ}", who=found.authority),
        err=True,
    )
    click.echo(path)


@click.command(
    "sheet",
    help=speech.read(
        "Write CERT as one page of A4 (HTML, nothing is loaded from the network): to be read, printed and "
        "signed by hand.\n\n"
        "It says DRAFT, SIMULATED or NOT VERIFIED where that is so. The language is that of kvgate --lang.\n\n"
        "Example: kvgate --lang zh sheet G1.json --trust keys/allowed_signers"
    ),
)
@click.argument("cert", type=_FILE)
@signing.TRUST
@click.option("--tsa", type=_FILE, help=speech.read("root certificates (PEM) of the time-stamping authority you trust"))
@click.option(
    "--evidence", type=_FILE, help=speech.read("folder of the run, or the one that holds it: a soak is drawn on a second page")
)  # fmt: skip
@click.option("--out", "-o", type=_FILE, help=speech.read("file to write  [default: CERT.en.html or CERT.zh.html]"))
def sheet(cert: Path, trust: Path | None, tsa: Path | None, evidence: Path | None, out: Path | None) -> None:
    """Write CERT as one page of A4 (HTML, nothing is loaded from the network)."""
    from kvgate.reports.sheet import sheet as page

    read = Reader(language())
    lying = Path(f"{cert}{stamps.SUFFIX}")
    asked = Asked(
        at=signing.moment(None),
        trust=signing.trusted(trust),
        token=stamps.load(lying) if tsa and lying.is_file() else None,
        roots=stamps.load_roots(tsa) if tsa else [],
    )
    found = examine(beside.bytes_of(cert), asked)
    broken = [one for one in found.checks if one.name in ("envelope", "statement") and one.outcome is not Outcome.PASS]
    if broken:
        raise Unproven(say("{cert} is not printed: {found}", cert=str(cert), found=broken[0].found))
    path = out or Path(f"{cert}.{read.lang}.html")
    drawn = None
    if evidence is not None and found.certificate is not None:
        drawn = signing.drawn(found.certificate, signing.folder_of(evidence, found.certificate.predicate.run), read)
    signing.write(path, page(found, cert.name, read, drawn).encode())
    click.echo(path)


COMMANDS = (verify, stamp, sheet)
