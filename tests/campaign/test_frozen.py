"""The parties' keys are those of the first attempt: nobody makes his own the keys that count by naming others later."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.verdict import Outcome
from kvgate.campaign import frozen
from kvgate.certificates import evidence as compared
from kvgate.certificates.decision import Certificate
from kvgate.certificates.issue import Judgement
from kvgate.errors import Damaged, OutOfOrder
from kvgate.evidence.store import Evidence
from kvgate.gate.session import GateSession
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.ledger import chain
from tests.campaign.sample import BAD, DISK, Site
from tests.certificates.conftest import Keys


class Desk(Site):
    """A site whose inventory is a file, with the parties' public keys beside it, and which nobody gives a trust file."""

    @property
    def inventory(self) -> Inventory:
        file = self.folder / "rack.yaml"
        file.write_text(re.sub(r"keys/(\w+)\.pub", r"parties/\1.pub", self.text))
        return reader.read(file)

    def lay(self, **keys: Keys) -> None:
        for party, key in keys.items():
            (self.folder / "parties").mkdir(exist_ok=True)
            (self.folder / "parties" / f"{party}.pub").write_text(f"{key.signer.public.openssh()} {party}\n")

    def begin(self, gate: str, **options: object) -> GateSession:
        return super().begin(gate, **{"trust": None, **options})

    def force(self, file: Path | None = None) -> frozen.InForce:
        return frozen.in_force(self.ledger, self.inventory, file, self.inventory.rack.campaign)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    found = Desk(tmp_path, new(), new())
    found.lay(vendor=found.vendor, customer=found.customer)
    return found


def new() -> Keys:
    return Keys(Ed25519PrivateKey.generate())


def signers(folder: Path, vendor: Keys, customer: Keys) -> Path:
    path = folder / "mine"
    path.write_text(f"{vendor.line('vendor')}\n{customer.line('customer')}\n")
    return path


def test_the_first_attempt_fixes_the_keys_in_ticket_and_evidence(desk: Desk) -> None:
    run = desk.run("G1")
    kept = chain.kept_parties(run.ticket)
    assert kept == {
        "inventory": {
            "vendor": (desk.vendor.signer.public.openssh(),),
            "customer": (desk.customer.signer.public.openssh(),),
        }
    }
    assert (
        json.loads(run.ticket)["parties"] == json.loads(Evidence.open(Path(run.evidence)).start.start_ticket)["parties"]
    )
    assert desk.ledger.check() == []


def test_with_the_same_keys_the_next_gate_starts_without_a_trust_file(desk: Desk) -> None:
    desk.passed("G1")
    assert desk.begin("G2").gate == "G2"


@pytest.mark.parametrize("changed", [("vendor",), ("customer",), ("vendor", "customer")])
def test_two_keys_of_one_person_open_no_gate(desk: Desk, changed: tuple[str, ...]) -> None:
    desk.run("G1")
    for party in changed:
        setattr(desk, party, new())
    desk.lay(vendor=desk.vendor, customer=desk.customer)
    with pytest.raises(OutOfOrder, match=r"keys of the parties are fixed since the first attempt") as refused:
        desk.begin("G2")
    told = str(refused.value)
    for party in changed:
        assert f"found {getattr(desk, party).signer.public.fingerprint} as the key of {party}" in told
    assert "--trust FILE" in told
    assert len(desk.ledger.runs()) == 1


def test_nor_do_they_reopen_what_stopped_the_rack_under_another_name(desk: Desk) -> None:
    desk.run("G1", {DISK: BAD})
    desk.text = re.sub(r"(?m)^campaign: .*$", "campaign: fresh", desk.text)
    desk.lay(vendor=new(), customer=new())
    with pytest.raises(OutOfOrder, match=r"keys of the parties are fixed .* ended campaign"):
        desk.begin("G1")


def test_the_old_keys_count_until_they_are_put_back(desk: Desk) -> None:
    desk.passed("G1")
    old = (desk.vendor, desk.customer)
    desk.lay(vendor=new(), customer=new())
    force = desk.force()
    assert force.changed is not None
    assert force.trust is not None
    assert {line.key.raw for lines in force.trust.keys.values() for line in lines} == {
        key.signer.public.raw for key in old
    }
    desk.lay(vendor=old[0], customer=old[1])
    assert desk.force().changed is None


