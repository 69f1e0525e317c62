"""Counters of a port by difference: old errors do not count, absent counters are not zero, queues are not totals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.nic import steadiness
from checks.nic.counters import ERRORS, matching
from checks.parsers import ethtool_S, sysfs_net
from checks.parsers.ethtool_S import Counters
from checks.parsers.ethtool_show_fec import Fec
from checks.parsers.sysfs_aer import AerService
from checks.parsers.sysfs_net import NetDevice
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
AER, COUNTING = "6.8--port-above-counts", AerService("6.8.0", ("0000:c0:01.1",))
SAMPLES = Path(__file__).parents[1] / "parsers"


def counters(case: str) -> Counters:
    return ethtool_S.parse((SAMPLES / "ethtool-S" / f"{case}.txt").read_text())


def device(case: str = "6.8--mlx5-gen4x16") -> NetDevice:
    return sysfs_net.parse((SAMPLES / "sysfs-net" / f"{case}.txt").read_text())


def changed(before: Counters, **counts: int | None) -> Counters:
    port = dict(before.port) | counts
    return replace(before, port=tuple(port.items()))


MLX5 = counters("mlx5_core--healthy-no-indent")


@pytest.mark.parametrize(
    ("case", "driver"),
    [
        ("mlx5_core--healthy-no-indent", "mlx5_core"),
        ("ionic--healthy", "ionic"),
        ("i40e--mixed-name-styles", "i40e"),
        ("bnxt_en--two-colons-in-queue-lines", "bnxt_en"),
        ("ice--names-with-dots", "ice"),
        ("hns3--names", "hns3"),
    ],
)
def test_every_driver_of_the_table_is_judged_on_its_own_names(case: str, driver: str) -> None:
    found = counters(case)
    assert steadiness.no_errors(found, found, driver, 5.0).outcome is PASS
    for pattern in ERRORS[driver].required:
        for name in matching(pattern, dict(found.port)):
            worse = changed(found, **{name: (dict(found.port)[name] or 0) + 1})
            assert steadiness.no_errors(found, worse, driver, 5.0).outcome is STOP, name


@pytest.mark.parametrize("name", ["rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "rx_out_of_buffer"])
def test_an_absent_counter_was_not_read_as_zero(name: str) -> None:
    without = replace(MLX5, port=tuple(pair for pair in MLX5.port if pair[0] != name))
    assert steadiness.no_errors(without, without, "mlx5_core", 5.0).outcome is UNDECIDED
    assert steadiness.no_errors(without, MLX5, "mlx5_core", 5.0).outcome is UNDECIDED
    assert steadiness.no_errors(changed(MLX5, **{name: None}), MLX5, "mlx5_core", 5.0).outcome is UNDECIDED
    assert steadiness.no_errors(MLX5, changed(MLX5, **{name: None}), "mlx5_core", 5.0).outcome is UNDECIDED


def test_errors_of_last_year_do_not_stop_the_gate() -> None:
    old = changed(MLX5, rx_crc_errors_phy=386, rx_packets=1)
    assert steadiness.no_errors(old, changed(old, rx_packets=10**9), "mlx5_core", 5.0).outcome is PASS


def test_a_counter_that_went_backwards_decides_nothing() -> None:
    before = changed(MLX5, rx_symbol_err_phy=5)
    assert steadiness.no_errors(before, MLX5, "mlx5_core", 5.0).outcome is UNDECIDED


def test_a_rise_stops_even_if_another_counter_is_absent() -> None:
    without = replace(MLX5, port=tuple(pair for pair in MLX5.port if pair[0] != "rx_out_of_buffer"))
    worse = changed(without, rx_crc_errors_phy=1)
    assert steadiness.no_errors(without, worse, "mlx5_core", 5.0).outcome is STOP


def test_optional_counters_are_judged_where_they_exist() -> None:
    before = changed(MLX5, rx_prio3_cong_discard=0)
    assert steadiness.no_errors(before, changed(before, rx_prio3_cong_discard=1), "mlx5_core", 5.0).outcome is STOP
    assert steadiness.no_errors(MLX5, changed(MLX5, rx_prio3_cong_discard=0), "mlx5_core", 5.0).outcome is UNDECIDED


def test_queue_lines_never_speak_for_the_port() -> None:
    found = counters("bnxt_en--two-colons-in-queue-lines")
    worse = replace(found, queues=tuple((name, 10**6) for name, _ in found.queues))
    assert steadiness.no_errors(found, worse, "bnxt_en", 5.0).outcome is PASS
    names = dict(counters("virtio--virtual-machine").port)
    assert not [name for table in ERRORS.values() for pattern in table.required for name in matching(pattern, names)]


def test_the_names_of_the_port_are_not_mistaken_for_queues() -> None:
    port = dict(MLX5.port)
    assert {"rx_64_bytes_phy", "rx_65_to_127_bytes_phy", "rx_prio3_packets", "module_high_temp"} <= port.keys()
    assert "rx0_packets" not in port
    ionic = counters("ionic--healthy")
    assert "rx_pripause_3_1us_count" in dict(ionic.port)
    assert {"rx_0_dropped", "tx_0_pkts", "rx_0_bytes"} <= dict(ionic.queues).keys()
    i40e = counters("i40e--mixed-name-styles")
    assert "rx-0.packets" in dict(i40e.queues)
    assert dict(i40e.port)["rx_dropped"] == 179160


def test_an_unknown_driver_is_not_judged() -> None:
    found = counters("virtio--virtual-machine")
    verdict = steadiness.no_errors(found, found, "virtio_net", 5.0)
    assert (verdict.outcome, verdict.declarable) == (UNDECIDED, True)


@pytest.mark.parametrize(
    ("before", "after", "outcome"), [(0, 0, PASS), (7, 7, PASS), (7, 8, STOP), (8, 7, UNDECIDED), (None, 7, UNDECIDED)]
)
def test_uncorrectable_blocks_by_difference(before: int | None, after: int, outcome: Outcome) -> None:
    pair = [Fec("eth0", ("RS",), ("RS",), 100, count) for count in (before, after)]
    assert steadiness.no_uncorrectable_blocks(pair[0], pair[1], 5.0).outcome is outcome
    assert steadiness.no_uncorrectable_blocks(pair[0], Fec("eth0", (), (), None, None), 5.0).outcome is UNDECIDED


def test_the_link_does_not_flap() -> None:
    up = device()
    assert steadiness.no_flaps(up, up, 5.0).outcome is PASS
    assert steadiness.no_flaps(up, replace(up, carrier_changes=3), 5.0).outcome is STOP
    assert steadiness.no_flaps(up, replace(up, carrier_downs=2), 5.0).outcome is STOP
    assert steadiness.no_flaps(up, device("6.8--carrier-lost"), 5.0).outcome is STOP
    assert steadiness.no_flaps(up, device("6.8--down-no-speed"), 5.0).outcome is STOP
    assert steadiness.no_flaps(up, replace(up, carrier=None), 5.0).outcome is UNDECIDED
    assert steadiness.no_flaps(up, replace(up, carrier_changes=None), 5.0).outcome is UNDECIDED
    assert steadiness.no_flaps(replace(up, carrier_changes=None), up, 5.0).outcome is UNDECIDED
    assert steadiness.no_flaps(up, replace(up, carrier_changes=1), 5.0).outcome is UNDECIDED
    assert steadiness.no_flaps(replace(up, carrier_downs=None), replace(up, carrier_downs=None), 5.0).outcome is PASS


def risen(kind: str, name: str) -> NetDevice:
    found = device(AER)
    table = dict(getattr(found, kind))
    return replace(found, **{kind: tuple((table | {name: table[name] + 1}).items())})


@pytest.mark.parametrize(
    ("after", "correctable", "outcome"),
    [
        (device(AER), 0, PASS),
        (risen("aer_correctable", "RxErr"), 0, STOP),
        (risen("aer_correctable", "RxErr"), 1, PASS),
        (risen("aer_nonfatal", "CmpltTO"), 1, STOP),
        (risen("aer_fatal", "TOTAL_ERR_FATAL"), 1, STOP),
        (replace(device(AER), aer_fatal=None), 0, UNDECIDED),
        (risen("port_correctable", "BadTLP"), 0, STOP),
        (risen("port_fatal", "DLP"), 9, STOP),
        (replace(device(AER), port_correctable=None), 0, UNDECIDED),
        (device("6.1--virtual-machine"), 0, UNDECIDED),
    ],
)
def test_no_pcie_error_between_the_looks(after: NetDevice, correctable: int, outcome: Outcome) -> None:
    assert steadiness.no_aer(device(AER), after, COUNTING, correctable, 5.0).outcome is outcome


def test_aer_counters_that_went_backwards_decide_nothing() -> None:
    assert steadiness.no_aer(risen("aer_fatal", "DLP"), device(AER), COUNTING, 0, 5.0).outcome is UNDECIDED


def test_a_zero_that_nobody_counts_decides_nothing() -> None:
    nobody = AerService("6.8.0", ())
    verdict = steadiness.no_aer(device(AER), device(AER), nobody, 0, 5.0)
    assert verdict.outcome is UNDECIDED
    assert verdict.declarable
    assert steadiness.no_aer(device(AER), risen("aer_fatal", "DLP"), nobody, 0, 5.0).outcome is STOP
