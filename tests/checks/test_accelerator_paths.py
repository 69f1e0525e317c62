"""Paths into cards: fabric (with its twin without a service), NPU ports, peer memory, GPUDirect Storage, like nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.accelerator import criteria, nvidia, paths, probes, rocm
from checks.accelerator.facts import Card, Cards
from checks.accelerator.pci import PeerMemory, bus, bus_cards, peer_memory
from checks.parsers import nvidia_smi
from checks.parsers.gdscheck import GdsCheck
from checks.parsers.hccn_tool import parse as ports
from checks.parsers.systemctl_is_active import UnitState
from checks.probe import UnreadableOutput
from checks.verdict import Outcome
from tests.gates.harness import judge
from tests.parsers.samples import samples

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
RUNNING = UnitState("loaded", "active", "running")
STOPPED = UnitState("loaded", "inactive", "dead")
ABSENT = UnitState("not-found", "inactive", "dead")


def cards(state: str | None, status: str | None = "Success", count: int = 8) -> Cards:
    return Cards(tuple(Card(f"GPU {n}", fabric_state=state, fabric_status=status) for n in range(count)))


@pytest.mark.parametrize(
    ("told", "service", "outcome"),
    [
        (cards("Completed"), RUNNING, PASS),
        (cards("Completed"), ABSENT, PASS),  # GB200: managed elsewhere
        (cards("Completed"), STOPPED, PASS),
        (cards("In Progress", None), STOPPED, STOP),
        (cards("In Progress", None), RUNNING, STOP),
        (cards("Not Started", None), ABSENT, STOP),
        (cards("Completed", "Failure"), RUNNING, STOP),
        (cards(None, None), STOPPED, STOP),  # before Hopper: no state, the service is needed
        (cards(None, None), ABSENT, UNDECIDED),
        (cards(None, None), RUNNING, UNDECIDED),
        (cards("Completed", None), RUNNING, UNDECIDED),
        (cards("Degraded"), RUNNING, UNDECIDED),
        (cards("Completed", count=7), RUNNING, UNDECIDED),
    ],
)
def test_fabric_up(told: Cards, service: UnitState, outcome: Outcome) -> None:
    assert paths.fabric_up(told, service, 8).outcome is outcome


def test_a_stop_of_the_fabric_says_what_will_happen() -> None:
    note = str(paths.fabric_up(cards("In Progress", None), STOPPED, 8).note)
    assert "8 cards listed" in note
    assert "inactive" in note
    assert "802" in note


@pytest.mark.parametrize(
    ("ways", "platform", "outcome"),
    [
        (PeerMemory(True, True, False, False), "nvidia", PASS),
        (PeerMemory(True, False, False, False), "nvidia", STOP),  # loaded, but nobody it could register with
        (PeerMemory(False, False, True, True), "nvidia", PASS),
        (PeerMemory(False, False, True, False), "nvidia", STOP),  # the closed driver exports no dmabuf
        (PeerMemory(False, False, True, False), "rocm", PASS),
        (PeerMemory(False, True, False, False), "rocm", PASS),
        (PeerMemory(False, False, False, False), "rocm", STOP),
    ],
)
def test_reachable_by_adapter(ways: PeerMemory, platform: str, outcome: Outcome) -> None:
    assert paths.reachable_by_adapter(ways, platform).outcome is outcome


def test_without_rdma_modules_nothing_is_known_of_peer_memory() -> None:
    with pytest.raises(UnreadableOutput):
        peer_memory("/proc/modules:nvidia_peermem 16384 0 - Live 0x0\n")


GDS = GdsCheck(
    "1.16", "Supported", "Supported", None, "Enabled", "false", "false", "disabled", "Platform verification succeeded"
)


@pytest.mark.parametrize(
    ("changes", "reached", "direct"),
    [
        ({}, PASS, PASS),
        ({"nvmeof": "Unsupported"}, STOP, PASS),
        ({"nvmeof": "compat"}, UNDECIDED, PASS),
        ({"verification": "Platform verification error :"}, STOP, PASS),
        ({"use_compat_mode": "true"}, PASS, STOP),
        ({"force_compat_mode": "true"}, PASS, STOP),
        ({"force_compat_mode": None}, PASS, PASS),
        ({"use_compat_mode": None}, PASS, UNDECIDED),
        ({"use_compat_mode": "maybe"}, PASS, UNDECIDED),
    ],
)
def test_gds(changes: dict[str, str | None], reached: Outcome, direct: Outcome) -> None:
    check = replace(GDS, **changes)  # type: ignore[arg-type]
    assert paths.gds_over_fabrics(check).outcome is reached
    assert paths.gds_never_copies(check).outcome is direct


def port(number: int, link: str = "UP", health: str = "Success") -> str:
    head = f"hccn_tool -i {number}"
    return f"{head} -link -g\nlink status: {link}\n{head} -net_health -g\nnet health status: {health}\n"


@pytest.mark.parametrize(
    ("text", "link", "health"),
    [
        (port(0) + port(1), PASS, PASS),
        (port(0) + port(1, "DOWN"), STOP, PASS),
        (port(0) + port(1, health="Socket fail"), PASS, STOP),
        (port(0) + port(1, health="Init"), PASS, UNDECIDED),
        (port(0), UNDECIDED, UNDECIDED),
    ],
)
def test_npu_ports(text: str, link: Outcome, health: Outcome) -> None:
    replies = ports(text)
    assert paths.ports_up(replies, 2).outcome is link
    assert paths.ports_healthy(replies, 2, ("Success",), ("Socket fail",)).outcome is health


def node(**changes: str | None) -> Cards:
    card = Card("GPU 0", model="MI308X", driver="6.12.12", firmware="00147231")
    return Cards((replace(card, **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hosts", "outcome"),
    [
        ({"a": node(), "b": node()}, PASS),
        ({"a": node()}, PASS),
        ({"a": node(), "b": node(firmware="00139110")}, STOP),
        ({"a": node(), "b": node(driver="6.10.5")}, STOP),
        ({"a": node(), "b": node(firmware=None)}, UNDECIDED),
        ({"a": node(firmware=None), "b": node(firmware=None)}, UNDECIDED),
        ({"a": node(firmware=None), "b": node(firmware=None, driver="6.10.5")}, STOP),
        ({"a": node(), "b": Cards(())}, UNDECIDED),
        ({"a": node(), "b": node(model="MI300X")}, STOP),
        ({"a": node(model=None), "b": node(model=None)}, UNDECIDED),
    ],
)
def test_all_alike(hosts: dict[str, Cards], outcome: Outcome) -> None:
    assert paths.all_alike({"rocm": hosts}).outcome is outcome


def test_a_platform_without_hosts_agrees_in_nothing() -> None:
    assert paths.all_alike({"rocm": {}}).outcome is UNDECIDED


def test_platforms_are_compared_each_by_itself() -> None:
    assert paths.all_alike({"rocm": {"a": node()}, "nvidia": {"b": node(driver="590")}}).outcome is PASS


def raw(command: str, case: str) -> str:
    (found,) = (sample for sample in samples() if sample.command == command and sample.path.stem.endswith(case))
    return found.raw.decode()


def test_an_idle_card_at_generation_one_and_eight_lanes_is_stopped_for_its_lanes_only() -> None:
    (probe,) = nvidia.PLATFORM.link.probes
    told = probe.parse(raw("nvidia-smi", "a10g-idle-gen1-x8"))
    assert criteria.capable_of_speed(told, 4, 1).outcome is PASS
    assert criteria.at_full_width(told, 16, 1).outcome is STOP
    assert criteria.no_uncorrectable(told, 1).outcome is PASS


def test_the_part_number_of_the_older_tool_is_not_taken_for_a_version() -> None:
    older = rocm.PLATFORM.identity.otherwise
    assert older is not None
    told = older.parse(raw("rocm-smi", "mi100"))
    assert criteria.on_firmware(told, "00147231", 4).outcome is UNDECIDED
    assert criteria.on_firmware(told, "113-D3431401-101", 4).outcome is PASS


def test_an_idle_npu_is_free_though_it_holds_more_than_five_percent() -> None:
    (probe,) = probes.PLATFORMS["ascend"].memory.probes
    told = probe.parse(raw("npu-smi", "dual-chip-wide"))
    assert criteria.free(told, 2, 5).outcome is STOP
    assert criteria.free(told, 2, 10).outcome is PASS


SYS = "/sys/bus/pci/devices"


def test_the_display_of_a_management_controller_is_no_npu() -> None:
    dump = (
        f"{SYS}/0000:06:00.0/uevent:PCI_CLASS=30000\n{SYS}/0000:06:00.0/uevent:PCI_ID=19E5:1711\n"
        f"{SYS}/0000:5b:00.0/uevent:DRIVER=devdrv_device_driver\n{SYS}/0000:5b:00.0/uevent:PCI_CLASS=120000\n"
        f"{SYS}/0000:5b:00.0/uevent:PCI_ID=19E5:D802\n{SYS}/0000:5b:00.0/current_link_width:16\n"
        f"{SYS}/0000:5b:00.0/current_link_speed:16.0 GT/s PCIe\n{SYS}/0000:5b:00.0/max_link_speed:16.0 GT/s PCIe\n"
    )
    (npu,) = bus_cards(bus(dump), "ascend", frozenset())
    assert (npu.bdf, npu.driver, npu.lanes, npu.speed) == ("0000:5b:00.0", "devdrv_device_driver", 16, 16.0)
    with pytest.raises(UnreadableOutput):
        bus(dump.replace(":PCI_ID=19E5:1711", ":PCI_SLOT_NAME=x"))


@pytest.mark.parametrize("platform", probes.PLATFORMS)
def test_the_healthy_rack_passes_every_clause_of_cards(platform: str) -> None:
    result = judge((), platform, only=r"G1\.6\..*")
    assert not result.clauses(STOP)
    assert not result.clauses(UNDECIDED)


def test_one_bad_row_counts_though_the_card_does_not_tell_the_rest_of_its_group() -> None:
    card = nvidia_smi.parse(raw("nvidia-smi", "a10g-idle-gen1-x8")).cards[0]
    bad = replace(card, remapped_uncorrectable=1, remapped_pending=None, remapping_failure=None)
    assert criteria.no_bad_pages(Cards((nvidia._card(0, bad, "590"),)), 1).outcome is STOP


@pytest.mark.parametrize(
    ("now", "pending", "outcome"),
    [
        ("Enabled", "Enabled", PASS),
        ("Enabled", "Disabled", STOP),
        ("Disabled", "Enabled", STOP),
        (None, None, UNDECIDED),
    ],
)
def test_ecc_that_ends_with_the_next_reset_is_off(now: str | None, pending: str | None, outcome: Outcome) -> None:
    card = nvidia_smi.parse(raw("nvidia-smi", "a10g-idle-gen1-x8")).cards[0]
    told = Cards((nvidia._card(0, replace(card, ecc_mode=now, ecc_pending_mode=pending), "590"),))
    assert criteria.ecc_on(told, 1).outcome is outcome


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64", True),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module", False),
    ],
)
def test_dmabuf_counts_with_the_open_driver_only(line: str, there: bool) -> None:
    text = f"/proc/modules:ib_core 1 2 - Live 0x0\n/proc/kallsyms:0 T ib_umem_dmabuf_get\n/proc/driver/nvidia/version:{line}\n"
    ways = peer_memory(text)
    assert ways.open_driver is there
    assert paths.reachable_by_adapter(ways, "nvidia").outcome is (PASS if there else STOP)


def test_one_board_report_without_its_version_is_refused() -> None:
    (probe,) = probes.PLATFORMS["ascend"].firmware.probes
    report = "npu-smi info -t board -i {n}\n\tNPU ID                         : {n}\n{version}\tChip Count                     : 1\n"
    version = "\tSoftware Version               : 24.1.0\n"
    whole = report.format(n=0, version=version) + report.format(n=1, version=version)
    assert len(probe.parse(whole).cards) == 2
    with pytest.raises(UnreadableOutput):
        probe.parse(report.format(n=0, version=version) + report.format(n=1, version=""))
