"""G3: what was in force in the running engines of both arms, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.serving import judging
from checks.serving.comparable import Difference, side_by_side
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Grid, Section

_LONGEST = 160  # characters of a setting; the evidence has all of it


def sections(levels: Sequence[Level], read: Reader) -> Iterator[Section]:
    """What was read back from the running engines of the last round, side by side."""
    grids = []
    for level in levels:
        if not level.rounds or any(level.site.shape == other.site.shape for other in levels[: levels.index(level)]):
            continue
        last = level.rounds[-1]
        rows = []
        for number, (mine, theirs) in enumerate(zip(last.local.settings, last.array.settings, strict=True), 1):
            local, array = (
                judging.as_arm(level.site, arm, told) for arm, told in ((last.local, mine), (last.array, theirs))
            )
            for one in side_by_side(local, array):
                rows.append(
                    (str(number), one.setting, _told(one.local, read), _told(one.array, read), _mark(one, level, read))
                )
        heads = [read("instance"), level.site.shape, read("local"), read("array"), read("comparison")]
        grids.append(Grid(heads, rows))
    if grids:
        lines = [read("As in force in the running engines; {store} stands for each arm's own place.", store="{store}")]
        yield Section(read("Both arms, setting by setting"), lines, grids, folded=True)


def _told(value: str | None, read: Reader) -> str:
    if value is None:
        return read("not told")
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."


def _mark(one: Difference, level: Level, read: Reader) -> str:
    if one.local is not None and one.local == one.array:
        return read("same")
    return read("may differ") if one.setting in level.site.may_differ else read("DIFFERENT")
