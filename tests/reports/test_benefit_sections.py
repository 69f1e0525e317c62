"""What a report shows of G3: intervals against limits, every round, sources and bytes; never a ratio of cells without proof."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from checks.serving import sensitivity, trials
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.reports import strips
from kvgate.reports.arms import steps
from kvgate.reports.messages import Reader
from kvgate.reports.sections import benefit, proofs, settings, tier
from kvgate.reports.sections.levels import Level, levels
from kvgate.reports.sections.section import Section
from lab.rack import build
from tests.gates.harness import Virtual, agreement
from tests.serving.experiment import held, remember, site


@cache
def measured(*faults: str) -> tuple[Tried, list[Level]]:
    where = site()
    wanted = [
        trials.paired(where, 8),
        trials.recomputed(where, where.arm("recompute"), 8),
        trials.canaries(where, where.array, 32, 512, 8),
    ]
    evidence = Evidence.create(Path(mkdtemp()), "run", {"gate": "G3"})
    remember(evidence)
    hosts = {host.name: host for host in build(2, "rocm", faults)}
    tried = Trials(wanted, Virtual(hosts), Answers(evidence), "kvgate:test").run()
    tried.asked = {trial.key: trial for trial in wanted}
    return tried, list(levels(wanted, tried, agreement(), "tp8", {("G3.3.1", "tp8/c8"): "PASS"}))


def shown(*faults: str, lang: str = "en") -> dict[str, Section]:
    tried, found = measured(*faults)
    read = Reader(lang)
    made = [
        *benefit.sections(found, read), *tier.sections(found, read),
        *proofs.sections(found, list(tried.asked.values()), tried, read), *settings.sections(found, read),
    ]  # fmt: skip
    return {section.title: section for section in made}


def test_change_interval_limit_and_published_value_stand_in_one_row() -> None:
    whole = shown()["Array against local disk"]
    ttft, throughput = (dict(zip(grid.heads, grid.rows[0], strict=True)) for grid in whole.grids)
    assert ttft["outcome"] == "PASS"
    assert float(ttft["change"].split()[0]) < -25
    low, high = ttft["interval of 95 %"].rstrip("%").split("..")
    assert float(low) < float(ttft["change"].split()[0]) < float(high)
    assert ttft["published"] == "-25.96 %"
    assert throughput["published"] == "+28.93 %"
    assert (ttft["rounds"], ttft["void"]) == ("5", "0")
    assert len(whole.charts) == 2
    assert all("●" in chart.text[1] for chart in whole.charts)


def test_every_round_and_every_request_is_drawn() -> None:
    found = shown()
    rounds = found["Paired rounds"].grids[0].rows
    assert [row[1] for row in rounds] == ["1", "2", "3", "4", "5"]
    assert {row[2] for row in rounds} == {"local", "array"}, "the first arm goes in turns"
    spread = found["Time to the first token, request by request"]
    assert [row[2] for row in spread.grids[0].rows] == ["400", "400"]
    assert len(spread.charts) == 1
    assert len(found["Paired rounds"].charts) == 2
    heat = found["Paired rounds"].grids[1]
    assert [row[1] for row in heat.rows] == ["local", "array"]
    assert all(float(one) > 20 for row in heat.rows for one in row[3].split(".."))
    assert (heat.rows[0][2] == "-", heat.rows[1][2]) == (False, "-"), (
        "the array's own disks are no reason to take rounds out"
    )


def test_the_reconciliation_tells_both_arms_line_by_line() -> None:
    rows = {row[0]: row for row in shown()["The same bytes from every counter"].grids[0].rows}
    device = rows["bytes read on the block device"]
    assert device[5] == device[9] == "5 of 5"
    assert device[2].endswith("GB")
    port = rows["bytes received on the RDMA port"]
    assert port[2] == "-", "the local arm lies behind no port"
    assert port[6].endswith("GB")
    sources = shown()["Where the tokens came from"].grids[0].rows
    assert all("(100.00 %)" in row[3] for row in sources)


def test_what_stands_behind_the_comparison_is_shown() -> None:
    found = shown()
    judged = found["Proof that the judgement can fail"].grids[0].rows
    assert [row[1:4] for row in judged] == [("-20 %", "STOP", "STOP"), ("-30 %", "PASS", "PASS")]
    assert found["The same answers from restored KV"].grids[0].rows[0][1] == "32"
    assert found["Against computing everything anew"].grids[0].rows[0][1].endswith(" s")
    told = {row[1]: row for row in found["Both arms, setting by setting"].grids[0].rows}
    assert told["engine.version"][2].startswith("0.20.1")
    assert {row[4] for row in told.values()} == {"same"}


@pytest.mark.parametrize("fault", ["page-cache-answers", "store-dram-tier"])
def test_rounds_without_proof_have_no_ratio_and_no_curve(fault: str) -> None:
    found = shown(fault)
    whole = found["Array against local disk"]
    assert any("these rounds decide nothing" in line for line in whole.lines)
    assert whole.grids[0].rows[0][2:6] == ("-", "-", "-", "-")
    assert not whole.charts
    assert all(row[5] == "-" and row[9].startswith("invalid:") for row in found["Paired rounds"].grids[0].rows)


def test_unequal_settings_are_marked() -> None:
    marks = [row[4] for row in shown("arms-batch-differently")["Both arms, setting by setting"].grids[0].rows]
    assert "DIFFERENT" in marks


def test_it_reads_chinese() -> None:
    assert "阵列与本地盘对比" in shown(lang="zh")
    assert not set(shown()) & set(shown(lang="zh"))


def test_steps_of_a_distribution_begin_at_nothing_and_end_at_all() -> None:
    x, y = steps([3.0, 1.0, 2.0])
    assert (x, y[0], y[-1]) == ([1.0, 1.0, 2.0, 3.0], 0.0, 100.0)
    many, share = steps([float(one) for one in range(5000)])
    assert len(many) < 300
    assert (many[-1], share[-1]) == (4999.0, 100.0)


def test_strips_put_values_where_they_belong() -> None:
    assert (
        strips.against(-25.0, (-30.0, -20.0), (None, -25.0), -40.0, 0.0, width=41)
        == "░" * 10 + "━━━━━●━━━━━" + " " * 20
    )
    assert strips.spread([1.0] * 9, 0.0, 2.0, width=3) == " ┃ "
    assert strips.scale(0.0, 10.0, "s", width=12) == "0 s     10 s"


def test_a_level_whose_agreement_has_no_such_numbers_is_left_out() -> None:
    tried, _ = measured()
    old = agreement().acceptance
    kept = {name: clause for name, clause in old.clauses.items() if name != "G3.3.1"}
    without = replace(agreement(), acceptance=old.model_copy(update={"clauses": kept}))
    assert list(levels(list(tried.asked.values()), tried, without, "tp8", {})) == []


def test_made_up_drops_are_those_of_the_clause() -> None:
    small, large = sensitivity.shown(site(), 8, held(), 20.0, 30.0, 25.0)
    assert small.verdict.outcome is small.wanted
    assert large.verdict.outcome is large.wanted
