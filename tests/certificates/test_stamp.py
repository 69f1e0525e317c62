"""A time-stamping authority says that a certificate existed, signatures included; openssl plays the authority."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kvgate.certificates import envelope, stamp
from kvgate.certificates.envelope import Envelope
from kvgate.errors import NotAllowed, Unproven
from tests.certificates.conftest import Desk, Keys

CONFIG = """
[req]
distinguished_name = name
[name]
[tsa]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[stamping]
serial = serial
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
tsa_name = yes
ess_cert_id_chain = no
"""


class Authority:
    """An authority in a folder of its own, with a certificate that it signs itself through a root."""

    def __init__(self, folder: Path, name: str = "Test TSA") -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "config").write_text(CONFIG)
        (folder / "serial").write_text("01\n")
        key = ("-newkey", "rsa:2048", "-nodes", "-config", "config")
        self(
            "req",
            "-x509",
            *key,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-days",
            "30",
            "-subj",
            f"/CN={name} root",
            "-extensions",
            "ca",
        )
        self("req", *key, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", f"/CN={name}")
        self("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "tsa.pem",
             "-days", "30", "-extfile", "config", "-extensions", "tsa")  # fmt: skip

    def __call__(self, *words: str | Path) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    @property
    def root(self) -> Path:
        return self.folder / "ca.pem"

    def answer(self, request: bytes) -> bytes:
        (self.folder / "query").write_bytes(request)
        self("ts", "-reply", "-config", "config", "-section", "stamping", "-queryfile", "query", "-out", "answer")
        return (self.folder / "answer").read_bytes()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tsa") / "one")


@pytest.fixture
def signed(vendor: Keys, customer: Keys) -> Envelope:
    return envelope.seal({"a": 1}).signed_by(vendor.signer).signed_by(customer.signer)


def test_a_token_says_when_and_openssl_reads_it_too(authority: Authority, signed: Envelope, tmp_path: Path) -> None:
    token = authority.answer(stamp.request(signed))
    found = stamp.verify(token, signed, stamp.load_roots(authority.root))
    assert abs(found.time - datetime.now(UTC)) < timedelta(minutes=2)
    assert "Test TSA" in found.authority
    (tmp_path / "certificate.json").write_bytes(signed.to_bytes())
    (tmp_path / "token").write_bytes(token)
    words = ("-in", tmp_path / "token", "-data", tmp_path / "certificate.json", "-CAfile", authority.root)
    authority("ts", "-verify", *words)


def test_a_token_covers_the_signatures_and_nothing_else(authority: Authority, signed: Envelope, tmp_path: Path) -> None:
    token, roots = authority.answer(stamp.request(signed)), stamp.load_roots(authority.root)
    one = Envelope(signed.payload, signed.signatures[:1])
    for other in (one, Envelope(b'{"a":2}', signed.signatures)):
        with pytest.raises(Unproven, match="does not hold"):
            stamp.verify(token, other, roots)
    stranger = Authority(tmp_path / "two")
    with pytest.raises(Unproven, match="does not hold"):
        stamp.verify(token, signed, stamp.load_roots(stranger.root))
    with pytest.raises(Unproven, match="no time-stamping authority"):
        stamp.verify(token, signed, [])


@pytest.mark.parametrize("token", [b"", b"x" * 100, b"0\x03\x02\x01\x00"])
def test_what_is_no_token_is_refused(authority: Authority, signed: Envelope, token: bytes) -> None:
    with pytest.raises(Unproven, match="does not hold"):
        stamp.verify(token, signed, stamp.load_roots(authority.root))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(NotAllowed):
            stamp.load_roots(tmp_path / "file")
    (tmp_path / "file").write_bytes(bytes(300_000))
    with pytest.raises(Unproven, match="no time stamp"):
        stamp.load(tmp_path / "file")


def test_a_token_is_attached_and_verified_with_the_certificate(final: Desk, authority: Authority) -> None:
    asked = final.kvgate("stamp", final.certificate)
    answer = final.folder / "answer"
    answer.write_bytes(authority.answer(Path(asked.stdout.strip()).read_bytes()))
    attached = final.kvgate("stamp", final.certificate, "--answer", answer, "--tsa", authority.root)
    assert attached.exit_code == 0, attached.output
    assert "not later than" in attached.stderr
    untold = final.verify()
    assert untold.exit_code == 6
    assert "no authority is trusted" in untold.stdout
    held = final.verify("--tsa", authority.root)
    assert held.exit_code == 0, held.output
    final.certificate.with_name("certificate.json.tsr").write_bytes(authority.answer(stamp.request(envelope.seal({}))))
    assert final.verify("--tsa", authority.root).exit_code == 1


def test_a_key_that_ended_since_still_counts_under_a_time_stamp(final: Desk, authority: Authority) -> None:
    """The authority says that both had signed while their keys counted."""
    request = stamp.request(envelope.load(final.certificate))
    final.certificate.with_name("certificate.json.tsr").write_bytes(authority.answer(request))
    end = datetime.now(UTC) + timedelta(hours=1)
    lines = [getattr(final, p).line(p, f'valid-before="{end:%Y%m%d%H%M}Z" ') for p in ("vendor", "customer")]
    (final.folder / "allowed_signers").write_text("\n".join(lines))
    later = ("--at", f"{end + timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}")
    assert final.verify(*later, "--timestamp", final.folder / "allowed_signers", "--tsa", authority.root).exit_code == 1
    assert final.verify(*later, "--tsa", authority.root).exit_code == 0
