"""The embedded rack over real SSH, and gate runs against it as an operator starts them: in a process of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.site import Site, served


@dataclass(frozen=True)
class Run:
    """A gate run that is over, its rack down again."""

    site: Site
    ended: subprocess.CompletedProcess[str]
    report: Path  # JUnit XML

    @property
    def id(self) -> str:
        return str(self.site.runs()[0]["run"])


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """``serve(*faults, nodes=1, platform="rocm", edits={host: (Edit, ...)})``: a site, served until the test ends."""
    with ExitStack() as stack:

        def start(*faults: str, folder: str = "site", **more: Any) -> Site:
            return stack.enter_context(served(tmp_path / folder, *faults, **more))

        yield start


def _run(folder: Path, *faults: str) -> Run:
    with served(folder, *faults) as site:
        report = folder / "report.xml"
        return Run(site, site.gate("--junitxml", str(report)), report)


@pytest.fixture(scope="session")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a healthy rack."""
    return _run(tmp_path_factory.mktemp("passed"))


@pytest.fixture(scope="session")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a rack with a disk that lost data."""
    return _run(tmp_path_factory.mktemp("stopped"), "disk-media-errors")


@pytest.fixture(scope="session")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a rack with a node that is down."""
    return _run(tmp_path_factory.mktemp("undecided"), "node-down")
