"""Outputs of real kernels under real faults, as two virtual machines over soft RoCE gave them, judged by the same criteria.

Captured: the target's subsystem taken away and given back, MTU 1500 at one end of a 9000 network, 5 % of packets lost, a disk
pulled from the array. What a clause must come to is what was true of the machine, not what most tools said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.fabric import criteria as fabric
from checks.fabric.facts import Link, link
from checks.host import facts, log_criteria
from checks.nic.criteria import packets_pass
from checks.nvme import criteria as nvme
from checks.parsers import dmesg, findmnt, mdadm_detail, mdstat, nvme_list_subsys, ping, sysfs_md, sysfs_nvme
from checks.parsers.sysfs_nvme import NvmeTree
from checks.probe import Probe, Streams
from checks.raid import criteria as raid
from checks.raid import mounted
from checks.verdict import Outcome, Verdict
from kvgate.errors import CannotTell
from kvgate.gate.reading import read
from kvgate.transport.base import Answer

CAPTURED = Path(__file__).parent / "captured"
DMESG = Path(__file__).parents[1] / "parsers" / "dmesg"
NQN = "nqn.2024-01.lab.array:kvcache"
PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


def answer(place: str, name: str, parse: Callable[[str], Any], streams: Streams = Streams.STDOUT) -> Any:
    """Read what was captured as a gate reads it: exit status first, both streams, nothing by default."""
    folder = CAPTURED / place
    parts = {kind: (folder / f"{name}.{kind}") for kind in ("out", "err", "rc")}
    out, err, status = (part.read_bytes() if part.exists() else b"" for part in parts.values())
    probe: Probe[Any] = Probe(name, (name,), parse, streams=streams)
    return read(place, probe, Answer("", out, err, int(status or b"0"), 0.1))


def tree(place: str) -> NvmeTree:
    """Controllers as captured: what stands still from the healthy machine, address, state and queues of the moment."""
    vm = place.split("/")[0]
    still = {
        file.stem.partition(".")[2]: dict(row.split("=", 1) for row in file.read_text().splitlines() if "=" in row)
        for file in (CAPTURED / vm / "healthy").glob("sysfs-nvme.*.out")
    }
    rows = ["/proc/sys/kernel/osrelease:6.1.0-50-amd64", "/sys/module/nvme_core/parameters/multipath:Y"]
    now = CAPTURED / place / "sysfs-nvme-state.out"
    moments = {name: {} for name in still}
    if now.exists():
        found = re.findall(
            r"^(\S+/(nvme\d+)) transport=(\S*) address=(\S*) state=(.*) queue_count=(\d+)$", now.read_text(), re.M
        )
        moments = {name: {"address": where, "state": state, "queue_count": n} for _, name, _, where, state, n in found}
    for name, moment in moments.items():
        for key, value in (still[name] | moment).items():
            if key in {
                "transport",
                "address",
                "state",
                "serial",
                "model",
                "subsysnqn",
                "queue_count",
                "ctrl_loss_tmo",
                "kato",
            }:
                rows.append(f"/sys/class/nvme/{name}/{key}:{value}")
    return sysfs_nvme.parse("\n".join(rows) + "\n")


def connection(place: str) -> Link:
    return link(tree(place), NQN)


def arrays(place: str) -> sysfs_md.MdArrays:
    whole = (CAPTURED / "node/healthy/sysfs-md.out").read_text()
    now = dict(row.split(":", 1) for row in (CAPTURED / place / "sysfs-md.out").read_text().splitlines())
    wanted = re.compile(
        r"/sys/block/md0/md/(?:(?:dev-\w+/)(?:state|slot|size|errors)|array_state|level|raid_disks|chunk_size):"
    )
    rows = [row for row in whole.splitlines() if wanted.match(row)]
    rows = [f"{row.split(':', 1)[0]}:{now.get(row.split(':', 1)[0], row.split(':', 1)[1])}" for row in rows]
    return sysfs_md.parse("\n".join(["/proc/sys/kernel/osrelease:6.1.0-50-amd64", *rows]) + "\n")


def sources_agree(place: str) -> Verdict:
    stat = answer(place, "mdstat", mdstat.parse)
    detail = answer(place, "mdadm-detail", mdadm_detail.parse)
    return raid.sources_agree(arrays(place), "md0", stat, detail)


def log(vm: str, fault: str) -> dmesg.KernelLog:
    name = f"linux6.1-plain--vm-{vm}-healthy" if fault == "healthy" else f"linux6.1--vm-{vm}-fault-{fault}"
    return dmesg.parse((DMESG / f"{name}.txt").read_text())


def _silent(vm: str, state: str) -> Verdict:
    found = log(vm, state)
    return log_criteria.silent(found, facts.fabric_troubles(found))


#: What is asked of the node, by name.
ASKED: dict[str, Callable[[str], Verdict]] = {
    "connected": lambda at: fabric.connected(connection(at), "192.168.100.1", 4420),
    "live": lambda at: fabric.paths_live(connection(at), 1),
    "transport": lambda at: fabric.transport_is(connection(at), "rdma"),
    "queues": lambda at: fabric.io_queues_are(connection(at), 2),
    "namespaces": lambda at: fabric.namespaces_visible(connection(at), 4),
    "tool": lambda at: fabric.tool_agrees(connection(at), answer(at, "nvme-list-subsys-json", nvme_list_subsys.parse)),
    "local disk": lambda at: nvme.present(tree(at), "S6LABLOCAL0001"),
    "md runs": lambda at: raid.running(arrays(at), "md0"),
    "md whole": lambda at: raid.whole(arrays(at), "md0", 4),
    "md agrees": sources_agree,
    "log": lambda at: _silent(*at.split("/")),
    "options": lambda at: mounted.options(
        answer(at, "findmnt-json", findmnt.parse), "/mnt/kv", ["noatime"], ["discard"]
    ),
}


P, S, U = PASS, STOP, UNDECIDED


def outcomes(place: str, asked: dict[str, Callable[[str], Verdict]]) -> dict[str, Outcome]:
    found = {}
    for name, ask in asked.items():
        try:
            found[name] = ask(place).outcome
        except CannotTell:
            found[name] = UNDECIDED
    return found


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        ("healthy", [P, P, P, P, None, P, P, P, P, P, P, P]),
        # Nothing but slow: every path and member is there, mdadm hung, and the log holds what it cost.
        ("netem", [P, P, P, P, None, P, P, P, P, U, S, P]),
        ("mtu-mismatch", [P, S, P, P, U, P, P, None, None, U, S, U]),
        # The kernel retries: the array behind the path counts as clean until it gives up.
        ("subsys-removed", [P, S, P, P, U, P, P, P, P, U, S, P]),
        # It gave up; mdstat still says active and every member still says in_sync.
        ("subsys-restored", [S, S, U, U, U, U, P, S, U, S, S, P]),
        ("disk-pulled", [S, S, U, U, U, U, P, S, U, S, S, P]),
    ],
)
def test_the_node_in_each_state(state: str, wanted: list[Outcome | None]) -> None:
    expected = {name: one for name, one in zip(ASKED, wanted, strict=True) if one is not None}
    assert outcomes(f"node/{state}", {name: ASKED[name] for name in expected}) == expected


@pytest.mark.parametrize(
    ("state", "pulled"),
    [("healthy", False), ("netem", False), ("mtu-mismatch", False), ("subsys-removed", False), ("disk-pulled", True)],
)
def test_the_disks_of_the_array_in_each_state(state: str, pulled: bool) -> None:
    serials = [f"S6LABNV00000{number}" for number in range(4)]
    found = tree(f"array/{state}")
    assert [nvme.present(found, serial).outcome for serial in serials] == [P, P, P, S if pulled else P]
    assert nvme.nothing_unordered(found, serials).outcome is (S if pulled else P)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [("healthy", P), ("netem", S), ("mtu-mismatch", S), ("subsys-removed", S), ("disk-pulled", S)],
)
def test_the_array_s_log_names_the_host_it_lost(state: str, wanted: Outcome) -> None:
    verdict = _silent("array", state)
    assert verdict.outcome is wanted
    if wanted is S:
        assert "about ctrl 1" in str(verdict.measured)


@pytest.mark.parametrize("state, name", [("mtu-mismatch", "ping8972"), ("netem", "ping")])
def test_a_ping_that_passes_is_no_path_that_works(state: str, name: str) -> None:
    echoes = answer(f"node/{state}", name, ping.parse, Streams.BOTH)
    assert packets_pass([("192.168.100.1", echoes, echoes)], 9000, every=True).outcome is PASS
    assert P not in {ASKED["log"](f"node/{state}").outcome}
