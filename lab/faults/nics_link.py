"""Faults of Ethernet links: speed, error correction, cabling, light, counters. Their words are shared with nics.py."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

SYSFS = r"grep -Hs '' /sys/class/net/[a-z0-9]+/address .*"
INTERFACES = r"ip -j -d link show"
ADDRESSES = r"ip -j addr"
_SETTINGS = r"ethtool [a-z0-9]+"
_COUNTERS = r"ethtool -S .*"
_MODULE = r"ethtool -m .*"
_FEC = r"ethtool --show-fec .*"
_BLOCKS = r"ethtool -I --show-fec .*"
SMALL = r"ping .* -s 56 .*"
LARGE = r"ping .* -s 8972 .*"
LLDP = r"lldpctl .*"
CONFIG = r"od .*/device/config"
NOT_SUPPORTED = "netlink error: Operation not supported\n"


def clauses(*numbers: int) -> frozenset[str]:
    """Clause ids of this section."""
    return frozenset(f"G1.3.{number}" for number in numbers)


def edit(ask: str, *replace: tuple[str, str], again: bool = False, every: bool = False) -> Edit:
    """Replace text in the answer to a command."""
    return Edit(ask, replace=replace, again=again, every=every)


def answer(ask: str, stdout: str = "", stderr: str = "", status: int = 0) -> Edit:
    """Answer a command in another way."""
    return Edit(ask, stdout=stdout, stderr=stderr, status=status)


def lost(ask: str) -> Edit:
    """Lose every echo request."""
    return edit(
        ask,
        ("3 packets transmitted, 3 received, 0% packet loss", "3 packets transmitted, 0 received, 100% packet loss"),
    )


_DOWN = (
    edit(
        _SETTINGS,
        ("Speed: 100000Mb/s", "Speed: Unknown!"),
        ("Lanes: 4", "Lanes: Unknown!"),
        ("Duplex: Full", "Duplex: Unknown! (255)"),
        ("Link detected: yes", "Link detected: no (No cable)"),
    ),
    edit(
        SYSFS,
        ("/operstate:up", "/operstate:down"),
        ("/speed:100000", "/speed:-1"),
        ("/duplex:full", "/duplex:unknown"),
        ("/carrier:1", "/carrier:0"),
    ),
    edit(_FEC, ("Active FEC encoding: RS", "Active FEC encoding: None")),
    lost(SMALL),
    lost(LARGE),
    answer(LLDP, '{\n  "lldp": {\n\n  }\n}\n'),
)

_COPPER = """\
	Identifier                                : 0x11 (QSFP28)
	Extended identifier                       : 0x00
	Extended identifier description           : 1.5W max. Power consumption
	Connector                                 : 0x23 (No separable connector)
	Transceiver codes                         : 0x80 0x00 0x00 0x00 0x00 0x00 0x00 0x00
	Transceiver type                          : 100G Ethernet: 100G Base-CR4 or 25G Base-CR CA-L
	Length (Copper or Active cable)           : 1m
	Transmitter technology                    : 0xa0 (Copper cable unequalized)
	Vendor name                               : Mellanox
	Vendor PN                                 : MCP1600-C001E30N
	Vendor SN                                 : MT2049VB01234
