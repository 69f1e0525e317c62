"""What a report shows of measured load: medians, every round, and why a round does not count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.block.patterns import Pattern, Way
from checks.block.raw import steady_writes
from checks.block.trials import on_file
from checks.files.integrity import Place, by_blocks
from checks.files.loading import cold
from checks.files.saving import checkpoint
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.reports import sections
from kvgate.reports.charts import lines
from kvgate.reports.messages import Reader
from kvgate.reports.page import run_on
from kvgate.reports.sections import volumes
from kvgate.reports.sections.section import Section
from lab.rack import build
from tests.gates.harness import Virtual


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as found:
        yield found


def shown(evidence: Evidence, *faults: str, lang: str = "en") -> list[Section]:
    hosts = {host.name: host for host in build(1, "rocm", faults)}
    trial = on_file("node-01", "/mnt/fx100", "xfs", Pattern(Way.READ, 2**20, 32, 60), 2**30)
    tried = Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run()
    again = Tried(tried.answers)
    again.asked[trial.key] = trial
    return list(sections.of(again, Reader(lang)))


def test_rates_and_latencies_of_every_round(evidence: Evidence) -> None:
    whole, rounds = shown(evidence)
    place, pattern, rate, *_ = whole.grids[0].rows[0]
    assert (place, pattern) == ("node-01:/mnt/fx100", "read-1m-q32")
    assert rate.startswith("11.9")
    assert len(whole.charts) == 3
    assert all("<div" in chart.html for chart in whole.charts)
    assert len(rounds.grids[0].rows) == 3


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", (("Throughput, GB/s", "kind of load", "mount"), ("Latency, us", "requests answered within it, %", "mount and load"),
                ("Throughput round by round, GB/s", "round", "mount and load"))),
        ("zh", (("吞吐量, GB/s", "负载", "挂载点"), ("延迟, us", "在该时间内完成的请求，%", "挂载点与负载"),
                ("逐轮吞吐量, GB/s", "轮", "挂载点与负载"))),
    ],
)  # fmt: skip
def test_every_chart_names_its_axes_with_their_units_and_what_its_colours_are(
    evidence: Evidence, lang: str, words: tuple[tuple[str, str, str], ...]
) -> None:
    charts = shown(evidence, lang=lang)[0].charts
    for chart, (up, across, legend) in zip(charts, words, strict=True):
        titles = [json.loads(f'"{one}"') for one in re.findall(r'"title":\{"text":"([^"]*)"', chart.html)]
        assert sorted(titles) == sorted((up, across, legend)), titles
    assert ['"dtick":1' in chart.html for chart in charts] == [False, False, True]


def test_a_legend_of_many_lines_is_shown_whole() -> None:
    def height(count: int) -> int:
        chart = lines("x", {f"line {number}": [(1.0, 1.0)] for number in range(count)}, "us", "round", "line")
        return int(re.findall(r'"height":(\d+)', chart.html)[0])

    assert height(3) == 340
    assert height(40) >= 100 + 40 * 19


def test_a_raw_disk_is_named_by_its_serial() -> None:
    trial = steady_writes(
        "node-01", "PHLN00000001", 10**12, Pattern(Way.RANDWRITE, 4096, 32, 60), 5, 25, lambda _: True
    )
    assert volumes.place(trial) == ("randwrite-4k-q32", "node-01:PHLN00000001")


def test_a_load_that_never_could_be_told_has_no_section_of_numbers(evidence: Evidence) -> None:
    assert shown(evidence, "fio-verify-error-status-0") == []


def test_it_reads_chinese(evidence: Evidence) -> None:
    assert [section.title for section in shown(evidence, lang="zh")] == ["文件读写能力", "逐轮数据"]


def test_loads_without_a_chart_say_what_each_round_came_to(evidence: Evidence) -> None:
    place = Place("node-01", "/mnt/fx100", "xfs")
    hosts = {host.name: host for host in build(1, "rocm", ["checkpoint-corrupt"])}
    local = Place("node-01", "/mnt/nvme0", "xfs")
    trials = [by_blocks(place, place, 2**30, 2), cold(place, 8, 2**32, 8, 3), checkpoint(local, 8, 2**32, 1)]
    tried = Trials(trials, Virtual(hosts), Answers(evidence), "kvgate:test").run()
    again = Tried(tried.answers)
    again.asked = {trial.key: trial for trial in trials}
    (section,) = sections.of(again, Reader("en"))
    blocks, model, saved = section.grids[0].rows
    assert blocks[1:3] == ("2", "1.074 GB as it was written; 1.074 GB as it was written")
    assert blocks[3] == "node-01 3700 MHz"
    assert model[1] == "3"
    assert model[2].count(" GB/s, ") == 3
    assert "verify failed" in saved[2]


def test_what_a_line_announces_follows_its_colon_without_another_mark() -> None:
    lines = ["by the agreement 12", "2 terms differ:", "  G1.2.9 errors: 0 -> 1", "  G4.4.5 clause: a -> -"]
    assert run_on(lines, Reader("en")) == (
        "by the agreement 12; 2 terms differ: G1.2.9 errors: 0 -> 1; G4.4.5 clause: a -> -"
    )
    assert run_on(["依据 12", "有 1 处不同：", "  G4.4.5"], Reader("zh")) == "依据 12；有 1 处不同：G4.4.5"
