"""One store, several instances: what one stored another reads, and none is left behind."""

from __future__ import annotations

import math

import pytest

from checks.serving.cells import Cell, whole_machine
from checks.serving.kv import Layout
from checks.serving.sharing import alike_ttft, fair_share, no_later, reads_the_others
from checks.verdict import Outcome
from tests.serving.rounds import BAD, pairs

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
KV = Layout(63488, 4)
NODES = [f"node-{number:02}" for number in range(1, 9)]


@pytest.mark.parametrize(
    "stored, own, hits, bytes_of, outcome",
    [
        (10000, 0, 10000, 10000, PASS), (10000, 0, 9800, 9800, PASS), (10000, 0, 9799, 9799, STOP), (10000, 0, 0, 0, STOP),
        (10000, 0, 10000, 9899, UNDECIDED), (10000, 0, 10000, 10501, UNDECIDED), (10000, 0, 10000, 0, UNDECIDED),
        (10000, 256, 10000, 10000, UNDECIDED), (10000, 0, 10001, 10001, UNDECIDED), (0, 0, 0, 0, UNDECIDED),
        (None, 0, 10000, 10000, UNDECIDED), (10000, None, 10000, 10000, UNDECIDED), (10000, 0, None, 10000, UNDECIDED),
        (10000, 0, 10000, None, UNDECIDED),
    ],
)  # fmt: skip
def test_an_instance_reads_what_the_other_stored(
    stored: int | None, own: int | None, hits: int | None, bytes_of: int | None, outcome: Outcome
) -> None:
    read = None if bytes_of is None else bytes_of * KV.token_bytes
    assert reads_the_others(stored, own, hits, read, KV, least=98, more=5).outcome is outcome


@pytest.mark.parametrize(
    "slowest, outcome",
    [(1.5e9, PASS), (1.18e9, PASS), (1.16e9, STOP), (0.0, UNDECIDED), (None, UNDECIDED), (math.nan, UNDECIDED)],
)
def test_no_node_gets_less_than_its_share(slowest: float | None, outcome: Outcome) -> None:
    rates: dict[str, float | None] = dict.fromkeys(NODES, 1.5e9)
    rates["node-05"] = slowest
    verdict = fair_share(rates, NODES, least=80)
    assert verdict.outcome is outcome
    assert outcome is not STOP or "node-05 gets 79.6 percent of an even share" in str(verdict.measured)


@pytest.mark.parametrize("slowest, outcome", [(12.0, PASS), (15.0, PASS), (15.01, STOP), (None, UNDECIDED)])
def test_no_node_waits_much_longer_than_the_others(slowest: float | None, outcome: Outcome) -> None:
    ttfts: dict[str, float | None] = dict.fromkeys(NODES, 10.0)
    ttfts["node-02"] = slowest
    assert alike_ttft(ttfts, NODES, most=1.5).outcome is outcome


@pytest.mark.parametrize(
    "slowest, local, outcome",
    [(9.9, 10.0, PASS), (10.0, 10.0, PASS), (10.01, 10.0, STOP), (None, 10.0, UNDECIDED), (5.0, None, UNDECIDED), (5.0, 0.0, UNDECIDED)],
)  # fmt: skip
def test_every_node_is_as_soon_as_its_own_disk(slowest: float | None, local: float | None, outcome: Outcome) -> None:
    ttfts: dict[str, float | None] = dict.fromkeys(NODES, 4.0)
    ttfts["node-07"] = slowest
    assert no_later(ttfts, NODES, local, most=100).outcome is outcome


def test_a_node_that_is_not_there_is_not_passed_over() -> None:
    rates: dict[str, float | None] = dict.fromkeys(NODES[:-1], 1.5e9)
    assert "node-08 was not measured" in str(fair_share(rates, NODES, least=80).note)
    assert fair_share({"a": 1.0}, ["a"], least=80).outcome is UNDECIDED
    assert alike_ttft({}, [], most=1.5).outcome is UNDECIDED


def test_two_instances_are_one_machine() -> None:
    first, second = pairs()[0].local, pairs()[1].local
    assert first.figures is not None
    assert second.figures is not None
    both = whole_machine([first, second]).figures
    assert both is not None
    assert both.throughput == pytest.approx(first.figures.throughput + second.figures.throughput)
    assert len(both.ttfts) == len(first.figures.ttfts) * 2
    assert both.occupied == pytest.approx(first.figures.occupied + second.figures.occupied)
    assert whole_machine([first, BAD]) == Cell(None, BAD.faults)
    with pytest.raises(ValueError, match="no instances"):
        whole_machine([])
