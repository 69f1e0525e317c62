"""Faults of NVMe-oF connections: paths, timers, identities, discovery, and the target's side."""

from __future__ import annotations

from pathlib import Path
from string import Template

from lab.faults.model import Fault
from lab.machine import Edit
from lab.order import NQN, node

_TREE = r"grep -Hs '' /proc/sys/kernel/osrelease /sys/module/nvme_core/.*"
_FILES = r"grep -Hs '' /etc/nvme/hostnqn .*"
_LIST = r"nvme list-subsys -o json"
_DISCOVER = r"nvme discover .*"
_TARGET = r"grep -Hs '' /sys/kernel/config/nvmet/.*"
_NVME1 = "/sys/class/nvme/nvme1"
_HEAD = "/sys/class/nvme-subsystem/nvme-subsys1/nvme1n1"
_ONE, _TWO = node(1, "rocm").values, node(2, "rocm").values
_COPIED = f'/etc/nvme/config.json:[{{"hostnqn": "{_ONE["hostnqn"]}", "subsystems": []}}]\n'
_OTHER_NQN = "nqn.2024-03.example.kvarray:fx100-b"

#: What cannot be told any more once the subsystem is not connected.
_UNSEEN = frozenset({"G1.5.22", "G1.5.23", "G1.5.24", "G1.5.26", "G1.5.27", "G1.5.28", "G1.5.30", "G1.5.33"})


def _without(*starts: str) -> str:
    """Return the NVMe tree of node-01 without the lines that begin so."""
    text = (Path(__file__).parents[1] / "machines" / "node" / "sysfs-nvme.txt").read_text("utf-8")
    rows = Template(text).substitute(_ONE).splitlines(keepends=True)
    return "".join(row for row in rows if not row.startswith(starts))


def _fault(
    name: str, text: str, *edits: Edit, stops: str = "", undecided: str = "", more: frozenset[str] = frozenset(),
    on: str = "node-01",
) -> Fault:  # fmt: skip
    def ids(numbers: str) -> frozenset[str]:
        return frozenset(f"G1.5.{number}" for number in numbers.split())

    return Fault(name, text, on, ids(stops), ids(undecided) | more, edits)


def _tree(old: str, new: str) -> Edit:
    return Edit(_TREE, replace=((old, new),))


def _listed(old: str, new: str) -> Edit:
    return Edit(_LIST, replace=((old, new),))


