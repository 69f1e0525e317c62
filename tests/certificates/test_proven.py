"""No party can write into a certificate what evidence and ledger do not show: every field is changed, every change is found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.verdict import Outcome
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.decision import Certificate, Clause, GateDecision
from kvgate.certificates.evidence import compare
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.history import counted
from kvgate.certificates.proven import Judgement
from kvgate.cli.again import judged_again
from kvgate.ledger.repository import Ledger
from tests.certificates.conftest import NOW, Desk

#: What whoever issues may choose, within what the certificate itself must agree with (see coherence).
CHOSEN = {"issued", "expires"}
#: Told by signatures of their own, each with its own tests.
SIGNED = {"ticket_signed_by", "previous", "waivers"}
HEX = "0123456789abcdef" * 4
BY = ("inventory", "trust")


def _other(value: Any) -> Any:
    """A value of the same form that says something else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return [_other(value[0]), *value[1:]] if value else ["E999999"]
    if isinstance(value, dict):
        if value.get("by") in BY:
            return {**value, "by": next(one for one in BY if one != value["by"])}
        first = sorted(value)[0]
        return {**value, first: _other(value[first])}
    if len(value) == 64 and set(value) <= set(HEX):
        return HEX
    if value.endswith("Z") and value[:2] == "20":
        return "2020" + value[4:]
    if value.startswith("E") and value[1:].isdigit():
        return "E999999"
    words = {"PASS": "STOP", "PASSED": "FAILED", "G1": "G2", "measured": "declared", "declared": "measured"}
    return words.get(value, value + "x")


@pytest.fixture(scope="module")
def sound(certified_once: Path) -> tuple[dict[str, Any], Path, Judgement, str]:
    """The statement of a certificate, the folder of its evidence, that judged again once, and its ledger."""
    statement = envelopes.load(certified_once / "certificate.json").statement()
    folder = certified_once / "var/evidence" / statement["predicate"]["run"]
    return statement, folder, judged_again(folder), f"sqlite:///{certified_once / 'var/kvgate.db'}"


#: Which checks must find that a field says something else, and words that they must say of it.
FOUND = {
    "attempt": {
        "statement": "it is attempt 3",
        "ticket": "has attempt 2",
        "basis": "another attempt",
        "attempts": "ledger",
    },
    "attempts": {"statement": "the attempts before it are", "attempts": "something else than the ledger"},
    "boots": {"basis": "another boots"},
    "campaign": {"ticket": "has campaign demo", "basis": "another campaign", "attempts": "of demox"},
    "clauses": {"numbers": "basis: signed declared, judged again measured"},
    "configuration": {"ticket": "has acceptance", "basis": "another agreement"},
    "decision": {"statement": "its clauses come to PASS", "decision": "STOP, wanted PASS"},
    "elapsed": {"basis": "another time that went by"},
    "entry": {"attempts": "of the decision log is another one"},
    "evidence": {"evidence": "is not the one that was sealed"},
    "finished": {"statement": "out of order", "basis": "another end", "attempts": "signed as finished 2020"},
    "gate": {
        "statement": "is no clause of G2",
        "ticket": "has gate G1",
        "basis": "another gate",
        "attempts": "has no run",
    },
    "hosts": {"hosts": "another set of host keys"},
    "log": {"attempts": "of the decision log is another one"},
    "machine": {"basis": "another operator's machine"},
    "operator": {"basis": "another operator:"},
    "overlaid": {"statement": "predicate.overlaid.0"},
    "parties": {"basis": "keys of the parties"},
    "rack": {"statement": "its subjects are not its own", "basis": "another name of the rack"},
    "result": {"statement": "it says FAILED and PASS"},
    "revision": {"basis": "another revision of the agreement"},
    "run": {"statement": "its subjects are not", "ticket": "has run", "evidence": "of run", "attempts": "has no run"},
    "soaks": {
        "statement": "predicate.soaks.0"
    },  # of G4; what a list says is held to the ledger below and in campaign/test_begun
    "simulated": {"origin": "the certificate does not say so"},
    "start_ticket": {"ticket": "the payload of the start ticket is not"},
    "started": {"ticket": "has started", "basis": "another start:"},
    "ticket": {"ticket": "has ticket", "basis": "another start ticket", "attempts": "another start ticket"},
    "version": {"judgement": "signed as of kvgate"},
}
#: The same of one verdict.
FOUND_THERE = {
    "basis": {"numbers": "basis: signed declared"},
    "blocking": {"judgement": "signed PASS, advisory, judged again PASS, blocking"},
    "check": {"numbers": "check: signed"},
    "clause": {"judgement": "judged again -"},
    "evidence": {"numbers": "evidence: signed E999999"},
    "measured": {"numbers": "measured: signed"},
    "note": {"numbers": "note: signed x, judged again -"},
    "outcome": {"statement": "its clauses come to STOP", "judgement": "signed STOP, judged again PASS"},
    "required": {"numbers": "required: signed"},
    "subject": {"judgement": "judged again -"},
    "unit": {"numbers": "unit: signed x"},
    "waiver": {"statement": "a verdict that passed is called waived"},
}
Sound = tuple[dict[str, Any], Path, Judgement, str]


