"""Waivers in the log must be those that both parties signed, for just these verdicts; reopenings and waivers must be whole."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import create_engine, text

from kvgate.audit.walk import Asked, Counts, walk
from kvgate.campaign import statements
from kvgate.ledger.findings import Finding
from kvgate.ledger.repository import Ledger
from tests.campaign.conftest import site
from tests.campaign.sample import BAD, DISK, FIRST, Site
from tests.certificates.conftest import Keys

__all__ = ["site"]


def found(site: Site, *, trusted: bool = True) -> Sequence[Finding]:
    asked = Asked(site.folder / "evidence", trust=site.trust if trusted else None)
    return list(walk(Ledger.open(site.url, write=False), asked, Counts(), lambda *_: None))


def told(site: Site) -> str:
    return "\n".join(one.text for one in found(site) if one.kind == "certificate")


def forged(site: Site, statement: str) -> None:
    with create_engine(site.url).begin() as connection:
        for name in connection.execute(text("select name from sqlite_master where type = 'trigger'")).scalars().all():
            connection.execute(text(f'drop trigger "{name}"'))
        connection.execute(text(statement))


def test_a_waiver_of_both_is_no_finding(site: Site) -> None:
    site.waive(site.run("G1", {f"{DISK}:{FIRST}": BAD}), f"G1.{DISK}", subject=FIRST)
    assert "waiver" not in told(site)


def test_a_half_signed_waiver_that_has_no_effect_is_no_finding(site: Site) -> None:
    site.waive(site.run("G1", {f"{DISK}:{FIRST}": BAD}), f"G1.{DISK}", "vendor")
    assert "waiver" not in told(site)


def test_a_decision_that_accepts_without_a_waiver_is_found(site: Site) -> None:
    site.waive(site.run("G1", {f"{DISK}:{FIRST}": BAD}), f"G1.{DISK}", subject=FIRST)
    forged(site, f"delete from envelope where kind = '{statements.WAIVER}'")
    assert f"accepts G1.{DISK} on {FIRST} by a waiver that is not in the ledger" in told(site)


def test_a_waiver_that_was_changed_is_found(site: Site) -> None:
    site.waive(site.run("G1", {f"{DISK}:{FIRST}": BAD}), f"G1.{DISK}", subject=FIRST)
    forged(
        site,
        f"update envelope set content = substr(content, 1, length(content) - 9) where kind = '{statements.WAIVER}'",
    )
    assert "waiver" in told(site)


def test_a_waiver_by_strangers_is_found(site: Site) -> None:
    site.waive(site.run("G1", {f"{DISK}:{FIRST}": BAD}), f"G1.{DISK}", subject=FIRST)
    keys = (Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate()))
    strangers = Site(site.folder, *keys, text=site.text)
    asked = Asked(site.folder / "evidence", trust=strangers.trust)
    texts = [one.text for one in walk(Ledger.open(site.url, write=False), asked, Counts(), lambda *_: None)]
    assert any("waiver" in one and "not signed by both parties" in one for one in texts), texts
