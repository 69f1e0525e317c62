"""``curl <engine>/metrics``: every sample of a Prometheus text exposition, as vLLM, SGLang and LMCache print it.

Seen: vLLM 0.32. Read by prometheus_client's own parser. A counter that was never raised is printed as 0 or not at all, which are
not the same: what is not there was not told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "prometheus"


@dataclass(frozen=True, slots=True)
class Sample:
    """One number by its name and labels, sorted."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """One scrape. Histogram buckets are left out; their count and sum stay. NaN, which some gauges print, is left out too."""

    samples: tuple[Sample, ...]


def parse(text: str) -> Metrics:
    """Read the exposition, or raise UnreadableOutput; one name with the same labels twice is refused."""
    lines(text)
    found: list[Sample] = []
    try:
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                if one.name.endswith("_bucket") or math.isnan(float(one.value)):
                    continue
                found.append(Sample(one.name, tuple(sorted(one.labels.items())), float(one.value)))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise UnreadableOutput(f"no Prometheus text: {str(error)[:120]}") from None
    if not found:
        raise UnreadableOutput(f"no sample in the output, which begins {text.strip()[:80]!r}")
    if any(math.isinf(one.value) for one in found):
        raise UnreadableOutput("a sample is infinite")
    if len({(one.name, one.labels) for one in found}) != len(found):
        raise UnreadableOutput("one sample stands twice")
    return Metrics(tuple(found))