def found_wrong(sound: Sound, change: Callable[[dict[str, Any]], None]) -> dict[str, str]:
    """Check -> what was found, of everything that does not hold once the statement was changed and sealed anew."""
    statement, folder, again, ledger = sound
    changed = copy.deepcopy(statement)
    change(changed)
    examined = examine(
        envelopes.seal(changed).to_bytes(), Asked(NOW.replace(year=2027, month=1, day=1), simulated=True)
    )
    checks = list(examined.checks)
    if (certificate := examined.certificate) is not None:
        checks += [
            *compare(certificate, folder, lambda _: again),
            counted(certificate, Ledger.open(ledger, write=False)),
        ]
    told = (
        "signatures",
        "parties",
    )  # nobody signed it here, and whose ticket it is cannot be told without a trust file
    wrong = [one for one in checks if one.outcome is not Outcome.PASS and one.name not in told]
    return {one.name: str(one.found) for one in wrong if one.name != "ticket" or one.outcome is Outcome.STOP}


def told(wrong: dict[str, str], wanted: dict[str, str]) -> None:
    """Each check that is wanted speaks of it; others may, too."""
    assert all(words in wrong.get(name, "") for name, words in wanted.items()), wrong


def test_what_is_sound_is_found_sound(sound: Sound) -> None:
    assert found_wrong(sound, lambda statement: None) == {}


@pytest.mark.parametrize("name", sorted(set(GateDecision.model_fields) - CHOSEN - SIGNED))
def test_no_field_says_anything_that_was_not_so(sound: Sound, name: str) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["predicate"][name] = _other(statement["predicate"][name])

    told(found_wrong(sound, change), FOUND[name])


@pytest.mark.parametrize("name", sorted(Clause.model_fields))
def test_no_verdict_says_anything_that_was_not_so(sound: Sound, name: str) -> None:
    def change(statement: dict[str, Any]) -> None:
        one = statement["predicate"]["clauses"][7]
        one[name] = HEX if name == "waiver" else _other(one[name])

    told(found_wrong(sound, change), FOUND_THERE[name])


@pytest.mark.parametrize("name", ["overlaid", "hosts", "attempts", "soaks"])
def test_nothing_is_left_out_or_added(sound: Sound, name: str) -> None:
    invented = {
        "overlaid": {"clause": "G1.2.9", "what": "media_errors", "before": "0", "after": "7", "origin": "contract"},
        "soaks": {
            "soak": "soak-1", "judged": False, "started": "2026-01-01T00:00:00.000000Z", "times": 1, "stopped": "", "removed": "",
            "runs": [],
        },
    }  # fmt: skip

    def change(statement: dict[str, Any]) -> None:
        predicate = statement["predicate"]
        predicate[name] = [invented[name]] if name in invented else predicate[name][1:]

    by = {"overlaid": "basis", "hosts": "hosts", "attempts": "attempts", "soaks": "attempts"}
    assert by[name] in found_wrong(sound, change)


