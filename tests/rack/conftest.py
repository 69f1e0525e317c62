"""What the tests on the virtual rack share: the rack, one campaign on it, and a page that says what each part found and took."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.vm.rack import Rack
from tests.rack.site import KEPT, RACK, RackSite, fresh

WANTED = os.environ.get("KVGATE_RACK") == "1"
NEEDS_RACK = [
    pytest.mark.skipif(not WANTED, reason="starts virtual machines for an hour or two: make test-rack"),
    pytest.mark.timeout(7200),
]
_NOTES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def rack() -> Rack:
    """The rack of this checkout, which `make test-rack` has started; left up for the next look."""
    RACK.up(print)
    return RACK


@pytest.fixture(scope="session")
def campaign(rack: Rack) -> Iterator[RackSite]:
    """G1, then G2: one ledger, kept below var/ with its evidence and its report."""
    site = fresh(KEPT / "campaign")
    yield site
    if runs := [row["run"] for row in site.runs()]:
        site.kvgate("report", *runs, "--evidence", str(site.evidence), "--html", str(KEPT / "report.html"))


@pytest.fixture
def note(request: pytest.FixtureRequest) -> list[str]:
    """Lines that the page of results has about this test."""
    return request.node.stash.setdefault(_NOTES, [])  # type: ignore[no-any-return]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Write down what came of each test on the rack as soon as it is known."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if WANTED and "rack" in item.fixturenames and (call.when == "call" or report.failed):  # type: ignore[attr-defined]
        KEPT.mkdir(parents=True, exist_ok=True)
        page = KEPT / "report.md"
        _line(
            page,
            f"| {item.name} | {report.outcome} | {call.duration:.0f} s | {'; '.join(item.stash.get(_NOTES, []))} |",
        )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin the page anew."""
    if WANTED:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / "report.md").write_text(
            "# The virtual rack, tested\n\n| test | outcome | took | said |\n|---|---|---|---|\n"
        )


def _line(page: Path, text: str) -> None:
    with page.open("a", encoding="utf-8") as file:
        file.write(text.replace("\n", " ") + "\n")