"""

ON_THE_LINK: tuple[Fault, ...] = (
    # ---- link
    Fault(
        "nic-link-25g",
        "the switch port is split: the link runs at 25 Gb/s",
        "node-01",
        stops=clauses(7),
        edits=(edit(_SETTINGS, ("Speed: 100000Mb/s", "Speed: 25000Mb/s")),),
    ),
    Fault(
        "nic-link-down",
        "the cable is pulled",
        "node-01",
        stops=clauses(7, 10, 18),
        undecided=clauses(9, 21),
        edits=_DOWN,
    ),
    Fault(
        "nic-half-duplex",
        "the link came up half duplex",
        "node-01",
        stops=clauses(7),
        edits=(edit(_SETTINGS, ("Duplex: Full", "Duplex: Half")),),
    ),
    Fault(
        "nic-speed-untold",
        "the driver does not know the speed of a link that is up",
        "node-01",
        undecided=clauses(7),
        edits=(edit(_SETTINGS, ("Speed: 100000Mb/s", "Speed: Unknown!")),),
    ),
    Fault(
        "nic-flaps",
        "the link goes down and comes back while it is looked at",
        "node-02",
        stops=clauses(18),
        edits=(edit(SYSFS, ("carrier_changes:2", "carrier_changes:4"), ("down_count:1", "down_count:2"), again=True),),
    ),
    Fault(
        "nic-fec-off",
        "the link came up without error correction",
        "node-01",
        stops=clauses(10),
        edits=(edit(_FEC, ("Active FEC encoding: RS", "Active FEC encoding: Off")),),
    ),
    Fault(
        "nic-fec-untold",
        "the driver does not report the error correction",
        "node-01",
        undecided=clauses(10),
        edits=(answer(_FEC, stderr=NOT_SUPPORTED, status=1),),
    ),
    Fault(
        "nic-fec-uncorrectable",
        "the error correction gives up on blocks: dirty fibre",
        "node-01",
        stops=clauses(11),
        edits=(edit(_BLOCKS, ("uncorrectable_blocks: 0", "uncorrectable_blocks: 14"), again=True),),
    ),
    Fault(
        "nic-fec-no-counts",
        "the ethtool of this host is too old for block counts",
        "node-01",
        undecided=clauses(11),
        edits=(answer(_BLOCKS, stderr="ethtool: bad command line argument(s)\n", status=1),),
    ),
    Fault(
        "nic-cabled-elsewhere",
        "the cable ends in another switch port than planned",
        "node-01",
        stops=clauses(21),
        edits=(edit(LLDP, ('"Ethernet1"', '"Ethernet7"')),),
    ),
    Fault(
        "lldpd-missing",
        "no LLDP daemon is installed",
        "node-01",
        undecided=clauses(21),
        edits=(answer(LLDP, stderr="sh: 1: lldpctl: not found\n", status=127),),
    ),
    # ---- light
    Fault(
        "nic-lane-dark",
        "one of four lanes receives no light",
        "node-01",
        stops=clauses(12, 14),
        edits=(
            edit(
                _MODULE,
                ("power(Channel 3)  : 1.1340 mW / 0.55 dBm", "power(Channel 3)  : 0.0000 mW / -inf dBm"),
                ("Laser rx power low alarm    (Channel 3)   : Off", "Laser rx power low alarm    (Channel 3)   : On"),
            ),
        ),
    ),
    Fault(
        "nic-lane-weak",
        "one lane receives less than the module's low warning, and no flag says so",
        "node-01",
        stops=clauses(12),
        edits=(edit(_MODULE, ("0.9798 mW / -0.09 dBm", "0.0700 mW / -11.55 dBm")),),
    ),
    Fault(
        "nic-module-hot",
        "the module runs hot behind a missing blanking panel",
        "fx100-a",
        stops=clauses(13),
        edits=(edit(_MODULE, ("30.56 degrees C / 87.01", "66.20 degrees C / 151.16")),),
    ),
    Fault(
        "nic-module-flag",
        "the module warns of its supply voltage",
        "node-02",
        stops=clauses(14),
        edits=(
            edit(
                _MODULE,
                ("Module voltage high warning               : Off", "Module voltage high warning               : On"),
            ),
        ),
    ),
    Fault(
        "nic-module-copper",
        "a copper cable is plugged where an optical module was ordered",
        "node-01",
        stops=clauses(12, 13, 14),
        edits=(answer(_MODULE, _COPPER),),
    ),
    Fault(
        "nic-module-untold",
        "the driver cannot read the module",
        "node-01",
        undecided=clauses(12, 13, 14),
        edits=(answer(_MODULE, stderr=NOT_SUPPORTED, status=1),),
    ),
    Fault(
        "nic-module-limits-contradict",
        "the module's limits were read wrong: low alarm above low warning",
        "node-01",
        undecided=clauses(12),
        edits=(edit(_MODULE, ("0.0467 mW / -13.31 dBm", "0.8224 mW / -0.85 dBm")),),
    ),
    # ---- counters
    Fault(
        "nic-crc-errors",
        "damaged frames arrive",
        "node-01",
        stops=clauses(17),
        edits=(edit(_COUNTERS, ("rx_crc_errors_phy: 0", "rx_crc_errors_phy: 3"), again=True),),
    ),
    Fault(
        "nic-no-receive-buffer",
        "the host is too slow to offer receive buffers",
        "node-01",
        stops=clauses(17),
        edits=(edit(_COUNTERS, ("rx_out_of_buffer: 0", "rx_out_of_buffer: 512"), again=True),),
    ),
    Fault(
        "nic-counter-absent",
        "the driver no longer prints one of the error counters",
        "node-01",
        undecided=clauses(17),
        edits=(edit(_COUNTERS, ("     rx_symbol_err_phy: 0\n", "")),),
    ),
    Fault(
        "nic-counters-reset",
        "the driver was reloaded between the two looks",
        "node-01",
        undecided=clauses(17),
        edits=(
            edit(_COUNTERS, ("rx_symbol_err_phy: 0", "rx_symbol_err_phy: 5")),
            edit(_COUNTERS, ("rx_symbol_err_phy: 5", "rx_symbol_err_phy: 0"), again=True),
        ),
    ),
)
