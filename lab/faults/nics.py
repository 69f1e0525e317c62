"""Faults of Ethernet ports: cards, slots, packets, and from its neighbour file links, light and counters."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.faults.nics_link import (
    ADDRESSES,
    CONFIG,
    INTERFACES,
    LARGE,
    LLDP,
    NOT_SUPPORTED,
    ON_THE_LINK,
    SMALL,
    SYSFS,
    answer,
    clauses,
    edit,
    lost,
)

_ROOT = "/sys/class/net/ens1f0np0/device"
_MENDED = "RxErr BadTLP BadDLLP Rollover Timeout NonFatalErr CorrIntErr HeaderOF TOTAL_ERR_COR"
_OTHERS = (
    "Undefined DLP SDES TLP FCP CmpltTO CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol UncorrIntErr BlockedTLP "
    "AtomicOpBlocked TLPBlockedErr PoisonTLPBlocked"
)
_NO_AER = tuple(
    (f"{_ROOT}/aer_dev_{kind}:{name} 0\n", "")
    for kind, names in (
        ("correctable", _MENDED),
        ("nonfatal", f"{_OTHERS} TOTAL_ERR_NONFATAL"),
        ("fatal", f"{_OTHERS} TOTAL_ERR_FATAL"),
    )
    for name in names.split()
)

FAULTS: tuple[Fault, ...] = (
    *ON_THE_LINK,
    # ---- identity
    Fault(
        "nic-other-card",
        "another card of the same type sits under the ordered name",
        "fx100-a",
        stops=clauses(1),
        edits=(edit(INTERFACES, ("b8:3f:d2:10:00:0a", "b8:3f:d2:7a:31:9c")),),
    ),
    Fault(
        "nic-renamed",
        "the ordered card came up under another name after a kernel update",
        "node-01",
        stops=clauses(1),
        edits=(edit(INTERFACES, ('"ifname":"ens1f0np0"', '"ifname":"ens1f0"')),),
    ),
    Fault(
        "nic-absent",
        "the card is not there at all",
        "node-01",
        stops=clauses(1, 22),
        undecided=clauses(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23) | {"G1.4.17"},
        edits=(
            edit(INTERFACES, ('"ifname":"ens1f0np0"', '"ifname":"ens9"'), ("b8:3f:d2:20:00:01", "b8:3f:d2:aa:aa:aa")),
            edit(ADDRESSES, ('"ifname":"ens1f0np0"', '"ifname":"ens9"'), ("192.168.100.11", "192.168.7.7")),
            answer(r"ethtool .*", stderr="netlink error: No such device\n", status=1),
            answer(SYSFS, status=2),
            answer(r"ping .*", stderr="ping: SO_BINDTODEVICE ens1f0np0: No such device\n", status=2),
            answer(LLDP, '{\n  "lldp": {\n\n  }\n}\n'),
            answer(CONFIG, stderr=f"od: {_ROOT}/config: No such file or directory\n", status=1),
        ),
    ),
    Fault(
        "nic-other-driver",
        "the port is driven by another driver than ordered",
        "node-01",
        stops=clauses(2),
        edits=(edit(r"ethtool -i .*", ("driver: mlx5_core", "driver: mlx4_en")),),
    ),
    Fault(
        "nic-firmware-old",
        "one card still has last year's firmware",
        "node-02",
        stops=clauses(3, 4),
        edits=(edit(r"ethtool -i .*", ("22.39.2048", "22.35.1012")),),
    ),
    Fault(
        "nic-firmware-untold",
        "the driver leaves the firmware line empty",
        "node-02",
        undecided=clauses(3, 4),
        edits=(edit(r"ethtool -i .*", ("22.39.2048 (MT_0000000359)", "")),),
    ),
    Fault(
        "ethtool-missing",
        "ethtool is not installed; driver and link are told by sysfs instead",
        "node-01",
        undecided=clauses(3, 4, 10, 11, 12, 13, 14, 15, 16, 17) | {"G1.4.17"},
        edits=(answer(r"ethtool .*", stderr="sh: 1: ethtool: not found\n", status=127),),
    ),
    # ---- slot
    Fault(
        "nic-slot-gen3-x8",
        "the card sits in a Gen3 x8 slot",
        "fx100-a",
        stops=clauses(5, 6),
        edits=(
            edit(
                SYSFS,
                ("device/current_link_speed:16.0", "device/current_link_speed:8.0"),
                ("device/current_link_width:16", "device/current_link_width:8"),
            ),
        ),
    ),
    Fault(
        "nic-slot-gen4-x8",
        "the card lost half of its lanes: enough for 100 Gb/s, but not what was ordered",
        "node-01",
        stops=clauses(6),
        edits=(edit(SYSFS, ("device/current_link_width:16", "device/current_link_width:8")),),
    ),
    Fault(
        "nic-bridge-narrow",
        "a bridge above the card trained to Gen3 x8 while the card itself looks right",
        "node-01",
        stops=clauses(5),
        edits=(
            edit(
                SYSFS,
                ("device/../current_link_speed:16.0", "device/../current_link_speed:8.0"),
                ("device/../current_link_width:16", "device/../current_link_width:8"),
            ),
        ),
    ),
    Fault(
        "nic-slot-untold",
        "the kernel does not know the link speed of the slot",
        "node-01",
        undecided=clauses(5, 6),
        edits=(edit(SYSFS, ("device/current_link_speed:16.0 GT/s PCIe", "device/current_link_speed:Unknown")),),
    ),
    Fault(
        "nic-numa-far",
        "the card sits in a slot of the other processor",
        "node-01",
        stops=clauses(19),
        edits=(edit(SYSFS, ("device/numa_node:0", "device/numa_node:1")),),
    ),
    Fault(
        "nic-numa-untold",
        "the BIOS does not say to which processor the slot belongs",
        "node-01",
        undecided=clauses(19),
        edits=(edit(SYSFS, ("device/numa_node:0", "device/numa_node:-1")),),
    ),
    Fault(
        "nic-aer-corrected",
        "the slot mends receiver errors all the time",
        "fx100-a",
        stops=clauses(20),
        edits=(
            edit(
                SYSFS,
                ("aer_dev_correctable:RxErr 0", "aer_dev_correctable:RxErr 3"),
                ("TOTAL_ERR_COR 0", "TOTAL_ERR_COR 3"),
                again=True,
            ),
        ),
    ),
    Fault(
        "nic-aer-nonfatal",
        "the card reports a completion timeout",
        "fx100-a",
        stops=clauses(20),
        edits=(
            edit(
                SYSFS,
                ("aer_dev_nonfatal:CmpltTO 0", "aer_dev_nonfatal:CmpltTO 1"),
                ("TOTAL_ERR_NONFATAL 0", "TOTAL_ERR_NONFATAL 1"),
                again=True,
            ),
        ),
    ),
    Fault(
        "nic-aer-absent",
        "the kernel was started without AER",
        "node-01",
        undecided=clauses(20),
        edits=(edit(SYSFS, *_NO_AER),),
    ),
    Fault(
        "nic-small-pcie-packets",
        "the BIOS limits PCI Express packets to 128 bytes",
        "node-01",
        stops=clauses(23),
        edits=(edit(CONFIG, ("36 59", "16 29")),),
    ),
    Fault(
        "nic-sysfs-garbled",
        "the sysfs dump is cut in the middle of a line",
        "node-01",
        undecided=clauses(5, 6, 8, 18, 19, 20),
        edits=(answer(SYSFS, "/sys/class/net/ens1f0np0/address:b8:3f:d2:20:00:01\n/sys/class/net/ens1f0np0/mt"),),
    ),
    # ---- packets
    Fault(
        "nic-mtu-1500",
        "one node still has an MTU of 1500",
        "node-01",
        stops=clauses(8, 9),
        edits=(
            edit(SYSFS, ("/mtu:9000", "/mtu:1500")),
            answer(
                LARGE,
                "PING 192.168.100.10 (192.168.100.10) from 192.168.100.11 ens1f0np0: 8972(9000) bytes of data.\n\n"
                "--- 192.168.100.10 ping statistics ---\n"
                "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 413ms\n\n",
                "ping: local error: message too long, mtu=1500\n" * 3,
                1,
            ),
        ),
    ),
    Fault(
        "nic-switch-mtu-1500",
        "a switch port drops large packets in silence",
        "fx100-a",
        stops=clauses(9),
        edits=(lost(LARGE),),
    ),
    Fault(
        "nic-echo-filtered",
        "the array does not answer echo requests of any size",
        "node-02",
        undecided=clauses(9),
        edits=(lost(SMALL), lost(LARGE)),
    ),
    Fault(
        "ping-missing",
        "ping is not installed",
        "node-02",
        undecided=clauses(9),
        edits=(answer(r"ping .*", stderr="sh: 1: ping: not found\n", status=127),),
    ),
    Fault(
        "nic-address-elsewhere",
        "the storage address stands on the management port",
        "node-01",
        stops=clauses(22),
        edits=(edit(ADDRESSES, ("192.168.100.11", "10.9.9.9"), ("10.0.8.1", "192.168.100.11")),),
    ),
    Fault(
        "nic-pause-on",
        "plain 802.3x pause is on beside PFC",
        "node-01",
        stops=clauses(15),
        edits=(edit(r"ethtool -a .*", ("RX:\t\toff", "RX:\t\ton"), ("TX:\t\toff", "TX:\t\ton")),),
    ),
    Fault(
        "nic-pause-untold",
        "the driver does not report pause",
        "node-01",
        undecided=clauses(15),
        edits=(answer(r"ethtool -a .*", stderr=NOT_SUPPORTED, status=1),),
    ),
    Fault(
        "nic-ring-small",
        "the receive ring is left at its default",
        "node-01",
        stops=clauses(16),
        edits=(edit(r"ethtool -g .*", ("settings:\nRX:\t\t\t8192", "settings:\nRX:\t\t\t1024")),),
    ),
)
