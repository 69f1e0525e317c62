"""Driver modules of hosts, one tree or several."""

from __future__ import annotations

import pytest

from checks.host import drivers
from checks.parsers.sysfs_module import DriverModules
from checks.parsers.sysfs_module import Module as Driver
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("loaded", "ordered", "outcome"),
    [
        ((Driver("mlx5_ib", None, False, True),), {"mlx5_ib": "any"}, PASS),
        ((Driver("mlx5_ib", None, False, True),), {"mlx5_ib": "6.8.0"}, PASS),
        ((Driver("mlx5_ib", "24.10", True, True),), {"mlx5_ib": "6.8.0"}, STOP),
        ((Driver("mlx5_ib", None, False, False),), {"mlx5_ib": "any"}, STOP),
        ((), {"mlx5_ib": "any"}, STOP),
    ],
)
def test_driver_modules(loaded: tuple[Driver, ...], ordered: dict[str, str], outcome: Outcome) -> None:
    assert drivers.modules_loaded(DriverModules("6.8.0", loaded), ordered).outcome is outcome


@pytest.mark.parametrize(
    ("foreign", "outcome"), [((False, False), PASS), ((True, True), PASS), ((True, False), STOP), ((), UNDECIDED)]
)
def test_driver_trees(foreign: tuple[bool, ...], outcome: Outcome) -> None:
    loaded = tuple(Driver(f"m{n}", None, flag, True) for n, flag in enumerate(foreign))
    found = DriverModules("6.8.0", (*loaded, Driver("nvidia", "560", True, True)))
    assert drivers.modules_of_one_tree(found, ("m0", "m1")).outcome is outcome


def test_a_host_without_rdma_has_nothing_to_mix() -> None:
    assert drivers.modules_of_one_tree(DriverModules("6.8.0", ()), ("m0",)).outcome is UNDECIDED


def test_nothing_agreed_is_nothing_met() -> None:
    found = DriverModules("6.8.0", (Driver("mlx5_ib", None, False, True),))
    assert drivers.modules_loaded(found, {}).outcome is UNDECIDED
