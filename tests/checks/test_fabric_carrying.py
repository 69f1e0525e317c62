"""When what a fabric carries is good enough, at the bound and one step beside it, and when perftest may not be believed."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.block.references import Reference
from checks.block.rounds import Round
from checks.block.validity import Held
from checks.ceiling import over_roce
from checks.fabric import carrying, exchange
from checks.fabric.exchange import Exchange, Flow, Grown, Times
from checks.fabric.perftest import Counted, End, Kind, Run, Served, call, counters, serve
from checks.fabric.trials import between, latency
from checks.parsers.ib_write_bw import Bandwidth, Row
from checks.parsers.ib_write_lat import LatencyRow, LatencyRun
from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.trial import Measured
from checks.verdict import Outcome, Verdict

G = 10**9
NODE = End("node-01", "ens1f0np0", "mlx5_core", "mlx5_0", 1, "192.168.100.11", 100 * G)
ARRAY = replace(NODE, host="fx100-a", address="192.168.100.10")
RUN = Run(Kind.READ, 20, 106)
ROCE = {
    "out_of_sequence": 0, "packet_seq_err": 0, "local_ack_timeout_err": 0, "rnr_nak_retry_err": 0,
    "np_ecn_marked_roce_packets": 9, "np_cnp_sent": 8, "rp_cnp_handled": 7,
}  # fmt: skip
PORT = {
    "rx_crc_errors_phy": 0, "rx_symbol_err_phy": 0, "rx_discards_phy": 0, "tx_discards_phy": 0, "rx_out_of_buffer": 0,
    "rx_prio3_pause": 0,
}  # fmt: skip


def grown(end: End = NODE, **more: int) -> Grown:
    roce = {name: more.get(name, count) for name, count in ROCE.items()}
    return Grown(end, roce, {name: more.get(name, count) for name, count in PORT.items()})


def flows(*rates: float) -> tuple[Flow, ...]:
    return tuple(Flow(f"node-{number:02d}", rate * G, 4096, 20.0) for number, rate in enumerate(rates, 1))


def carried(*rates: float) -> Measured[Exchange]:
    return Measured(tuple(Exchange(flows(rate), (grown(), grown(ARRAY))) for rate in rates))


def outcome(verdict: Verdict) -> Outcome:
    return verdict.outcome


@pytest.mark.parametrize(
    ("rates", "wanted"),
    [
        ((95.0, 95.0, 95.0), Outcome.PASS),
        ((94.99, 94.99, 94.99), Outcome.STOP),
        ((98.0, 95.06, 97.0), Outcome.PASS),
        ((98.0, 95.05, 97.0), Outcome.UNDECIDED),
        ((97.0,), Outcome.UNDECIDED),
        ((), Outcome.UNDECIDED),
        ((120.0, 120.0, 120.0), Outcome.UNDECIDED),
    ],
)
def test_a_port_carries_its_share(rates: tuple[float, ...], wanted: Outcome) -> None:
    assert outcome(carrying.carries(carried(*rates), 100 * G, 0.95, 0.97, 0.5)) is wanted


def test_the_rule_shows_its_arithmetic() -> None:
    required = str(carrying.carries(carried(97, 97), 100 * G, 0.95, 0.97, 0.5).required)
    assert "95.0 Gb/s" in required
    assert "4096 in 4178 bytes can carry 98.0" in required
    assert "1024 in 1106 bytes 92.6" in required


def test_both_directions_are_held_against_twice_the_port() -> None:
    for rate, wanted in ((185.0, Outcome.PASS), (184.9, Outcome.STOP)):
        assert outcome(carrying.carries(carried(rate, rate), 100 * G, 0.925, 0.97, 0.5, 2)) is wanted


@pytest.mark.parametrize(("card", "wanted"), [(95.0, Outcome.PASS), (94.9, Outcome.STOP)])
def test_accelerators_are_as_fast_as_the_host(card: float, wanted: Outcome) -> None:
    assert (
        outcome(carrying.as_fast_from_accelerators(carried(100, 100), carried(card, card), 110 * G, 0.95, 0.97, 0.5))
        is wanted
    )
    assert (
        outcome(carrying.as_fast_from_accelerators(carried(100), carried(card, card), 110 * G, 0.95, 0.97, 0.5))
        is Outcome.UNDECIDED
    )


@pytest.mark.parametrize(
    ("typical", "late", "wanted"), [(6.0, 20.0, Outcome.PASS), (6.01, 20.0, Outcome.STOP), (6.0, 20.1, Outcome.STOP)]
)
def test_a_read_is_answered_in_time(typical: float, late: float, wanted: Outcome) -> None:
    one = Times(typical, typical, late, ())
    assert outcome(carrying.answers_within(Measured((one, one, one)), 6, 20, 5, 0.5)) is wanted
    assert outcome(carrying.answers_within(Measured((one,)), 6, 20, 5, 0.5)) is Outcome.UNDECIDED


def test_latencies_that_differ_from_round_to_round_are_not_told() -> None:
    def rounds(*typical: float) -> Verdict:
        return carrying.answers_within(Measured(tuple(Times(one, one, 10, ()) for one in typical)), 6, 20, 5, 0.5)

    assert outcome(rounds(3.0, 3.1, 3.0)) is Outcome.PASS
    verdict = rounds(3.0, 30.0, 3.0)  # the median alone would be in time
    assert outcome(verdict) is Outcome.UNDECIDED
    assert "wanted at most 5" in str(verdict.note)
    assert "rounds vary by" in str(verdict.measured)


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, Outcome.PASS),
        ({"rx_crc_errors_phy": 1}, Outcome.STOP),
        ({"out_of_sequence": 1}, Outcome.STOP),
        ({"rx_prio3_pause": 1000, "np_cnp_sent": 1000}, Outcome.PASS),
    ],
)
def test_nothing_is_lost(more: dict[str, int], wanted: Outcome) -> None:
    found = Measured((Exchange(flows(97), (grown(), grown(ARRAY, **more))),))
    assert outcome(carrying.nothing_lost([carried(97), found], 0)) is wanted


def test_a_counter_that_is_not_there_is_not_zero() -> None:
    without = replace(grown(), roce={})
    assert outcome(carrying.nothing_lost([Measured((Exchange(flows(97), (without,)),))], 0)) is Outcome.UNDECIDED
    silent = replace(grown(), port={**PORT, "rx_crc_errors_phy": None})
    assert outcome(carrying.nothing_lost([Measured((Exchange(flows(97), (silent,)),))], 0)) is Outcome.UNDECIDED
    other = replace(grown(), end=replace(NODE, driver="e1000"))
    assert carrying.nothing_lost([Measured((Exchange(flows(97), (other,)),))], 0).declarable
    assert outcome(carrying.nothing_lost([], 0)) is Outcome.UNDECIDED


IDLE = {"np_ecn_marked_roce_packets": 0, "np_cnp_sent": 0, "rp_cnp_handled": 0}


@pytest.mark.parametrize(
    ("sender", "receiver", "slowest", "wanted", "why"),
    [
        ({}, {}, 40.0, Outcome.PASS, ""),
        ({}, {}, 39.9, Outcome.STOP, "got too little in every round"),
        (IDLE, {}, 48.0, Outcome.STOP, "took no notice"),
        (IDLE, {**IDLE, "rx_prio3_pause": 9}, 48.0, Outcome.STOP, "ECN is not in effect"),
        (IDLE, IDLE, 48.0, Outcome.UNDECIDED, "nothing was congested"),
        ({}, {"rx_discards_phy": 1}, 48.0, Outcome.STOP, ""),
    ],
)
def test_congestion_is_controlled(
    sender: dict[str, int], receiver: dict[str, int], slowest: float, wanted: Outcome, why: str
) -> None:
    found = Exchange(flows(48.0, slowest), (grown(), grown(**sender), grown(ARRAY, **receiver)))
    verdict = carrying.congestion_controlled(Measured((found,)), 100 * G, 40 * G, 0)
    assert verdict.outcome is wanted
    assert why in str(verdict.note)


def test_a_sender_that_starved_in_some_rounds_only_is_not_told() -> None:
    good, bad = (
        Exchange(flows(48.0, rate), (grown(), grown(), grown(ARRAY))) for rate in (41.0, 39.9)
    )  # fmt: skip
    for rounds in ((good, bad, good), (bad, good, bad)):
        verdict = carrying.congestion_controlled(Measured(rounds), 100 * G, 40 * G, 0)
        assert verdict.outcome is Outcome.UNDECIDED
        assert f"got too little in {rounds.count(bad)} of 3 rounds" in str(verdict.note)
    assert outcome(carrying.congestion_controlled(Measured((bad, bad, bad)), 100 * G, 40 * G, 0)) is Outcome.STOP
    deaf = Exchange(flows(48.0, 41.0), (grown(), grown(**IDLE), grown(ARRAY)))
    assert outcome(carrying.congestion_controlled(Measured((good, deaf)), 100 * G, 40 * G, 0)) is Outcome.STOP


def shared(*rounds: tuple[float, ...]) -> Outcome:
    measured = Measured(tuple(Exchange(flows(*rates), ()) for rates in rounds))
    return carrying.shared_fairly(measured, 100 * G, 0.9, 0.8, 0.95, 0.5).outcome


def test_a_port_is_shared_fairly() -> None:
    equal = 100 * 4096 / 4178 / 8
    assert shared((equal,) * 8, (equal,) * 8) is Outcome.PASS
    assert shared((equal * 0.81, *(equal,) * 7), (equal,) * 8) is Outcome.PASS
    assert shared((equal * 0.79, *(equal,) * 7), (equal * 0.79, *(equal,) * 7)) is Outcome.STOP
    assert shared((equal * 0.79, *(equal,) * 7), (equal,) * 8) is Outcome.UNDECIDED  # once is no property of the port
    assert shared((11.24,) * 8, (11.24,) * 8) is Outcome.STOP
    assert shared((equal * 2,) * 8, (equal * 2,) * 8) is Outcome.UNDECIDED
    assert shared((equal,) * 8) is Outcome.UNDECIDED
    assert shared() is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("volume", "sheet", "wanted", "why"),
    [
        (12.0, 27.0, Outcome.PASS, "the network is the limit"),
        (5.9, 6.0, Outcome.PASS, "the disks are the limit"),
        (5.9, 27.0, Outcome.STOP, "neither network nor disks"),
        (12.0, None, Outcome.PASS, "the network is the limit"),
        (5.9, None, Outcome.UNDECIDED, "declare it"),
        (12.4, 27.0, Outcome.UNDECIDED, "more than the ports can carry"),
    ],
)
def test_the_bottleneck_has_a_name(volume: float, sheet: float | None, wanted: Outcome, why: str) -> None:
    one = Round(volume * G, 1.0, 1, {}, None, "fio-3.33", "nvme1n1", 1, say("not watched"), (None, None))
    promised = say("declare it") if sheet is None else Reference(sheet * G, say("the data sheets"))
    held = Held(5, 0.5, 5, over_roce(say("the ports"), 100 * G))
    verdict = carrying.bottleneck(carried(97, 97), Measured((one, one)), promised, 100 * G, 0.9, 0.95, held)
    assert verdict.outcome is wanted
    assert why in str(verdict.note)
    assert (
        carrying.bottleneck(carried(97, 97), Measured(()), promised, 100 * G, 0.9, 0.95, held).outcome
        is Outcome.UNDECIDED
    )


# ---- one round


def bandwidth(**more: Any) -> Bandwidth:
    row = Row(65536, 3_700_000, None, 97 * G, 0.185)
    return replace(Bandwidth("RDMA_Read BW", "mlx5_0", 4096, "Ethernet", 3, 4, (row,), ()), **more)


SERVED = Served(((18515, 0),), "")
COUNTED = Counted({**ROCE, "lifespan": 10}, dict(PORT))


def facts(**more: Any) -> dict[str, Any]:
    known = {f"{moment} {end.host}": COUNTED for moment in ("before", "after") for end in (NODE, ARRAY)}
    return {**known, "serve": SERVED, "call node-01": bandwidth(), **more}


def test_a_round_is_recomputed_from_its_message_rate() -> None:
    found = exchange.read(facts(), RUN, (NODE,), (NODE, ARRAY))
    assert found.bits == pytest.approx(0.185e6 * 65536 * 8)
    assert found.flows[0].seconds == pytest.approx(20.0)
    assert dict(found.grown[0].roce)["np_cnp_sent"] == 0


ROW = bandwidth().rows[0]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"call node-01": bandwidth(rows=())}, "0 results"),
        ({"call node-01": bandwidth(rows=(ROW, ROW))}, "2 results"),
        ({"call node-01": bandwidth(link="IB")}, "type IB"),
        ({"call node-01": bandwidth(rows=(replace(ROW, message_rate=0.0),))}, "a rate of 0 after"),
        ({"call node-01": bandwidth(rows=(replace(ROW, iterations=3_600_000),))}, "19.5 s of 20 s"),
        ({"call node-01": bandwidth(errors=("Completion with error at client",))}, "Completion with error"),
        ({"serve": Served(((18515, 1),), "Unable to create QP.")}, "Unable to create QP"),
        ({"after node-01": replace(COUNTED, roce={**ROCE, "np_cnp_sent": 1})}, "np_cnp_sent went backwards"),
    ],
)
def test_a_round_that_may_not_be_believed(more: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableOutput, match=why):
        exchange.read(facts(**more), RUN, (NODE,), (NODE, ARRAY))


def test_both_directions_are_summed_in_the_rate_and_not_in_the_count() -> None:
    both = bandwidth(rows=(replace(ROW, iterations=1_850_000),))
    run = replace(RUN, kind=Kind.BOTH)
    assert exchange.read(facts(**{"call node-01": both}), run, (NODE,), ()).flows[0].seconds == pytest.approx(20.0)


def test_a_counter_may_be_absent_and_an_age_may_fall() -> None:
    after = Counted({**ROCE, "lifespan": 0}, {**PORT, "rx_crc_errors_phy": None})
    found = exchange.read(facts(**{"after node-01": after}), RUN, (NODE,), (NODE,))
    assert found.grown[0].port["rx_crc_errors_phy"] is None


def test_latency_needs_its_percentiles() -> None:
    row = LatencyRow(4096, 20000, 3.0, 30.0, 3.5, 3.6, 4.0, 9.0)
    found = exchange.read_times(facts(**{"call node-01": LatencyRun((row,), ())}), NODE, (NODE,))
    assert (found.typical, found.p999) == (3.5, 9.0)
    for bad in (LatencyRun((replace(row, p999=None),), ()), LatencyRun((), ()), LatencyRun((row, row), ())):
        with pytest.raises(UnreadableOutput, match="rows of latency"):
            exchange.read_times(facts(**{"call node-01": bad}), NODE, (NODE,))


def test_a_test_of_latency_is_no_test_of_rate() -> None:
    with pytest.raises(ValueError, match="latency"):
        latency(NODE, ARRAY, RUN, 3)
    assert between(NODE, ARRAY, RUN, 3).hosts == {"node-01", "fx100-a"}
    with pytest.raises(ValueError, match="IP address"):
        assert replace(NODE, address="storage").gid


# ---- the scripts, with a perftest that is a shell script and GIDs that are files


@pytest.fixture
def shelf(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    base = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    for name in ("gids", "gid_attrs/types"):
        (base / name).mkdir(parents=True)

    def run(slots: dict[int, tuple[str, str]], argv: tuple[Any, ...], tool: str) -> subprocess.CompletedProcess[str]:
        for slot, (gid, kind) in slots.items():
            (base / f"gids/{slot}").write_text(f"{gid}\n")
            if kind:
                (base / f"gid_attrs/types/{slot}").write_text(f"{kind}\n")
        program = tmp_path / "ib_read_bw"
        program.write_text(f"#!/bin/sh\n{tool}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        script = argv[2].replace("/sys/class/infiniband", f"{tmp_path}/sys/class/infiniband")
        words = [*argv[:2], script, *argv[3:]]
        path = f"{tmp_path}:{os.environ['PATH']}"
        return subprocess.run(words, capture_output=True, text=True, timeout=60, env={"PATH": path}, check=False)

    return run


GID = "0000:0000:0000:0000:0000:ffff:c0a8:640b"


def test_the_slot_is_that_of_roce_v2_and_the_ordered_address(shelf: Callable[..., Any]) -> None:
    slots = {0: ("fe80::1", "RoCE v2"), 2: (GID, "IB/RoCE v1"), 7: (GID, "RoCE v2"), 8: ("0", "")}
    done = shelf(slots, call(NODE, ARRAY, RUN).argv, 'echo "$@"')
    assert done.returncode == 0
    assert "-d mlx5_0 -i 1 -x 7 " in done.stdout
    assert done.stdout.endswith("-p 18515 192.168.100.10\n")


@pytest.mark.parametrize(
    ("slots", "why"),
    [({2: (GID, "IB/RoCE v1")}, "no GID"), ({3: (GID, "RoCE v2"), 4: (GID, "RoCE v2")}, "stands twice")],
)
def test_without_exactly_one_slot_nothing_runs(shelf: Callable[..., Any], slots: dict[int, Any], why: str) -> None:
    probe = call(NODE, ARRAY, RUN)
    done = shelf(slots, probe.argv, "echo ran")
    assert done.returncode == 3
    assert "ran" not in done.stdout
    with pytest.raises(UnreadableOutput, match=why):
        probe.parse(done.stdout)


def test_a_client_looks_for_its_server_again_and_again(shelf: Callable[..., Any], tmp_path: Path) -> None:
    tool = f"""echo x >>{tmp_path}/seen; [ "$(wc -l <{tmp_path}/seen)" -ge 2 ] && echo there && exit 0
