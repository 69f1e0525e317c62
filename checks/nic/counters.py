"""Which counters of which driver mean a damaged or lost frame. Names of single queues never stand here.

A required name that the driver does not print makes the clause undecided; an optional one is judged where it exists. Names
are those that the drivers of Linux 4.15 to 6.12 print; ice ends them in ``.nic``, newer i40e begins them with ``port.``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errors:
    """Regular expressions of counter names, matched in full."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


ERRORS: dict[str, Errors] = {
    "mlx5_core": Errors(
        ("rx_crc_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer"),
        (
            "rx_pcs_symbol_err_phy", "tx_errors_phy", "rx_in_range_len_errors_phy", "rx_undersize_pkts_phy",
            "rx_fragments_phy", "rx_jabbers_phy", "rx_oversize_pkts_phy", r"rx_prio\d_(?:buf_|cong_)?discards?",
            "link_down_events_phy", "module_(?:bus_stuck|high_temp|bad_shorted|unplug)",
        ),
    ),
    "bnxt_en": Errors(
        ("rx_fcs_err_frames", "rx_stat_discard"),
        (
            "rx_pcs_symbol_err", "rx_align_err_frames", "rx_jbr_frames", r"rx_discard_packets_cos\d",
            "[rt]x_total_ring_discards", "rx_total_oom_discards", "rx_total_buf_errors", "link_down_events",
        ),
    ),
    "ice": Errors(
        (r"rx_crc_errors\.nic", r"illegal_bytes\.nic", r"rx_dropped\.nic", r"tx_dropped_link_down\.nic"),
        (r"rx_fragments\.nic", r"rx_jabber\.nic", r"rx_undersize\.nic", r"mac_(?:local|remote)_faults\.nic"),
    ),
    "i40e": Errors(
        (r"(?:port\.)?rx_crc_errors", "rx_dropped"),
        (r"port\.illegal_bytes", r"port\.(?:rx_dropped|tx_dropped_link_down)", "rx_errors", "rx_length_errors"),
    ),
    "ionic": Errors(
        ("frames_rx_bad_fcs", "frames_rx_bad_all", "frames_rx_dropped", "hw_rx_dropped", "hw_rx_missed_errors"),
        ("hw_rx_over_errors", "hw_tx_dropped", "frames_tx_bad", "frames_rx_stomped_crc", "frames_rx_jabber"),
    ),
    "hns3": Errors(
        ("mac_rx_fcs_err_pkt_num", "mac_rx_sym_err_pkt_num", "mac_rx_bad_pkt_num"), ("mac_tx_bad_pkt_num",)
    ),
}  # fmt: skip


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Names that a pattern of the table means."""
    return [name for name in names if re.fullmatch(pattern, name)]
