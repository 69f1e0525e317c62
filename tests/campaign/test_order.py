"""A gate starts only on a valid PASS of the gate before it, signed by both parties, for the same rack by the same agreement."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.verdict import Outcome
from kvgate.campaign import order, reopening, statements
from kvgate.errors import NotAllowed, OutOfOrder
from kvgate.gate.start import begin
from lab.machine import Edit
from tests.campaign.sample import BAD, DISK, FIRST, HOST, UNTOLD, Site, agreement
from tests.certificates.conftest import Keys

CARD = Edit("amd-smi static.*", (("0x5E7A", "0x5E7B"),))


def test_the_first_gate_needs_nothing(site: Site) -> None:
    assert site.why("G1") == []
    assert site.run("G1").attempt == 1


def test_a_gate_without_the_one_before_it_is_refused_and_nothing_is_written(site: Site) -> None:
    with pytest.raises(OutOfOrder, match=r"G2 may not start; G1 was never run .* pytest -m G1"):
        site.begin("G2")
    assert site.ledger.runs() == []


def test_a_final_certificate_opens_the_next_gate_and_a_draft_does_not(site: Site) -> None:
    run = site.run("G1")
    assert site.why("G2") == ["unsigned"]
    assert "kvgate certify" in str(site.opening("G2").obstacles[0].do)
    site.certify(run, "vendor")
    assert site.why("G2") == ["unsigned"]
    assert "kvgate cosign" in str(site.opening("G2").obstacles[0].do)
    site.certify(run, "vendor", "customer")
    assert site.why("G2") == []
    assert site.passed("G2").gate == "G2"
    assert site.passed("G3").gate == "G3"
    assert site.why("G4") == []


def test_one_gate_does_not_open_the_one_after_the_next(site: Site) -> None:
    site.passed("G1")
    assert site.why("G3") == ["missing"]


def test_the_signature_of_a_stranger_opens_nothing(site: Site) -> None:
    run = site.run("G1")
    site.certify(run)
    assert site.why("G2") == []
    site.customer = Keys(Ed25519PrivateKey.generate())
    assert site.why("G2") == ["unsigned"]
    assert "does not count" in str(site.opening("G2").obstacles[0].why)


def test_a_certificate_of_another_run_opens_nothing(site: Site) -> None:
    site.passed("G1")
    kept = site.ledger.envelopes(kind="certificate")[-1]
    again = site.run("G1", {DISK: UNTOLD})
    site.ledger.keep_envelope("certificate", kept.campaign, kept.content + b"\n", kept.digest, again.id)
    campaign = site.campaign()
    assert campaign.attempts[-1].certified.state == "REFUSED"
    assert campaign.attempts[0].certified.state == "FINAL"


@pytest.mark.parametrize("verdict, why", [(UNTOLD, ["missing"]), (BAD, ["stopped", "missing"])])
def test_what_did_not_pass_opens_nothing(site: Site, verdict: object, why: list[str]) -> None:
    site.run("G1", {DISK: verdict})
    assert site.why("G2") == why


def test_an_attempt_that_could_not_be_told_takes_no_pass_back_and_a_stop_does(site: Site) -> None:
    site.passed("G1")
    site.run("G1", {DISK: UNTOLD})
    assert site.why("G2") == []
    site.run("G1", {DISK: BAD})
    assert site.why("G2") == ["stopped", "missing"]


# ---- the same rack, the same agreement, in time


@pytest.mark.parametrize(
    "old, new, gates",
    [
        ("S7Y0NX0W100001", "S7Y0NX0W100009", {"G2", "G3"}),
        ("queues: 32", "queues: 16", {"G2", "G3"}),
        ('host_key: "SHA256:', 'host_key: "SHA256:A', set()),
    ],
)
def test_replaced_hardware_closes_the_gates_behind_it(site: Site, old: str, new: str, gates: set[str]) -> None:
    if not gates:
        start = site.text.index(old) + len(old)
        old, new = site.text[start : start + 43], "B" * 43
        gates = {"G2", "G3"}
    site.passed("G1")
    site.passed("G2")
    assert site.why("G3") == []
    site.text = site.text.replace(old, new, 1)
    assert {gate for gate in ("G2", "G3") if "changed" in site.why(gate)} == gates
    assert site.why("G1") == []


def test_a_new_management_port_closes_only_the_gate_that_looked_at_it(site: Site) -> None:
    site.passed("G1")
    site.passed("G2")
    port = '      - {name: eno1, mac: "02:00:00:00:00:99", role: management, driver: igb, firmware: "1", speed: 1 Gb/s, mtu: 1500}'
    site.text = site.text.replace("    nics:\n", f"    nics:\n{port}\n", 1)
    assert site.why("G2") == ["changed"]
    assert site.why("G3") == []


def test_a_host_that_moved_to_another_address_is_the_same_rack(site: Site) -> None:
    site.passed("G1")
    site.text = site.text.replace("port: 42200", "port: 42300", 1)
    assert site.why("G2") == []


def test_a_card_that_was_replaced_between_two_gates_keeps_the_second_from_passing(site: Site) -> None:
    site.passed("G1")
    site.edits = (CARD,)
    run = site.run("G2")
    assert site.ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert "not the rack that passed G1" in run.why or "not the rack" in site.ledger.decisions(run)[-1].why
    assert site.why("G2") == ["changed"]
    assert "node-01, accelerators: 0x5E7A" in str(site.opening("G2").obstacles[0].why)
    site.passed("G1")
    assert site.why("G2") == []
    assert site.passed("G2").attempt == 2


def test_cards_that_cannot_be_told_keep_a_gate_from_passing(site: Site) -> None:
    site.passed("G1")
    site.edits = (Edit("amd-smi static.*", stdout="", stderr="gone", status=127),)
    run = site.run("G2")
    assert site.ledger.outcome(run).outcome is Outcome.UNDECIDED
    site.edits = ()
    assert site.passed("G2").attempt == 2


def test_another_agreement_is_another_agreement(site: Site) -> None:
    site.passed("G1")
    before, site.agreement = site.agreement, agreement("Something else holds.")
    assert site.why("G2") == ["agreement"]
    site.agreement = before
    assert site.why("G2") == []


def test_an_agreement_that_changed_with_kvgate_itself_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who installs a newer kvgate in the middle of a campaign changed nothing of the agreement: its standard document is another."""
    passed = site.passed("G1")
    site.agreement = agreement("Something else holds.")
    monkeypatch.setattr(order, "code_version", lambda: passed.code)
    (same,) = site.opening("G2").obstacles
    assert "kvgate was" not in str(same.why)
    monkeypatch.setattr(order, "code_version", lambda: "99.0")
    (other,) = site.opening("G2").obstacles
    assert f"kvgate was {passed.code} and is 99.0" in str(other.why)
    assert f"go on with kvgate {passed.code}" in str(other.do)