echo "Couldn't connect to 192.168.100.10:18515"; exit 1"""
    done = shelf({3: (GID, "RoCE v2")}, call(NODE, ARRAY, RUN).argv, tool)
    assert (done.returncode, done.stdout) == (0, "there\n")


def test_each_client_has_a_server_and_each_servers_end_is_told(shelf: Callable[..., Any]) -> None:
    gid = "0000:0000:0000:0000:0000:ffff:c0a8:640a"
    probe = serve(ARRAY, RUN, 3, 28600)
    done = shelf({3: (gid, "RoCE v2")}, probe.argv, 'case "$*" in *28601*) echo "Unable to create QP."; exit 1;; esac')
    found = probe.parse(done.stdout)
    assert sorted(found.status) == [(28600, 0), (28601, 1), (28602, 0)]
    assert found.said == "Unable to create QP."


def test_what_is_no_answer_of_the_scripts_is_refused() -> None:
    for text in ("", "hello\n"):
        with pytest.raises(UnreadableOutput):
            serve(ARRAY, RUN).parse(text)
        with pytest.raises(UnreadableOutput):
            counters(NODE).parse(text)
    with pytest.raises(UnreadableOutput, match="empty"):
        counters(NODE).parse("ethtool -S x\nNIC statistics:\n     a: 1\n")


# ---- what no port can carry, and rounds that go one way


def test_more_than_the_port_carries_is_told_by_no_criterion() -> None:
    fast, fine = carried(99.1, 99.1), carried(99.0, 99.0)
    for found, wanted in ((fast, Outcome.UNDECIDED), (fine, Outcome.PASS)):
        assert outcome(carrying.carries(found, 100 * G, 0.95, 0.97, 0.5)) is wanted
        assert outcome(carrying.as_fast_from_accelerators(fine, found, 100 * G, 0.95, 0.97, 0.5)) is wanted
        assert outcome(carrying.shared_fairly(found, 100 * G, 0.9, 0.8, 0.95, 0.5)) is wanted
    both = carrying.congestion_controlled(fast, 100 * G, G, 0)
    assert "more than the port can carry" in str(both.note)
    assert outcome(carrying.carries(carried(190, 190), 100 * G, 0.925, 0.97, 0.5, 2)) is Outcome.PASS


def test_rates_that_fall_by_one_percent_a_run_are_not_at_their_level() -> None:
    falling, shaking = carried(98, 97, 96), carried(98, 96, 97)
    assert outcome(carrying.carries(shaking, 100 * G, 0.95, 0.97, 0.5)) is Outcome.PASS
    verdict = carrying.carries(falling, 100 * G, 0.95, 0.97, 0.5)
    assert outcome(verdict) is Outcome.UNDECIDED
    assert "each of 3 rounds gives -1.0 percent on the one before" in str(verdict.note)
