"""A certificate holds only as it was signed, on the rack it names, with the evidence it names; every other one is found out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.verdict import Outcome
from kvgate.certificates import canonical, trust
from kvgate.certificates.examine import Asked, examine
from tests.certificates.conftest import NOW, Desk

Change = Callable[[dict[str, Any]], None]


def told(desk: Desk, *words: str | Path) -> tuple[int, dict[str, str], dict[str, str]]:
    """Exit status, outcome and finding by check."""
    shown = desk.verify("--json", *words)
    checks = json.loads(shown.stdout)["checks"]
    return shown.exit_code, {c["check"]: c["outcome"] for c in checks}, {c["check"]: c["found"] for c in checks}


def wrong(desk: Desk, *words: str | Path) -> dict[str, str]:
    """Findings of the checks that are not PASS."""
    status, outcomes, found = told(desk, *words)
    assert status == (1 if "STOP" in outcomes.values() else 6 if "UNDECIDED" in outcomes.values() else 0)
    return {name: found[name] for name, outcome in outcomes.items() if outcome != "PASS"}


def evidence(desk: Desk) -> Path:
    return desk.folder / "var/evidence" / desk.runs[-1]


def test_it_verifies_far_from_ledger_and_rack(final: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    shutil.copytree(evidence(final), folder / "evidence")
    for name in ("certificate.json", "allowed_signers"):
        shutil.copy(final.folder / name, folder)
    shutil.rmtree(final.folder)
    there = Desk(folder, final.vendor, final.customer)
    assert wrong(there, "--evidence", folder / "evidence") == {}


def test_in_chinese_too(final: Desk) -> None:
    shown = final.kvgate("--lang", "zh", "verify", final.certificate, "--simulated", "--evidence", evidence(final))
    assert shown.exit_code == 0
    assert "所要求的各项均成立" in shown.stdout


def test_a_simulated_rack_must_be_asked_for(final: Desk) -> None:
    shown = final.kvgate("verify", final.certificate)
    assert shown.exit_code == 1
    assert "a simulated rack: it says nothing about any real one" in shown.stdout


def test_without_a_trust_file_nothing_is_proven(final: Desk) -> None:
    shown = final.kvgate("verify", final.certificate, "--simulated", KVGATE_TRUST="")
    assert shown.exit_code == 6
    assert "no trust file" in shown.stdout


def test_it_holds_until_it_expires(final: Desk) -> None:
    assert "it expired on" in wrong(final, "--at", "2099-01-01")["validity"]
    assert "yet to come" in wrong(final, "--at", "2001-01-01T00:00:00+02:00")["validity"]


def test_what_was_revoked_holds_no_more(final: Desk) -> None:
    (final.folder / "allowed_signers.revoked").write_text(final.customer.signer.public.fingerprint)
    assert "was revoked" in wrong(final)["signatures"]
    listed = final.folder / "revoked"
    listed.write_text("# none\n")
    assert wrong(final, "--revoked", listed) == {}


def _outcome(statement: dict[str, Any]) -> None:
    statement["predicate"]["clauses"][3]["outcome"] = "STOP"


def _passes_all_the_same(statement: dict[str, Any]) -> None:
    clause = next(one for one in statement["predicate"]["clauses"] if one["outcome"] == "PASS" and not one["blocking"])
    clause["outcome"] = "STOP"


def _drop_a_clause(statement: dict[str, Any]) -> None:
    del statement["predicate"]["clauses"][3]


def _set(**fields: Any) -> Change:
    return lambda statement: statement["predicate"].update(fields)


def _unmark(statement: dict[str, Any]) -> None:
    statement["predicate"]["simulated"] = False


def _twice(statement: dict[str, Any]) -> None:
    statement["predicate"]["clauses"].append(statement["predicate"]["clauses"][0])


def _hide_the_first(statement: dict[str, Any]) -> None:
    statement["predicate"]["attempts"] = []


def _other_rack(statement: dict[str, Any]) -> None:
    statement["subject"][0]["digest"]["sha256"] = "0" * 64


def _other_root(statement: dict[str, Any]) -> None:
    statement["subject"][1]["digest"]["sha256"] = "0" * 64


def _waive_nothing(statement: dict[str, Any]) -> None:
    statement["predicate"]["clauses"][0]["waiver"] = "0" * 64


def _other_acceptance(statement: dict[str, Any]) -> None:
    statement["predicate"]["configuration"][0]["digest"]["sha256"] = "0" * 64


def _other_key(statement: dict[str, Any]) -> None:
    statement["predicate"]["hosts"][0]["shown"] = ["SHA256:" + "A" * 43]


@pytest.mark.parametrize(
    ("change", "check", "reason"),
    [
        (_outcome, "statement", "it says PASS, its clauses come to STOP"),
        (_twice, "statement", "decided twice"),
        (_set(decision="STOP"), "statement", "it says PASSED and STOP"),
        (_set(gate="G2"), "statement", "is no clause of G2"),
        (_set(run="another"), "statement", "not its own rack and run"),
        (_set(attempt=1), "statement", "it is attempt 1, but the attempts before it are 1"),
        (_hide_the_first, "statement", "it is attempt 2, but the attempts before it are -"),
        (_set(expires="2020-01-01T00:00:00.000000Z"), "statement", "out of order"),
        (_waive_nothing, "statement", "its waivers are not those"),
        (_set(previous={"gate": "G1", "document": "0" * 64}), "statement", "the gate before G1"),
        (_set(result=None), "statement", "predicate.result"),
        (_set(surprise=1), "statement", "predicate.surprise"),
        (_set(attempt=True), "statement", "predicate.attempt"),
        (_set(simulated="false"), "statement", "predicate.simulated"),
        (_set(clauses=[]), "statement", "predicate.clauses"),
        (_set(started="2026-11-29"), "statement", "predicate.started"),
        (lambda s: s.update(predicateType="https://in-toto.io/attestation/test-result/v0.1"), "statement", "knows no other"),
        (lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "statement", "found a document of type"),
        (lambda s: s.pop("subject"), "statement", "subject"),
        (lambda s: s["subject"].pop(), "statement", "something else than one rack"),
        (lambda s: s["predicate"]["configuration"].pop(), "statement", "configuration"),
    ],
)  # fmt: skip
def test_both_parties_may_sign_nonsense_and_it_is_still_refused(
    final: Desk, change: Change, check: str, reason: str
) -> None:
    final.forge(change)
    assert reason in wrong(final)[check]


@pytest.mark.parametrize(
    ("change", "check", "reason"),
    [
        (_drop_a_clause, "judgement", "signed -, judged again PASS"),
        (_passes_all_the_same, "judgement", "signed STOP, judged again PASS"),
        (_unmark, "origin", "the embedded rack answered"),
        (_other_rack, "basis", "another rack"),
        (_other_acceptance, "basis", "another agreement"),
        (_other_key, "hosts", "another set of host keys"),
        (_other_root, "evidence", "not the ones that were sealed"),
        (_set(campaign="other", attempts=[], attempt=1), "basis", "another campaign"),
    ],
)  # fmt: skip
def test_what_both_parties_signed_is_compared_with_the_evidence(
    final: Desk, change: Change, check: str, reason: str
) -> None:
    final.forge(change)
    assert set(wrong(final)) <= {"ticket"}  # the start ticket tells of some of it without any evidence
    assert reason in wrong(final, "--evidence", evidence(final))[check]


def _cut(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))


def _swap(folder: Path) -> None:
    one, two = sorted((folder / "blobs").glob("*/*.gz"))[:2]
    one.write_bytes(two.read_bytes())


def _edit(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"sample":1', b'"sample":2', 1))


def _remove(folder: Path) -> None:
    next((folder / "blobs").glob("*/*.gz")).unlink()


@pytest.mark.parametrize("damage", [_cut, _swap, _edit, _remove])
def test_changed_evidence_is_noticed(final: Desk, damage: Callable[[Path], None]) -> None:
    damage(evidence(final))
    assert set(wrong(final, "--evidence", evidence(final))) == {"evidence"}


def test_the_evidence_of_another_run_is_noticed(final: Desk) -> None:
    first = final.folder / "var/evidence" / final.runs[0]
    assert "it is the evidence of run" in wrong(final, "--evidence", first)["evidence"]


def test_a_changed_signature_or_payload_is_noticed(final: Desk) -> None:
    whole = json.loads(final.certificate.read_bytes())
    sound = whole["payload"]
    whole["payload"] = canonical.encoded(canonical.decoded(sound, "it").replace(b'"attempt":2', b'"attempt":1', 1))
    final.certificate.write_text(json.dumps(whole))
    assert "the text was changed after it was signed, or another key signed" in wrong(final)["signatures"]
    whole["payload"] = sound
    whole["signatures"][0]["sig"] = whole["signatures"][1]["sig"]
    final.certificate.write_text(json.dumps(whole))
    assert "has signed twice" in wrong(final)["signatures"]
    del whole["signatures"][1]
    whole["signatures"][0]["keyid"] = "\x1b[31mSHA256:me"
    final.certificate.write_text(json.dumps(whole))
    assert "DRAFT, wanted FINAL" in wrong(final)["parties"]


@pytest.mark.parametrize("text", ["", "{", "null", '{"payload":""}', "\ufeff{}"])
def test_what_is_no_certificate_is_refused_with_its_reason(final: Desk, text: str) -> None:
    final.certificate.write_text(text)
    if "payload" in text:  # it may be a certificate that was tampered with
        assert set(wrong(final)) == {"envelope"}
    else:
        shown = final.verify()
        assert shown.exit_code == 4
        assert "is no certificate: the certificate" in shown.stderr
        assert "`kvgate certify`" in shown.stderr
    signed = final.cosign("--yes", "--without-evidence")
    assert signed.exit_code == 4
    assert "does not hold: nothing was signed" in signed.stderr


def test_what_is_no_certificate_is_told_in_chinese_to_the_last_word(final: Desk) -> None:
    final.certificate.write_text("# notes")
    told = final.verify("--lang", "zh").stderr
    assert "不是 JSON（第 1 行，第 1 列）" in told
    assert "the certificate" not in told
    final.certificate.write_text('{"payload": ')
    torn = final.verify("--lang", "zh")
    assert torn.exit_code == 1
    assert "不是 JSON" in torn.stdout
    assert "cannot be read" not in torn.stdout


@pytest.mark.parametrize(
    "words", [["--trust", "absent"], ["--at", "noon"], ["--tsa", "absent"], ["--evidence", "absent"]]
)
def test_a_mistake_is_said_in_one_line(final: Desk, words: list[str]) -> None:
    shown = final.verify(*words)
    assert shown.exit_code == 4
    assert len(shown.stderr.splitlines()) == 1
    assert final.kvgate("verify", final.folder / "absent").exit_code == 4


def _cases(text: bytes) -> st.SearchStrategy[bytes]:
    """Bytes of a certificate with parts cut out, doubled or replaced, and statements with values replaced."""
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, 400), st.binary(max_size=6))
    return spans.map(lambda span: text[: span[0]] + span[2] + text[span[0] + span[1] :])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key in value:
            found += _places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            found += _places(value[index], (*path, index))
    return found


STRANGE = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), st.text(max_size=8), st.just([]), st.just({}),
    st.just(["x"]), st.just({"sha256": "0" * 64}), st.just("2026-13-40T99:99:99.000000Z"),
)  # fmt: skip


def test_nothing_ends_the_verifier_but_a_finding(final: Desk) -> None:
    """Whatever a certificate says, also under good signatures, every check ends in an outcome."""
    known = trust.load(final.folder / "allowed_signers")
    sound = final.certificate.read_bytes()
    statement = json.loads(canonical.decoded(json.loads(sound)["payload"], "it"))
    places = _places(statement)[1:]

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(_cases(sound))
    def bytes_changed(data: bytes) -> None:
        found = examine(data, Asked(NOW, known, previous=data))
        assert found.outcome is not Outcome.PASS

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(places), STRANGE)
    def values_changed(place: tuple[Any, ...], value: Any) -> None:
        def change(found: dict[str, Any]) -> None:
            target: Any = found
            for step in place[:-1]:
                target = target[step]
            target[place[-1]] = value

        final.certificate.write_bytes(sound)
        data = final.forge(change).read_bytes()
        assert examine(data, Asked(NOW, known, token=b"x", previous=sound)).checks

    bytes_changed()
    values_changed()


def test_an_attempt_of_any_number_is_told_and_fills_no_memory(passed: Desk) -> None:
    """Who writes a certificate may write any number into it."""
    passed.certify(passed.runs[-1])
    passed.forge(lambda it: it["predicate"].update(attempt=2**33))
    found = passed.verify()
    assert found.exit_code not in (0, 4)
    assert "it is attempt 8589934592, but the attempts before it are 1" in found.output
