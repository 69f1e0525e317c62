"""The simulation behind the statistics page, small: clear effects are told, the seed makes it again, the page holds its tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import error_rates
from bench.error_rates import DROPS, GAINS, PAGE, RATE_ROWS, TTFT_ROWS, Noise, drop_rates, gain_rates, write
from checks.serving import comparison
from checks.serving.cells import Cell, Pair, Rules
from checks.verdict import Outcome

CALM = Noise(rounds=5, requests=80, spread=0.05, shake=0.003)
TRIALS = 12


def test_a_clear_drop_passes_a_clear_miss_stops_and_the_edge_is_a_coin() -> None:
    found = drop_rates(CALM, TRIALS, truths=(15.0, 25.0, 35.0))
    assert found.shares[15.0][Outcome.STOP] == 1
    assert found.shares[35.0][Outcome.PASS] == 1
    assert found.shares[25.0][Outcome.PASS] + found.shares[25.0][Outcome.STOP] == 1
    assert 0 < found.shares[25.0][Outcome.PASS] < 1
    assert found.held >= 0.75
    assert 0.5 < found.width < 4


def test_a_noisy_rack_is_undecided_and_neither_passed_nor_stopped() -> None:
    found = drop_rates(replace(CALM, spread=0.6), TRIALS, truths=(15.0, 35.0))
    assert all(found.shares[truth][Outcome.UNDECIDED] > 0.9 for truth in (15.0, 35.0))


def test_throughput_below_inside_and_above_the_band() -> None:
    found = gain_rates(Noise(5, 2, 0.0, 0.003), 60, truths=(25.0, 34.0, 45.0))
    assert found.shares[25.0][Outcome.STOP] == 1
    assert found.shares[34.0][Outcome.PASS] == 1
    assert found.shares[45.0][Outcome.UNDECIDED] == 1


def test_the_same_seed_gives_the_same_rates() -> None:
    assert drop_rates(CALM, 3, truths=(25.0,)) == drop_rates(CALM, 3, truths=(25.0,))


def test_scaling_the_ratio_is_scaling_the_arm() -> None:
    rng = np.random.default_rng(1)
    pairs = [Pair(n, error_rates._run(rng, CALM), error_rates._run(rng, CALM)) for n in range(5)]
    slower = [Pair(one.round, one.local, _times(one.array, 0.74)) for one in pairs]
    rules = Rules(seed=5)
    direct = comparison.ttft(slower, rules)
    scaled = error_rates._scaled(comparison.ttft(pairs, rules), 0.74)
    assert (scaled.ratio, scaled.interval.low, scaled.interval.high) == pytest.approx(
        (direct.ratio, direct.interval.low, direct.interval.high)
    )


def _times(cell: Cell, factor: float) -> Cell:
    assert cell.figures is not None
    ttfts = tuple(value * factor for value in cell.figures.ttfts)
    return Cell(replace(cell.figures, ttfts=ttfts, ttft_p50=cell.figures.ttft_p50 * factor), ())


def test_five_values_drawn_anew_hold_the_truth_too_rarely() -> None:
    assert error_rates.simple_bootstrap_coverage(5, 400) < 0.90
    assert error_rates.simple_bootstrap_coverage(20, 400) > error_rates.simple_bootstrap_coverage(5, 400)


def test_the_page_holds_every_table_with_every_row_and_true_value() -> None:
    text = PAGE.read_text("utf-8")
    for name, rows, truths in (("ttft", TTFT_ROWS, DROPS), ("throughput", RATE_ROWS, GAINS)):
        table = text.split(f"<!-- {name} -->\n")[1].split("<!-- end -->")[0].strip().splitlines()
        assert len(table) == 2 + len(rows)
        for truth in truths:
            assert f" {truth:g} % |" in table[0]
        for noise, row in zip(rows, table[2:], strict=True):
            assert row.startswith(f"| {noise.rounds} |")
    assert f"seed {error_rates.SEED}" in text


def test_tables_go_between_their_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- ttft -->\nold\n<!-- end -->\nb\n<!-- trials -->\n<!-- end -->\nc\n", "utf-8")
    write({"ttft": "new \\1", "trials": "9"}, page)
    assert (
        page.read_text("utf-8") == "a\n<!-- ttft -->\nnew \\1\n<!-- end -->\nb\n<!-- trials -->\n9\n<!-- end -->\nc\n"
    )
    with pytest.raises(SystemExit, match="no mark"):
        write({"other": "x"}, page)
