"""A soak in the report: every minute is drawn, in both languages, and the picture for paper is the same each time."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from checks.soak.facts import HostSoak
from kvgate.reports.messages import Reader
from kvgate.reports.sections import soak
from kvgate.reports.still import picture
from lab.soak.faults import every
from tests.gates.soaking import array, node


@pytest.fixture(scope="module")
def soaks() -> dict[str, HostSoak]:
    return {"fx100-a": array(), "node-01": node(every()["path-lost-83s"])}


@pytest.mark.parametrize(("lang", "words"), [("en", ("interrupted", "hours that count")), ("zh", ("中断", "有效时长"))])
def test_every_part_of_a_soak_is_there(soaks: dict[str, HostSoak], lang: str, words: tuple[str, str]) -> None:
    parts = list(soak.sections(soaks, Reader(lang)))
    assert len(parts) == 6
    assert words[1] in parts[0].grids[0].heads[1]
    chart = parts[0].charts[0].html
    assert words[0] in chart.encode().decode("unicode_escape", "ignore") or words[0] in chart
    assert "https://" not in chart.replace("https://plot.ly", "")
    assert any("400" in row for row in parts[-1].grids[0].rows), "the lost path stands among the events"
    account = {row[0]: row[2:] for row in parts[0].grids[0].rows}
    assert sum(map(int, account["node-01"][:6])) == 960


def test_the_picture_is_drawn_without_network_and_the_same_each_time(soaks: dict[str, HostSoak]) -> None:
    first, second = picture(soaks, Reader("zh")), picture(soaks, Reader("zh"))
    assert first == second
    assert ET.fromstring(first).tag.endswith("svg")
    with pytest.raises(ValueError, match="no soak"):
        picture({}, Reader("en"))


def test_no_soak_has_no_section() -> None:
    assert not list(soak.sections({}, Reader("en")))
