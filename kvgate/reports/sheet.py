"""A certificate on one sheet of A4, to be printed, in English or Chinese; it says what was signed and how to check it.

What was measured and required stands as it was signed. The sheet itself proves nothing: its digest names what does.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import segno
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from checks.phrase import say
from kvgate import agreement as agreements
from kvgate.agreement import Agreement
from kvgate.certificates.decision import Attempt, Certificate, Clause
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.examine import Examination
from kvgate.certificates.quorum import State
from kvgate.certificates.trust import PARTIES
from kvgate.reports.certificates import counts, decided, worst
from kvgate.reports.messages import Reader
from kvgate.reports.recipe import recipe

_PAGES = Path(__file__).parent / "pages"

#: Rows that fit on the sheet; the certificate has all of them, and the sheet says how many it leaves out.
_ATTEMPTS, _CLAUSES, _TERMS, _LETTERS, _KEYS = 3, 3, 3, 48, 2

_GATES = {
    "G1": say("Certificate of gate G1, arrival"),
    "G2": say("Certificate of gate G2, baseline"),
    "G3": say("Certificate of gate G3, benefit"),
    "G4": say("Certificate of gate G4, soak"),
}


@dataclass(frozen=True)
class Section:
    """One table of the sheet, with lines below it."""

    title: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()


def sheet(found: Examination, name: str, read: Reader, drawn: bytes | None = None) -> str:
    """Return the page. ``drawn`` is a picture (SVG) of what was decided on, for a page of its own.

    Raises ValueError for what is no certificate: nothing is printed of it.
    """
    envelope, certificate = found.envelope, found.certificate
    if envelope is None or certificate is None:
        raise ValueError("this is no certificate")
    predicate = certificate.predicate
    pages = Environment(loader=FileSystemLoader(_PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return pages.get_template("certificate.html").render(
        lang=read.lang,
        title=read.phrase(_GATES[predicate.gate]),
        rack=read("rack {rack}, campaign {campaign}", rack=predicate.rack, campaign=predicate.campaign),
        decision=predicate.decision,
        decided=decided(certificate, read),
        marks=list(_marks(certificate, read)),
        open=list(_open(found, read)),
        facts=list(_facts(certificate, read)),
        digests=list(_digests(certificate, read)),
        sections=[*_sections(certificate, read), _signatures(found, envelope, read)],
        qr=qr(envelope.digest),
        digest=envelope.digest,
        hands=[read("for {party}: name, date, signature by hand", party=party) for party in PARTIES],
        check_title=read("Check it yourself"),
        check_text=read(
            "The code holds the digest. With evidence and both public keys: kvgate verify {name} --trust FILE --evidence "
            "DIR. Without kvgate, with a shell and openssl, for {party} (the other party: 2 instead of 1):",
            name=name,
            party=_party(found),
        ),
        recipe=recipe(name, envelope.digest, _party(found), number=1),
        picture="" if drawn is None else drawn[drawn.index(b"<svg") :].decode("utf-8"),
        picture_title=read("The soak, minute by minute"),
        picture_text=read(
            "Drawn from the evidence whose head this certificate carries ({head}); the picture itself was not signed.",
            head=predicate.evidence.head[:16],
        ),
    )


def _party(found: Examination) -> str:
    """Who made the first signature, as far as that is known."""
    signed = found.endorsement.signed if found.endorsement else ()
    return signed[0].party if signed else PARTIES[0]


def qr(digest: str) -> str:
    """Return the QR code of ``sha256:<digest>`` as SVG."""
    drawn = io.BytesIO()
    segno.make(f"sha256:{digest}", error="m").save(
        drawn, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=1
    )
    return drawn.getvalue().decode()


def _marks(certificate: Certificate, read: Reader) -> Iterator[tuple[str, str]]:
    """A word as large as the decision, and the sentence about it, where the decision says nothing about a real rack."""
    if not certificate.predicate.simulated:
        return
    if certificate.predicate.gate == "G4":
        yield (
            read("SIMULATED, NO REAL HOURS"),
            read("The embedded rack was soaked, where 72 hours pass in seconds. This says nothing about any real one."),
        )
        return
    yield read("SIMULATED"), read("The embedded rack answered. This says nothing about any real one.")


def _open(found: Examination, read: Reader) -> Iterator[str]:
    """Why this sheet opens nothing."""
    if found.endorsement is None:
        yield read(
            "NOT VERIFIED: this sheet was printed without a trust file; whose signatures these are is not known."
        )
    elif found.endorsement.state is State.REFUSED:
        yield read("REFUSED: {why}", why=found.endorsement.problems[0])
    elif found.endorsement.state is not State.FINAL:
        missing = read(", ").join(found.endorsement.missing)
        yield read("{state}: not signed by {missing}. It opens nothing.", state=found.state, missing=missing)


def _facts(certificate: Certificate, read: Reader) -> Iterator[tuple[str, str]]:
    found = certificate.predicate
    yield read("run"), found.run
    before = sum(one.campaign != found.campaign for one in found.attempts)
    yield read("attempt"), str(found.attempt) if not before else read(
        "{number}, and {count} before under other names", number=found.attempt, count=before
    )  # fmt: skip
    yield read("started (UTC)"), found.started[:19].replace("T", " ")
    yield read("finished (UTC)"), found.finished[:19].replace("T", " ")
    yield read("duration"), read("{seconds} s by the monotonic clock", seconds=round(found.elapsed / 1_000_000))
    yield read("blocking verdicts"), read(", ").join(counts(certificate))
    yield read("hosts"), str(len(found.hosts))
    yield read("issued (UTC)"), found.issued[:19].replace("T", " ")
    yield read("expires (UTC)"), found.expires[:19].replace("T", " ")
    yield read("by"), f"kvgate {found.version}, {found.operator}@{found.machine}"


def _number(one: Attempt, campaign: str) -> str:
    return str(one.attempt) if one.campaign == campaign else f"{one.campaign} {one.attempt}"


def _digests(certificate: Certificate, read: Reader) -> Iterator[tuple[str, str]]:
    found = certificate.predicate
    yield read("rack"), certificate.fingerprint
    yield read("evidence"), certificate.root
    yield (
        read("agreement"),
        read("{digest}, revision {number}", digest=found.configured("acceptance"), number=found.revision),
    )
    yield read("inventory"), found.configured("inventory")
    yield read("code"), found.configured("code")
    counted = [one for one in found.parties if one.by == "trust"] or list(found.parties)
    for one in counted[:_KEYS]:
        where = read("operator's trust file") if one.by == "trust" else read("inventory")
        yield read("key of {party} ({where})", party=one.party, where=where), one.key
    yield read("decision log"), f"{found.log.seq}: {found.log.hash}"
    if found.previous is not None:
        yield read("gate before"), f"{found.previous.gate}: {found.previous.document}"


def _sections(certificate: Certificate, read: Reader) -> Iterator[Section]:
    found = certificate.predicate
    if found.attempts:
        heads = [read("attempt"), read("outcome"), read("run"), read("started (UTC)")]
        rows = [
            (_number(one, found.campaign), one.outcome, one.run, one.started[:19].replace("T", " "))
            for one in found.attempts[-_ATTEMPTS:]
        ]
        yield Section(read("Attempts before this one"), heads, rows, _more(len(found.attempts), _ATTEMPTS, read))
    if left := [one for one in found.soaks if not one.judged]:
        heads = [read("soak"), read("started (UTC)"), read("given up (UTC)")]
        begun = [
            (
                one.soak,
                one.started[:19].replace("T", " ") or "-",
                (one.removed or one.stopped)[:19].replace("T", " ") or "-",
            )
            for one in left[-_ATTEMPTS:]
        ]
        yield Section(read("Soaks begun before without a verdict"), heads, begun, _more(len(left), _ATTEMPTS, read))
    yield _clauses(found.clauses, _agreement(certificate), read)
    if found.overlaid:
        heads = [read("clause"), read("number"), read("standard"), read("agreed")]
        terms = [
            (one.clause, _short(one.what), _short(one.before), _short(one.after)) for one in found.overlaid[:_TERMS]
        ]
        yield Section(
            read("Agreed otherwise than the standard"), heads, terms, _more(len(found.overlaid), _TERMS, read)
        )
    if found.waivers:
        heads = [read("clause"), read("subject"), read("until")]
        waived = [(one.clause, one.subject, one.until) for one in found.waivers[:_TERMS]]
        yield Section(read("Waived by both parties"), heads, waived, _more(len(found.waivers), _TERMS, read))


def _clauses(clauses: Sequence[Clause], agreement: Agreement | None, read: Reader) -> Section:
    """What did not pass, blocking first; and what people declared instead of a measurement."""
    bad = sorted((one for one in clauses if one.outcome != "PASS"), key=worst)
    rows = [
        (one.outcome, _weight(one, read), f"{one.clause} {one.subject}", _says(one, agreement, read), _short(one.measured or one.note),
         _short(one.required))
        for one in bad[:_CLAUSES]
    ]  # fmt: skip
    declared = sum(one.basis == "declared" for one in clauses)
    lines = list(_more(len(bad), _CLAUSES, read))
    if declared:
        lines.append(read("{count} verdicts were declared by people, not measured.", count=declared))
    if not bad:
        lines.insert(0, read("Every clause passed, advisory ones too."))
    heads = [read("outcome"), read("weight"), read("clause"), read("what it says"), read("measured"), read("required")]
    return Section(read("What did not pass"), heads, rows, lines)


def _weight(clause: Clause, read: Reader) -> str:
    return read("waived") if clause.waiver else read("blocking") if clause.blocking else read("advisory")


def _says(clause: Clause, agreement: Agreement | None, read: Reader) -> str:
    if agreement is None or clause.clause not in agreement.acceptance.clauses:
        return clause.check
    return _short(read.text(agreement.acceptance.clauses[clause.clause].text))


def _agreement(certificate: Certificate) -> Agreement | None:
    """The document of this installation, for the sentences of its clauses; None when the certificate has other clauses."""
    standard = agreements.read()
    checks = {name: clause.check for name, clause in standard.acceptance.clauses.items()}
    same = all(checks.get(one.clause) == one.check for one in certificate.predicate.clauses)
    return standard if same else None


def _signatures(found: Examination, envelope: Envelope, read: Reader) -> Section:
    heads = [read("party"), read("key"), read("who")]
    if found.endorsement is not None:
        signed = [(line.party, line.key.fingerprint, line.who) for line in found.endorsement.signed]
    else:
        signed = [("?", one.keyid, "") for one in envelope.signatures]
    lines = []
    if found.stamp is not None:
        time = f"{found.stamp.time:%Y-%m-%dT%H:%M:%SZ}"
        lines.append(read("not later than {time}, says {who}", time=time, who=found.stamp.authority))
    return Section(read("Signatures"), heads, signed, lines)


def _more(count: int, shown: int, read: Reader) -> list[str]:
    return [read("and {count} more", count=count - shown)] if count > shown else []


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 3] + "..."
