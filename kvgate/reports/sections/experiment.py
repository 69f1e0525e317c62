"""G3 as a whole: the comparison, the proof of the tier, and what the arms were."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.gate.session import GateSession
from kvgate.gate.tried import Tried
from kvgate.reports.messages import Reader
from kvgate.reports.sections import benefit, proofs, settings, tier
from kvgate.reports.sections.levels import levels
from kvgate.reports.sections.section import Section


def sections(session: GateSession, tried: Tried, read: Reader) -> Iterator[Section]:
    """Yield everything that paired rounds gave; nothing for a gate that made none."""
    serving = session.inventory.rack.serving
    if serving is None or session.gate != "G3":
        return
    outcomes = {(item.clause, item.subject): one.verdict.outcome.value for item, one in session.judged.items()}
    found = list(levels(list(tried.asked.values()), tried, session.agreement, serving.primary, outcomes))
    yield from benefit.sections(found, read)
    yield from tier.sections(found, read)
    yield from proofs.sections(found, list(tried.asked.values()), tried, read)
    yield from settings.sections(found, read)
