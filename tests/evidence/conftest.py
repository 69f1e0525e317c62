"""A closed folder of evidence to look at, to break and to mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate.evidence import Evidence
from tests.evidence.sample import RUN, START, asked, batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A closed, healthy folder of fourteen lines."""
    with Evidence.create(tmp_path, RUN, START) as evidence:
        evidence.keep(batch("node-01"), asked(), 1)
        evidence.keep(batch("fx100-a"), asked(), 1)
        evidence.note("verdict", clause="G1.2.3", outcome="PASS")
    return tmp_path / RUN
