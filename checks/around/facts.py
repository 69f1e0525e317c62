"""One host at one moment, and what grew between two of them; nothing here is asked or judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One host at one moment: what it does not show is None or absent.

    ``megahertz`` is the mean clock; ``throttled`` counts by ("package" or "core", processor), ``places`` has package and core of
    a processor; ``links`` counts by (port, counter); ``celsius`` by disk; ``ticks`` are those that were busy, and all.
    """

    megahertz: float | None = None
    throttled: Mapping[tuple[str, str], int] | None = None
    places: Mapping[str, tuple[int, int]] | None = None
    links: Mapping[tuple[str, str], int] | None = None
    celsius: Mapping[str, float] | None = None
    ticks: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """One host before and after one round."""

    before: Surroundings
    after: Surroundings

    @property
    def megahertz(self) -> float | None:
        """Mean clock around the round."""
        known = [one.megahertz for one in (self.before, self.after) if one.megahertz is not None]
        return fmean(known) if known else None

    @property
    def throttled(self) -> Mapping[str, int] | None:
        """How often packages and cores were throttled meanwhile; None where nothing counts it.

        The kernel counts an event of a package on each of its processors, one of a core on each of its threads: the largest
        difference among those is taken once, and packages and cores are added up. Where it does not say which processors belong
        together, the largest of all stands: at least so many.
        """
        if self.before.throttled is None or self.after.throttled is None:
            return None
        found: dict[str, dict[tuple[int, ...], int]] = {"package": {}, "core": {}}
        for (level, cpu), count in self.after.throttled.items():
            package, core = (self.after.places or {}).get(cpu, (0, 0))
            unit = (package,) if level == "package" else (package, core)
            risen = count - self.before.throttled.get((level, cpu), count)
            found[level][unit] = max(risen, found[level].get(unit, 0))
        return {level: sum(units.values()) for level, units in found.items() if units}

    @property
    def grown(self) -> Mapping[tuple[str, str], int]:
        """Link counters that rose meanwhile."""
        before, after = self.before.links or {}, self.after.links or {}
        risen = {key: count - before.get(key, count) for key, count in after.items()}
        return {key: count for key, count in risen.items() if count > 0}

    @property
    def busy(self) -> float | None:
        """Percent of the round that the processors were busy; None where that is not shown."""
        if self.before.ticks is None or self.after.ticks is None:
            return None
        busy, total = (after - before for before, after in zip(self.before.ticks, self.after.ticks, strict=True))
        return 100 * busy / total if total > 0 and 0 <= busy <= total else None


#: One round: its hosts by name.
Hosts = Mapping[str, Around]