def test_an_inventory_that_names_no_key_any_more_lets_those_of_the_first_attempt_count(desk: Desk) -> None:
    desk.passed("G1")
    for party in ("vendor", "customer"):
        (desk.folder / "parties" / f"{party}.pub").unlink()
    assert desk.begin("G2").gate == "G2"


def test_a_trust_file_is_the_operator_s_own_decision_and_is_said_aloud_kept_and_certified(desk: Desk) -> None:
    desk.passed("G1")
    old, mine = desk.vendor.signer.public.fingerprint, new()
    desk.vendor = mine
    file = signers(desk.folder, mine, desk.customer)
    session = desk.begin("G1", trust=file)
    assert session.loud is not None
    told = str(session.loud)
    assert told.startswith(f"the keys that count are those of {file}")
    assert f"vendor: {mine.signer.public.fingerprint} instead of {old}" in told
    assert "customer" not in told
    desk.judge(session, {})
    assert session.finish().outcome is Outcome.PASS
    run = desk.last()
    assert chain.kept_parties(run.ticket)["trust"]["vendor"] == (mine.signer.public.openssh(),)
    desk.certify(run)
    said = desk.campaign().attempts[-1].certified.certificate
    assert said is not None
    assert ("vendor", mine.signer.public.fingerprint, "trust") in {
        (one.party, one.key, one.by) for one in said.predicate.parties
    }


def test_a_trust_file_with_the_same_keys_says_nothing(desk: Desk) -> None:
    desk.run("G1")
    assert desk.force(signers(desk.folder, desk.vendor, desk.customer)).loud is None


def test_keys_of_a_trust_file_are_fixed_where_no_inventory_names_any(desk: Desk) -> None:
    for party in ("vendor", "customer"):
        (desk.folder / "parties" / f"{party}.pub").unlink()
    desk.run("G1", trust=signers(desk.folder, desk.vendor, desk.customer))
    desk.lay(vendor=desk.vendor, customer=new())
    force = desk.force()
    assert force.changed is not None
    assert "customer" in str(force.changed.why)
    assert "vendor" not in str(force.changed.why)


def test_a_certificate_with_other_keys_than_the_start_ticket_is_found_by_the_evidence(desk: Desk) -> None:
    desk.passed("G1")
    run = desk.last()
    said = desk.campaign().attempts[-1].certified.certificate
    assert said is not None
    assert {(one.party, one.by) for one in said.predicate.parties} == {
        ("vendor", "inventory"),
        ("customer", "inventory"),
    }

    def again(folder: Path) -> Judgement:
        raise Damaged("not asked here")

    def basis(certificate: Certificate) -> Outcome:
        found = compared.compare(certificate, Path(run.evidence), again)
        return next(one.outcome for one in found if one.name == "basis")

    assert basis(said) is Outcome.PASS
    other = said.predicate.parties[0].model_copy(update={"key": new().signer.public.fingerprint})
    forged = said.predicate.model_copy(update={"parties": (other, *said.predicate.parties[1:])})
    assert basis(said.model_copy(update={"predicate": forged})) is Outcome.STOP


def test_keys_changed_in_the_ledger_are_found(desk: Desk) -> None:
    from sqlalchemy import create_engine, text

    run = desk.run("G1")
    other = run.ticket.replace(desk.vendor.signer.public.openssh(), new().signer.public.openssh())
    assert other != run.ticket
    with create_engine(desk.url).begin() as connection:
        for (name,) in list(connection.execute(text("select name from sqlite_master where type = 'trigger'"))):
            connection.execute(text(f'drop trigger "{name}"'))
        connection.execute(text("update run set ticket = :ticket"), {"ticket": other})
    assert any("not what its start ticket says" in one for one in desk.ledger.check())


def test_a_trust_file_of_one_run_is_not_the_next_operator_s(desk: Desk) -> None:
    for party in ("vendor", "customer"):
        (desk.folder / "parties" / f"{party}.pub").unlink()
    desk.run("G1", trust=signers(desk.folder, desk.vendor, desk.customer))
    assert desk.force().trust is None