def test_a_pass_counts_for_the_days_that_were_agreed(site: Site) -> None:
    plan = """calendar:
  begins: 2026-01-05
  gates:
    G1: {start: 2026-01-05, end: 2026-01-16, valid: 28 d}
    G2: {start: 2026-01-19, end: 2026-01-30}
    G3: {start: 2026-02-02, end: 2026-02-20}
    G4: {start: 2026-02-23, end: 2026-03-13}
"""
    site.text = site.text.replace("defaults:", plan + "defaults:", 1)
    run = site.passed("G1")
    ended = datetime.fromisoformat(run.ended or "").astimezone(UTC)
    for moment, why in ((timedelta(days=28, seconds=-1), []), (timedelta(days=28), ["expired"])):
        site.at = ended + moment
        assert site.why("G2") == why
    site.text = site.text.replace("valid: 28 d", "valid: 90 d")  # but the certificate ends before
    for days, why in ((69, []), (71, ["expired"])):
        site.at = ended + timedelta(days=days)
        assert site.why("G2") == why


# ---- stop-loss


def test_a_stop_ends_the_campaign_until_both_parties_reopen_it(site: Site) -> None:
    site.passed("G1")
    stopped = site.run("G2", {DISK: BAD})
    for gate in ("G1", "G2"):
        assert site.why(gate) == ["stopped"]
        with pytest.raises(OutOfOrder, match=r"STOP of G2 .* kvgate reopen"):
            site.begin(gate)
    proposed = reopening.propose("demo", site.campaign().stopping(), site.documents(), "disk replaced", site.now)
    site.keep(statements.REOPENING, proposed, "vendor")
    assert site.why("G1") == ["stopped"]
    site.keep(statements.REOPENING, proposed, "vendor", "customer")
    assert site.why("G1") == site.why("G2") == []
    assert site.passed("G2").attempt == 2
    assert [one.run.id for one in site.campaign().of("G2")] == [stopped.id, site.last().id]
    with pytest.raises(NotAllowed, match="nothing to reopen"):
        reopening.propose("demo", site.campaign().stopping(), site.documents(), "again", site.now)


