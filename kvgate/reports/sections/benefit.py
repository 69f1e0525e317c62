"""G3: both arms against each other at every concurrency: comparison, distributions, every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvgate.reports.messages import Reader
from kvgate.reports.sections import compared, distributions, paired
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Section


def sections(levels: Sequence[Level], read: Reader) -> Iterator[Section]:
    """Yield the comparison, the distributions and every round."""
    if not levels:
        return
    yield compared.section(levels, read)
    for found in ([one for one in levels if one.primary], [one for one in levels if not one.primary]):
        if any(level.requests("local") or level.requests("array") for level in found):
            yield distributions.section(found, read)
        if found:
            yield paired.section(found, read)