FAULTS: tuple[Fault, ...] = (
    _fault(
        "path-connecting", "the only path keeps connecting (MTU mismatch or target gone)",
        _tree(f"{_NVME1}/state:live", f"{_NVME1}/state:connecting"), _listed('"State":"live"', '"State":"connecting"'),
        stops="21 23",
    ),
    _fault(
        "path-deleting", "the path is being deleted while requests still hang in it",
        _tree(f"{_NVME1}/state:live", f"{_NVME1}/state:deleting (no IO)"),
        _listed('"State":"live"', '"State":"deleting (no IO)"'),
        stops="21 23",
    ),
    _fault(
        "path-given-up", "the controller was removed after the loss time; the kernel does not retry it",
        Edit(_TREE, stdout=_without(f"{_NVME1}/", f"{_HEAD}/")),
        _listed('"Name":"nvme1"', '"Name":"nvme7"'), _listed(NQN, f"{NQN}-gone"),
        stops="20 21 8", more=_UNSEEN,
    ),
    _fault(
        "wrong-subsystem", "the node is connected to another array's volume",
        Edit(_TREE, replace=((NQN, _OTHER_NQN),), every=True), _listed(NQN, _OTHER_NQN),
        stops="20 21 8", more=_UNSEEN,
    ),
    _fault(
        "wrong-target-address", "the node reached the subsystem over the management network",
        _tree("traddr=192.168.100.10,", "traddr=10.20.0.10,"), _listed("traddr=192.168.100.10,", "traddr=10.20.0.10,"),
        stops="20",
    ),
    _fault(
        "tcp-instead-of-rdma", "nvme-rdma was missing, a script fell back to TCP",
        _tree(f"{_NVME1}/transport:rdma", f"{_NVME1}/transport:tcp"), stops="22",
    ),
    _fault(
        "ana-non-optimized", "all requests go through the partner controller of the array",
        _tree("ana_state:optimized", "ana_state:non-optimized"), stops="23",
    ),
    _fault(
        "ana-not-reported", "the array reports no ANA state though it was ordered with ANA",
        _tree(f"{_NVME1}/nvme1c1n1/ana_state:optimized\n", ""), undecided="23",
    ),
    _fault(
        "iopolicy-round-robin", "the I/O policy is not the ordered one",
        _tree("nvme-subsys1/iopolicy:numa", "nvme-subsys1/iopolicy:round-robin"), stops="24",
    ),
    _fault(
        "native-multipath-off", "the kernel was booted with nvme_core.multipath=N",
        _tree("parameters/multipath:Y", "parameters/multipath:N"), stops="25",
    ),
    _fault(
        "loss-time-60", "a path is given up for good after one minute",
        _tree("ctrl_loss_tmo:600", "ctrl_loss_tmo:60"), stops="26",
    ),
    _fault(
        "fast-fail-off", "readers hang as long as the path is retried",
        _tree("fast_io_fail_tmo:15", "fast_io_fail_tmo:off"), stops="26",
    ),
    _fault(
        "fast-fail-not-shown", "the kernel is too old to show the fast-fail time",
        _tree(f"{_NVME1}/fast_io_fail_tmo:15\n", ""), undecided="26",
    ),
    _fault(
        "queues-cut-by-target", "the target granted 8 I/O queues of 32",
        _tree(f"{_NVME1}/queue_count:33", f"{_NVME1}/queue_count:9"), stops="27",
    ),
    _fault(
        "queues-not-shown", "the kernel shows no queue count",
        _tree(f"{_NVME1}/queue_count:33\n", ""), undecided="27",
    ),
    _fault(
        "namespace-empty", "the namespace is there but has no size: its backing device is gone",
        _tree(f"{_HEAD}/size:30004846592", f"{_HEAD}/size:0"), stops="28",
    ),
    _fault(
        "namespace-not-mapped", "the connection is live, but no namespace is mapped to this node",
        Edit(_TREE, stdout=_without(f"{_NVME1}/nvme1c1n1/", f"{_HEAD}/")), stops="28 8", undecided="23",
    ),
    _fault(
        "cloned-host-identity", "node-02 was cloned from node-01 with its host NQN and host ID",
        Edit(_FILES, replace=((_TWO["hostnqn"], _ONE["hostnqn"]), (f"hostid:{_TWO['hostid']}", f"hostid:{_ONE['hostid']}"))),
        Edit(_TREE, replace=((_TWO["hostnqn"], _ONE["hostnqn"]), (f"hostid:{_TWO['hostid']}", f"hostid:{_ONE['hostid']}"))),
        stops="29", on="node-02",
    ),
    _fault(
        "cloned-config-json", "node-02 connects under node-01's host NQN, which a copied config.json brought along",
        Edit(_FILES, replace=(("/proc/sys/kernel", f"{_COPIED}/proc/sys/kernel"),)),
        Edit(_TREE, replace=((_TWO["hostnqn"], _ONE["hostnqn"]),)),
        stops="29", on="node-02",
    ),
    _fault(
        "identity-changed-after-connect", "the host NQN file was rewritten; the connection runs under the old one",
        Edit(_FILES, replace=((_ONE["hostnqn"], "nqn.2014-08.org.nvmexpress:uuid:9d1f4c52-7a10-4a44-9b3b-d0d0d0d0d0d0"),)),
        stops="30",
    ),
    _fault(
        "host-nqn-file-missing", "the node has no host NQN file, the tool makes one up",
        Edit(_FILES, replace=((f"/etc/nvme/hostnqn:{_ONE['hostnqn']}\n", ""),)), undecided="29 30",
    ),
    _fault(
        "discovery-lists-nothing", "the array does not offer the subsystem to this node",
        Edit(_DISCOVER, replace=((f'"subnqn":"{NQN}"', f'"subnqn":"{_OTHER_NQN}"'),)), stops="31",
    ),
    _fault(
        "fabrics-module-missing", "nvme-fabrics is not loaded, discovery cannot be asked",
        Edit(_DISCOVER, stdout="", stderr="Failed to open /dev/nvme-fabrics: No such file or directory\n", status=1),
        undecided="31",
    ),
    _fault(
        "not-in-discovery-conf", "nobody wrote the connection down: it is gone after a reboot",
        Edit(_FILES, replace=(("discovery.conf:--transport=rdma --traddr", "discovery.conf:#--transport=rdma --traddr"),)),
        stops="32",
    ),
    _fault(
        "nvme-cli-missing", "nvme-cli is not installed on the node (asked for connections only)",
        Edit(_LIST, stdout="", stderr="sh: 1: nvme: not found\n", status=127),
        Edit(_DISCOVER, stdout="", stderr="sh: 1: nvme: not found\n", status=127),
        undecided="31 33",
    ),
    _fault(
        "list-subsys-garbled", "nvme list-subsys prints half a document",
        Edit(_LIST, stdout='[\n  {\n    "HostNQN":"nqn.2014-08.org.nvm'), undecided="33",
    ),
    _fault(
        "tool-and-kernel-differ", "nvme-cli still shows a path that the kernel has live as connecting",
        _listed('"State":"live"', '"State":"connecting"'), stops="33",
    ),
    _fault(
        "target-namespace-disabled", "the array exports the subsystem with its namespace disabled",
        Edit(_TARGET, replace=(("namespaces/1/enable:1", "namespaces/1/enable:0"),)), stops="34", on="fx100-a",
    ),
    _fault(
        "target-port-moved", "the array exports the subsystem on another port than ordered",
        Edit(_TARGET, replace=(("addr_trsvcid:4420", "addr_trsvcid:4421"),)), stops="34", on="fx100-a",
    ),
    _fault(
        "target-not-linux", "the array runs a vendor's own target",
        Edit(_TARGET, stdout="/proc/sys/kernel/osrelease:5.10.0-vendor\n", status=2), undecided="34", on="fx100-a",
    ),
)  # fmt: skip
