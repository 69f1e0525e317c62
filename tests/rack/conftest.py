"""What the tests on the virtual rack share: the rack, one campaign on it, and a page that says what each part found and took.

``KVGATE_RACK=1`` runs all of them, ``short`` those that fit into a run of CI, ``round`` one round of G3.
``KVGATE_RACK_RESUME=1`` leaves out what passed before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.vm.rack import Rack
from tests.rack.computer import excused
from tests.rack.report import Part, Report
from tests.rack.site import KEPT, RACK, RackSite, fresh

HOW = os.environ.get("KVGATE_RACK", "")
WANTED, RESUMED = HOW in ("1", "short", "round"), os.environ.get("KVGATE_RACK_RESUME") == "1"
NEEDS_RACK = [
    pytest.mark.skipif(HOW != "1", reason="starts virtual machines for an hour or two: make test-rack"),
    pytest.mark.timeout(7200),
]
SHORT = [
    pytest.mark.skipif(
        HOW not in ("1", "short"), reason="starts virtual machines for some minutes: make test-rack-short"
    ),
    pytest.mark.timeout(3600),
]
#: The order that costs least, after those that start no machine: each gate opens the next, faults leave traces in the kernels' logs.
_ORDER = (
    "test_arrival", "test_timer", "test_baseline", "test_benefit", "test_round", "test_faults",
    "test_short_soak", "test_soak",
)  # fmt: skip
_NOTES = pytest.StashKey[list[str]]()
_REPORT = Report(KEPT)


@pytest.fixture(scope="session")
def rack() -> Rack:
    """The rack of this checkout, which `make test-rack` has started; left up for the next look."""
    RACK.up(print)
    return RACK


@pytest.fixture(scope="session")
def campaign(rack: Rack) -> Iterator[RackSite]:
    """G1, then G2, then G3: one ledger, kept below var/ with its evidence and its report."""
    folder = KEPT / "campaign"
    site = RackSite(folder, []) if RESUMED and folder.exists() else fresh(folder)
    yield site
    if runs := [row["run"] for row in site.runs()]:
        site.kvgate("report", *runs, "--evidence", str(site.evidence), "--html", str(KEPT / "report.html"))


@pytest.fixture
def note(request: pytest.FixtureRequest) -> list[str]:
    """Lines that the page of results has about this test."""
    return request.node.stash.setdefault(_NOTES, [])  # type: ignore[no-any-return]


def _uses_rack(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "rack" in item.fixturenames


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Write down what came of each test on the rack as soon as it is known."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if _uses_rack(item):
        excused(report, call.excinfo.value if call.excinfo else None, RACK)
    if WANTED and _uses_rack(item) and (call.when == "call" or report.failed):
        said = [*item.stash.get(_NOTES, []), *([str(report.longrepr[2])] if report.skipped else [])]
        _REPORT.add(Part(item.name, report.outcome, call.duration, tuple(said)))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin the page anew, or go on with it."""
    if WANTED and not RESUMED:
        _REPORT.begin()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the rack's tests into the order that costs least, and leave out what passed before a run that goes on."""
    here = Path(__file__).parent
    mine = [item for item in items if item.path.parent == here]
    places = iter(sorted(mine, key=lambda item: _ORDER.index(item.path.stem) if item.path.stem in _ORDER else -1))
    items[:] = [next(places) if item.path.parent == here else item for item in items]
    done = _REPORT.passed() if WANTED and RESUMED else frozenset()
    if left := [item for item in mine if item.name in done and _uses_rack(item)]:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