def test_a_reopening_covers_the_stop_it_names_and_not_the_next_one(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    proposed = reopening.propose("demo", site.campaign().stopping(), site.documents(), "replaced", site.now)
    site.keep(statements.REOPENING, proposed, "vendor", "customer")
    site.run("G1", {HOST: BAD})
    assert site.why("G1") == ["stopped"]


def test_a_run_that_was_interrupted_when_it_stopped_counts_as_a_stop(site: Site) -> None:
    site.interrupted("G1", {DISK: BAD})
    assert site.why("G1") == ["stopped"]
    with pytest.raises(OutOfOrder, match="ended early after 5 verdicts had come to STOP"):
        site.begin("G1")
    session = site.begin("G1", only_stale=True)
    site.judge(session, {DISK: BAD})
    assert session.finish().outcome is Outcome.STOP


def test_a_run_that_was_interrupted_without_a_stop_blocks_nothing(site: Site) -> None:
    site.interrupted("G1", {HOST: UNTOLD})
    assert site.why("G1") == []
    assert site.passed("G1").attempt == 2


# ---- open tickets


def test_a_run_without_an_end_blocks_the_next_until_it_is_closed_or_finished(site: Site) -> None:
    site.passed("G1")
    session = site.begin("G2")
    for gate in ("G1", "G2"):
        with pytest.raises(OutOfOrder, match=r"has no end yet.*kvgate close"):
            site.begin(gate)
    assert session.evidence is not None
    session.evidence.close()
    again = site.begin("G2", only_stale=True)
    site.judge(again, {})
    assert again.finish().outcome is Outcome.PASS
    assert site.why("G1") == []


def test_a_closed_run_is_counted_and_the_next_attempt_has_the_next_number(site: Site) -> None:
    begin(site.prepared("G1"))  # it died before any host was asked
    site.ledger.interrupt(site.last(), "the laptop died")
    assert site.why("G1") == []
    assert site.run("G1").attempt == 2


def test_what_another_process_decided_meanwhile_is_looked_at_first(site: Site) -> None:
    run = site.run("G1")
    with pytest.raises(NotAllowed, match="decided something in this campaign meanwhile"):
        site.ledger.begin(
            campaign="demo", gate="G1", inventory="x", fingerprint="f", acceptance="{}", acceptance_digest="d",
            owed=site.ledger.owed(run), evidence_root=site.folder, code="0", operator="o", simulated=True,
            after=0,
        )  # fmt: skip


def test_a_ledger_that_looked_at_nobody_s_keys_opens_nothing(site: Site) -> None:
    site.passed("G1")
    with pytest.raises(OutOfOrder, match=r"whose signatures count.*--trust"):
        site.begin("G2", trust=None)


def test_a_subject_is_named_as_it_stands_in_the_inventory(site: Site) -> None:
    run = site.run("G1", {f"{DISK}:{FIRST}": BAD})
    assert [one.stops for one in site.campaign().attempts] == [1]
    assert run.gate == "G1"
