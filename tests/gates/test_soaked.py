"""Journals in the evidence: kept byte for byte, read again from it alone, and never believed where they were changed."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.certificates.simulated import marked
from kvgate.errors import CannotTell, NotAllowed, Unreadable
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.ask import Asked, Rehearsal, Rehearsed
from kvgate.gate.soaked import Soaked
from lab.soak.journal import segments
from lab.soak.plan import plan
from lab.soak.trouble import Away, Record
from tests.campaign.sample import Site
from tests.certificates.conftest import Keys
from tests.gates.soaking import read
from tests.inventory.test_reader import written

TEXTS = segments(plan("node-01", "node", 2, 960, 120), 5, (Away("worker", 3000, 20),))


@pytest.fixture
def kept(tmp_path: Path) -> Evidence:
    evidence = Evidence.create(tmp_path, "run", {"gate": "G4"})
    Soaked(Answers(evidence)).keep("node-01", [text.encode() for text in TEXTS])
    return evidence


def again(evidence: Evidence) -> Answers:
    """Answers as a replay finds them: from the evidence alone."""
    answers = Answers(evidence)
    for (host, key, sample), answer in evidence.index().items():
        answers.keep(host, key, sample, answer.seq)
    return answers


def test_a_replay_reads_the_same_facts_from_the_evidence_alone(kept: Evidence) -> None:
    assert len(TEXTS) == 2
    asked = Asked(again(kept))
    assert asked.soak("node-01") == read(TEXTS)
    assert len(asked.used) == 2


def test_a_host_without_a_journal_is_undecided_and_says_what_to_do(kept: Evidence) -> None:
    with pytest.raises(CannotTell, match="kvgate soak start"):
        Asked(again(kept)).soak("node-02")


def test_a_journal_of_another_host_is_not_believed(tmp_path: Path) -> None:
    soaked = Soaked(Answers(Evidence.create(tmp_path, "run", {"gate": "G4"})))
    soaked.keep("node-02", [text.encode() for text in TEXTS])
    with pytest.raises(CannotTell, match="that of node-01"):
        soaked.host("node-02")


@pytest.mark.parametrize("how", ["changed", "missing", "swapped"])
def test_a_journal_that_was_changed_is_unreadable(tmp_path: Path, how: str) -> None:
    bad = list(TEXTS)
    if how == "changed":
        bad[1] = bad[1].replace('"rx_missed_errors":0', '"rx_missed_errors":1', 1)
    elif how == "missing":
        del bad[0]
    else:
        bad.reverse()
    soaked = Soaked(Answers(Evidence.create(tmp_path, "run", {"gate": "G4"})))
    soaked.keep("node-01", [text.encode() for text in bad])
    with pytest.raises(Unreadable):
        soaked.host("node-01")


def test_more_of_a_journal_replaces_what_was_kept(tmp_path: Path) -> None:
    soaked = Soaked(Answers(Evidence.create(tmp_path, "run", {"gate": "G4"})))
    soaked.keep("node-01", [TEXTS[0].encode()])
    assert soaked.host("node-01").running
    soaked.keep("node-01", [text.encode() for text in TEXTS])
    assert not soaked.host("node-01").running


def test_a_rehearsal_meets_the_host_whose_journal_is_wanted() -> None:
    rehearsal = Rehearsal()
    fact = rehearsal.soak("node-01")
    assert rehearsal.hosts == {"node-01"}
    assert rehearsal.soaks == ["node-01"]
    with pytest.raises(Rehearsed):
        fact.account  # noqa: B018 - touching is what is tested


def test_a_scaled_journal_marks_the_run_as_simulated_whatever_the_inventory_says(tmp_path: Path) -> None:
    for number, (scale, boot, wanted) in enumerate(
        [(960, "real", ["node-01"]), (1, "real", []), (1, "lab", ["node-01"])]
    ):
        evidence = Evidence.create(tmp_path, f"run-{number}", {"gate": "G4"})
        text = segments(plan("node-01", "node", 0.1, scale, 60), 5)[0].partition("\n")[0] + "\n"
        text = text.replace("6b766761-7465-4c61-", "5a2bd5a4-3c6e-4a2f-") if boot == "real" else text
        Soaked(Answers(evidence)).keep("node-01", [text.encode()])
        assert marked(evidence) == wanted


def test_hours_that_are_none_are_certified_on_no_real_rack(tmp_path: Path) -> None:
    real = written(nodes=1).replace("simulated: true\n", "")
    keys = [Keys(Ed25519PrivateKey.generate()) for _ in range(2)]
    for scale, refused in ((1, False), (60, True)):
        site = Site(tmp_path / str(scale), *keys, text=real)
        site.folder.mkdir()
        session = site.begin("G1")
        assert session.evidence is not None
        texts = segments(plan("node-01", "node", 0.1, scale, 60), 5)
        Soaked(Answers(session.evidence)).keep("node-01", [text.encode() for text in texts])
        site.judge(session, {})
        session.finish()
        with pytest.raises(NotAllowed, match="time-scaled") if refused else nullcontext():
            site.certify(site.last())


def test_many_hosts_are_read_side_by_side_to_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = Evidence.create(tmp_path, "run", {"gate": "G4"})
    one = Soaked(Answers(evidence))
    texts = {host: segments(plan(host, "node", 2, 960, 120), 5) for host in ("node-01", "node-02", "node-03")}
    texts["node-03"][0] = texts["node-03"][0].replace('"rx_missed_errors":0', '"rx_missed_errors":1', 1)
    texts["node-04"] = texts["node-02"]
    for host, parts in texts.items():
        one.keep(host, [part.encode() for part in parts])
    monkeypatch.setattr("kvgate.gate.soaked._LARGE", 1)
    many = Soaked(again(evidence))
    for host in ("node-01", "node-02"):
        assert many.host(host) == read(texts[host])
    with pytest.raises(Unreadable, match="does not follow"):
        many.host("node-03")
    with pytest.raises(CannotTell, match="that of node-02"):
        many.host("node-04")


def test_a_secret_in_a_journal_is_masked_and_said_to_be_the_reason(tmp_path: Path) -> None:
    soaked = Soaked(Answers(Evidence.create(tmp_path, "run", {"gate": "G4"})))
    texts = segments(plan("node-01", "node", 0.1, 960, 60), 5, (Record(100, "app: password=hunter2hunter2"),))
    soaked.keep("node-01", [text.encode() for text in texts])
    with pytest.raises(Unreadable, match="held a secret"):
        soaked.host("node-01")
