"""Hosts are told apart, their connections come back, and the array says the same."""

from __future__ import annotations

import pytest

from checks.fabric import identity
from checks.fabric.facts import Link
from checks.parsers.nvme_host import Configured, NvmeHost, Unit
from checks.parsers.nvmet import Exported, Port, Target
from tests.checks.test_fabric_criteria import NQN, of, outcome, path

AUTOCONNECT = Unit("nvmf-autoconnect.service", ("/usr/sbin/nvme connect-all --context=autoconnect",))
ENTRY = Configured("rdma", "192.168.100.10", "4420", None)


def host(nqn: str | None = "nqn.a", uuid: str | None = "a", **more: object) -> NvmeHost:
    values = {"config_nqns": (), "configured": (ENTRY,), "units": (AUTOCONNECT,), **more}
    return NvmeHost(nqn, uuid, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        ((host("nqn.a", "a"), host("nqn.b", "b")), "PASS"),
        ((host("nqn.a", "a"),), "PASS"),
        ((host("nqn.a", "a"), host("nqn.a", "b")), "STOP"),
        ((host("nqn.a", "a"), host("nqn.b", "a")), "STOP"),
        ((host("nqn.A", "a"), host("nqn.a", "b")), "STOP"),
        ((host("nqn.a", "a"), host("nqn.a", "a"), host(None, None)), "STOP"),
        ((host("nqn.a", "a"), host(None, "b")), "UNDECIDED"),
        ((host("nqn.a", "a"), host("nqn.b", None)), "UNDECIDED"),
        ((host("nqn.a", "a", config_nqns=("nqn.c",)), host("nqn.b", "b", config_nqns=("nqn.C",))), "STOP"),
        ((host("nqn.a", "a"), host("nqn.b", "b", config_nqns=("nqn.a",))), "STOP"),
        ((host("nqn.a", "a", config_nqns=("nqn.a", "nqn.c")), host("nqn.b", "b")), "PASS"),
        ((), "UNDECIDED"),
    ],
)
def test_identities(hosts: tuple[NvmeHost, ...], wanted: str) -> None:
    verdict = identity.identities_distinct({f"node-{number}": one for number, one in enumerate(hosts)})
    assert outcome(verdict) == wanted


def test_a_shared_identity_names_the_hosts() -> None:
    verdict = identity.identities_distinct({"node-01": host(), "node-02": host("nqn.b", "b"), "node-03": host()})
    assert "node-01, node-03: nqn.a" in str(verdict.measured)


@pytest.mark.parametrize(
    ("found", "files", "wanted"),
    [
        (of(path(hostnqn="nqn.a", hostid="a")), host(), "PASS"),
        (of(path(hostnqn="nqn.c", hostid="a")), host(config_nqns=("nqn.c",)), "PASS"),
        (of(path(hostnqn="nqn.a", hostid="0a1b-ff")), host(uuid="0A1B-FF"), "PASS"),
        (of(path(hostnqn="nqn.b", hostid="a")), host(), "STOP"),
        (of(path(hostnqn="nqn.a", hostid="b")), host(), "STOP"),
        (of(path(1, hostnqn="nqn.a", hostid="a"), path(2, hostnqn="nqn.b", hostid="a")), host(), "STOP"),
        (of(path(hostnqn=None, hostid="a")), host(), "UNDECIDED"),
        (of(path(hostnqn="nqn.a", hostid=None)), host(), "UNDECIDED"),
        (of(path(hostnqn="nqn.a", hostid="a")), host(None), "UNDECIDED"),
        (of(path(hostnqn="nqn.a", hostid="a")), host(uuid=None), "UNDECIDED"),
        (of(), host(), "UNDECIDED"),
    ],
)
def test_identity_in_use(found: Link, files: NvmeHost, wanted: str) -> None:
    assert outcome(identity.identity_in_use(found, files)) == wanted


OWN = Unit("nvme-fx100.service", (f"/usr/sbin/nvme connect -t rdma -a 10.0.0.1 -n {NQN}",))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (host(), "PASS"),
        (host(configured=(Configured("rdma", "10.9.9.9", "4420", NQN),)), "PASS"),
        (host(configured=(), units=(OWN,)), "PASS"),
        (host(units=(Unit("nvme-x.service", ("nvme connect --traddr=192.168.100.10",)),)), "PASS"),
        (host(configured=(), units=(Unit("nvme-x.service", ("nvme connect --traddr=192.168.100.100",)),)), "STOP"),
        (host(configured=(), units=(Unit("nvme-x.service", (f"nvme connect -n {NQN}2",)),)), "STOP"),
        (host(units=()), "STOP"),
        (host(configured=()), "STOP"),
        (host(configured=(Configured("rdma", "10.9.9.9", "4420", None),)), "STOP"),
        (host(configured=(Configured(None, None, None, None),)), "STOP"),
        (host(units=(Unit("nvme-other.service", ("/usr/sbin/nvme connect -n nqn.other",)),)), "STOP"),
    ],
)
def test_comes_back(found: NvmeHost, wanted: str) -> None:
    assert outcome(identity.comes_back(found, NQN, "192.168.100.10")) == wanted


PORT = Port("rdma", "192.168.100.10", "4420", (NQN,))


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (Target((PORT,), (Exported(NQN, ((1, True),), False),)), "PASS"),
        (Target((PORT,), (Exported(NQN, ((1, True), (2, False)), False),)), "PASS"),
        (Target((PORT,), (Exported(NQN, ((1, False),), False),)), "STOP"),
        (Target((PORT,), (Exported(NQN, ((1, True), (2, True)), False),)), "STOP"),
        (Target((Port("tcp", "192.168.100.10", "4420", (NQN,)),), (Exported(NQN, ((1, True),), False),)), "STOP"),
        (Target((Port("rdma", "192.168.100.10", "4420", ()),), (Exported(NQN, ((1, True),), None),)), "STOP"),
        (Target((PORT,), ()), "STOP"),
        (Target((), ()), "UNDECIDED"),
    ],
)
def test_exported(target: Target, wanted: str) -> None:
    assert outcome(identity.exported(target, NQN, "rdma", "192.168.100.10", 4420, 1)) == wanted
