"""A rack is known by its parts: a new name for the campaign neither forgets an attempt nor takes back a STOP."""

from __future__ import annotations

import re

import pytest

from checks.verdict import Outcome
from kvgate.audit import stoploss
from kvgate.audit.certificates import Source, Weighing
from kvgate.audit.deviations import Deviations
from kvgate.campaign import reopening, statements
from kvgate.campaign.documents import Documents
from kvgate.campaign.overview import overview
from kvgate.certificates import envelope as envelopes
from kvgate.errors import OutOfOrder
from kvgate.inventory import parts, reader
from lab.machine import Edit
from tests.campaign.sample import BAD, DISK, FIRST, Site
from tests.inventory.test_reader import written

KEY = re.compile(r'host_key: "SHA256:.{43}"')
DISKS = re.compile(r'serial: "?(\w+)"?')
PORTS = re.compile(r'mac: "?([0-9a-f:]{17})"?')


def renamed(site: Site, name: str = "a-better-name") -> None:
    site.text = re.sub(r"(?m)^campaign: .*$", f"campaign: {name}", site.text)


def reinstalled(site: Site) -> None:
    """Every host has another key."""
    keys = iter("ABCDEFGH")
    site.text = KEY.sub(lambda _: f'host_key: "SHA256:{next(keys) * 43}"', site.text)


def replaced(site: Site, *, disks: bool = False, ports: bool = False) -> None:
    if disks:
        site.text = DISKS.sub(lambda found: f'serial: "N{found[1]}"', site.text)
    if ports:
        site.text = PORTS.sub(lambda found: f'mac: "{found[1][:-5]}ee:{found[1][-2:]}"', site.text)


