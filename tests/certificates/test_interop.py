"""Others read our envelopes: code that shares nothing with ours verifies them, and the recipe on the sheet does what it says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from kvgate.certificates import envelope
from kvgate.certificates.envelope import Envelope, pae
from kvgate.reports.recipe import recipe
from tests.certificates.conftest import Keys

PLAIN = envelope.seal({"_type": "https://in-toto.io/Statement/v1", "name": "阵列 A", "n": 3})


@pytest.fixture
def signed(vendor: Keys, customer: Keys) -> Envelope:
    return PLAIN.signed_by(vendor.signer).signed_by(customer.signer)


def theirs(keys: Keys) -> SSlibKey:
    public = keys.signer.public
    return SSlibKey(public.fingerprint, "ed25519", "ed25519", {"public": public.raw.hex()})


def test_securesystemslib_verifies_both_signatures(
    signed: Envelope, vendor: Keys, customer: Keys, stranger: Keys
) -> None:
    import json

    read = TheirEnvelope.from_dict(json.loads(signed.to_bytes()))
    assert read.payload == signed.payload
    assert read.pae() == pae(signed.payload)
    assert set(read.verify([theirs(vendor), theirs(customer)], 2)) == {
        vendor.signer.public.fingerprint, customer.signer.public.fingerprint,
    }  # fmt: skip
    with pytest.raises(VerificationError):
        read.verify([theirs(vendor), theirs(stranger)], 2)


def test_an_envelope_of_theirs_is_read_by_us(vendor: Keys) -> None:
    import json

    from securesystemslib.signer import CryptoSigner

    other = TheirEnvelope(PLAIN.payload, envelope.PAYLOAD_TYPE, {})
    other.sign(CryptoSigner(vendor.key, theirs(vendor)))
    found = envelope.read(json.dumps(other.to_dict()).encode())
    assert found == PLAIN.signed_by(vendor.signer)


@pytest.mark.parametrize("party", ["vendor", "customer"])
def test_the_recipe_on_the_sheet_verifies_with_openssl_and_a_shell(
    tmp_path: Path, signed: Envelope, vendor: Keys, customer: Keys, party: str
) -> None:
    keys = {"vendor": vendor, "customer": customer}[party]
    (tmp_path / "certificate.json").write_bytes(signed.to_bytes())
    (tmp_path / f"{party}.pub").write_text(keys.signer.public.openssh() + " who\n")
    script = recipe("certificate.json", signed.digest, party, number=1 if party == "vendor" else 2)
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{signed.digest}  -", "Signature Verified Successfully"]
    other = {"vendor": customer, "customer": vendor}[party]
    (tmp_path / f"{party}.pub").write_text(other.signer.public.openssh() + " who\n")
    wrong = subprocess.run(["sh", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode != 0
