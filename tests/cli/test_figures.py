"""``kvgate figures``: a tool's result by the one definition, and what speaks against it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.serving import tools
from lab.serving.client import Served, timed
from tests.cli.conftest import Kvgate

SAMPLES = Path(__file__).parents[1] / "parsers"
VLLM = SAMPLES / "vllm-bench-serve/0.32--completions-detailed.txt"
AIPERF = (SAMPLES / "aiperf-records/0.13--completions.txt", SAMPLES / "aiperf-summary/0.13--completions.txt")


def test_a_whole_cell_has_nothing_against_it(kvgate: Kvgate, tmp_path: Path) -> None:
    run, _ = timed(80, 8, lambda index: Served(2.0 + index % 5 / 100, 1.5, 512, 16, None, f"answer {index}"))
    written = tools.results("vllm-bench", run, (1.79e9, 500.0), {"concurrency": 8, "endpoints": []}, tools.Wrong())
    (tmp_path / "bench.json").write_text(written["bench.json"])
    found = kvgate("figures", "vllm-bench", tmp_path / "bench.json", "--json")
    assert found.exit_code == 0, found.stdout
    told = json.loads(found.stdout)
    assert told["against"] == []
    assert told["recomputed"]["ttft_p50_s"] == pytest.approx(2.02, abs=1e-5)
    assert told["printed"]["ttft_p50_s"] is None
    assert any("median TTFT" in one for one in told["untold"])


@pytest.mark.parametrize(
    "words, said",
    [
        (("vllm-bench", VLLM), "4 requests, wanted at least 64"),
        (("sglang-bench", SAMPLES / "sglang-bench-serving/0.5.23--details.txt"), "writes no send times"),
        (("aiperf", *AIPERF), "times by the wall clock"),
        (("guidellm", SAMPLES / "guidellm/0.8.1--completions-one-vanished.txt"), "3 requests were begun, 2 are in the file"),
        (("own", SAMPLES / "kvgate-client/1--six-completed.txt"), "6 requests, wanted at least 64"),
    ],
)  # fmt: skip
def test_every_tools_result_is_shown_with_what_speaks_against_it(
    kvgate: Kvgate, words: tuple[str | Path, ...], said: str
) -> None:
    found = kvgate("figures", *words)
    assert found.exit_code == 6, found.stderr
    assert said in " ".join(found.stdout.split())
    told = json.loads(kvgate("figures", *words, "--json").stdout)
    assert any(said in one for one in told["against"])


def test_an_unknown_version_speaks_against_a_result(kvgate: Kvgate, tmp_path: Path) -> None:
    text = (SAMPLES / "guidellm/0.8.1--concurrent-short.txt").read_text().replace('"0.8.1"', '"1.7.0"')
    (tmp_path / "benchmarks.json").write_text(text)
    told = json.loads(kvgate("figures", "guidellm", tmp_path / "benchmarks.json", "--json").stdout)
    assert any("1.7.0: how it counts is known of 0.8 only" in one for one in told["against"])


def test_wrong_files_are_told_without_a_traceback(kvgate: Kvgate) -> None:
    found = kvgate("figures", "aiperf", AIPERF[0])
    assert (found.exit_code, "profile_export_aiperf.json" in found.stderr) == (4, True)
    found = kvgate("figures", "vllm-bench", AIPERF[0])
    assert (found.exit_code, "cannot be read" in found.stderr) == (3, True)
