"""A document is final when each party has signed it with a key of its own, as the verifier's trust file says."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kvgate.certificates import envelope, trust
from kvgate.certificates.envelope import Envelope, Signature, pae
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import NotAllowed, Unproven
from tests.certificates.conftest import NOW, Keys

PLAIN = envelope.seal({"gate": "G1", "result": "PASSED"})


def signed(*keys: Keys) -> Envelope:
    found = PLAIN
    for one in keys:
        found = found.signed_by(one.signer)
    return found


def problem(found: Envelope, trusted: Trust, at: datetime = NOW) -> str:
    weighed = weigh(found, trusted, at)
    assert weighed.state is State.REFUSED
    with pytest.raises(Unproven):
        weighed.require("it", final=False)
    return str(weighed.problems[0])


def test_one_signature_is_a_draft_and_two_are_final(vendor: Keys, customer: Keys, trusted: Trust) -> None:
    assert weigh(PLAIN, trusted, NOW).state is State.UNSIGNED
    draft = weigh(signed(customer), trusted, NOW)
    assert (draft.state, draft.missing) == (State.DRAFT, ("vendor",))
    draft.require("it", final=False)
    with pytest.raises(Unproven, match=r"it is DRAFT: vendor must sign it"):
        draft.require("it")
    final = weigh(signed(customer, vendor), trusted, NOW)
    assert final.state is State.FINAL
    assert {line.party: line.key for line in final.signed} == {
        "vendor": vendor.signer.public, "customer": customer.signer.public,
    }  # fmt: skip
    final.require("it")


def test_one_key_under_two_key_ids_is_one_signer(vendor: Keys, trusted: Trust) -> None:
    (once,) = signed(vendor).signatures
    twice = replace(PLAIN, signatures=(once, Signature("SHA256:another", once.sig)))
    assert "vendor has signed twice" in problem(twice, trusted)


def test_two_keys_of_one_party_are_one_party(vendor: Keys, stranger: Keys) -> None:
    trusted = trust.read(f"{vendor.line('vendor')}\n{stranger.line('vendor')}\n")
    assert "vendor has signed twice" in problem(signed(vendor, stranger), trusted)


def test_key_ids_are_never_believed(vendor: Keys, customer: Keys, trusted: Trust) -> None:
    one, two = signed(vendor, customer).signatures
    swapped = replace(PLAIN, signatures=(replace(one, keyid=two.keyid), replace(two, keyid="")))
    assert weigh(swapped, trusted, NOW).state is State.FINAL


def test_an_unknown_key_is_refused_whatever_it_calls_itself(
    vendor: Keys, customer: Keys, stranger: Keys, trusted: Trust
) -> None:
    faked = Signature(customer.signer.public.fingerprint, stranger.signer.sign(pae(PLAIN.payload)))
    told = problem(replace(signed(vendor), signatures=(*signed(vendor).signatures, faked)), trusted)
    assert f"signature 2 is not over this text by {customer.signer.public.fingerprint} of trust file" in told
    assert "signature 3 was made by no key" in problem(signed(vendor, customer, stranger), trusted)


def test_a_key_id_cannot_write_on_the_terminal(trusted: Trust, stranger: Keys) -> None:
    (one,) = signed(stranger).signatures
    assert "\x1b" not in problem(replace(PLAIN, signatures=(replace(one, keyid="\x1b[2Jok"),)), trusted)


def test_a_signature_over_other_bytes_counts_for_nothing(vendor: Keys, customer: Keys, trusted: Trust) -> None:
    both = signed(vendor, customer)
    told = problem(replace(both, payload=both.payload.replace(b"PASSED", b"FAILED")), trusted)
    assert "the text was changed after it was signed, or another key signed" in told
    bare = Signature("", vendor.signer.sign(PLAIN.payload))
    assert "no key" in problem(replace(PLAIN, signatures=(bare,)), trusted)


def test_who_is_no_party_adds_nothing(vendor: Keys, customer: Keys, stranger: Keys) -> None:
    trusted = trust.read("\n".join([vendor.line("vendor"), customer.line("customer"), stranger.line("auditor")]))
    assert "auditor, who is no party" in problem(signed(vendor, stranger), trusted)
    asked = weigh(signed(vendor, stranger), trusted, NOW, parties=("vendor", "auditor"))
    assert asked.state is State.FINAL


@pytest.mark.parametrize("parties", [(), ("vendor", "vendor")])
def test_a_threshold_of_nobody_is_no_threshold(trusted: Trust, parties: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="wanted one or more"):
        weigh(PLAIN, trusted, NOW, parties=parties)


def test_a_key_counts_only_in_its_time(vendor: Keys) -> None:
    options = 'namespaces="kvgate",valid-after="20261101Z",valid-before="202612010830Z" '
    trusted = trust.read(vendor.line("vendor", options))
    first, last = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, 8, 30, tzinfo=UTC)
    for at in (first, NOW, last):
        assert weigh(signed(vendor), trusted, at).state is State.DRAFT
    assert "it counts only from 2026-11-01" in problem(signed(vendor), trusted, first - timedelta(seconds=1))
    assert "it counted only until 2026-12-01" in problem(signed(vendor), trusted, last + timedelta(seconds=1))


def test_a_key_with_two_times_counts_in_both(vendor: Keys) -> None:
    lines = [vendor.line("vendor", f'valid-after="{year}0101Z",valid-before="{year}0201Z" ') for year in (2025, 2027)]
    trusted = trust.read("\n".join(lines))
    for year, state in ((2025, State.DRAFT), (2026, State.REFUSED), (2027, State.DRAFT)):
        assert weigh(signed(vendor), trusted, datetime(year, 1, 15, tzinfo=UTC)).state is state


def test_what_was_revoked_counts_no_more(tmp_path: Path, vendor: Keys) -> None:
    path = tmp_path / "allowed_signers"
    path.write_text(vendor.line("vendor"))
    assert weigh(signed(vendor), trust.load(path), NOW).state is State.DRAFT
    for listed in (vendor.signer.public.openssh(), f"# lost\n{vendor.signer.public.fingerprint} lost on Monday"):
        tmp_path.joinpath("allowed_signers.revoked").write_text(listed)
        assert "was revoked" in problem(signed(vendor), trust.load(path))
    tmp_path.joinpath("allowed_signers.revoked").write_text(f"sha256:{PLAIN.digest} issued in error")
    assert "the document itself was revoked" in problem(signed(vendor), trust.load(path))
    with pytest.raises(NotAllowed, match="cannot be read"):
        trust.load(path, tmp_path / "absent")


def test_a_line_for_another_purpose_does_not_count(vendor: Keys, customer: Keys) -> None:
    for options, counts in (
        ('namespaces="git" ', False), ('namespaces="git,kvgate" ', True), ('namespaces="kv*" ', True), ("", True),
        ('namespaces="*,!kvgate" ', False), ('namespaces="[kvgate]" ', False),
    ):  # fmt: skip
        assert bool(trust.read(vendor.line("vendor", options)).of("vendor")) is counts, options
    foreign = trust.read(f'vendor namespaces="git" ssh-rsa AAAA old\n{customer.line("customer")}')
    assert not foreign.of("vendor")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("vendor", "wanted: vendor"),
        ("vendor ssh-ed25519", "wanted: vendor"),
        ("{key}", "wanted: vendor"),
        ("vendor ssh-ed25519 AAAA", "no public key"),
        ("vendor ssh-rsa AAAA", "'ssh-rsa' cannot sign"),
        ("vendor sk-ssh-ed25519@openssh.com AAAA", "cannot sign"),
        ("* {key}", "no pattern"),
        ("vend?r {key}", "no pattern"),
        ("!vendor {key}", "no pattern"),
        ("vendor,customer {key}", "stands for vendor and for customer"),
        ("vendor {key}\ncustomer {key}", ":2: key SHA256"),
        ("vendor cert-authority {key}", "option 'cert-authority'"),
        ('vendor valid-after="2026" {key}', "wanted YYYYMMDD"),
        ('vendor valid-after="20261301Z" {key}', "wanted YYYYMMDD"),
        ('vendor valid-after="20270101Z",valid-before="20260101Z" {key}', "never counts"),
        ('vendor valid-after="20270101Z",valid-after="20260101Z" {key}', "stands twice"),
        ('vendor namespaces="kvgate {key}', "quotation mark"),
    ],
)  # fmt: skip
def test_a_trust_file_that_cannot_be_believed_is_refused(line: str, reason: str, vendor: Keys) -> None:
    with pytest.raises(Unproven) as caught:
        trust.read(line.replace("{key}", vendor.signer.public.openssh()))
    assert reason in str(caught.value)


def test_trust_files_are_those_that_ssh_keygen_reads(tmp_path: Path, vendor: Keys) -> None:
    """The same file, the same dates and namespace, judged by OpenSSH over a signature of its own format."""
    path, key, data = tmp_path / "allowed_signers", vendor.write(tmp_path / "key"), tmp_path / "data"
    data.write_bytes(PLAIN.payload)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "kvgate", "-f", key, data], check=True, capture_output=True)
    for options, counts in (
        ('namespaces="kvgate" ', True), ('namespaces="git" ', False), ('valid-before="20200101Z" ', False),
        ('valid-after="20200101Z" ', True),
    ):  # fmt: skip
        path.write_text(vendor.line("vendor", options))
        words = ["ssh-keygen", "-Y", "verify", "-n", "kvgate", "-f", path, "-I", "vendor", "-s", tmp_path / "data.sig"]
        theirs = subprocess.run(words, input=PLAIN.payload, capture_output=True, check=False).returncode == 0
        assert theirs is counts
        assert (weigh(signed(vendor), trust.load(path), datetime.now(UTC)).state is State.DRAFT) is counts
