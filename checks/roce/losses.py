"""What a port lost while it was watched: RoCE errors and pause storms, always by difference."""

from __future__ import annotations

from collections.abc import Collection

from checks.parsers.ethtool_S import Counters
from checks.parsers.sysfs_infiniband import IbPort
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Quantity, Verdict

_NAMED = 8  # slots of a GID table that a verdict names

#: Counters of lost or repeated RoCE packets: (must be there, counted where present). Flushed completions are normal teardown.
ERRORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mlx5_core": (
        ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err"),
        (
            "implied_nak_seq_err", "roce_adp_retrans", "roce_adp_retrans_to", "req_remote_access_errors",
            "req_remote_invalid_request", "resp_remote_access_errors", "resp_local_length_error", "rx_icrc_encapsulated",
            "req_transport_retries_exceeded", "req_rnr_retries_exceeded",
        ),
    ),
    "bnxt_en": (
        ("to_retransmits", "seq_err_naks_rcvd", "rnr_naks_rcvd"),
        (
            "max_retry_exceeded", "missing_resp", "unrecoverable_err", "bad_resp_err", "rx_roce_error_pkts",
            "rx_roce_discard_pkts", "tx_roce_error_pkts", "tx_roce_discard_pkts", "res_oos_drop_count",
        ),
    ),
    "ionic": (
        ("req_rx_pkt_seq_err", "req_tx_retry_excd_err", "resp_rx_outouf_seq"),
        (
            "req_rx_rnr_retry_err", "req_rx_impl_nak_seq_err", "resp_tx_pkt_seq_err", "tx_rdma_ack_timeout",
            "tx_rdma_retx_pkts", "rx_rdma_mtu_discard_pkts",
        ),
    ),
    "rdma_rxe": (
        ("out_of_seq_request", "rcvd_seq_err", "completer_retry_err", "retry_exceeded_err"),
        ("duplicate_request", "rcvd_rnr_err", "retry_rnr_exceeded_err", "send_err"),
    ),
}  # fmt: skip

#: Soft RoCE of the kernel runs over any network port: its counters show it, not the port's driver.
_SOFT = "rdma_rxe"

#: Counters of a port that was paused for so long that the card gave up being lossless, by driver.
_STORMS = {
    "mlx5_core": ("tx_pause_storm_warning_events", "tx_pause_storm_error_events"),
    "bnxt_en": ("continuous_roce_pause_events",),
}


def counted_by(driver: str, names: Collection[str]) -> str:
    """Whose counters these are: those of soft RoCE where they are all there, and of the port's own driver elsewhere."""
    return _SOFT if driver not in ERRORS and set(ERRORS[_SOFT][0]) <= set(names) else driver


def no_new_errors(
    interval: Interval[tuple[IbPort, ...]], device: str, number: int, driver: str, allowed: int
) -> Verdict:
    """No packet was lost, repeated or refused between the two samples, by the driver's own counters."""
    required = say("at most {allowed} in the interval", allowed=allowed)
    before, after = (_hw_counters(sample, device, number) for sample in (interval.before, interval.after))
    driver = counted_by(driver, before)
    if driver not in ERRORS:
        return Verdict.not_offered(say("kvgate knows no RoCE error counters of {driver}", driver=driver), required)
    needed, more = ERRORS[driver]
    if missing := [name for name in needed if name not in before or name not in after]:
        return Verdict.undecided(say("the driver shows no counter {names}", names=", ".join(missing)), required)
    grown = {name: after[name] - before[name] for name in (*needed, *more) if name in before and name in after}
    if back := [name for name, change in grown.items() if change < 0]:
        return Verdict.undecided(
            say("{names} went backwards: reset or wrapped between the samples", names=", ".join(back)), required
        )
    total = sum(grown.values())
    rose = ", ".join(f"{name} +{change}" for name, change in grown.items() if change)
    found = rose or say("none of {count} counters rose", count=len(grown))
    return Verdict.of(
        total <= allowed,
        say("{found} in {seconds} s", found=found, seconds=round(interval.seconds, 1)),
        required,
        quantities=(Quantity("RoCE errors", total, ""),),
    )


def _hw_counters(sample: tuple[IbPort, ...], device: str, number: int) -> dict[str, int]:
    return next((port.hw_counters for port in sample if (port.device, port.port) == (device, number)), {})


def no_pause_storm(interval: Interval[Counters], driver: str, allowed: int) -> Verdict:
    """The card saw no pause storm between the two samples; a driver without such counters cannot tell."""
    required = say("at most {allowed} pause storms in the interval", allowed=allowed)
    before, after = dict(interval.before.port), dict(interval.after.port)
    grown: list[int] = []
    for name in _STORMS.get(driver, ()):
        first, second = before.get(name), after.get(name)
        if first is None or second is None or second < first:
            return Verdict.undecided(say("{name} is absent, not implemented or went backwards", name=name), required)
        grown.append(second - first)
    if not grown:
        return Verdict.undecided(say("kvgate knows no pause storm counters of {driver}", driver=driver), required)
    total = sum(grown)
    return Verdict.of(total <= allowed, str(total), required, quantities=(Quantity("pause storms", total, ""),))
