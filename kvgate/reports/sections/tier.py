"""G3: where the tokens of each arm came from, and the bytes that store, device and port tell of them, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checks.phrase import say
from checks.serving import judging
from checks.serving.reconciliation import Row, Traffic
from checks.serving.rounds import ArmRound
from checks.units import show_bytes
from kvgate.reports import arms
from kvgate.reports.messages import Reader
from kvgate.reports.sections.levels import Level
from kvgate.reports.sections.section import Grid, Section

#: Sources as people read them, in the order of a legend.
_SOURCES = (
    ("store", say("store")), ("computed", say("computed")), ("host", say("DRAM")), ("device", say("HBM")),
)  # fmt: skip


def sections(levels: Sequence[Level], read: Reader) -> Iterator[Section]:
    """Yield tokens by source and the reconciliation of every level."""
    if any(one.rounds for one in levels):
        yield _sources(levels, read)
    for found in ([one for one in levels if one.primary], [one for one in levels if not one.primary]):
        if any(one.rounds for one in found):
            yield _reconciled(found, read)


def _arms(level: Level, role: str) -> list[ArmRound]:
    return [one.local if role == "local" else one.array for one in level.rounds]


def _sources(levels: Sequence[Level], read: Reader) -> Section:
    bars: dict[str, dict[str, float]] = {}
    rows = []
    for level in levels:
        for role, name in (("local", read("local")), ("array", read("array"))):
            told = [one.traffic for one in _arms(level, role) if one.traffic is not None]
            if not told:
                continue
            sums = {key: _sum([_of(one, key) for one in told]) for key, _ in _SOURCES}
            whole = _sum([one.prompt for one in told])
            own = _sum([one.store_own for one in told])
            shown = (_tokens(value, whole, read) for value in sums.values())
            rows.append((level.name, name, _tokens(whole, None, read), *shown, _tokens(own, None, read)))
            if whole:
                bars[f"{level.name} {name}"] = {
                    read.phrase(said): (sums[key] or 0) / whole * 100 for key, said in _SOURCES
                }
    heads = [read("concurrency"), read("arm"), read("prompt tokens")]
    heads += [*(read.phrase(said) for _, said in _SOURCES), read("as the store counts them")]
    lines = [
        read("All rounds together. What is computed of a restored prompt is its last, incomplete chunk."),
    ]
    names = [read.phrase(said) for _, said in _SOURCES]
    charts = [arms.shares(read("Prompt tokens by source"), bars, names)] if bars else []
    return Section(read("Where the tokens came from"), lines, [Grid(heads, rows)], charts)


def _of(traffic: Traffic, key: str) -> int | None:
    return {
        "store": traffic.store, "computed": traffic.computed, "host": traffic.host, "device": traffic.device,
    }[key]  # fmt: skip


def _sum(parts: Sequence[int | None]) -> int | None:
    return None if None in parts else sum(part for part in parts if part is not None)


def _tokens(value: int | None, of: int | None, read: Reader) -> str:
    if value is None:
        return read("not told")
    return f"{value:,}" if not of else f"{value:,} ({value / of * 100:.2f} %)"


def _reconciled(levels: Sequence[Level], read: Reader) -> Section:
    grids = []
    for level in levels:
        found: dict[str, dict[str, list[Row]]] = {}
        for role in ("local", "array"):
            for one in _arms(level, role):
                for row in judging.rows(one, level.limits):
                    found.setdefault(read.phrase(row.what), {}).setdefault(role, []).append(row)
        heads = [
            level.name, read("allowed"), read("local: found"), read("expected"), read("off at most"), read("holds"),
            read("array: found"), read("expected"), read("off at most"), read("holds"),
        ]  # fmt: skip
        rows = [
            (
                what,
                read.phrase(_any(by)[0].allowed),
                *_side(by.get("local", []), read),
                *_side(by.get("array", []), read),
            )
            for what, by in found.items()
        ]
        if rows:
            grids.append(Grid(heads, rows, brief=(0, 2, 3, 5, 6, 7, 9)))
    lines = [
        read(
            "Every line is held to in every round; found and expected are those of the round that lies furthest off. A cell with a "
            "line that does not hold, or was not told, is invalid whatever its ratio."
        )
    ]  # fmt: skip
    title = read("The same bytes from every counter")
    if levels[0].primary:
        return Section(title, lines, grids)
    return Section(f"{title}: {', '.join(dict.fromkeys(one.site.shape for one in levels))}", lines, grids, folded=True)


def _any(by: dict[str, list[Row]]) -> list[Row]:
    return next(iter(by.values()))


def _side(found: Sequence[Row], read: Reader) -> tuple[str, str, str, str]:
    if not found:
        return ("-", "-", "-", "-")
    worst = max(found, key=_far)
    good = sum(row.holds is True for row in found)
    off = "-" if _off(worst) is None else f"{_off(worst):+.3f} %"
    held = read("{count} of {total}", count=good, total=len(found))
    return _show(worst.found, worst.unit, read), _show(worst.expected, worst.unit, read), off, held


def _far(row: Row) -> tuple[bool, float]:
    """A line that does not hold first, then the one furthest from what was expected."""
    return row.holds is not True, abs(_off(row) or 0.0)


def _off(row: Row) -> float | None:
    """How far found lies from expected, in percent; None where either is not told or expected is but a limit."""
    if not row.near or row.found is None or not row.expected:
        return None
    return (row.found / row.expected - 1) * 100


def _show(value: float | None, unit: str, read: Reader) -> str:
    if value is None:
        return read("not told")
    if unit in ("B", "B/s"):
        return show_bytes(int(value)) + unit.removeprefix("B")
    return f"{value:,.0f}"
