"""Keys of two parties and a trust file, fresh for each test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from kvgate.certificates import trust
from kvgate.certificates.keys import FileSigner

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Keys:
    """One private key, as every file that it may come in."""

    key: Ed25519PrivateKey

    @property
    def signer(self) -> FileSigner:
        return FileSigner(self.key)

    def line(self, party: str, options: str = 'namespaces="kvgate" ') -> str:
        return f"{party} {options}{self.signer.public.openssh()} someone at {party}"

    def write(self, path: Path, passphrase: bytes | None = None, form: PrivateFormat = PrivateFormat.OpenSSH) -> Path:
        lock = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        path.write_bytes(self.key.private_bytes(Encoding.PEM, form, lock))
        path.chmod(0o600)
        path.with_name(path.name + ".pub").write_text(self.signer.public.openssh() + " comment\n")
        return path


@pytest.fixture
def vendor() -> Keys:
    return Keys(Ed25519PrivateKey.generate())


@pytest.fixture
def customer() -> Keys:
    return Keys(Ed25519PrivateKey.generate())


@pytest.fixture
def stranger() -> Keys:
    return Keys(Ed25519PrivateKey.generate())


@pytest.fixture
def trusted(vendor: Keys, customer: Keys) -> trust.Trust:
    return trust.read(f"# ours\n\n{vendor.line('vendor')}\n{customer.line('customer')}\n")
