"""Keys of two parties, a trust file, and finished runs of the embedded rack to certify."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_ssh_private_key,
)

from kvgate.certificates import envelope as envelopes
from kvgate.certificates import trust
from kvgate.certificates.keys import FileSigner
from tests.invoking import invoked

ROOT = Path(__file__).parents[2]
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


@dataclass(frozen=True)
class Desk:
    """A folder in which somebody works: keys of both parties, a trust file, ledger and evidence of finished runs."""

    folder: Path
    vendor: Keys
    customer: Keys

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "var/evidence").iterdir() if path.is_dir())

    def lay_keys(self) -> None:
        """Write both keys and the trust file."""
        for party in ("vendor", "customer"):
            getattr(self, party).write(self.folder / party)
        lines = [self.vendor.line("vendor"), self.customer.line("customer"), ""]
        (self.folder / "allowed_signers").write_text("\n".join(lines))

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.json"

    def kvgate(self, *words: str | Path, text: str = "", **env: str) -> Result:
        """Run the command within this process; a traceback is an error of the test, whatever the exit status."""
        place = self.folder / "var"
        known = {"KVGATE_LEDGER": f"sqlite:///{place / 'kvgate.db'}", "KVGATE_EVIDENCE": str(place / "evidence")}
        whole = {**known, "KVGATE_TRUST": str(self.folder / "allowed_signers"), **env}
        return invoked(*words, text=text, env=whole)

    def forge(self, change: Callable[[dict[str, Any]], None], *parties: str) -> Path:
        """Write a certificate that says something else, signed by these parties (both) as if it were sound."""
        statement = envelopes.load(self.certificate).statement()
        change(statement)
        forged = envelopes.seal(statement)
        for party in parties or ("vendor", "customer"):
            forged = forged.signed_by(getattr(self, party).signer)
        self.certificate.write_bytes(forged.to_bytes())
        return self.certificate

    def certify(self, run: str, *words: str | Path, party: str = "vendor") -> Result:
        key = self.folder / party
        return self.kvgate("certify", run, "--key", key, "--party", party, "-o", self.certificate, *words)

    def cosign(self, *words: str | Path, party: str = "customer", text: str = "") -> Result:
        key = self.folder / party
        return self.kvgate("cosign", self.certificate, "--key", key, "--party", party, *words, text=text)

    def verify(self, *words: str | Path) -> Result:
        return self.kvgate("verify", self.certificate, "--simulated", *words)


def _demo_keys(folder: Path) -> tuple[Keys, Keys]:
    """Return the keys of both parties that the inventory names: one of them signed the start tickets."""
    place = next(one for one in (folder / "var/demo/keys", folder / "keys") if one.is_dir())
    held = []
    for party in ("vendor", "customer"):
        key = load_ssh_private_key((place / party).read_bytes(), None)
        assert isinstance(key, Ed25519PrivateKey)
        held.append(Keys(key))
    return held[0], held[1]


def _final(made: Path) -> Path:
    """Certify the last run of a campaign, with keys of its own, and co-sign it."""
    desk = Desk(made, *_demo_keys(made))
    desk.lay_keys()
    for done in (desk.certify(desk.runs[-1]), desk.cosign("--yes")):
        assert done.exit_code == 0, done.output
    for party in ("vendor", "customer"):
        (made / f"{party}.raw").write_bytes(getattr(desk, party).key.private_bytes_raw())
    return made


def _made(folder: Path, *attempts: tuple[str, ...]) -> Path:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVGATE_")}
    for faults in attempts:
        words = [word for fault in faults for word in ("--fault", fault)]
        subprocess.run(
            [sys.executable, "-m", "kvgate", "demo", "G1", "--nodes", "1", "--var", str(folder / "var"), *words],
            cwd=ROOT, env={**clean, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, capture_output=True, check=False, timeout=200,
        )  # fmt: skip
    _uncertified(folder / "var" / "kvgate.db")
    if (folder / "var" / "certificates").is_dir():
        (folder / "var" / "certificates").rename(folder / "by-the-demo")
    return folder


def _uncertified(ledger: Path) -> None:
    """Take the certificates out that the demo made for both parties: here nobody has signed any yet."""
    with contextlib.closing(sqlite3.connect(ledger)) as book, book:
        ((guard,),) = book.execute("SELECT sql FROM sqlite_master WHERE name = 'envelope_no_delete'").fetchall()
        book.execute("DROP TRIGGER envelope_no_delete")
        book.execute("DELETE FROM envelope WHERE kind = 'certificate'")
        book.execute(guard)


@pytest.fixture(scope="session")
def passed_at_last(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose first attempt could not be decided and whose second passed."""
    return _made(tmp_path_factory.mktemp("passed"), ("node-down",), ())


@pytest.fixture(scope="session")
def stopped_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose first attempt was a STOP."""
    return _made(tmp_path_factory.mktemp("stopped"), ("disk-media-errors",))


@pytest.fixture(scope="session")
def certified_once(passed_at_last: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same campaign with a certificate that both parties have signed."""
    folder = tmp_path_factory.mktemp("final") / "desk"
    shutil.copytree(passed_at_last, folder)
    return _final(folder)


Lay = Callable[[Path], Desk]


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lay:
    """Lay a finished campaign on a desk of its own."""
    for name in [name for name in os.environ if name.startswith("KVGATE_")]:
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)

    def put(made: Path) -> Desk:
        folder = tmp_path / "desk"
        shutil.copytree(made, folder)
        if (made / "vendor.raw").exists():
            held = [
                Ed25519PrivateKey.from_private_bytes((made / f"{p}.raw").read_bytes()) for p in ("vendor", "customer")
            ]
            return Desk(folder, Keys(held[0]), Keys(held[1]))
        desk = Desk(folder, *_demo_keys(folder))
        desk.lay_keys()
        return desk

    return put


@pytest.fixture
def passed(lay: Lay, passed_at_last: Path) -> Desk:
    return lay(passed_at_last)


@pytest.fixture
def final(lay: Lay, certified_once: Path) -> Desk:
    return lay(certified_once)


@pytest.fixture
def stopped(lay: Lay, stopped_once: Path) -> Desk:
    return lay(stopped_once)
