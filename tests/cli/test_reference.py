"""``kvgate reference``: the published figures pass the rule to their digit, the mislabelled tables never do."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checks.serving.published import Printed, Rule, decide, judge
from checks.verdict import Outcome
from kvgate import reference
from kvgate.errors import BadInput
from tests.cli.conftest import Kvgate

FIGURES = reference.read()


@pytest.fixture
def document(kvgate: Kvgate) -> dict[str, Any]:
    told = kvgate("reference", "--json")
    assert told.exit_code == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_the_published_pairs_pass_to_their_last_digit(document: dict[str, Any]) -> None:
    assert document["published"]["outcome"] == "PASS"
    rows = {row["concurrency"]: row for row in document["published"]["rows"]}
    exact = {
        8: (25.95870206489676, 28.92938496583144, 29),
        16: (31.54246100519931, 39.73880597014925, 40),
        32: (26.25244892247411, 32.83858998144712, 33),
    }
    assert rows.keys() == exact.keys()
    for concurrency, (drop, gain, rounded) in exact.items():
        row = rows[concurrency]
        assert row["ttft_drop_percent"] == pytest.approx(drop, abs=1e-12)
        assert row["throughput_gain_percent"] == pytest.approx(gain, abs=1e-12)
        assert (row["throughput_gain_rounded"], row["outcome"]) == (rounded, "PASS")


def test_what_the_printed_digits_leave_open(document: dict[str, Any]) -> None:
    rows = {row["concurrency"]: row for row in document["published"]["rows"]}
    for concurrency, drop, gain in (
        (8, (25.87, 26.04), (28.67, 29.19)),
        (16, (31.49, 31.59), (39.52, 39.96)),
        (32, (26.23, 26.28), (32.62, 33.05)),
    ):
        assert rows[concurrency]["ttft_drop_between"] == pytest.approx(drop, abs=0.006)
        assert rows[concurrency]["throughput_gain_between"] == pytest.approx(gain, abs=0.006)


def test_without_rounding_it_stops_at_concurrency_eight_only(document: dict[str, Any]) -> None:
    assert document["strict"]["outcome"] == "STOP"
    outcomes = {row["concurrency"]: row["outcome"] for row in document["strict"]["rows"]}
    assert outcomes == {8: "STOP", 16: "PASS", 32: "PASS"}


def test_recomputation_in_the_local_column_never_passes_however_it_is_read(document: dict[str, Any]) -> None:
    found = document["mislabelled"]
    assert [(one["source"], one["labelled"], one["outcome"]) for one in found] == [
        ("S0", False, "UNDECIDED"), ("S1", False, "UNDECIDED"), ("S0", True, "UNDECIDED"), ("S1", True, "UNDECIDED"),
    ]  # fmt: skip
    for one in found:
        assert one["rows"][0]["ttft_drop_percent"] == pytest.approx(92.07, abs=0.01)
        assert one["rows"][0]["throughput_gain_rounded"] == 1727
        assert one["why"]


def test_the_mislabelled_table_is_refused_by_each_of_three_nets_alone() -> None:
    rule = Rule(25, 29, 40)
    ttft, tps = (Decimal("149.5"), Decimal("11.85")), (Decimal("4.1"), Decimal("74.9"))
    inside = (Decimal("53.6"), Decimal("74.9"))
    above = judge(Printed(16, *ttft, *tps, baseline=None), rule)
    assert (above.drop_verdict.outcome, above.gain_verdict.outcome) == (Outcome.PASS, Outcome.UNDECIDED)
    labelled = judge(Printed(16, *ttft, *inside, baseline="recompute"), rule)
    assert labelled.drop_verdict.outcome is labelled.gain_verdict.outcome is Outcome.UNDECIDED
    ceiling = judge(Printed(16, *ttft, *inside, baseline=None, ttft_recompute=Decimal("149.5")), rule)
    assert (ceiling.gain_verdict.outcome, ceiling.verdict.outcome) == (Outcome.PASS, Outcome.UNDECIDED)
    assert decide([judge(Printed(16, *ttft, *inside, baseline=None), rule)], [8, 16, 32]).outcome is Outcome.UNDECIDED


def test_every_printed_claim_is_recomputed_and_the_wrong_ones_point_at_their_inconsistency(
    document: dict[str, Any],
) -> None:
    claims = document["claims"]
    assert {one["what"] for one in claims if not one["agrees"]} == {
        "R2 c32 tok/s (TP4x2)", "R2 TTFT / recompute, low", "R2 TTFT / recompute, high",
    }  # fmt: skip
    known = {one["id"] for one in document["inconsistencies"]}
    assert all(one["inconsistency"] in known for one in claims if not one["agrees"])
    assert all(one["inconsistency"] is None for one in claims if one["agrees"])


def test_sixteen_inconsistencies_and_sixty_two_figures_are_shipped(document: dict[str, Any]) -> None:
    assert [one["id"] for one in document["inconsistencies"]] == [f"I{number}" for number in range(1, 17)]
    assert len(document["figures"]) == len({one["id"] for one in document["figures"]}) == 62
    assert all(one["docs"] or one["id"].startswith("CFG") for one in document["figures"])


def test_the_tables_are_told_in_both_languages(kvgate: Kvgate) -> None:
    english = kvgate("reference").stdout
    assert "by the rule: PASS" in english
    assert "without rounding: STOP" in english
    assert "below the gate's lower edge unless rounded" in english
    chinese = kvgate("--lang", "zh", "reference").stdout
    assert "不取整就低于关卡下限" in chinese
    assert "按规则：PASS" in chinese or "按规则: PASS" in chinese
    assert "below the gate" not in chinese


def test_a_figure_that_is_no_number_or_not_there_is_no_zero() -> None:
    with pytest.raises(KeyError):
        FIGURES.value("R2.ttft_p50.c64.local")
    with pytest.raises(ValueError, match="no number"):
        FIGURES.value("S2.warm_gain")


def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path) -> None:
    text = reference.standard_file().read_text("utf-8")
    bad = tmp_path / "reference.yaml"
    bad.write_text(text.replace("baseline: recompute, value: 149.5", "baseline: somebody, value: 149.5"), "utf-8")
    with pytest.raises(BadInput) as refused:
        reference.read(bad)
    assert refused.value.faults[0].line > 10
    bad.write_text(text + "\nmore: 1\n", "utf-8")
    with pytest.raises(BadInput):
        reference.read(bad)
