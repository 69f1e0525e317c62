"""Criteria of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from checks.host import criteria
from checks.host.facts import count_cpus, spread
from checks.parsers.chronyc_sources import Source, Sources
from checks.parsers.chronyc_tracking import Tracking
from checks.parsers.cmdline import CommandLine
from checks.parsers.dmidecode import Firmware, Module
from checks.parsers.ipmitool_sdr import Sensor, Sensors
from checks.parsers.journal_files import JournalFiles
from checks.parsers.lscpu import Processors
from checks.parsers.meminfo import Memory
from checks.parsers.proc_limits import Limits, ServiceLimits
from checks.parsers.stat_f import Space, Spaces
from checks.parsers.sysctl import Settings
from checks.parsers.sysfs_cpufreq import Governors
from checks.parsers.sysfs_edac import Controller, MemoryErrors
from checks.parsers.sysfs_iommu import Domain, Iommu
from checks.parsers.sysfs_module import DriverModules
from checks.parsers.sysfs_module import Module as Driver
from checks.parsers.timedatectl import TimeDate
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Outcome, Verdict

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
CPU = Processors("AMD EPYC 9654 96-Core Processor", 2, 96, 2, 384, 2)
DIMM = Module("A1", 64 * 2**20, 4800, 4800)
FIRMWARE = Firmware("Dell Inc.", "2.3.7", None, 2, (DIMM, replace(DIMM, locator="A2")))
ORDERED = 2 * 64 * 2**30
TRACKING = Tracking("C0A86401", 3, -0.00002, 0.0, 0.0, 0.0004, 0.0003, "Normal")


@pytest.mark.parametrize(
    ("presented", "outcome"), [("SHA256:a", PASS), ("SHA256:b", STOP), ("", UNDECIDED), (None, UNDECIDED)]
)
def test_the_host_key_is_the_pinned_one(presented: str | None, outcome: Outcome) -> None:
    assert criteria.host_key_pinned(presented, "SHA256:a").outcome is outcome


@pytest.mark.parametrize("release", ["6.8.0-60-generic", "6.8.0-61-generic", "6.8.0-60", ""])
def test_the_kernel_is_the_one_ordered_to_its_last_word(release: str) -> None:
    outcome = PASS if release == "6.8.0-60-generic" else STOP if release else UNDECIDED
    assert criteria.kernel_ordered(release, "6.8.0-60-generic").outcome is outcome


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (CPU, PASS),
        (replace(CPU, cores_per_socket=95), STOP),
        (replace(CPU, cores_per_socket=97), STOP),
        (replace(CPU, sockets=1, cores_per_socket=192), STOP),
        (replace(CPU, model="AMD EPYC 9554 64-Core Processor"), STOP),
        (replace(CPU, sockets=None), UNDECIDED),
        (replace(CPU, model=None), UNDECIDED),
    ],
)
def test_processors_are_those_ordered(found: Processors, outcome: Outcome) -> None:
    assert criteria.processors_ordered(found, CPU.model or "", 2, 192).outcome is outcome


def memory(share: float, hugepages: int | None = 0) -> Memory:
    return Memory(math.ceil(ORDERED / 1024 * share), 1, hugepages, 2048)


@pytest.mark.parametrize(
    ("share", "firmware", "outcome"),
    [
        (0.97, FIRMWARE, PASS),
        (0.9699, FIRMWARE, STOP),
        (0.99, replace(FIRMWARE, modules=(DIMM,)), STOP),
        (0.99, replace(FIRMWARE, modules=(DIMM, DIMM, DIMM)), STOP),
        (0.99, replace(FIRMWARE, modules=()), UNDECIDED),
        (0.99, replace(FIRMWARE, modules=(DIMM, replace(DIMM, size_kib=None))), UNDECIDED),
    ],
)
def test_memory_adds_up_and_is_usable(share: float, firmware: Firmware, outcome: Outcome) -> None:
    assert criteria.memory_ordered(memory(share), firmware, ORDERED, 0.97).outcome is outcome


@pytest.mark.parametrize(("ordered", "outcome"), [(2, PASS), (1, STOP), (3, STOP)])
def test_modules_are_as_many_as_ordered(ordered: int, outcome: Outcome) -> None:
    assert criteria.modules_ordered(FIRMWARE, ordered).outcome is outcome


def test_no_slots_in_the_tables_is_not_no_modules() -> None:
    assert criteria.modules_ordered(replace(FIRMWARE, slots=0, modules=()), 2).outcome is UNDECIDED
    assert criteria.modules_at_speed(replace(FIRMWARE, modules=()), 4800).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("rated", "configured", "outcome"),
    [
        (4800, 4800, PASS),
        (5600, 4800, PASS),
        (4800, 4799, STOP),
        (5600, 5600, STOP),
        (4400, 4800, STOP),
        (None, 4800, UNDECIDED),
        (4800, None, UNDECIDED),
    ],
)
def test_every_module_runs_at_the_speed_ordered(rated: int | None, configured: int | None, outcome: Outcome) -> None:
    odd = Module("B1", 1, rated, configured)
    assert criteria.modules_at_speed(replace(FIRMWARE, modules=(DIMM, odd)), 4800).outcome is outcome


def errors(*counts: tuple[int, int], boot: str = "b") -> MemoryErrors:
    return MemoryErrors(boot, tuple(Controller(f"mc{n}", ce, ue) for n, (ce, ue) in enumerate(counts)))


@pytest.mark.parametrize(("counts", "outcome"), [(((9, 0),), PASS), (((0, 0), (0, 1)), STOP), ((), UNDECIDED)])
def test_uncorrected_errors(counts: tuple[tuple[int, int], ...], outcome: Outcome) -> None:
    assert criteria.no_uncorrected_memory_errors(errors(*counts), 0).outcome is outcome


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (errors((7, 0)), errors((7, 0)), PASS),
        (errors((7, 0)), errors((8, 0)), STOP),
        (errors((7, 0)), errors((6, 0)), UNDECIDED),
        (errors((7, 0)), errors((7, 0), boot="c"), UNDECIDED),
        (errors(), errors(), UNDECIDED),
        (errors((7, 0)), errors((7, 0), (0, 0)), UNDECIDED),
    ],
)
def test_corrected_errors_count_by_difference(before: MemoryErrors, after: MemoryErrors, outcome: Outcome) -> None:
    assert criteria.no_new_corrected_memory_errors(Interval(before, after, 5.0), 0).outcome is outcome


def test_the_firmware_version_is_the_one_ordered() -> None:
    assert criteria.firmware_ordered(FIRMWARE, "2.3.7").outcome is PASS
    assert criteria.firmware_ordered(FIRMWARE, "2.3.70").outcome is STOP
    assert criteria.firmware_ordered(replace(FIRMWARE, version=None), "2.3.7").outcome is UNDECIDED


@pytest.mark.parametrize(
    ("words", "outcome"),
    [(("ro", "iommu=pt"), PASS), (("ro", "iommu=ptx"), STOP), (("ro", "amd_iommu=pt"), STOP), ((), STOP)],
)
def test_agreed_words_are_whole_words(words: tuple[str, ...], outcome: Outcome) -> None:
    assert criteria.booted_with(CommandLine(words), ("iommu=pt",)).outcome is outcome


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [(("identity", "identity"), PASS), (("identity", "DMA-FQ"), STOP), (("identity",), PASS), ((), PASS)],
)
def test_the_iommu_is_off_or_passes_through(kinds: tuple[str, ...], outcome: Outcome) -> None:
    bdfs = [f"0000:0{number}:00.0" for number in range(2)]
    found = Iommu("ro", tuple(Domain("nvme", bdf, kind) for bdf, kind in zip(bdfs, kinds, strict=False)))
    assert criteria.iommu_passes_through(found, bdfs).outcome is outcome


def test_an_iommu_that_knows_none_of_the_devices_tells_nothing() -> None:
    found = Iommu("ro", (Domain("xhci_hcd", "0000:42:00.4", "identity"),))
    assert criteria.iommu_passes_through(found, ["0000:01:00.0"]).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("value", "on", "outcome"),
    [
        ("0", False, PASS),
        ("1", False, STOP),
        ("2", False, STOP),
        ("1", True, PASS),
        ("0", True, STOP),
        (None, False, UNDECIDED),
    ],
)
def test_numa_balancing(value: str | None, on: bool, outcome: Outcome) -> None:
    found = Settings(() if value is None else (("kernel.numa_balancing", value),))
    assert criteria.numa_balancing_as_agreed(found, on).outcome is outcome


@pytest.mark.parametrize(("pages", "outcome"), [(8, PASS), (7, STOP), (9, STOP), (None, UNDECIDED)])
def test_huge_pages(pages: int | None, outcome: Outcome) -> None:
    assert criteria.hugepages_reserved(memory(1, pages), 8).outcome is outcome


@pytest.mark.parametrize(
    ("governors", "outcome"),
    [
        (("performance",) * 4, PASS),
        (("performance", "powersave", "performance", "performance"), STOP),
        (("performance",) * 3, UNDECIDED),
        ((), UNDECIDED),
    ],
)
def test_governors(governors: tuple[str, ...], outcome: Outcome) -> None:
    found = Governors("0-1,4-5", tuple((f"cpu{n}", word) for n, word in enumerate(governors)))
    assert count_cpus(found.online) == 4
    assert criteria.governed_by(found, "performance").outcome is outcome


def test_clocks_may_be_left_to_the_firmware_by_agreement() -> None:
    assert criteria.governed_by(Governors("0-3", ()), "firmware").outcome is PASS
    assert criteria.governed_by(Governors("0-3", (("cpu0", "performance"),)), "firmware").outcome is STOP


def service(memlock: int | str, nofile: int | str, running: bool = True) -> ServiceLimits:
    limits = Limits(memlock, nofile)
    return ServiceLimits(
        "loaded", "active", 7 if running else 0, Limits("unlimited", 1048576), limits if running else None
    )


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (service("unlimited", 1048576), PASS),
        (service("unlimited", "unlimited"), PASS),
        (service("unlimited", 1048575), STOP),
        (service(2**40, 1048576), STOP),
        (service("", 0, running=False), PASS),
        (replace(service("", 0, running=False), unit=None), UNDECIDED),
        (replace(service("", 0, running=False), load="not-found"), STOP),
        (replace(service("", 0, running=False), load="masked"), UNDECIDED),
    ],
)
def test_limits_of_the_service(found: ServiceLimits, outcome: Outcome) -> None:
    assert criteria.service_may(found, "unlimited", 1048576).outcome is outcome


def test_a_number_of_locked_bytes_may_be_agreed_too() -> None:
    assert criteria.service_may(service(64, 1), 64, 1).outcome is PASS
    assert criteria.service_may(service(63, 1), 64, 1).outcome is STOP


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"a.b": "1 2", "c": "3"}, PASS),
        ({"a.b": "1 3", "c": "3"}, STOP),
        ({"c": "3"}, UNDECIDED),
        ({"c": "4"}, STOP),
    ],
)
def test_settings(values: dict[str, str], outcome: Outcome) -> None:
    found = Settings(tuple(values.items()))
    assert criteria.settings_equal(found, {"a.b": "1\t2", "c": "3"}).outcome is outcome


@pytest.mark.parametrize(
    ("drivers", "ordered", "outcome"),
    [
        ((Driver("mlx5_ib", None, False, True),), {"mlx5_ib": "any"}, PASS),
        ((Driver("mlx5_ib", None, False, True),), {"mlx5_ib": "6.8.0"}, PASS),
        ((Driver("mlx5_ib", "24.10", True, True),), {"mlx5_ib": "6.8.0"}, STOP),
        ((Driver("mlx5_ib", None, False, False),), {"mlx5_ib": "any"}, STOP),
        ((), {"mlx5_ib": "any"}, STOP),
    ],
)
def test_driver_modules(drivers: tuple[Driver, ...], ordered: dict[str, str], outcome: Outcome) -> None:
    assert criteria.modules_loaded(DriverModules("6.8.0", drivers), ordered).outcome is outcome


@pytest.mark.parametrize(
    ("foreign", "outcome"), [((False, False), PASS), ((True, True), PASS), ((True, False), STOP), ((), UNDECIDED)]
)
def test_driver_trees(foreign: tuple[bool, ...], outcome: Outcome) -> None:
    drivers = tuple(Driver(f"m{n}", None, flag, True) for n, flag in enumerate(foreign))
    found = DriverModules("6.8.0", (*drivers, Driver("nvidia", "560", True, True)))
    assert criteria.modules_of_one_tree(found, ["m0"], ("m0", "m1")).outcome is outcome


def test_a_host_without_rdma_has_nothing_to_mix() -> None:
    assert criteria.modules_of_one_tree(DriverModules("6.8.0", ()), ["nvme_tcp"], ("m0",)).outcome is PASS


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (TRACKING, PASS),
        (replace(TRACKING, offset=0.001), PASS),
        (replace(TRACKING, offset=-0.001001), STOP),
        (replace(TRACKING, leap="Not synchronised", offset=0.0), STOP),
        (replace(TRACKING, stratum=0), STOP),
        (replace(TRACKING, stratum=10), PASS),
        (replace(TRACKING, stratum=11), STOP),
        (replace(TRACKING, root_dispersion=0.1), PASS),
        (replace(TRACKING, root_dispersion=0.1001), STOP),
        (TimeDate(server="a", stratum=2, leap="normal", offset=0.0004), PASS),
        (TimeDate(server="a", stratum=2, leap="normal", offset=0.004), STOP),
        (TimeDate(server="a", stratum=2, leap="normal"), UNDECIDED),
        (TimeDate(server="a", stratum=2, leap="not synchronised", offset=0.0), STOP),
        (TimeDate(), STOP),
    ],
)
def test_the_clock_follows_its_source(found: Tracking | TimeDate, outcome: Outcome) -> None:
    assert criteria.clock_synchronised(found, 1, 10, 100).outcome is outcome


@pytest.mark.parametrize(("word", "outcome"), [(True, PASS), (False, STOP), (None, UNDECIDED)])
def test_the_kernel_trusts_its_clock(word: bool | None, outcome: Outcome) -> None:
    assert criteria.kernel_clock_synchronised(TimeDate(word)).outcome is outcome


@pytest.mark.parametrize(("state", "reach", "outcome"), [("*", 0o377, PASS), ("*", 0o376, STOP), ("+", 0o377, STOP)])
def test_the_source_answers(state: str, reach: int, outcome: Outcome) -> None:
    assert criteria.time_source_answers(Sources((Source("^", state, "a", 2, reach),))).outcome is outcome


@pytest.mark.parametrize(
    ("clocks", "outcome"),
    [
        ({"a": (0.0, 0.01), "b": (0.04, 0.05)}, PASS),
        ({"a": (0.0, 0.01), "b": (0.04, 0.051)}, UNDECIDED),
        ({"a": (0.0, 0.01), "b": (0.06, 0.07)}, UNDECIDED),
        ({"a": (0.0, 0.01), "b": (0.061, 0.07)}, STOP),
        ({"a": (-5.0, 5.0)}, PASS),
    ],
)
def test_clocks_agree_with_their_uncertainty(clocks: dict[str, tuple[float, float]], outcome: Outcome) -> None:
    assert criteria.clocks_agree(spread(clocks), 50).outcome is outcome


@pytest.mark.parametrize(("blocks", "outcome"), [(20, PASS), (19, STOP), (21, PASS)])
def test_room_is_judged_where_it_is_tightest(blocks: int, outcome: Outcome) -> None:
    found = Spaces((Space("/", 10**9, 100, 90), Space("/var/log", 10**9, 100, blocks)))
    assert criteria.room_for_logs(found, 20 * 10**9).outcome is outcome


@pytest.mark.parametrize(
    ("disk", "ram", "outcome"), [(("a",), (), PASS), ((), ("b",), STOP), ((), (), STOP), (("a",), ("b",), UNDECIDED)]
)
def test_the_journal_is_on_disk(disk: tuple[str, ...], ram: tuple[str, ...], outcome: Outcome) -> None:
    assert criteria.journal_on_disk(JournalFiles(disk, ram)).outcome is outcome


def sensors(*more: Sensor, supplies: int = 2) -> Sensors:
    power = [Sensor(f"PS{n}", f"7{n}h", "ok", "Presence detected") for n in range(supplies)]
    return Sensors(
        (Sensor("Temp", "0Eh", "ok", "51 degrees C"), Sensor("SEL", "72h", "ns", "No Reading"), *power, *more)
    )


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (sensors(), PASS),
        (sensors(supplies=1), STOP),
        (sensors(supplies=0), UNDECIDED),
        (sensors(Sensor("Fan", "32h", "cr", "0 RPM")), STOP),
        (sensors(Sensor("PS Redundancy", "77h", "ok", "Redundancy Lost")), STOP),
        (sensors(Sensor("PS Redundancy", "77h", "ok", "Fully Redundant")), PASS),
    ],
)
def test_sensors(found: Sensors, outcome: Outcome) -> None:
    assert criteria.sensors_well(found, 2).outcome is outcome


@pytest.mark.parametrize(
    ("found", "kinds", "outcome"),
    [
        ({"a": "1", "b": "1"}, {"a": "x", "b": "x"}, PASS),
        ({"a": "1", "b": "2"}, {"a": "x", "b": "x"}, STOP),
        ({"a": "1", "b": "2"}, {"a": "x", "b": "y"}, PASS),
        ({"a": "1", "b": None}, {"a": "x", "b": "x"}, UNDECIDED),
        ({"a": "1"}, {"a": "x", "b": "x"}, UNDECIDED),
        ({}, {}, UNDECIDED),
    ],
)
def test_like_hosts_are_alike(found: dict[str, str | None], kinds: dict[str, str], outcome: Outcome) -> None:
    verdict: Verdict = criteria.alike(say("kernel"), found, kinds)
    assert verdict.outcome is outcome
