"""From a decided run to a certificate that both parties have signed: what is certified, who may sign, what is asked first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvgate.certificates import decision, envelope
from kvgate.certificates.code import code_digest
from kvgate.cli import signing
from kvgate.ledger.repository import Ledger
from tests.certificates.conftest import Desk, Keys


def checks(desk: Desk, *words: str | Path) -> dict[str, str]:
    shown = json.loads(desk.verify("--json", *words).stdout)
    return {one["check"]: one["outcome"] for one in shown["checks"]}


def test_a_pass_is_certified_co_signed_and_verified(passed: Desk) -> None:
    first, second = passed.runs
    made = passed.certify(second)
    assert (made.exit_code, made.stdout.strip()) == (0, str(passed.certificate))
    assert "DRAFT, signed by vendor" in made.stderr
    assert passed.verify().exit_code == 1
    assert passed.verify("--draft").exit_code == 0
    signed = passed.cosign("--yes")
    assert signed.exit_code == 0, signed.output
    assert "FINAL, signed by customer" in signed.stderr
    shown = passed.verify("--evidence", passed.folder / "var/evidence", "--json")
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert (told["holds"], told["state"], told["decision"], told["attempt"]) == (True, "FINAL", "PASS", 2)
    assert {one["party"] for one in told["signed"]} == {"vendor", "customer"}
    assert [one["check"] for one in told["checks"]][-6:] == [
        "evidence",
        "basis",
        "hosts",
        "origin",
        "judgement",
        "numbers",
    ]
    found = decision.read(envelope.load(passed.certificate)).predicate
    assert [(one.run, one.outcome, one.attempt) for one in found.attempts] == [(first, "UNDECIDED", 1)]


def test_a_certificate_carries_what_was_decided_on_which_rack_by_which_numbers(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    found = decision.read(envelope.load(passed.certificate))
    ledger = Ledger.open(f"sqlite:///{passed.folder / 'var/kvgate.db'}")
    run = ledger.run(passed.runs[-1])
    entry = ledger.decisions(run)[-1]
    rows = ledger.recorded(run)
    predicate = found.predicate
    assert (found.fingerprint, found.root) == (run.fingerprint, entry.evidence_root)
    assert predicate.configured("acceptance") == run.acceptance_digest
    assert predicate.configured("code") == code_digest()
    assert (predicate.evidence.lines, predicate.evidence.head) == (entry.evidence_lines, entry.evidence_head)
    assert (predicate.log.seq, predicate.log.hash) == ledger.head()
    assert predicate.ticket == run.ticket_digest
    assert predicate.simulated is True
    assert predicate.previous is None
    assert (predicate.started, predicate.finished) == (run.started, entry.utc)
    assert predicate.elapsed > 0
    assert {(one.clause, one.subject): (one.outcome, one.measured, one.required) for one in predicate.clauses} == {
        (item.clause, item.subject): (row.verdict.outcome.value, str(row.verdict.measured), str(row.verdict.required))
        for item, row in rows.items()
    }
    for host in predicate.hosts:
        assert host.shown == (host.pinned,)
    kept = ledger.envelopes(kind="certificate", run=run.id)
    assert kept[-1].content == passed.certificate.read_bytes()  # those before are the demo's own
    ledger.close()


def test_what_could_not_be_told_is_never_certified(passed: Desk) -> None:
    refused = passed.certify(passed.runs[0])
    assert refused.exit_code == 4
    assert "is UNDECIDED: only a complete PASS, or a STOP, is certified" in refused.stderr
    assert not passed.certificate.exists()


def test_a_stop_is_certified_as_a_record_of_the_stop(stopped: Desk) -> None:
    assert stopped.certify(stopped.runs[0], party="customer").exit_code == 0
    assert stopped.cosign("--yes", party="vendor").exit_code == 0
    assert stopped.verify().exit_code == 1
    shown = stopped.verify("--expect", "STOP", "--evidence", stopped.folder / "var/evidence" / stopped.runs[0])
    assert shown.exit_code == 0, shown.output
    assert "G1 embedded (simulated): STOP" in shown.stdout
    assert "measured" in shown.stdout
    found = decision.read(envelope.load(stopped.certificate)).predicate
    assert (found.result, found.decision) == ("FAILED", "STOP")


def test_nobody_signs_without_having_been_asked(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    before = passed.certificate.read_bytes()
    refused = passed.cosign(text="n\n")
    assert refused.exit_code == 4
    assert "G1 embedded (simulated): PASS" in refused.stderr
    assert "attempt 1 before it: UNDECIDED" in refused.stderr
    assert passed.certificate.read_bytes() == before
    assert passed.cosign(text="y\n").exit_code == 0


def test_the_same_party_does_not_sign_twice(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    assert "vendor has signed this already" in passed.cosign("--yes", party="vendor").stderr


def test_a_key_signs_for_its_own_party_only(passed: Desk, stranger: Keys) -> None:
    key = stranger.write(passed.folder / "stranger")
    run = passed.runs[-1]
    other = passed.kvgate("certify", run, "--key", key, "--party", "vendor", "-o", passed.certificate)
    assert other.exit_code == 4
    assert "is nobody's" in other.stderr
    swapped = passed.kvgate("certify", run, "--key", passed.folder / "customer", "--party", "vendor")
    assert "is customer's" in swapped.stderr
    assert not passed.certificate.exists()
    passed.certify(run)
    both = passed.kvgate(
        "cosign", passed.certificate, "--key", passed.folder / "vendor", "--party", "customer", "--yes"
    )
    assert "is vendor's" in both.stderr


def test_without_a_trust_file_the_keys_of_the_first_attempt_say_whose_a_key_is(passed: Desk, stranger: Keys) -> None:
    key, run, bare = stranger.write(passed.folder / "stranger"), passed.runs[-1], {"KVGATE_TRUST": ""}
    words = ("--party", "vendor", "-o", passed.certificate)
    for wrong, whose in ((key, "nobody's"), (passed.folder / "customer", "customer's")):
        refused = passed.kvgate("certify", run, "--key", wrong, *words, **bare)
        assert refused.exit_code == 4
        assert f"is {whose} in the start ticket of run {passed.runs[0]}, not vendor's" in refused.stderr
        assert not passed.certificate.exists()
    made = passed.kvgate("certify", run, "--key", passed.folder / "vendor", *words, **bare)
    assert made.exit_code == 0, made.output
    assert f"kvgate cosign {passed.certificate} --key FILE --party customer --trust FILE" in made.stderr
    own = passed.kvgate(
        "cosign", passed.certificate, "--key", passed.folder / "customer", "--party", "customer", **bare
    )
    assert "vendor ssh-ed25519" in own.stderr
    assert passed.cosign("--yes").exit_code == 0


def test_without_a_trust_file_no_stop_is_reopened_or_waived_with_the_key_of_another(stopped: Desk) -> None:
    bare, key = {"KVGATE_TRUST": ""}, ("--key", stopped.folder / "customer", "--party", "vendor")
    waived = ("waive", stopped.runs[0], "G1.2.9", "--until", "2026-12-31")
    for words in (("reopen",), waived):
        refused = stopped.kvgate(*words, "--reason", "replaced", *key, "-o", stopped.certificate, **bare)
        assert refused.exit_code == 4
        assert "is customer's in the start ticket of run" in refused.stderr
        assert not stopped.certificate.exists()


def test_a_locked_key_asks_for_its_passphrase_and_tells_nobody(passed: Desk) -> None:
    passed.vendor.write(passed.folder / "vendor", b"open sesame")
    key = passed.folder / "vendor"
    words = ("certify", passed.runs[-1], "--key", key, "--party", "vendor", "-o", passed.certificate)
    wrong = passed.kvgate(*words, text="guess\n")
    assert wrong.exit_code == 4
    assert "wrong passphrase" in wrong.stderr
    made = passed.kvgate(*words, text="open sesame\n")
    assert made.exit_code == 0
    secrets = (b"sesame", passed.vendor.key.private_bytes_raw(), passed.vendor.key.private_bytes_raw().hex().encode())
    written = made.output.encode() + b"".join(
        path.read_bytes()
        for path in passed.folder.rglob("*")
        if path.is_file() and path.name not in ("vendor", "customer")
    )
    assert not [secret for secret in secrets if secret in written]


def test_nothing_is_signed_that_does_not_hold(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    sound = passed.certificate.read_bytes()
    blob = next((passed.folder / "var/evidence" / passed.runs[-1] / "blobs").glob("*/*.gz"))
    blob.write_bytes(blob.read_bytes()[:-1])
    refused = passed.cosign("--yes")
    assert refused.exit_code == 4
    assert "was changed" in refused.stderr
    assert "does not hold: nothing was signed" in refused.stderr
    assert passed.certificate.read_bytes() == sound
    blind = passed.cosign("--yes", "--without-evidence")
    assert blind.exit_code == 0
    assert "the evidence was not looked at" in blind.stderr


def test_changed_evidence_is_not_certified(passed: Desk) -> None:
    journal = passed.folder / "var/evidence" / passed.runs[-1] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    refused = passed.certify(passed.runs[-1])
    assert refused.exit_code in (4, 6)
    assert not passed.certificate.exists()


def test_a_certificate_is_never_written_over(passed: Desk) -> None:
    passed.certificate.parent.mkdir(parents=True, exist_ok=True)
    passed.certificate.write_text("somebody else's")
    assert "is another document" in passed.certify(passed.runs[-1]).stderr
    assert passed.certificate.read_text() == "somebody else's"


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_co_signing_needs_a_trust_file_and_evidence(passed: Desk, tmp_path: Path, words: tuple[str, ...]) -> None:
    passed.certify(passed.runs[-1])
    assert "found no evidence" in passed.cosign("--evidence", tmp_path / "absent", *words).stderr
    blind = passed.kvgate(
        "cosign",
        passed.certificate,
        "--key",
        passed.folder / "customer",
        "--party",
        "customer",
        *words,
        KVGATE_TRUST="",
    )
    assert "name your own trust file" in blind.stderr


def test_certifying_twice_writes_the_same_document_again_and_an_audit_has_nothing_to_say(passed: Desk) -> None:
    """Who lost the file, or types the command of the other party, must not make a second truth of one decision."""
    run = passed.runs[-1]
    first = passed.certify(run)
    assert first.exit_code == 0
    draft = passed.certificate.read_bytes()
    again = passed.kvgate(
        "certify", run, "--key", passed.folder / "customer", "--party", "customer", "-o", passed.folder / "again.json"
    )
    assert again.exit_code == 0, again.output
    assert (passed.folder / "again.json").read_bytes() == draft
    assert "nothing was signed" in again.stderr
    there = passed.certify(run)
    assert there.exit_code == 0
    assert f"{passed.certificate} holds it: nothing was signed or written" in there.stderr
    assert "customer has not signed it yet: kvgate cosign" in there.stderr
    (passed.folder / "again.json").write_text("{}")
    other = passed.kvgate(
        "certify", run, "--key", passed.folder / "vendor", "--party", "vendor", "-o", passed.folder / "again.json"
    )
    assert other.exit_code == 4
    assert "is another document: name another file" in other.stderr
    assert "customer has not signed it yet: kvgate cosign" in again.stderr
    draft_of_it = passed.folder / "draft.json"
    draft_of_it.write_bytes(passed.certificate.read_bytes())
    assert passed.cosign("--yes").exit_code == 0
    lesser = passed.kvgate("certify", run, "--key", passed.folder / "vendor", "--party", "vendor", "-o", draft_of_it)
    assert lesser.exit_code == 4
    assert "with other signatures than the ledger has" in lesser.stderr
    third = passed.kvgate(
        "certify", run, "--key", passed.folder / "vendor", "--party", "vendor", "-o", passed.folder / "third.json"
    )
    assert third.exit_code == 0, third.output
    assert (passed.folder / "third.json").read_bytes() == passed.certificate.read_bytes()
    assert "has not signed" not in third.stderr
    refused = passed.certify(run, "--valid-days", "3")
    assert refused.exit_code == 4
    refused = passed.kvgate(
        "certify",
        run,
        "--valid-days",
        "3",
        "--key",
        passed.folder / "vendor",
        "--party",
        "vendor",
        "-o",
        passed.folder / "x.json",
    )
    assert refused.exit_code == 4
    assert "has a certificate that counts until" in refused.stderr
    audited = passed.kvgate("audit")
    assert "certificate-resigned" not in audited.output, audited.output


def test_of_two_documents_of_an_older_version_the_one_that_both_have_signed_is_written_again(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    assert passed.cosign("--yes").exit_code == 0
    final = passed.certificate.read_bytes()
    later = envelope.load(passed.certificate).statement()
    predicate = later["predicate"]
    assert isinstance(predicate, dict)
    predicate["issued"] = "2099-01-01T00:00:00.000000Z"
    signing.keep(
        f"sqlite:///{passed.folder / 'var/kvgate.db'}",
        predicate["campaign"],
        passed.runs[-1],
        envelope.seal(later).signed_by(passed.vendor.signer),
    )
    again = passed.kvgate(
        "certify",
        passed.runs[-1],
        "--key",
        passed.folder / "vendor",
        "--party",
        "vendor",
        "-o",
        passed.folder / "again.json",
    )
    assert again.exit_code == 0, again.output
    assert (passed.folder / "again.json").read_bytes() == final
