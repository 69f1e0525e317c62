"""A finished campaign with evidence and a certificate of both parties, its ledger in SQLite and in PostgreSQL, to be tampered with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from kvgate.certificates import envelope as envelopes
from kvgate.certificates.keys import FileSigner
from kvgate.ledger import moving
from kvgate.ledger.repository import Ledger
from tests.invoking import invoked
from tests.ledger.conftest import _database
from tests.ledger.server import server

ROOT = Path(__file__).parents[2]
PARTIES = ("vendor", "customer")


def kvgate(*words: str | Path, status: int = 0, **env: str) -> str:
    """Run the command within this process and return its stdout; any other exit status is an error of the test."""
    before = {name: value for name, value in os.environ.items() if name.startswith("KVGATE_")}
    clean = dict.fromkeys(before)
    done = invoked(*words, env={**clean, "LC_ALL": "C.UTF-8", **env})
    assert done.exit_code == status, done.output
    return done.stdout


def _key(folder: Path, party: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes((folder / f"{party}.raw").read_bytes())


@dataclass(frozen=True)
class Scene:
    """One copy of the campaign: ``url`` is its ledger, ``anchor`` the certificate as the customer keeps it."""

    folder: Path
    url: str

    @property
    def evidence(self) -> Path:
        return self.folder / "var" / "evidence"

    @property
    def anchor(self) -> Path:
        return self.folder / "certificate.json"

    @property
    def runs(self) -> list[str]:
        return sorted(path.name for path in self.evidence.iterdir())

    def audit(self, *words: str | Path) -> list[tuple[str, str]]:
        """Kind and text of everything found; evidence is looked for in its place, certificates only in the ledger."""
        places = ["--ledger", self.url, "--evidence", self.evidence, "--certificates", self.folder / "none"]
        done = invoked("audit", "--json", *places, *words)
        found = json.loads(done.stdout)["found"]
        assert done.exit_code == (1 if found else 0)
        return [(one["kind"], one["text"]) for one in found]

    def kinds(self, *words: str | Path) -> set[str]:
        return {kind for kind, _ in self.audit(*words)}

    def certificate(self, change: Callable[[dict[str, Any]], None], *parties: str) -> Path:
        """Return a certificate that says something else, signed as if it were sound."""
        statement = envelopes.load(self.anchor).statement()
        change(statement)
        forged = envelopes.seal(statement)
        for party in parties or PARTIES:
            forged = forged.signed_by(FileSigner(_key(self.folder, party)))
        path = self.folder / "forged.json"
        path.write_bytes(forged.to_bytes())
        return path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two attempts of the embedded rack, the second a PASS, certified by both parties of the demo."""
    folder = tmp_path_factory.mktemp("campaign")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVGATE_")}
    for faults in (("--fault", "node-down"), ()):
        subprocess.run(
            [sys.executable, "-m", "kvgate", "demo", "G1", "--nodes", "1", "--var", str(folder / "var"), *faults],
            cwd=ROOT, env={**clean, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, capture_output=True, check=False, timeout=200,
        )  # fmt: skip
    run = sorted(path.name for path in (folder / "var" / "evidence").iterdir())[-1]
    shutil.copy(folder / "var" / "certificates" / f"G1-{run}.json", folder / "certificate.json")
    shutil.copy(folder / "var" / "demo" / "allowed_signers", folder / "allowed_signers")
    for party in PARTIES:
        key = load_ssh_private_key((folder / "var" / "demo" / "keys" / party).read_bytes(), None)
        assert isinstance(key, Ed25519PrivateKey)
        (folder / f"{party}.raw").write_bytes(key.private_bytes_raw())
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture(scope="session")
def on_postgresql(made: Path, postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Name of a database that holds the campaign, to be copied."""
    file = tmp_path_factory.mktemp("moved") / "ledger"
    moving.export(f"sqlite:///{made}/var/kvgate.db", file, "")
    with _database(postgresql) as url:
        moving.take_in(file, url)
        yield url.rpartition("/")[2]


@pytest.fixture(params=["sqlite", "postgresql"])
def scene(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Iterator[Scene]:
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    if request.param == "sqlite":
        yield Scene(folder, f"sqlite:///{folder}/var/kvgate.db")
        return
    template = request.getfixturevalue("on_postgresql")
    with _database(request.getfixturevalue("postgresql"), template) as url:
        yield Scene(folder, url)


@pytest.fixture
def ledger(scene: Scene) -> Iterator[Ledger]:
    opened = Ledger.open(scene.url, write=False)
    yield opened
    opened.close()
