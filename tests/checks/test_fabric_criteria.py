"""Connections at the bound, one step off, and with the fact missing; what would pass while the rack is bad, and the reverse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.fabric import criteria
from checks.fabric.facts import Link, Target, link, same_address, target
from checks.parsers.nvme_discover import Record
from checks.parsers.nvme_list_subsys import Path, Subsystem
from checks.parsers.sysfs_nvme import Controller, Namespace, NvmeTree
from checks.parsers.sysfs_nvme import Subsystem as KernelSubsystem
from checks.verdict import Verdict

NQN = "nqn.2024-03.example.kvarray:fx100-a"


def space(
    name: str = "nvme1n1", nsid: int | None = 1, sectors: int | None = 30_004_846_592, ana: str | None = None
) -> Namespace:
    return Namespace(name, nsid, sectors, None, ana)


def path(number: int = 1, ana: str | None = "optimized", **more: Any) -> Controller:
    values: dict[str, Any] = {
        "name": f"nvme{number}", "transport": "rdma", "state": "live", "subsysnqn": NQN, "queue_count": 33,
        "address": f"traddr=192.168.{99 + number}.10,trsvcid=4420,host_traddr=192.168.{99 + number}.11",
        "ctrl_loss_tmo": 600, "reconnect_delay": 10, "fast_io_fail_tmo": 15, "kato": 5, "hostnqn": "nqn.h", "hostid": "h",
        "serial": None, "model": None, "firmware": None, "cntlid": None, "sqsize": None, "numa_node": None, "endpoint": None,
        "namespaces": (space(f"nvme1c{number}n1", ana=ana),),
    }  # fmt: skip
    return Controller(**{**values, **more})


def of(*paths: Controller, spaces: tuple[Namespace, ...] = (space(),), policies: tuple[str, ...] = ("numa",)) -> Link:
    return Link(NQN, paths, policies, spaces, ())


def tree(*controllers: Controller, multipath: bool | None = True) -> NvmeTree:
    return NvmeTree("6.8.0", multipath, controllers, (KernelSubsystem("nvme-subsys1", NQN, "numa", (space(),)),))


def outcome(verdict: Verdict) -> str:
    return verdict.outcome.value


def test_a_link_holds_only_its_own_paths_and_no_path_as_namespace() -> None:
    other = path(2, subsysnqn="nqn.other")
    local = path(3, transport="pcie", subsysnqn=NQN)
    found = link(tree(path(1), other, local), NQN)
    assert [one.name for one in found.paths] == ["nvme1"]
    assert [one.name for one in found.namespaces] == ["nvme1n1"]
    assert found.others == ("nqn.other",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("traddr=10.0.0.1,trsvcid=4420", Target("10.0.0.1", "4420", "")),
        ("traddr=10.0.0.1 trsvcid=4420", Target("10.0.0.1", "4420", "")),
        ("traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2,src_addr=10.0.0.3", Target("10.0.0.1", "4420", "10.0.0.2")),
        ("traddr=fe80::1,trsvcid=4420,src_addr=fe80::2", Target("fe80::1", "4420", "fe80::2")),
        ("traddr=10.0.0.1", None),
        ("0000:41:00.0", None),
        ("", None),
        (None, None),
    ],
)
def test_addresses_of_paths(text: str | None, found: Target | None) -> None:
    assert target(text) == found


def test_addresses_are_compared_as_addresses() -> None:
    assert same_address("fe80::1", "FE80:0:0:0:0:0:0:1")
    assert not same_address("192.168.100.1", "192.168.100.10")
    assert same_address("array.storage", "array.storage")


class TestConnected:
    def test_to_the_ordered_address(self) -> None:
        assert outcome(criteria.connected(of(path()), "192.168.100.10", 4420)) == "PASS"

    @pytest.mark.parametrize(
        ("address", "port"), [("192.168.100.1", 4420), ("192.168.100.10", 4421), ("192.168.100.100", 4420)]
    )
    def test_to_another_place(self, address: str, port: int) -> None:
        assert outcome(criteria.connected(of(path()), address, port)) == "STOP"

    def test_to_nothing_names_what_is_connected_instead(self) -> None:
        verdict = criteria.connected(replace(of(), others=("nqn.other",)), "192.168.100.10", 4420)
        assert outcome(verdict) == "STOP"
        assert "nqn.other" in str(verdict.note)

    def test_address_not_shown(self) -> None:
        assert outcome(criteria.connected(of(path(address=None)), "192.168.100.10", 4420)) == "UNDECIDED"


class TestPathsLive:
    def test_all_live(self) -> None:
        assert outcome(criteria.paths_live(of(path(1), path(2)), 2)) == "PASS"

    def test_a_single_path_says_that_it_is_alone(self) -> None:
        verdict = criteria.paths_live(of(path()), 1)
        assert outcome(verdict) == "PASS"
        assert "no redundancy" in str(verdict.note)

    def test_a_path_given_up_stops_though_data_flows(self) -> None:
        verdict = criteria.paths_live(of(path(1)), 2)
        assert (outcome(verdict), str(verdict.measured)) == ("STOP", "1 of 2 live")
        assert "does not retry" in str(verdict.note)

    def test_one_path_too_many(self) -> None:
        assert outcome(criteria.paths_live(of(path(1), path(2)), 1)) == "STOP"

    def test_none(self) -> None:
        assert outcome(criteria.paths_live(of(), 1)) == "STOP"

    @pytest.mark.parametrize("state", ["new", "connecting", "resetting", "deleting", "deleting (no IO)", "dead"])
    def test_not_live(self, state: str) -> None:
        verdict = criteria.paths_live(of(path(1), path(2, state=state)), 2)
        assert outcome(verdict) == "STOP"
        assert f"192.168.101.10:4420) {state}" in str(verdict.note)

    def test_a_state_that_nobody_knows(self) -> None:
        assert outcome(criteria.paths_live(of(path(1), path(2, state="dreaming")), 2)) == "UNDECIDED"
        assert outcome(criteria.paths_live(of(path(1, state="dead"), path(2, state="dreaming")), 2)) == "STOP"
        assert outcome(criteria.paths_live(of(path(2, state="dreaming")), 2)) == "STOP"

    def test_two_controllers_over_one_port_are_one_path(self) -> None:
        double = path(2, address=path(1).address)
        assert outcome(criteria.paths_live(of(path(1), double), 2)) == "STOP"

    def test_two_ports_of_the_host_to_one_port_of_the_array_are_two_paths(self) -> None:
        second = path(2, address="traddr=192.168.100.10,trsvcid=4420,host_traddr=192.168.101.11")
        assert outcome(criteria.paths_live(of(path(1), second), 2)) == "PASS"


class TestAna:
    def test_one_optimized_path_is_enough(self) -> None:
        assert outcome(criteria.every_namespace_optimized(of(path(1), path(2, ana="non-optimized")))) == "PASS"

    @pytest.mark.parametrize("ana", ["non-optimized", "inaccessible", "persistent-loss", "change"])
    def test_none_optimized(self, ana: str) -> None:
        assert outcome(criteria.every_namespace_optimized(of(path(1, ana=ana)))) == "STOP"

    def test_optimized_over_a_path_that_is_not_live(self) -> None:
        assert (
            outcome(criteria.every_namespace_optimized(of(path(1, state="connecting"), path(2, ana="non-optimized"))))
            == "STOP"
        )

    def test_one_namespace_of_two_without(self) -> None:
        second = (space("nvme1c1n1", ana="optimized"), space("nvme1c1n2", 2, ana="non-optimized"))
        found = of(path(1, namespaces=second), spaces=(space(), space("nvme1n2", 2)))
        assert outcome(criteria.every_namespace_optimized(found)) == "STOP"

    @pytest.mark.parametrize(
        "found", [of(), of(path(), spaces=()), of(path(ana=None)), of(path(), spaces=(space(nsid=None),))]
    )
    def test_not_told(self, found: Link) -> None:
        assert outcome(criteria.every_namespace_optimized(found)) == "UNDECIDED"

    def test_a_state_that_nobody_knows(self) -> None:
        assert outcome(criteria.every_namespace_optimized(of(path(state="dreaming")))) == "UNDECIDED"


def timers(found: Link, loss: int = 600, delay: int = 10, fast: int = 15, keep: int = 5) -> Verdict:
    return criteria.timers_are(found, ctrl_loss=loss, reconnect_delay=delay, fast_io_fail=fast, keep_alive=keep)


class TestTimers:
    def test_as_ordered(self) -> None:
        assert outcome(timers(of(path(1), path(2)))) == "PASS"

    @pytest.mark.parametrize("field", ["ctrl_loss_tmo", "reconnect_delay", "fast_io_fail_tmo", "kato"])
    @pytest.mark.parametrize("step", [-1, 1])
    def test_one_second_off(self, field: str, step: int) -> None:
        wrong = path(2, **{field: getattr(path(), field) + step})
        verdict = timers(of(path(1), wrong))
        assert outcome(verdict) == "STOP"
        assert f"{field} of nvme2" in str(verdict.note)

    @pytest.mark.parametrize("field", ["ctrl_loss_tmo", "reconnect_delay", "fast_io_fail_tmo", "kato"])
    def test_not_shown(self, field: str) -> None:
        assert outcome(timers(of(path(**{field: None})))) == "UNDECIDED"

    def test_never(self) -> None:
        assert outcome(timers(of(path(ctrl_loss_tmo=-1)), loss=-1)) == "PASS"
        assert outcome(timers(of(path(ctrl_loss_tmo=-1)))) == "STOP"
        assert outcome(timers(of(path()), loss=-1)) == "STOP"

    @pytest.mark.parametrize(("shown", "wanted"), [(602, "PASS"), (600, "PASS"), (595, "STOP"), (609, "STOP")])
    def test_a_loss_time_that_is_no_multiple_of_the_delay(self, shown: int, wanted: str) -> None:
        """600 s at 7 s a try are 86 tries, which the kernel shows as 602 s."""
        assert outcome(timers(of(path(ctrl_loss_tmo=shown, reconnect_delay=7)), delay=7)) == wanted


@pytest.mark.parametrize(
    ("count", "wanted"), [(33, "PASS"), (32, "STOP"), (34, "STOP"), (1, "STOP"), (None, "UNDECIDED")]
)
def test_queues_count_without_the_admin_queue(count: int | None, wanted: str) -> None:
    assert outcome(criteria.io_queues_are(of(path(1), path(2, queue_count=count)), 32)) == wanted


@pytest.mark.parametrize(
    ("spaces", "ordered", "wanted"),
    [
        ((space(),), 1, "PASS"),
        ((space(), space("nvme1n2", 2)), 2, "PASS"),
        ((space(), space("nvme1n2", 2)), 1, "STOP"),
        ((space(),), 2, "STOP"),
        ((), 1, "STOP"),
        ((space(sectors=0),), 1, "STOP"),
        ((space(sectors=1),), 1, "PASS"),
        ((space(sectors=None),), 1, "UNDECIDED"),
    ],
)
def test_namespaces(spaces: tuple[Namespace, ...], ordered: int, wanted: str) -> None:
    assert outcome(criteria.namespaces_visible(of(path(), spaces=spaces), ordered)) == wanted


@pytest.mark.parametrize(
    ("states", "spaces", "wanted"),
    [
        ((), (), "UNDECIDED"),  # not connected: the clause on the connection stops
        ((), (space(),), "UNDECIDED"),
        (("connecting",), (), "UNDECIDED"),  # nobody scans for namespaces without a live path
        (("connecting",), (space(sectors=0),), "UNDECIDED"),
        (("connecting",), (space(),), "PASS"),  # it is visible and waits
        (("connecting", "live"), (), "STOP"),
        (("live",), (), "STOP"),
    ],
)
def test_namespaces_are_missed_only_where_a_path_is_live(
    states: tuple[str, ...], spaces: tuple[Namespace, ...], wanted: str
) -> None:
    paths = [path(number, state=state) for number, state in enumerate(states)]
    assert outcome(criteria.namespaces_visible(of(*paths, spaces=spaces), 1)) == wanted


def test_transport() -> None:
    assert outcome(criteria.transport_is(of(path(1), path(2)), "rdma")) == "PASS"
    assert outcome(criteria.transport_is(of(path(1), path(2, transport="tcp")), "rdma")) == "STOP"
    assert outcome(criteria.transport_is(of(), "rdma")) == "UNDECIDED"


def test_policy() -> None:
    assert outcome(criteria.iopolicy_is(of(path()), "numa")) == "PASS"
    assert outcome(criteria.iopolicy_is(of(path(), policies=("numa", "round-robin")), "numa")) == "STOP"
    assert outcome(criteria.iopolicy_is(of(path(), policies=()), "numa")) == "UNDECIDED"
    assert outcome(criteria.iopolicy_is(of(), "numa")) == "UNDECIDED"


@pytest.mark.parametrize(("multipath", "wanted"), [(True, "PASS"), (False, "STOP"), (None, "UNDECIDED")])
def test_multipath(multipath: bool | None, wanted: str) -> None:
    assert outcome(criteria.native_multipath_on(tree(multipath=multipath))) == wanted


def record(nqn: str = NQN, address: str = "192.168.100.10", service: str = "4420") -> Record:
    return Record("rdma", "nvme subsystem", nqn, address, service)


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        ((record(),), "PASS"),
        ((record("nqn.other"), record()), "PASS"),
        ((record("nqn.other"),), "STOP"),
        ((record(f"{NQN}1"),), "STOP"),
        ((record(address="10.20.0.10"),), "STOP"),
        ((record(service="4421"),), "STOP"),
        ((), "STOP"),
    ],
)
def test_discovery(records: tuple[Record, ...], wanted: str) -> None:
    assert outcome(criteria.discovered(records, NQN, "192.168.100.10", 4420)) == wanted


def listed(*paths: tuple[str, str | None], nqn: str = NQN) -> tuple[Subsystem, ...]:
    return (
        Subsystem(
            "nvme-subsys1", nqn, None, None, None, tuple(Path(name, "rdma", "", state, None) for name, state in paths)
        ),
    )


@pytest.mark.parametrize(
    ("subsystems", "wanted"),
    [
        (listed(("nvme1", "live"), ("nvme2", "live")), "PASS"),
        (listed(("nvme2", "live"), ("nvme1", "live")), "PASS"),
        (listed(("nvme1", "live")), "STOP"),
        (listed(("nvme1", "live"), ("nvme2", "connecting")), "STOP"),
        (listed(("nvme1", "live"), ("nvme2", None)), "STOP"),
        (listed(("nvme1", "live"), ("nvme2", "live"), nqn="nqn.other"), "STOP"),
        ((), "STOP"),
    ],
)
def test_kernel_and_tool(subsystems: tuple[Subsystem, ...], wanted: str) -> None:
    assert outcome(criteria.tool_agrees(of(path(1), path(2)), subsystems)) == wanted


def test_kernel_and_tool_that_show_nothing_agree_on_nothing() -> None:
    assert outcome(criteria.tool_agrees(of(), listed())) == "UNDECIDED"
