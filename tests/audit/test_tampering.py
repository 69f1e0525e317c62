"""Everything that somebody may do to ledger, evidence and certificates is found and named; what needs an anchor is found with one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from checks.decision import decide
from kvgate import agreement as agreements
from kvgate.codec import canonical, digest
from kvgate.ledger import moving
from kvgate.ledger.engine import Store
from kvgate.ledger.findings import KINDS
from kvgate.ledger.repository import Ledger
from tests.audit.conftest import Scene, kvgate
from tests.audit.forger import erase, forge
from tests.invoking import invoked
from tests.ledger.sample import begin, tamper

TURN = (
    'UPDATE verdict SET outcome = \'STOP\', content = replace(content, \'"outcome":"PASS"\', \'"outcome":"STOP"\') '
    "WHERE id = (SELECT max(id) FROM verdict WHERE outcome = 'PASS' AND clause = 'G1.2.9')"
)


def without_certificates(scene: Scene) -> None:
    tamper(scene.url, "DELETE FROM envelope")


def test_nothing_is_found_where_nothing_was_done(scene: Scene) -> None:
    assert scene.audit() == []
    assert scene.audit("--anchor", scene.anchor, "--trust", scene.folder / "allowed_signers") == []


def test_a_changed_row_is_found(scene: Scene) -> None:
    tamper(scene.url, TURN)
    found = scene.audit()
    assert ("row", f"verdicts of run {scene.runs[-1]} are not those that decision 2 was made on") in found
    assert "verdicts" in {kind for kind, _ in found}  # the evidence says another thing
    assert any(kind == "row" and "it was signed that" in told for kind, told in found)


def test_a_changed_row_is_found_in_the_evidence_though_the_whole_chain_was_computed_anew(scene: Scene) -> None:
    without_certificates(scene)
    forge(scene.url, TURN, change=stopped)
    assert scene.kinds() == {"verdicts"}
    assert "anchor" in scene.kinds("--anchor", scene.anchor)


def stopped(seq: int, content: dict[str, object]) -> None:
    """Make the second decision the one that its changed rows come to."""
    if seq == 2:
        content |= {"outcome": "STOP", "stopped": 1, "passed": int(str(content["passed"])) - 1}


def test_a_recomputed_chain_is_found_with_an_anchor_only(scene: Scene) -> None:
    without_certificates(scene)
    shutil.rmtree(scene.evidence)
    forge(scene.url, TURN, change=stopped)
    assert scene.kinds() == {"evidence-missing"}
    assert "anchor" in scene.kinds("--anchor", scene.anchor)


def test_a_deleted_run_is_found(scene: Scene) -> None:
    erase(scene.url, scene.runs[0])
    found = scene.audit()
    assert {"run-missing", "decision-missing", "chain"} <= {kind for kind, _ in found}
    told = "\n".join(text for kind, text in found if kind == "run-missing")
    assert "run number 1 is missing" in told
    assert f"there is evidence of run {scene.runs[0]}, and no such run in the ledger" in told
    assert f"counts attempt 1 of demo (run {scene.runs[0]}), which the ledger has not any more" in told


def test_a_cut_tail_is_found_with_an_anchor_only(scene: Scene) -> None:
    last = scene.runs[-1]
    erase(scene.url, last)
    shutil.rmtree(scene.evidence / last)
    assert scene.audit() == []
    found = scene.audit("--anchor", scene.anchor)
    assert {"anchor", "run-missing"} == {kind for kind, _ in found}


def test_a_cut_tail_is_found_by_the_evidence_that_was_left_behind(scene: Scene) -> None:
    erase(scene.url, scene.runs[-1])
    assert scene.kinds() == {"run-missing"}


def audited(ledger: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> tuple[int, str]:
    """Exit status and everything said by an audit of a ledger that was named in a folder where others lie."""
    monkeypatch.chdir(folder)
    done = invoked("audit", *words, env={"KVGATE_LEDGER": ledger})
    return done.exit_code, done.output


def test_certificates_of_another_ledger_are_no_accusation(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (tmp_path / "other.db", tmp_path / "emptied" / "kvgate.db"):
        place.parent.mkdir(exist_ok=True)
        Ledger.open(f"sqlite:///{place}").close()
    status, told = audited(f"sqlite:///{tmp_path}/other.db", scene.folder, monkeypatch)
    assert status == 6, told
    assert "of another ledger (no run in common)" in told
    assert "--certificates" in told
    assert "cut or written anew (by" not in told
    assert "run-missing" not in told
    status, told = audited(
        f"sqlite:///{tmp_path}/other.db", scene.folder, monkeypatch, "--certificates", "var/certificates"
    )
    assert status == 1, told  # it was said that they are this ledger's: then everything was deleted
    assert "run-missing" in told
    shutil.copytree(scene.folder / "var" / "certificates", tmp_path / "emptied" / "certificates")
    status, told = audited(f"sqlite:///{tmp_path}/emptied/kvgate.db", scene.folder, monkeypatch)
    assert status == 1, told  # they lie beside it
    assert "run-missing" in told
    status, told = audited(scene.url, scene.folder, monkeypatch, "--evidence", scene.evidence)
    assert status == 0, told


def ticket(scene: Scene, **changes: object) -> Path:
    """The signed start ticket of the last run, as the other party keeps it."""
    run = Ledger.open(scene.url, write=False).run(scene.runs[-1])
    said = {
        "campaign": run.campaign, "run": run.id, "gate": run.gate, "attempt": run.attempt, "sequence": run.seq,
        "nonce": run.nonce, "inventory": run.inventory_digest, "acceptance": run.acceptance_digest, "started": run.started,
        "ticket": run.ticket_digest, "code": "c" * 64, "version": run.code, **changes,
    }  # fmt: skip

    def change(statement: dict[str, Any]) -> None:
        statement |= {"predicateType": "urn:kvgate:start-ticket:v1", "predicate": said, "subject": []}

    return scene.certificate(change, "vendor")


def test_a_deleted_attempt_is_found_with_its_start_ticket(scene: Scene) -> None:
    last, kept = scene.runs[-1], ticket(scene)
    assert scene.audit("--anchor", kept, "--trust", scene.folder / "allowed_signers") == []
    erase(scene.url, last)
    shutil.rmtree(scene.evidence / last)
    assert scene.audit() == []
    assert scene.kinds("--anchor", kept) == {"run-missing"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("sequence", "row"), ("ticket", "row"), ("started", "row"), ("acceptance", "limit"), ("run", "certificate")],
)
def test_a_start_ticket_that_says_something_else_is_found(scene: Scene, name: str, kind: str) -> None:
    assert scene.kinds("--anchor", ticket(scene, **{name: 7})) == {kind}


def blobs(scene: Scene) -> list[Path]:
    return sorted((scene.evidence / scene.runs[-1] / "blobs").glob("*/*.gz"))


def swapped(scene: Scene) -> None:
    one, other = blobs(scene)[:2]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def edited(scene: Scene) -> None:
    raw = bytearray(blobs(scene)[0].read_bytes())
    raw[len(raw) // 2] ^= 1
    blobs(scene)[0].write_bytes(raw)


def removed(scene: Scene) -> None:
    blobs(scene)[0].unlink()


@pytest.mark.parametrize("do", [swapped, edited, removed])
def test_a_swapped_edited_or_removed_blob_is_found(scene: Scene, do: Callable[[Scene], None]) -> None:
    do(scene)
    found = scene.audit()
    assert {kind for kind, _ in found} == {"evidence-blob"}
    assert len(found) == (2 if do is swapped else 1)


@pytest.mark.parametrize("line", [3, -1])
def test_a_missing_journal_line_is_found(scene: Scene, line: int) -> None:
    journal = scene.evidence / scene.runs[-1] / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    del lines[line]
    journal.write_bytes(b"".join(lines))
    assert scene.kinds() == {"evidence-line"}


def test_missing_evidence_is_found(scene: Scene) -> None:
    shutil.rmtree(scene.evidence / scene.runs[0])
    assert scene.kinds() == {"evidence-missing"}


def test_a_reordered_chain_is_found(scene: Scene) -> None:
    tamper(
        scene.url,
        "UPDATE decision SET seq = 99 WHERE seq = 1",
        "UPDATE decision SET seq = 1 WHERE seq = 2",
        "UPDATE decision SET seq = 2 WHERE seq = 99",
    )
    assert ("chain", "the decision log was reordered: by its links it runs 2, 1") in scene.audit()


def test_a_certificate_for_another_rack_is_found(scene: Scene) -> None:
    def change(statement: dict[str, Any]) -> None:
        statement["subject"][0]["digest"]["sha256"] = "ab" * 32

    found = scene.audit("--anchor", scene.certificate(change), "--trust", scene.folder / "allowed_signers")
    assert any(kind == "certificate-rack" and "abababab" in told for kind, told in found)


def limits(scene: Scene) -> tuple[str, str]:
    """The stored agreement with one limit raised, and its digest."""
    (revision,) = Ledger.open(scene.url, write=False).revisions("demo")
    document = json.loads(revision.content)
    document["clauses"]["G1.2.9"]["limits"]["media_errors"]["value"] = 1000
    content = json.dumps(document, sort_keys=True, ensure_ascii=False)
    return content, agreements.stored(content).digest


def rewrite_agreement(scene: Scene, *, whole: bool) -> None:
    content, value = limits(scene)
    tamper(scene.url)
    store = Store.connect(scene.url)
    with store.writing("tampering") as connection:
        if store.dialect == "postgresql":
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.execute(text("UPDATE acceptance_revision SET content = :content"), {"content": content})
        if whole:
            connection.execute(text("UPDATE acceptance_revision SET digest = :digest"), {"digest": value})
    store.engine.dispose()


def test_a_limit_changed_after_the_fact_is_found(scene: Scene) -> None:
    rewrite_agreement(scene, whole=False)
    assert ("limit", "agreement 1 was changed: its text has another digest") in scene.audit()


def test_a_limit_changed_with_its_digest_is_found_by_the_start_ticket(scene: Scene) -> None:
    rewrite_agreement(scene, whole=True)
    assert any(
        kind == "limit" and "goes by another agreement than its start ticket says" in told
        for kind, told in scene.audit()
    )


def test_a_limit_changed_with_everything_in_the_ledger_is_found_by_the_evidence(scene: Scene) -> None:
    without_certificates(scene)
    rewrite_agreement(scene, whole=True)
    forge(scene.url)
    found = scene.audit()
    assert {kind for kind, _ in found} == {"limit"}
    assert "G1.2.9 media_errors 0 errors -> 1000 errors" in found[0][1]
    assert any(
        kind == "limit" and "names another agreement" in told for kind, told in scene.audit("--anchor", scene.anchor)
    )


def test_an_inventory_changed_with_everything_in_the_ledger_is_found_by_the_evidence(scene: Scene) -> None:
    without_certificates(scene)
    words = "rack: another\n"
    forge(scene.url, f"UPDATE inventory_snapshot SET content = '{words}', digest = '{digest(words)}' WHERE id = 1")
    assert scene.kinds() == {"inventory"}
    assert "certificate" in scene.kinds("--anchor", scene.anchor)


def test_a_certificate_without_its_start_ticket_or_with_another_is_found(scene: Scene) -> None:
    def bare(statement: dict[str, Any]) -> None:
        statement["predicate"].update(start_ticket=None, ticket_signed_by="")

    def other(statement: dict[str, Any]) -> None:
        kept = json.loads(ticket(scene, run="another").read_bytes())
        statement["predicate"]["start_ticket"] = kept

    trust = ("--trust", scene.folder / "allowed_signers")
    for change, told in ((bare, "it carries no signed start ticket"), (other, "the start ticket has run another")):
        found = scene.audit("--anchor", scene.certificate(change), *trust)
        assert any(kind == "certificate" and told in text for kind, text in found), found


def test_an_old_certificate_signed_anew_is_found(scene: Scene) -> None:
    def change(statement: dict[str, Any]) -> None:
        for name in ("issued", "expires"):
            statement["predicate"][name] = statement["predicate"][name].replace("20", "22", 1)

    found = scene.audit("--anchor", scene.certificate(change), "--trust", scene.folder / "allowed_signers")
    assert {kind for kind, _ in found} == {"certificate-resigned"}
    assert f"run {scene.runs[-1]} has 2 different certificates" in found[0][1]


def test_an_old_certificate_signed_anew_is_found_by_the_decisions_that_it_does_not_know(scene: Scene) -> None:
    """The first copy is gone; but who signs on a later day knows what was decided until then."""

    def change(statement: dict[str, Any]) -> None:
        for name in ("issued", "expires"):
            statement["predicate"][name] = statement["predicate"][name].replace("20", "22", 1)

    forged = scene.certificate(change)
    without_certificates(scene)
    ledger = Ledger.open(scene.url)
    run = ledger.run(scene.runs[-1])
    ledger.finish(run, decide(ledger.owed(run), {}), judgement=2)
    found = scene.audit("--anchor", forged)
    assert any(kind == "certificate-resigned" and "knows of none after 2" in told for kind, told in found)


def test_a_certificate_of_a_stranger_is_found(scene: Scene) -> None:
    (scene.folder / "other").write_text((scene.folder / "allowed_signers").read_text().splitlines()[0] + "\n")
    assert scene.audit("--anchor", scene.anchor) == []
    assert scene.kinds("--anchor", scene.anchor, "--trust", scene.folder / "other") == {"certificate"}


def test_a_certificate_that_is_none_is_found(scene: Scene) -> None:
    (scene.folder / "cut.json").write_bytes(scene.anchor.read_bytes()[:-10])
    assert scene.kinds("--anchor", scene.folder / "cut.json") == {"certificate"}


def test_a_clock_that_went_backwards_is_found(scene: Scene) -> None:
    without_certificates(scene)
    forge(
        scene.url,
        f"UPDATE run SET started = '2020-01-01T00:00:00.000000Z' WHERE id = '{scene.runs[-1]}'",
        change=lambda seq, content: content.update(utc="2020-01-01T00:01:00.000000Z") if seq == 2 else None,
    )
    found = [told for kind, told in scene.audit() if kind == "clock"]
    assert any(f"run {scene.runs[-1]} is dated 2020" in told for told in found)
    assert any("decision 2 is dated 2020" in told for told in found)


def test_a_clock_that_was_set_back_within_a_run_is_found(scene: Scene) -> None:
    journal = scene.evidence / scene.runs[-1] / "journal.jsonl"
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    prev, lines = records[0]["prev"], []
    for record in records:
        if record["seq"] > 5:
            record["utc"] = "2020-01-01T00:00:00.000000Z"
        line = canonical({**record, "prev": prev}).encode() + b"\n"
        prev = digest(line)
        lines.append(line)
    journal.write_bytes(b"".join(lines))
    found = scene.audit()
    assert any(kind == "clock" and "line 6: the clock was set back by" in told for kind, told in found)
    assert "evidence-line" in {kind for kind, _ in found}  # and the seal is broken


def test_every_kind_is_said_to_people_and_none_is_left_over(scene: Scene) -> None:
    tamper(scene.url, TURN)
    told = kvgate("audit", "--ledger", scene.url, "--evidence", scene.evidence, status=1)
    assert "row: verdicts of run" in told
    assert told.splitlines()[-1].endswith("findings")
    assert all(KINDS[kind] for kind, _ in scene.audit())


def test_a_run_that_is_being_written_is_no_finding(scene: Scene) -> None:
    ledger = Ledger.open(scene.url)
    before = ledger.run(scene.runs[-1])
    run = begin(ledger, campaign="demo", evidence_root=scene.evidence)
    shutil.copytree(scene.evidence / before.id, scene.evidence / run.id)
    journal = scene.evidence / run.id / "journal.jsonl"
    first = json.loads(journal.read_bytes().splitlines()[0])
    whole = canonical({**first, "run": run.id, "campaign": "demo", "prev": digest(run.id), "utc": run.started})
    journal.write_bytes(whole.encode() + b'\n{"seq":2,"ki')
    assert [told for kind, told in scene.audit() if kind not in ("limit", "inventory")] == []


def test_clocks_that_differ_keep_no_ledger_from_being_moved(scene: Scene, tmp_path: Path) -> None:
    without_certificates(scene)
    forge(scene.url, f"UPDATE run SET started = '2020-01-01T00:00:00.000000Z' WHERE id = '{scene.runs[-1]}'")
    assert scene.kinds() == {"clock"}
    moving.export(scene.url, tmp_path / "ledger", "")
