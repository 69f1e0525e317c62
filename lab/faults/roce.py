"""Faults of RoCE: ports, GIDs, marks, lossless settings, counters."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

_LINKS = r"rdma -j link show"
_PORT = r"grep -Hs '' /sys/class/infiniband/mlx5_0/ports/1/state .*"
_COUNTERS = r"grep -Hs '' /sys/class/infiniband/mlx5_0/ports/1/hw_counters/\*"
_DEVINFO = r"ibv_devinfo -v -d mlx5_0 -i 1"
_CM = r"grep -Hs '' /sys/kernel/config/rdma_cm/.*"
_MLNX = r"mlnx_qos -i .*"
_DCB = r"sh -c 'dcb .*"
_ECN = r"grep -Hs '' /sys/kernel/debug/bnxt_re/\S+ /sys/class/net/\w+/ecn/roce_np/enable/.*"
_FIGURES = r"grep -Hs '' /sys/class/infiniband/mlx5_0/tc/1/traffic_class .*"
_NPU = r"sh -ec 'for i; do for q in pfc dscp_to_tc.*"
_ETHTOOL = r"ethtool -S \w+"
_PORTS = "/sys/class/infiniband/mlx5_0/ports/1"
_SIDES = "/sys/class/net/ens1f0np0/ecn"
_PFC = "enabled     0   0   0   1   0   0   0   0"
_QOS = frozenset({"G1.4.8", "G1.4.9", "G1.4.10", "G1.4.11", "G1.4.12"})
_EQUAL = frozenset({"G1.4.18"})
_CONGESTION = frozenset({"G1.4.13", "G1.4.14", "G1.4.15", "G1.4.19"})


def _c(*numbers: int) -> frozenset[str]:
    return frozenset(f"G1.4.{number}" for number in numbers)


def _absent(*asks: str) -> tuple[Edit, ...]:
    said = (f"sh: 1: {'dcb' if ask == _DCB else ask.split()[0]}: not found\n" for ask in asks)
    return tuple(Edit(ask, stdout="", stderr=text, status=127) for ask, text in zip(asks, said, strict=True))


_PCP = """DCBX mode: OS controlled
Priority trust state: pcp
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   0   0   0   0   0
"""
_PCP += "".join(f"tc: {n} ratelimit: unlimited, tsa: vendor\n\t priority:  {n}\n" for n in range(8))

FAULTS: tuple[Fault, ...] = (
    Fault(
        "roce-port-down", "the RDMA port of one node is down", "node-01", _c(1),
        edits=(Edit(_LINKS, (('"state":"ACTIVE","physical_state":"LINK_UP"', '"state":"DOWN","physical_state":"DISABLED"'),)),),
    ),
    Fault("rdma-driver-gone", "no RDMA device exists on one node: mlx5_ib is not loaded", "node-01", _c(1, 3),
          edits=(Edit(_LINKS, stdout="[]\n"),)),
    Fault("rdma-netlink-missing", "neither rdma netlink nor sysfs of the port answers", "node-01",
          undecided=_c(1, 2, 3, 4),
          edits=(Edit(_LINKS, stdout="", stderr="Failed to open NETLINK_RDMA socket\n", status=1),
                 Edit(_PORT, stdout="", status=2))),
    Fault("rdma-on-other-interface", "mlx5_0 belongs to another interface: names were swapped", "node-02", _c(3),
          edits=(Edit(_LINKS, (('"netdev":"ens1f0np0"', '"netdev":"ens1f1np1"'),)),)),
    Fault("rdma-in-other-namespace", "the network device of mlx5_0 is not in this namespace", "node-02",
          undecided=_c(3), edits=(Edit(_LINKS, ((',"netdev":"ens1f0np0","netdev_index":4', ""),)),)),
    Fault("roce-25g-link", "the port trained to 25 Gb/s on one lane", "node-01", _c(2),
          edits=(Edit(_PORT, (("100 Gb/sec (4X EDR)", "25 Gb/sec (1X EDR)"),)),)),
    Fault("infiniband-mode", "the card is in InfiniBand mode", "fx100-a", _c(2),
          edits=(Edit(_PORT, ((":Ethernet", ":InfiniBand"),)),)),
    Fault("roce-v1-only", "the storage address has a RoCE v1 GID only", "node-01", _c(4),
          edits=(Edit(_PORT, ((f"{_PORTS}/gid_attrs/types/3:RoCE v2", f"{_PORTS}/gid_attrs/types/3:IB/RoCE v1"),)),)),
    Fault("gid-on-vlan", "the storage address stands on a VLAN interface too, as a second RoCE v2 GID", "node-01", _c(4),
          edits=(Edit(_PORT, (
              (f"{_PORTS}/gids/4:0000:0000:0000:0000:0000:0000:0000:0000", f"{_PORTS}/gids/4:0000:0000:0000:0000:0000:ffff:c0a8:640b"),
              (f"{_PORTS}/gid_attrs/types/3:RoCE v2\n", f"{_PORTS}/gid_attrs/types/3:RoCE v2\n{_PORTS}/gid_attrs/types/4:RoCE v2\n"),
              (f"{_PORTS}/gid_attrs/ndevs/3:ens1f0np0\n", f"{_PORTS}/gid_attrs/ndevs/3:ens1f0np0\n{_PORTS}/gid_attrs/ndevs/4:ens1f0.100\n"),
          )),)),
    Fault("storage-address-missing", "the interface has no storage address: only link-local GIDs", "node-02", _c(4),
          edits=(Edit(_PORT, (("ffff:c0a8:640c", "ffff:0a00:0005"),), every=True),)),
    Fault("gid-types-unreadable", "the types of the GIDs are cut off and ibv_devinfo is missing", "node-01",
          undecided=_c(2, 4, 7),
          edits=(Edit(_PORT, ((f"{_PORTS}/gid_attrs/types/3:RoCE v2\n", ""),)), *_absent(_DEVINFO))),
    Fault("cm-uses-roce-v1", "new connections of one node use RoCE v1", "node-01", _c(5),
          edits=(Edit(_CM, (("RoCE v2", "IB/RoCE v1"),)),)),
    Fault("cm-unmarked", "storage connections of one node run unmarked (TOS 0)", "node-01", _c(6),
          edits=(Edit(_CM, (("tos:106", "tos:0"),)),)),
    Fault("cm-defaults-unknown", "neither the configfs directory nor the vendor's tools exist", "node-01",
          undecided=_c(5, 6), edits=(Edit(_CM, stdout="", status=2),)),
    Fault("roce-mtu-1024", "RoCE MTU 1024: the interface has MTU 1500", "node-02", _c(7),
          edits=(Edit(_DEVINFO, (("active_mtu:\t\t4096 (5)", "active_mtu:\t\t1024 (3)"),)),)),
    Fault("ibv-devinfo-missing", "rdma-core's tools are not installed", "node-02", undecided=_c(7), edits=_absent(_DEVINFO)),
    Fault("ibv-devinfo-no-driver", "ibv_devinfo finds no RDMA support in the kernel", "node-02", undecided=_c(7),
          edits=(Edit(_DEVINFO, stdout="", stderr="Failed to get IB devices list: Function not implemented\n", status=255),)),
    Fault("node-trusts-pcp", "one node trusts PCP and has no PFC; the array and the other node are right", "node-01",
          _c(8, 9, 11, 12) | _EQUAL, edits=(Edit(_MLNX, stdout=_PCP),)),
    Fault("node-qos-unknown", "mlnx_qos and dcb are missing on one node: its neighbours do not answer for it", "node-01",
          undecided=_QOS | _EQUAL, edits=_absent(_MLNX, _DCB)),
    Fault("dcb-not-supported", "mlnx_qos is missing and the driver offers no DCB", "node-01", undecided=_QOS | _EQUAL,
          edits=(*_absent(_MLNX), Edit(_DCB, stdout="\n", stderr="Attribute read: Operation not supported\n", status=1))),
    Fault("mlnx-qos-garbled", "mlnx_qos prints half of its report and dcb nothing that can be read", "node-01",
          undecided=_QOS | _EQUAL,
          edits=(Edit(_MLNX, stdout="DCBX mode: OS controlled\nPriority trust state: dscp\n"), Edit(_DCB, stdout="{}\n"))),
    Fault("pfc-off-everywhere", "PFC is off on all hosts: all alike and all wrong", "all", _c(9),
          edits=(Edit(_MLNX, ((_PFC, _PFC.replace("1", "0")),)),)),
    Fault("pfc-on-wrong-priority", "PFC is on priority 4 on one node", "node-02", _c(9, 10) | _EQUAL,
          edits=(Edit(_MLNX, ((_PFC, "enabled     0   0   0   0   1   0   0   0"),)),)),
    Fault("pfc-on-two-priorities", "PFC is on priorities 3 and 4 on the array", "fx100-a", _c(10) | _EQUAL,
          edits=(Edit(_MLNX, ((_PFC, "enabled     0   0   0   1   1   0   0   0"),)),)),
    Fault("pfc-off-by-dcb", "mlnx_qos is missing and dcb says that PFC is off", "node-01", _c(9) | _EQUAL,
          edits=(*_absent(_MLNX), Edit(_DCB, (('"prio_pfc":[false,false,false,true', '"prio_pfc":[false,false,false,false'),)))),
    Fault("dscp-26-to-priority-0", "DSCP 26 is mapped to priority 0 on one node", "node-01", _c(11) | _EQUAL,
          edits=(Edit(_MLNX, (("31,30,29,28,27,26,25,24,", "31,30,29,28,27,25,24,"), ("prio:0 dscp:07,", "prio:0 dscp:26,07,"))),)),
    Fault("cnp-not-strict", "the traffic class of CNPs is not strict on one node", "node-01", _c(12) | _EQUAL,
          edits=(Edit(_MLNX, (("tsa: strict", "tsa: vendor"),)),)),
    Fault("array-schedules-differently", "the array carries priority 5 in another traffic class than the nodes", "fx100-a", _EQUAL,
          edits=(Edit(_MLNX, (("tc: 5 ratelimit: unlimited, tsa: vendor\n\t priority:  5\n", ""),
                              ("tc: 4 ratelimit: unlimited, tsa: vendor\n\t priority:  4\n",
                               "tc: 4 ratelimit: unlimited, tsa: vendor\n\t priority:  4\n\t priority:  5\n"))),)),
    Fault("ecn-off-on-receiver", "the notification point is off for priority 3 on the array", "fx100-a", _c(13),
          edits=(Edit(_ECN, ((f"{_SIDES}/roce_np/enable/3:1", f"{_SIDES}/roce_np/enable/3:0"),)),)),
    Fault("ecn-off-everywhere", "the reaction point is off for priority 3 on all hosts", "all", _c(13),
          edits=(Edit(_ECN, ((f"{_SIDES}/roce_rp/enable/3:1", f"{_SIDES}/roce_rp/enable/3:0"),)),)),
    Fault("ecn-not-shown", "the inbox driver shows neither ECN switches nor DCQCN figures", "node-01",
          undecided=_CONGESTION, edits=(Edit(_ECN, stdout="", status=2), Edit(_FIGURES, stdout="", status=2))),
    Fault("ecn-switch-not-shown", "the inbox driver shows its figures and no ECN switch", "node-01", undecided=_c(13),
          edits=(Edit(_ECN, stdout="", status=2),)),
    Fault("ecn-switch-garbled", "the file of an ECN switch holds no bit", "node-01", undecided=_c(13),
          edits=(Edit(_ECN, ((f"{_SIDES}/roce_np/enable/3:1", f"{_SIDES}/roce_np/enable/3:N/A"),)),)),
    Fault("cnp-dscp-zero", "CNPs of one node are sent with DSCP 0", "node-02", _c(14, 19),
          edits=(Edit(_FIGURES, (("cnp_dscp:48", "cnp_dscp:0"),)),)),
    Fault("tclass-never-set", "the traffic class of one node was never set", "node-01", _c(15),
          edits=(Edit(_FIGURES, (("/sys/class/infiniband/mlx5_0/tc/1/traffic_class:Global tclass=106\n", ""),)),)),
    Fault("dcqcn-figure-differs", "one node raises its rate ten times faster than the others", "node-02", _c(19),
          edits=(Edit(_FIGURES, (("rpg_ai_rate:5\n", "rpg_ai_rate:50\n"),)),)),
    Fault("roce-retransmits", "packets are lost while the rack is looked at", "node-01", _c(16),
          edits=(Edit(_COUNTERS, (("out_of_sequence:2", "out_of_sequence:9"),), again=True),)),
    Fault("roce-timeouts", "acknowledgements time out on the array", "fx100-a", _c(16),
          edits=(Edit(_COUNTERS, (("local_ack_timeout_err:1", "local_ack_timeout_err:2"),), again=True),)),
    Fault("pause-storm", "the array's card sees a pause storm while the rack is looked at", "fx100-a", _c(17),
          edits=(Edit(_ETHTOOL, (("tx_pause_storm_error_events: 0", "tx_pause_storm_error_events: 1"),), again=True),)),
    Fault("roce-counters-reset", "the counters went backwards: the driver was loaded again in between", "node-01",
          undecided=_c(16), edits=(Edit(_COUNTERS, (("out_of_sequence:2", "out_of_sequence:0"),), again=True),)),
    Fault("roce-counters-absent", "the driver shows no RoCE counters", "node-02", undecided=_c(16),
          edits=(Edit(_COUNTERS, stdout="", status=2),)),
    Fault("npu-pfc-differs", "one NPU's port has PFC on another priority than its seven neighbours", "node-01", _c(30), platform="ascend",
          edits=(Edit(_NPU, (("-i 5 -pfc -g\nPFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    0 0 0 0 1 0 0 0",
                              "-i 5 -pfc -g\nPFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    0 0 0 1 0 0 0 0"),)),)),
    Fault("npu-pfc-off", "no port of an NPU has PFC on this node", "node-01", _c(30), platform="ascend",
          edits=(Edit(_NPU, (("enabled    0 0 0 0 1 0 0 0", "enabled    0 0 0 0 0 0 0 0"),), every=True),)),
    Fault("npu-port-silent", "hccn_tool stops at the third NPU", "node-01", undecided=_c(30), platform="ascend",
          edits=(Edit(_NPU, stdout="hccn_tool -i 0 -pfc -g\n", stderr="hccn_tool is busy, please try again\n", status=1),)),
)  # fmt: skip

#: Ways to differ that are no fault: no verdict may change. Not in the table of faults, because there is nothing to notice.
TWINS: tuple[Fault, ...] = (
    Fault("rdma-tool-missing", "iproute2 without rdma on one node: sysfs answers instead", "node-01",
          edits=_absent(_LINKS)),
    Fault("gid-index-moved", "the usable GID has another index than 3: found, so nothing is wrong", "node-01",
          edits=(Edit(_PORT, (
              (f"{_PORTS}/gid_attrs/types/2:IB/RoCE v1", f"{_PORTS}/gid_attrs/types/2:RoCE v2"),
              (f"{_PORTS}/gid_attrs/types/3:RoCE v2", f"{_PORTS}/gid_attrs/types/3:IB/RoCE v1"),
          )),)),
    Fault("mlnx-qos-missing", "mlnx_qos is missing on one node: the kernel's DCB interface answers", "node-01", edits=_absent(_MLNX)),
    Fault("old-roce-errors", "errors of long ago stand in the counters and do not grow: nothing is wrong", "node-01",
          edits=(Edit(_COUNTERS, (("packet_seq_err:2", "packet_seq_err:131"),)),)),
)  # fmt: skip
