"""The published figures of gates/reference.yaml, read strictly and put through the rule of G3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from checks.serving.published import LOCAL, Claim, Judged, Printed, Rule, decide, judge
from checks.verdict import Verdict
from kvgate.errors import BadInput
from kvgate.inventory import strict_yaml
from kvgate.inventory.faults import faults

Doc = Annotated[str, Field(pattern=r"^S[0-4]$")]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Document(_Strict):
    """One article that quotes the reports."""

    title: StrictStr
    url: StrictStr | None = None
    date: StrictStr | None = None


class Figure(_Strict):
    """One printed value: what, where, at which concurrency, on which arm against which baseline, and how far to trust it."""

    id: StrictStr
    report: object
    scenario: StrictStr
    platform: StrictStr | None
    concurrency: object = None
    metric: StrictStr
    stat: StrictStr | None = None
    arm: Literal["fx100", "baseline", "both", "na"]
    baseline: Literal["local_nvme_single", "recompute", "nfs", "unpatched_lmcache", "none", "unknown"]
    value: object
    unit: StrictStr
    docs: tuple[Doc, ...]
    trust: Literal["printed", "printed_s4_only", "conflicting", "claim"]
    anchors: tuple[StrictStr, ...]
    check: object = None
    note: StrictStr | None = None


class _Pair(_Strict):
    local: StrictStr
    array: StrictStr


class Table(_Strict):
    """A row of a source's table whose local column holds something else than its heading says."""

    doc: Doc
    concurrency: StrictInt
    heading: StrictStr
    ttft: _Pair
    throughput: _Pair
    inconsistency: StrictStr


class Said(_Strict):
    """A percentage or ratio as printed, and the ids of the two values that it must come from."""

    docs: tuple[Doc, ...]
    what: StrictStr
    kind: Literal["drop", "gain", "ratio"]
    printed: StrictStr
    before: StrictStr
    after: StrictStr
    inconsistency: StrictStr | None = None


class Inconsistency(_Strict):
    """One way in which the sources contradict each other or themselves."""

    id: StrictStr
    severity: Literal["high", "medium", "low", "info"]
    docs: tuple[Doc, ...]
    en: StrictStr
    zh: StrictStr


class _Drop(_Strict):
    least: float
    unit: Literal["percent"]
    docs: tuple[Doc, ...]


class _Gain(_Strict):
    low: float
    high: float
    unit: Literal["percent"]
    docs: tuple[Doc, ...]


class Criteria(_Strict):
    """The gate as the sources state it."""

    ttft_drop: _Drop
    throughput_gain: _Gain
    concurrencies: tuple[StrictInt, ...]


class Reference(_Strict):
    """The whole file."""

    schema_: Literal["reference-figures/1"] = Field(alias="schema")
    docs: Mapping[Doc, Document]
    criteria: Criteria
    mislabelled: tuple[Table, ...]
    claims: tuple[Said, ...]
    platforms: Mapping[str, object]
    figures: tuple[Figure, ...]
    kv_arithmetic: object
    inconsistencies: tuple[Inconsistency, ...]
    questions: tuple[StrictStr, ...]

    def value(self, name: str) -> Decimal:
        """Return a figure's number, digit for digit. Raises KeyError for an unknown id, ValueError for no number."""
        figure = next((one for one in self.figures if one.id == name), None)
        if figure is None:
            raise KeyError(name)
        if isinstance(figure.value, bool) or not isinstance(figure.value, (int, float)):
            raise ValueError(f"{name} is {figure.value!r}, no number")
        return Decimal(repr(figure.value))

    def baseline(self, name: str) -> str:
        """Return what the figure was measured against."""
        return next(one.baseline for one in self.figures if one.id == name)


def standard_file() -> Path:
    """Where the published figures of this installation lie."""
    return Path(str(files("gates") / "reference.yaml"))


def read(path: Path | None = None) -> Reference:
    """Read the file, the installation's own once for all who ask. Raises BadInput with every fault of it."""
    return _read(path) if path is not None else _standard()


@cache
def _standard() -> Reference:
    return _read(standard_file())


def _read(path: Path) -> Reference:
    document = strict_yaml.read(path)
    if document.faults:
        raise BadInput(tuple(document.faults))
    try:
        return Reference.model_validate(document.data)
    except ValidationError as error:
        raise BadInput(tuple(faults(error, document, Reference))) from None


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read one table: its rows judged, and what the gate would decide on them."""

    name: str
    rows: tuple[Judged, ...]
    decision: Verdict


def published(reference: Reference, *, strict: bool = False) -> Reading:
    """R2's pairs by the rule; ``strict`` compares the gain unrounded."""
    rows = tuple(judge(_pair(reference, c), _rule(reference, strict)) for c in reference.criteria.concurrencies)
    return Reading("R2", rows, decide(rows, reference.criteria.concurrencies))


def mislabelled(reference: Reference, *, labelled: bool) -> tuple[Reading, ...]:
    """The tables with recomputation in the local column: as their headings say, or ``labelled`` as what they hold."""
    found = []
    for table in reference.mislabelled:
        printed = Printed(
            concurrency=table.concurrency,
            ttft_local=reference.value(table.ttft.local),
            ttft_array=reference.value(table.ttft.array),
            throughput_local=reference.value(table.throughput.local),
            throughput_array=reference.value(table.throughput.array),
            baseline=reference.baseline(table.ttft.local) if labelled else None,
            ttft_recompute=_recompute(reference, table.concurrency),
        )
        rows = (judge(printed, _rule(reference, strict=False)),)
        # The one concurrency that the table has is judged alone: it must not need the absent ones to be refused.
        found.append(Reading(table.doc, rows, decide(rows, [table.concurrency])))
    return tuple(found)


def claims(reference: Reference) -> tuple[tuple[Said, Claim], ...]:
    """Every printed percentage and ratio with the values that it must come from."""
    return tuple(
        (
            said,
            Claim(said.kind, Decimal(said.printed), reference.value(said.before), reference.value(said.after)),
        )
        for said in reference.claims
    )


def _rule(reference: Reference, strict: bool) -> Rule:
    agreed = reference.criteria
    gain = agreed.throughput_gain
    return Rule(agreed.ttft_drop.least, gain.low, gain.high, None if strict else 0)


def _pair(reference: Reference, concurrency: int) -> Printed:
    def name(metric: str, arm: str) -> str:
        return f"R2.{metric}.c{concurrency}.{arm}"

    kinds = {reference.baseline(name(metric, arm)) for metric in ("ttft_p50", "out_tps") for arm in ("local", "fx100")}
    return Printed(
        concurrency=concurrency,
        ttft_local=reference.value(name("ttft_p50", "local")),
        ttft_array=reference.value(name("ttft_p50", "fx100")),
        throughput_local=reference.value(name("out_tps", "local")),
        throughput_array=reference.value(name("out_tps", "fx100")),
        ttft_recompute=_recompute(reference, concurrency),
        baseline=LOCAL if kinds == {LOCAL} else ", ".join(sorted(kinds)),
    )


def _recompute(reference: Reference, concurrency: int) -> Decimal | None:
    name = f"R2.ttft_p50.c{concurrency}.recompute"
    return reference.value(name) if any(one.id == name for one in reference.figures) else None
