"""Soaks on this machine, ended whatever a test did."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.certificates.soak_book import SoakBook
from kvgate.inventory import reader
from kvgate.ledger.repository import Ledger
from kvgate.soak.control import Control
from kvgate.soak.store import Store
from kvgate.transport.local import LocalTransport
from tests.certificates.conftest import Keys
from tests.soak.hosted import ask
from tests.soak.rack import inventory

#: Who signs what is written down of soaks here.
SIGNER = Keys(Ed25519PrivateKey.generate()).signer


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Path]:
    """Folder that holds the soaks of all hosts."""
    base = tmp_path / "hosts"
    yield base
    for place in base.glob("*/*/worker.pyz"):
        ask(place.parent, "stop")


@pytest.fixture
def book(tmp_path: Path, hosts: Path) -> Iterator[SoakBook]:
    """The soaks of the rack in a ledger of its own."""
    file = tmp_path / "rack.yaml"
    file.write_text(inventory(hosts))
    with contextlib.closing(Ledger.open(f"sqlite:///{tmp_path / 'kvgate.db'}")) as ledger:
        yield SoakBook(ledger, reader.read(file), "tester", "0", signer=SIGNER)


@pytest.fixture
def control(tmp_path: Path, hosts: Path, book: SoakBook) -> Control:
    return Control(reader.read(tmp_path / "rack.yaml"), LocalTransport(), tmp_path / "soaks", book)


@pytest.fixture
def begin(control: Control) -> Callable[..., Store]:
    """Start a soak at sixty times the speed, its plans changed as asked."""

    def begin(scale: float = 60, **more: Any) -> Store:
        from kvgate.soak.plan import plans

        wanted = {}
        for host, text in plans(control.inventory.rack, "soak-t", scale).items():
            plan = json.loads(text)
            plan["bounds"] |= more.get("bounds", {})
            plan |= {key: value for key, value in more.items() if key != "bounds"}
            wanted[host] = json.dumps(plan, sort_keys=True, separators=(",", ":"))
        about = {"fingerprint": control.inventory.fingerprint, "begun": "2026-01-01", "scale": scale, "plans": wanted}
        store = Store.create(control.root, "soak-t", about)
        told = control.start(store)
        assert [one.state for one in told] == ["running"] * len(told), [str(one.error) for one in told]
        return store

    return begin


@pytest.fixture(autouse=True)
def _plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read here is English, in this process and in those it starts, whatever language its user has."""
    for name in ("KVGATE_LANG", "LANG", "LANGUAGE", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C")


@pytest.fixture(autouse=True)
def _one_at_a_time(alone: None) -> None:
    """Workers of a soak are marked load: no other test measures beside them."""
