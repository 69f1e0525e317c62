"""What both parties may have signed and what does not count is said with its reason, by the gate and by status alike."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.campaign import elsewhere
from kvgate.campaign.documents import Documents
from kvgate.errors import OutOfOrder
from tests.campaign.sample import BAD, DISK, Site
from tests.certificates.conftest import Keys


def refused(site: Site, **options: object) -> str:
    with pytest.raises(OutOfOrder) as found:
        site.begin("G1", **options)
    return str(found.value)


def test_a_reopening_that_nobody_could_weigh_is_told_from_none_at_all(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    assert "a reopening is there" not in refused(site, trust=None)
    site.reopen("vendor", "customer")
    told = refused(site, trust=None)
    assert "a reopening is there, but it is not known whose signatures count" in told
    assert "--trust FILE" in told
    assert "kvgate reopen --reason" not in told
    untrusted = Documents(site.ledger, site.inventory.rack.campaign, None, site.now)
    (attempt,) = elsewhere.read(site.ledger, site.inventory, untrusted).attempts
    assert "not known whose signatures count" in str(attempt.unopened)
    assert site.why("G1") == []


def test_so_is_one_under_another_name_of_the_campaign(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    site.reopen("vendor", "customer")
    site.text = re.sub(r"(?m)^campaign: .*$", "campaign: fresh", site.text)
    assert "a reopening is there, but it is not known whose signatures count" in refused(site, trust=None)


@pytest.mark.parametrize("party", ["vendor", "customer"])
def test_half_a_reopening_names_who_signed(site: Site, party: str) -> None:
    site.run("G1", {DISK: BAD})
    site.reopen(party)
    told = refused(site)
    assert f"a reopening is there, but signed by {party} only" in told
    assert "kvgate cosign" in told


def test_a_reopening_of_a_stranger_is_said_to_be_one(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    site.reopen("vendor", "customer")
    site.vendor = Keys(Ed25519PrivateKey.generate())
    assert "carries a signature that does not count" in refused(site)


def test_a_waiver_that_nobody_could_weigh_is_told_too(site: Site) -> None:
    run = site.run("G1", {DISK: BAD})
    site.waive(run, f"G1.{DISK}")
    assert "a waiver is there: it is not known whose signatures count" in refused(site, trust=None)


def test_a_waiver_that_ran_out_says_so(site: Site) -> None:
    run = site.run("G1", {DISK: BAD})
    site.waive(run, f"G1.{DISK}", days=1)
    assert site.why("G1") == []
    site.at = site.now + timedelta(days=3)
    (obstacle,) = site.opening("G1").obstacles
    assert "a waiver is there: it counted until" in str(obstacle.why)
