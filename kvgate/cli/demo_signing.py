"""What ends the demo: both parties certify what was decided, with keys of the demo's own. Simulated, and it says so."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from checks.phrase import say
from checks.verdict import Outcome
from kvgate.certificates.evidence import compare
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.keys import FileSigner, public_key
from kvgate.certificates.trust import NAMESPACE, PARTIES
from kvgate.cli import signing
from kvgate.cli.again import judged_again
from kvgate.cli.certify import statement_of
from kvgate.errors import KvgateError, Unproven
from kvgate.ledger.repository import Ledger
from kvgate.reports.messages import LANGUAGES, Reader
from kvgate.reports.sheet import sheet


def make_pairs(folder: Path) -> None:
    """Make a pair of keys for each party of the demo, where there is none."""
    for party in PARTIES:
        path = folder / party
        if not path.exists() and not path.with_suffix(".pub").exists():
            folder.mkdir(parents=True, exist_ok=True)
            key = Ed25519PrivateKey.generate()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
            public = FileSigner(key).public.openssh()
            path.with_suffix(".pub").write_text(f"{public} kvgate demo, {party}\n", "utf-8")


def make_keys(folder: Path) -> Path:
    """Make the demo's keys where its inventory says they are, on first use, and return their trust file."""
    make_pairs(folder / "keys")
    lines = []
    for party in PARTIES:
        path = folder / "keys" / party
        held = public_key(path.with_suffix(".pub").read_text("utf-8"), str(path)).openssh()
        lines.append(f'{party} namespaces="{NAMESPACE}" {held} kvgate demo\n')
    trust = folder / "allowed_signers"
    trust.write_text("".join(lines), "utf-8")
    return trust


def certify_newest(var: Path, gate: str, read: Reader) -> bool:
    """Certify the newest run of a gate and say where everything is; False where it cannot be certified, with why and what to do."""
    ledger = f"sqlite:///{var / 'kvgate.db'}"
    try:
        path = _certify(var, ledger, gate)
    except KvgateError as error:
        click.echo(read("no certificate of {gate}: {why}", gate=gate, why=error.phrase), err=True)
        click.echo(
            read("without it no later gate starts. Mend that and run the demo again, or begin anew in another folder: "
                 "kvgate demo --var DIR"),
            err=True,
        )  # fmt: skip
        return False
    trust = var / "demo" / "allowed_signers"
    expect = "" if '"decision":"PASS"' in _payload(path) else " --expect STOP"
    click.echo(
        read(
            "certificate of {gate}, simulated, signed by both parties of the demo: {path} (page: {page})",
            gate=gate,
            path=str(path),
            page=str(path.with_name(f"{path.name}.{read.lang}.html")),
        ),
        err=True,
    )
    command = f"kvgate verify {path} --trust {trust} --evidence {var / 'evidence'} --simulated{expect}"
    click.echo(read("verify it on any machine: {command}", command=command), err=True)
    return True


def _payload(path: Path) -> str:
    from kvgate.certificates.envelope import load

    return load(path).payload.decode()


def _certify(var: Path, ledger: str, gate: str) -> Path:
    trust = signing.trusted(make_keys(var / "demo"))
    with contextlib.closing(Ledger.open(ledger, write=False)) as book:
        run = book.runs(gate=gate)[-1]
        folder = Path(run.evidence)
        again = judged_again(folder)
        signers = [signing.key_of(var / "demo" / "keys" / party, party, trust) for party in PARTIES]
        made = statement_of(book, run, folder, trust, None, PARTIES[0], signers[0])
    envelope = made.sealed()
    for signer in signers:
        envelope = envelope.signed_by(signer)
    asked = Asked(signing.moment(None), trust, simulated=True, decision=made.predicate.decision)
    found = examine(envelope.to_bytes(), asked)
    found = found.with_checks(compare(made, folder, lambda _: again))
    if bad := [one for one in found.checks if one.outcome is not Outcome.PASS]:
        raise Unproven(say("{name}: {found}", name=bad[0].name, found=bad[0].found))
    path = var / "certificates" / f"{gate}-{run.id}.json"
    signing.write(path, envelope.to_bytes())
    signing.keep(ledger, run.campaign, run.id, envelope)
    for lang in LANGUAGES:
        page = sheet(found, path.name, Reader(lang), signing.drawn(made, folder, Reader(lang)))
        signing.write(path.with_name(f"{path.name}.{lang}.html"), page.encode())
    return path