def test_another_name_for_the_campaign_does_not_take_back_a_stop(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    name = site.inventory.rack.campaign
    renamed(site)
    with pytest.raises(OutOfOrder, match=f"ended campaign {name} with the STOP of G1"):
        site.begin("G1")


def test_nor_does_it_with_the_failed_disk_replaced_and_every_host_installed_anew(site: Site) -> None:
    site.run("G1", {f"{DISK}:{FIRST}": BAD})
    renamed(site)
    site.text = site.text.replace(FIRST.split(":")[1], "S7Y0NX0W199991")
    reinstalled(site)
    with pytest.raises(OutOfOrder, match=r"with the STOP of G1 .* kvgate reopen --campaign"):
        site.begin("G1")


@pytest.mark.parametrize("left", ["host keys", "disks", "ports"])
def test_one_kind_of_part_that_stayed_is_enough(site: Site, left: str) -> None:
    site.run("G1", {DISK: BAD})
    renamed(site)
    if left != "host keys":
        reinstalled(site)
    replaced(site, disks=left != "disks", ports=left != "ports")
    assert site.why("G1") == ["stopped"]


def test_a_rack_of_which_every_part_is_another_is_another_whatever_it_is_called(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    before = parts.parts(site.text)
    renamed(site)
    reinstalled(site)
    replaced(site, disks=True, ports=True)
    assert not before & parts.parts(site.text)
    assert site.inventory.rack.rack == "embedded"
    assert site.why("G1") == []
    assert site.campaign().elsewhere == ()


def test_letters_of_either_case_name_the_same_part() -> None:
    text = written(nodes=1)
    lower = re.sub(r"S7Y0NX0W\d+", lambda found: found[0].lower(), text)
    assert parts.parts(text) == parts.parts(lower)
    assert parts.names(lower, parts.parts(text)) == parts.parts(text)


def test_a_text_without_any_of_the_parts_names_none() -> None:
    assert parts.names("hosts: {a: {host_key: x}}", parts.parts(written(nodes=1))) == frozenset()
    assert parts.names('hosts: {a: {disks: [{serial: "S\\x31"}]}}', {("serial", "s1")}) == {("serial", "s1")}


def test_every_part_that_is_ordered_is_one_by_which_a_rack_is_known() -> None:
    rack = reader.parse(written(nodes=2)).rack
    wanted = {parts.part("host_key", host.host_key) for host in rack.hosts.values()}
    wanted |= {parts.part("serial", disk.serial) for host in rack.hosts.values() for disk in host.disks}
    wanted |= {parts.part("mac", nic.mac) for host in rack.hosts.values() for nic in host.nics}
    assert parts.parts(written(nodes=2)) == wanted


def test_a_card_that_answers_ends_a_run_under_a_name_that_nothing_else_gave_away(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    renamed(site)
    reinstalled(site)
    replaced(site, disks=True, ports=True)
    run = site.run("G1")
    assert site.ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert "accelerators of this rack ended campaign" in site.ledger.decisions(run)[-1].why


def test_other_cards_are_another_rack_s(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    renamed(site)
    reinstalled(site)
    replaced(site, disks=True, ports=True)
    site.edits = (Edit("amd-smi static.*", (("0x5E7A", "0x9999"),), every=True),)
    run = site.run("G1")
    assert site.ledger.outcome(run).outcome is Outcome.PASS


def test_both_parties_reopen_it_under_the_name_that_it_had(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    name = site.inventory.rack.campaign
    stops = site.campaign().stopping()
    proposed = reopening.propose(name, stops, site.documents(), "disk replaced", site.now)
    site.keep(statements.REOPENING, proposed, "vendor")
    renamed(site)
    assert site.why("G1") == ["stopped"]
    both = proposed.signed_by(site.vendor.signer).signed_by(site.customer.signer)
    site.ledger.keep_envelope(statements.REOPENING, name, both.to_bytes(), both.digest)
    assert site.why("G1") == []
    assert site.begin("G1").gate == "G1"


def test_an_attempt_without_an_end_is_counted_and_blocks_once_it_has_looked(site: Site) -> None:
    name = site.inventory.rack.campaign
    session = site.begin("G1")
    renamed(site)
    assert site.why("G1") == ["open"]
    assert [one.run.id for other in site.campaign().elsewhere for one in other.attempts] == [site.last().id]
    renamed(site, name)
    site.judge(session, {DISK: BAD})
    session.write()
    renamed(site)
    assert site.why("G1") == ["stopped"]


def test_a_new_campaign_on_a_rack_that_passed_begins_and_counts_what_was_before(site: Site) -> None:
    name, first = site.inventory.rack.campaign, site.passed("G1")
    renamed(site)
    replaced(site, ports=True)
    session = site.begin("G1")
    assert session.elsewhere == 1
    site.judge(session, {})
    session.finish()
    site.certify(site.last())
    said = site.campaign().attempts[-1].certified.certificate
    assert said is not None
    assert [(one.campaign, one.run, one.outcome) for one in said.predicate.attempts] == [(name, first.id, "PASS")]


def test_status_shows_what_the_rack_did_under_other_names(site: Site) -> None:
    run = site.run("G1", {DISK: BAD})
    name = site.inventory.rack.campaign
    renamed(site)
    found = overview(
        site.campaign(), site.inventory.rack, site.agreement.digest, site.now, trusted=True, problems=()
    )  # fmt: skip
    (other,) = found.elsewhere
    assert (other.campaign, [one.run.id for one in other.attempts]) == (name, [run.id])
    assert [one.run.id for one in found.stopping] == [run.id]
    assert found.next is not None
    assert [one.kind for one in found.next.obstacles] == ["stopped"]


def test_documents_of_another_campaign_open_nothing_here(site: Site) -> None:
    site.run("G1", {DISK: BAD})
    name, stops = site.inventory.rack.campaign, site.campaign().stopping()
    renamed(site)
    proposed = reopening.propose(
        "a-better-name", stops, Documents(site.ledger, name, site.trust, site.now), "swap", site.now
    )
    site.keep(statements.REOPENING, proposed, "vendor", "customer")
    assert site.why("G1") == ["stopped"]


# ---- what the other party finds when kvgate itself was changed


def test_an_audit_finds_a_certificate_that_leaves_out_what_the_rack_did_under_another_name(site: Site) -> None:
    first = site.passed("G1")
    renamed(site)
    site.passed("G1")
    kept = site.ledger.envelopes(kind="certificate")[-1]
    weighing = Weighing(site.ledger, site.trust, Deviations(site.ledger, site.trust))
    assert list(weighing.look(Source("sound", kept.content))) == []
    statement = envelopes.read(kept.content, "it").statement()
    predicate = statement["predicate"]
    assert isinstance(predicate, dict)
    predicate["attempts"] = []
    forged = envelopes.seal(statement).signed_by(site.vendor.signer).signed_by(site.customer.signer)
    found = list(weighing.look(Source("forged", forged.to_bytes())))
    assert [(one.kind, one.where) for one in found] == [("attempt-uncounted", first.id)]


def test_an_audit_finds_a_run_that_began_although_its_rack_was_stopped_under_another_name(
    site: Site,
) -> None:
    stopped = site.run("G1", {DISK: BAD})
    name, stops, documents = site.inventory.rack.campaign, site.campaign().stopping(), site.documents()
    assert list(stoploss.look(site.ledger, site.trust)) == []
    renamed(site)
    again = site.ledger.begin(  # by a kvgate that does not look
        campaign="a-better-name", gate="G1", inventory=site.text, fingerprint="0" * 64, acceptance="{}",
        acceptance_digest=stopped.acceptance_digest, owed=site.ledger.owed(stopped), evidence_root=site.folder, code="0", operator="o",
        simulated=True,
    )  # fmt: skip
    for trust in (site.trust, None):
        (found,) = stoploss.look(site.ledger, trust)
        assert (found.kind, found.where) == ("stop-passed-over", again.id)
    proposed = reopening.propose(name, stops, documents, "disk replaced", site.now)
    for party in ("vendor", "customer"):
        proposed = proposed.signed_by(getattr(site, party).signer)
        site.ledger.keep_envelope(statements.REOPENING, name, proposed.to_bytes(), proposed.digest)
        assert len(list(stoploss.look(site.ledger, site.trust))) == (1 if party == "vendor" else 0)
