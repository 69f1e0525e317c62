"""What to ask about a RoCE port. Cheap sysfs dumps first; vendor tools only for what sysfs does not show."""

from __future__ import annotations

from collections.abc import Sequence

from checks.parsers import cma_roce, hccn_tool, sysfs_infiniband
from checks.parsers.cma_roce import CmaRoce
from checks.parsers.rdma_qos import RdmaQos
from checks.parsers.sysfs_infiniband import IbPort
from checks.probe import Glob, NotOffered, Probe
from checks.roce import facts, treatment
from checks.roce.facts import Port
from checks.roce.treatment import Qos

_DUMPED = frozenset(
    {0, 1, 2}
)  # grep: 1 nothing matched, 2 some file could not be read (empty GID slots, absent attributes)
_DCB = 'dcb -j pfc show dev "$1" && dcb -j app show dev "$1" && dcb -j ets show dev "$1"'
_NPU = 'for i; do for q in link net_health fec; do echo "hccn_tool -i $i -$q -g"; hccn_tool -i "$i" -$q -g || exit; done; done'
_NPU_QOS = 'for i; do for q in pfc dscp_to_tc; do echo "hccn_tool -i $i -$q -g"; hccn_tool -i "$i" -$q -g; done; done'


def links() -> Probe[tuple[Port, ...]]:
    """States and network devices of all RDMA ports."""
    return Probe("rdma-link", ("rdma", "-j", "link", "show"), facts.ports_from_rdma)


def port(device: str, number: int) -> Probe[tuple[Port, ...]]:
    """States, rate, link layer and GID table of one port, in one process."""
    base = f"/sys/class/infiniband/{device}/ports/{number}"
    states = (f"{base}/state", f"{base}/phys_state", f"{base}/rate", f"{base}/link_layer")
    table = (Glob(f"{base}/gids/*"), Glob(f"{base}/gid_attrs/types/*"), Glob(f"{base}/gid_attrs/ndevs/*"))
    return Probe(
        "sysfs-infiniband", ("grep", "-Hs", "", *states, *table), facts.ports_from_sysfs, limit=30, accepted=_DUMPED
    )


def devinfo(device: str, number: int) -> Probe[tuple[Port, ...]]:
    """Active MTU and, for hosts whose sysfs is closed, the GID table."""
    return Probe(
        "ibv_devinfo", ("ibv_devinfo", "-v", "-d", device, "-i", str(number)), facts.ports_from_devinfo, limit=20
    )


def counters(device: str, number: int) -> Probe[tuple[IbPort, ...]]:
    """Hardware counters of one port."""
    base = f"/sys/class/infiniband/{device}/ports/{number}"
    return Probe(
        "sysfs-infiniband-counters",
        ("grep", "-Hs", "", Glob(f"{base}/hw_counters/*")),
        sysfs_infiniband.parse,
        accepted=_DUMPED,
    )


def cm_defaults(device: str, number: int) -> Probe[CmaRoce]:
    """Read the defaults of the RDMA connection manager where their directory exists; creates none."""
    base = f"/sys/kernel/config/rdma_cm/{device}/ports/{number}"
    return Probe(
        "rdma-cm-defaults",
        ("grep", "-Hs", "", f"{base}/default_roce_mode", f"{base}/default_roce_tos"),
        _cm_defaults,
        accepted=_DUMPED,
    )


def _cm_defaults(text: str) -> CmaRoce:
    # The vendor's tools would answer too, but they make and remove the directory: a gate that reads must not.
    if not text.strip():
        raise NotOffered("the connection manager shows its defaults only where somebody made its configfs directory")
    return cma_roce.parse(text)


def qos(interface: str, driver: str, bdf: str | None) -> Probe[Qos]:
    """Trust, PFC, DSCP map and scheduling by the tool of the driver."""
    if driver == "mlx5_core":
        return Probe("mlnx_qos", ("mlnx_qos", "-i", interface), treatment.qos_from_mlnx, limit=20)
    if driver == "bnxt_en" and bdf is not None:
        return Probe("niccli", ("niccli", "--dev", bdf, "qos", "--ets", "--show"), treatment.qos_from_niccli, limit=30)
    return kernel_qos(interface)


def kernel_qos(interface: str) -> Probe[Qos]:
    """Ask the kernel's DCB interface for the same; every driver with DCB answers."""
    return Probe("dcb", ("sh", "-c", _DCB, "sh", interface), treatment.qos_from_dcb)


def ecn(interface: str, bdf: str | None) -> Probe[RdmaQos]:
    """ECN switches of one port, priority by priority (MLNX_OFED) or as a whole (bnxt_re)."""
    sides = [Glob(f"/sys/class/net/{interface}/ecn/{side}/enable/*") for side in ("roce_np", "roce_rp")]
    whole = [] if bdf is None else [Glob(f"/sys/kernel/debug/bnxt_re/{bdf}/cc_config/*")]
    return Probe("roce-ecn", ("grep", "-Hs", "", *whole, *sides), treatment.congestion, accepted=_DUMPED)


def congestion(interface: str, device: str, number: int, bdf: str | None) -> Probe[RdmaQos]:
    """DCQCN figures, DSCP of CNPs and traffic class of one port."""
    sides = [Glob(f"/sys/class/net/{interface}/ecn/{side}/*") for side in ("roce_np", "roce_rp")]
    places = () if bdf is None else (f"mlx5/{bdf}/cc_params/*", f"bnxt_re/{bdf}/cc_config/*")
    debug = [Glob(f"/sys/kernel/debug/{place}") for place in places]
    traffic_class = f"/sys/class/infiniband/{device}/tc/{number}/traffic_class"
    return Probe(
        "roce-congestion", ("grep", "-Hs", "", traffic_class, *sides, *debug), treatment.congestion, accepted=_DUMPED
    )


def npu_ports(devices: Sequence[int]) -> Probe[tuple[hccn_tool.Reply, ...]]:
    """Link, network health and FEC of the ports of Ascend NPUs, each answer headed by its command line."""
    return Probe("hccn_tool", ("sh", "-c", _NPU, "sh", *(str(device) for device in devices)), hccn_tool.parse, limit=60)


def npu_qos(devices: Sequence[int]) -> Probe[tuple[hccn_tool.Reply, ...]]:
    """PFC and DSCP map of the ports of Ascend NPUs, in the same form."""
    return Probe(
        "hccn_tool", ("sh", "-ec", _NPU_QOS, "sh", *(str(device) for device in devices)), hccn_tool.parse, limit=60
    )