def test_an_erased_attempt_is_found_by_evidence_and_by_ledger(sound: Sound) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["predicate"] |= {"attempt": 1, "attempts": []}

    wrong = found_wrong(sound, change)
    assert "another attempt: signed 1, the evidence has 2" in wrong["basis"]
    assert "it does not count run" in wrong["attempts"]


def test_numbers_by_another_code_are_not_told_rather_than_wrong(sound: Sound) -> None:
    statement, folder, again, _ = sound
    changed = copy.deepcopy(statement)
    changed["predicate"]["configuration"][2]["digest"]["sha256"] = HEX
    changed["predicate"]["clauses"][7]["measured"] = "0 of another kind"
    certificate = Certificate.model_validate({k: changed[k] for k in ("subject", "predicate")})
    outcomes = {one.name: one.outcome for one in compare(certificate, folder, lambda _: again)}
    assert outcomes["judgement"] is Outcome.PASS
    assert outcomes["numbers"] is Outcome.UNDECIDED


def test_terms_by_another_standard_document_are_not_told_rather_than_wrong(sound: Sound) -> None:
    statement, folder, again, _ = sound
    changed = copy.deepcopy(statement)
    changed["predicate"]["configuration"][2]["digest"]["sha256"] = HEX
    changed["predicate"]["overlaid"] = [
        {"clause": "G1.2.9", "what": "media_errors", "before": "10", "after": "0", "origin": "engineering default"}
    ]
    certificate = Certificate.model_validate({k: changed[k] for k in ("subject", "predicate")})
    outcomes = {one.name: one.outcome for one in compare(certificate, folder, lambda _: again)}
    assert outcomes["basis"] is Outcome.UNDECIDED


def test_another_end_than_the_ledger_has_is_found(sound: Sound) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["predicate"]["finished"] = statement["predicate"]["finished"][:-4] + "000Z"

    assert "signed as finished" in found_wrong(sound, change)["attempts"]


def test_a_certificate_counts_no_longer_than_the_calendar_says(passed: Desk) -> None:
    refused = passed.certify(passed.runs[-1], "--valid-days", "3650")
    assert refused.exit_code == 4
    assert "found --valid-days 3650, wanted at most" in refused.stderr
    assert passed.certify(passed.runs[-1], "--valid-days", "3").exit_code == 0


def test_cosign_signs_nothing_that_the_evidence_does_not_show(passed: Desk) -> None:
    passed.certify(passed.runs[-1])

    def change(statement: dict[str, Any]) -> None:
        statement["predicate"]["clauses"][7]["measured"] = "0, I swear"

    passed.forge(change, "vendor")
    before = passed.certificate.read_bytes()
    refused = passed.cosign("--yes")
    assert refused.exit_code not in (0, 1, 2)
    assert "signed 0, I swear, judged again" in refused.output
    assert passed.certificate.read_bytes() == before


def test_cosign_counts_the_attempts_or_says_that_it_did_not(passed: Desk) -> None:
    passed.certify(passed.runs[-1])
    elsewhere = passed.cosign("--yes", "--ledger", f"sqlite:///{passed.folder / 'none.db'}")
    assert elsewhere.exit_code not in (0, 1, 2)
    assert "leaves earlier attempts out could not be told" in elsewhere.output
    assert "--without-ledger" in elsewhere.output
    own_risk = passed.cosign("--yes", "--without-ledger", "--ledger", f"sqlite:///{passed.folder / 'none.db'}")
    assert own_risk.exit_code == 0, own_risk.output
    assert "! earlier attempts were not counted" in own_risk.output


def test_verify_says_what_nobody_asked(final: Desk) -> None:
    plain = final.verify()
    assert plain.exit_code == 0
    assert "not asked: the evidence" in plain.output
    assert "not asked: that no earlier attempt is left out (--ledger URL)" in plain.output
    asked = final.verify(
        "--ledger", f"sqlite:///{final.folder / 'var/kvgate.db'}", "--evidence", final.folder / "var/evidence"
    )
    assert asked.exit_code == 0, asked.output
    assert "not asked" not in asked.output
    unknown = final.verify("--ledger", f"sqlite:///{final.folder / 'none.db'}")
    assert unknown.exit_code not in (0, 1, 2), unknown.output
