"""What a report shows of serving baselines: medians with their variance, and no number of a round that is not valid."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from checks.serving.baseline import alone
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.session import GateSession
from kvgate.gate.trials import Trials
from kvgate.inventory import reader
from kvgate.reports.messages import Reader
from kvgate.reports.sections import alone as shown_alone
from kvgate.reports.sections.section import Section
from lab.inventory import text
from lab.rack import build, fingerprint, host_key
from tests.gates.harness import Virtual, agreement
from tests.serving.experiment import site


def shown(*faults: str, lang: str = "en") -> list[Section]:
    wanted = [alone(site(), site().arm(role), 8, 3, 1.0) for role in ("local", "recompute")]
    hosts = {host.name: host for host in build(2, "rocm", faults)}
    evidence = Evidence.create(Path(mkdtemp()), "run", {"gate": "G2"})
    tried = Trials(wanted, Virtual(hosts), Answers(evidence), "kvgate:test").run()
    tried.asked = {trial.key: trial for trial in wanted}
    ordered = [(one.ordered, 42200 + n, fingerprint(host_key(one.name))) for n, one in enumerate(hosts.values())]
    session = GateSession("G2", reader.parse(text(ordered, concurrencies=(8,))), agreement(), [])
    return list(shown_alone.sections(session, tried, Reader(lang)))


def test_medians_and_variance_stand_beside_each_other() -> None:
    whole, rounds = shown()
    local, anew = whole.grids[0].rows
    assert local[:2] == ("tp8 c=8", "local")
    assert float(local[2]) < 11 < float(anew[2])
    assert 0 < float(local[3].rstrip(" %")) < 5
    assert [len(one.html) > 100 for one in whole.charts] == [True, True]
    assert len(rounds.grids[0].rows) == 6
    assert "/" in rounds.grids[0].rows[0][5]


def test_a_round_without_proof_shows_its_reason_and_no_number() -> None:
    whole, rounds = shown("baseline-page-cache-answers")
    local, anew = whole.grids[0].rows
    assert local[2:] == ("-", "-", "-", "-", "-", "0")
    assert anew[2] != "-"
    assert all(row[3] == row[4] == "-" and "block device" in row[7] for row in rounds.grids[0].rows[:3])


def test_a_round_that_was_taken_out_or_broke_is_told_too() -> None:
    _, rounds = shown("baseline-link-bounces")
    assert {row[7].split(":")[0] for row in rounds.grids[0].rows if row[1] == "local"} == {"void"}


def test_it_reads_chinese() -> None:
    assert [section.title for section in shown(lang="zh")] == ["引擎单独运行的表现", "各臂单独测量的逐轮数据"]
