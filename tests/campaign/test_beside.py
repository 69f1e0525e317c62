"""A certificate beside the gate before it and the waivers that it stands on: only what both parties signed counts."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from checks.verdict import Outcome
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate
from kvgate.certificates.examine import Asked, Check, examine
from kvgate.cli import beside
from tests.campaign.sample import BAD, DISK, FIRST, Site

ONE = f"{DISK}:{FIRST}"


def newest(site: Site, gate: str) -> bytes:
    run = site.ledger.runs(gate=gate)[-1].id
    return site.ledger.envelopes(kind="certificate", run=run)[-1].content


def certificate(data: bytes, **changed: Any) -> Certificate:
    statement = copy.deepcopy(envelopes.read(data, "it").statement())
    statement["predicate"] |= changed
    return Certificate.model_validate({name: statement[name] for name in ("subject", "predicate")})


def looked(site: Site, one: Certificate, tmp_path: Path, *, ledger: bool = True) -> dict[str, Check]:
    asked = Asked(site.now, site.trust, draft=True, simulated=True)
    url = site.url if ledger else f"sqlite:///{tmp_path / 'none.db'}"
    return {check.name: check for check in beside.all_of_it(one, asked, url, (), without_ledger=not ledger)}


def test_the_gate_before_is_looked_at_without_being_named(site: Site, tmp_path: Path) -> None:
    site.passed("G1")
    site.passed("G2")
    found = looked(site, certificate(newest(site, "G2")), tmp_path)
    assert found["previous"].outcome is Outcome.PASS
    assert found["attempts"].outcome is Outcome.PASS


def test_a_gate_before_that_does_not_exist_is_not_taken_on_trust(site: Site, tmp_path: Path) -> None:
    site.passed("G1")
    site.passed("G2")
    forged = certificate(newest(site, "G2"), previous={"gate": "G1", "document": "cd" * 32})
    for ledger in (True, False):
        found = looked(site, forged, tmp_path, ledger=ledger)["previous"]
        assert found.outcome is Outcome.UNDECIDED
        assert "--previous FILE" in str(found.found)


@pytest.fixture
def waived(site: Site) -> bytes:
    """The certificate of a run that stands on a waiver."""
    run = site.run("G1", {ONE: BAD})
    site.waive(run, f"G1.{DISK}", subject=FIRST, days=10)
    site.certify(run)
    return newest(site, "G1")


def test_a_certificate_ends_with_its_first_waiver(site: Site, waived: bytes) -> None:
    one = certificate(waived)
    (waiver,) = one.predicate.waivers
    assert one.predicate.expires[:10] == (site.now + timedelta(days=11)).strftime("%Y-%m-%d")
    assert waiver.until == (site.now + timedelta(days=10)).strftime("%Y-%m-%d")
    late = examine(waived, Asked(site.now + timedelta(days=12), site.trust, simulated=True))
    assert {check.name for check in late.checks if check.outcome is not Outcome.PASS} == {"validity"}


@pytest.mark.parametrize("field", ["expires", "until"])
def test_a_certificate_that_outlives_its_waiver_contradicts_itself(site: Site, waived: bytes, field: str) -> None:
    statement = envelopes.read(waived, "it").statement()
    predicate: Any = statement["predicate"]
    if field == "expires":
        predicate["expires"] = "2036-01-01T00:00:00.000000Z"
    else:
        predicate["waivers"][0]["until"] = "1999-01-01"
    found = examine(envelopes.seal(statement).to_bytes(), Asked(site.now, site.trust, simulated=True))
    assert "after its waiver of" in str(next(one for one in found.checks if one.name == "statement").found)


def test_a_waiver_is_read_from_the_ledger_or_not_known(site: Site, waived: bytes, tmp_path: Path) -> None:
    assert looked(site, certificate(waived), tmp_path)["waivers"].outcome is Outcome.PASS
    elsewhere = looked(site, certificate(waived), tmp_path, ledger=False)["waivers"]
    assert elsewhere.outcome is Outcome.UNDECIDED
    assert "--waiver FILE" in str(elsewhere.found)


@pytest.mark.parametrize(
    ("changed", "outcome", "why"),
    [
        ({"document": "ab" * 32}, Outcome.UNDECIDED, "not at hand"),
        ({"until": "2031-01-01"}, Outcome.STOP, "it counts until"),
        ({"subject": "another"}, Outcome.STOP, "does not cover"),
    ],
)
def test_a_waiver_that_says_something_else_is_found(
    site: Site, waived: bytes, tmp_path: Path, changed: dict[str, str], outcome: Outcome, why: str
) -> None:
    sound = certificate(waived)
    waivers = [{**sound.predicate.waivers[0].model_dump(), **changed}]
    found = looked(site, certificate(waived, waivers=waivers), tmp_path)["waivers"]
    assert found.outcome is outcome
    assert why in str(found.found)


def test_a_waiver_that_one_party_signed_is_none(site: Site, waived: bytes, tmp_path: Path) -> None:
    kept = site.ledger.envelopes(kind="waiver")[-1].content
    whole = envelopes.read(kept, "it")
    half = envelopes.Envelope(whole.payload, whole.signatures[:1])
    path = tmp_path / "half.json"
    path.write_bytes(half.to_bytes())
    asked = Asked(site.now, site.trust, simulated=True)
    (found,) = beside.asked_for(certificate(waived), asked, None, [path])
    assert found.outcome is Outcome.STOP
    assert "not signed by" in str(found.found)
    path.write_bytes(kept)
    (found,) = beside.asked_for(certificate(waived), asked, None, [path])
    assert found.outcome is Outcome.PASS


def later(site: Site) -> Certificate:
    """A sound certificate of a second attempt; the first stopped and was reopened."""
    site.run("G1", {ONE: BAD})
    site.reopen("vendor", "customer")
    site.passed("G1")
    return certificate(newest(site, "G1"))


def test_what_is_entered_later_about_an_earlier_attempt_makes_no_honest_certificate_false(
    site: Site, tmp_path: Path
) -> None:
    one = later(site)
    assert len(one.predicate.attempts) == 1
    assert looked(site, one, tmp_path)["attempts"].outcome is Outcome.PASS
    stopped = site.ledger.runs(gate="G1")[0]
    site.waive(stopped, f"G1.{DISK}", subject=FIRST)
    assert [entry.kind for entry in site.ledger.decisions(stopped)] == ["decided", "waived"]
    assert looked(site, one, tmp_path)["attempts"].outcome is Outcome.PASS


@pytest.mark.parametrize(
    "change", [{"outcome": "UNDECIDED"}, {"decision": ""}, {"decision": "ab" * 32}, {"state": "interrupted"}]
)
def test_an_earlier_attempt_that_is_said_to_have_been_another_is_found(
    site: Site, tmp_path: Path, change: dict[str, str]
) -> None:
    one = later(site)
    attempts = [{**one.predicate.attempts[0].model_dump(), **change}]
    forged = certificate(newest(site, "G1"), attempts=attempts)
    assert looked(site, forged, tmp_path)["attempts"].outcome is Outcome.STOP
    site.waive(site.ledger.runs(gate="G1")[0], f"G1.{DISK}", subject=FIRST)
    assert looked(site, forged, tmp_path)["attempts"].outcome is Outcome.STOP
