"""A start of a soak that was taken out of the ledger is found: by the records after it, and by the one that left this machine."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.certificates.soak_book import SoakBook
from kvgate.ledger.repository import Ledger
from kvgate.soak.starts import Event
from tests.audit.conftest import Scene, kvgate
from tests.campaign.sample import Site
from tests.certificates.conftest import Keys
from tests.ledger.sample import tamper


def write(scene: Scene, site: Site, *events: tuple[Event, str]) -> None:
    with contextlib.closing(Ledger.open(scene.url)) as ledger:
        book = SoakBook(ledger, site.inventory, "tester", "0", signer=site.customer.signer)
        for event, soak in events:
            book.write(event, soak, {"node-01": "a" * 64} if event == "start" else {})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate()))


def test_records_that_follow_one_another_are_no_finding(scene: Scene, site: Site, tmp_path: Path) -> None:
    write(scene, site, ("start", "soak-1"), ("begun", "soak-1"), ("stop", "soak-1"))
    ticket = tmp_path / "start.json"
    kvgate("ticket", "soak-1", "--ledger", scene.url, "-o", ticket)
    assert scene.audit("--anchor", ticket) == []


def test_a_record_that_was_taken_out_is_found_by_those_after_it(scene: Scene, site: Site) -> None:
    write(scene, site, ("start", "soak-1"), ("stop", "soak-1"), ("start", "soak-2"))
    tamper(scene.url, "DELETE FROM envelope WHERE id = (SELECT min(id) FROM envelope WHERE kind = 'soak')")
    assert scene.kinds() == {"soak-missing"}


def test_the_newest_records_taken_out_are_found_by_the_start_that_the_other_party_keeps(
    scene: Scene, site: Site, tmp_path: Path
) -> None:
    write(scene, site, ("start", "soak-1"), ("stop", "soak-1"))
    ticket = tmp_path / "start.json"
    kvgate("ticket", "soak-1", "--ledger", scene.url, "-o", ticket)
    tamper(scene.url, "DELETE FROM envelope WHERE kind = 'soak'")
    assert scene.audit() == []
    found = scene.audit("--anchor", ticket)
    assert [kind for kind, _ in found] == ["soak-missing"]
    assert "says start of soak-1" in found[0][1]
    assert "which is not in the ledger" in found[0][1]
