"""Settings of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.host import settings
from checks.parsers.proc_limits import Limits, ServiceLimits
from checks.parsers.sysctl import Settings
from checks.parsers.sysfs_cpufreq import Governors
from checks.parsers.sysfs_iommu import Domain, Iommu
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [
        (("identity", "identity"), PASS),
        (("identity", "DMA-FQ"), STOP),
        (("identity",), UNDECIDED),
        (("DMA",), STOP),
        ((), PASS),
    ],
)
def test_the_iommu_is_off_or_passes_through(kinds: tuple[str, ...], outcome: Outcome) -> None:
    bdfs = [f"0000:0{number}:00.0" for number in range(2)]
    found = Iommu("ro", tuple(Domain("nvme", bdf, kind) for bdf, kind in zip(bdfs, kinds, strict=False)))
    assert settings.iommu_passes_through(found, bdfs).outcome is outcome


@pytest.mark.parametrize("words", ["intel_iommu=on", "ro amd_iommu=on quiet", "iommu=force"])
def test_an_iommu_that_was_asked_for_and_is_not_seen_is_not_off(words: str) -> None:
    assert settings.iommu_passes_through(Iommu(words, ()), []).outcome is UNDECIDED
    shown = (Domain("nvme", "0000:01:00.0", "identity"),)
    assert settings.iommu_passes_through(Iommu(words, shown), ["0000:01:00.0"]).outcome is PASS


def test_nothing_agreed_is_nothing_met() -> None:
    assert settings.settings_equal(Settings((("a", "1"),)), {}).outcome is UNDECIDED


def test_an_iommu_that_knows_none_of_the_devices_tells_nothing() -> None:
    found = Iommu("ro", (Domain("xhci_hcd", "0000:42:00.4", "identity"),))
    assert settings.iommu_passes_through(found, ["0000:01:00.0"]).outcome is UNDECIDED


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
    assert settings.numa_balancing_as_agreed(found, on).outcome is outcome


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
    assert settings.governed_by(found, "performance").outcome is outcome


def test_clocks_may_be_left_to_the_firmware_by_agreement() -> None:
    assert settings.governed_by(Governors("0-3", ()), "firmware").outcome is PASS
    assert settings.governed_by(Governors("0-3", (("cpu0", "performance"),)), "firmware").outcome is STOP


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
    assert settings.service_may(found, "unlimited", 1048576).outcome is outcome


def test_a_number_of_locked_bytes_may_be_agreed_too() -> None:
    assert settings.service_may(service(64, 1), 64, 1).outcome is PASS
    assert settings.service_may(service(63, 1), 64, 1).outcome is STOP


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
    assert settings.settings_equal(found, {"a.b": "1\t2", "c": "3"}).outcome is outcome
