"""Loads on files: rate and latency of every pattern on every mount, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from checks.block.burst import Watched
from checks.block.rounds import Round
from checks.trial import Trial
from checks.units import show_bytes
from kvgate.gate.tried import Ended, Tried
from kvgate.reports.charts import Chart, bars, lines
from kvgate.reports.messages import Reader
from kvgate.reports.sections.section import Grid, Section, around


def sections(trials: Sequence[Trial[Any]], tried: Tried, read: Reader) -> Iterator[Section]:
    """Yield rates and latencies side by side, then every round."""
    facts = {trial: [one.fact for one in tried.rounds(trial) if isinstance(one.fact, Round)] for trial in trials}
    yield Section(
        read("What files carry"),
        [read("Median of the rounds; whiskers are the lowest and the highest round.")],
        [_medians(facts, read)],
        list(_charts(facts, read)),
    )
    rows = [_round(trial, one, read) for trial in trials for one in tried.rounds(trial)]
    heads = [
        read("kind of load"), read("round"), read("rate"), read("operations/s"), "p50 us", "p99 us", read("device by iostat"),
        read("fio, percent of a core"),        read("disk, C"), read("remark"),
    ]  # fmt: skip
    yield Section(read("Every round"), grids=[Grid(heads, rows)], folded=True)


def place(trial: Trial[Any]) -> tuple[str, str]:
    """Pattern of a load, and the mount or the raw disk that it is made on."""
    values = dict(trial.title.values)
    return str(values["pattern"]), f"{values['host']}:{values.get('path', values.get('serial'))}"


def _medians(facts: dict[Trial[Any], list[Round]], read: Reader) -> Grid:
    rows = []
    for trial, rounds in facts.items():
        pattern, where = place(trial)
        rates = [one.bytes_per_second for one in rounds]
        spread = 100 * (max(rates) - min(rates)) / median(rates)
        rows.append(
            (
                where, pattern, f"{show_bytes(int(median(rates)))}/s", f"{spread:.1f} %", f"{median(one.iops for one in rounds):,.0f}",
                _latency(rounds, 50.0), _latency(rounds, 99.0), _latency(rounds, 99.9), str(len(rounds)),
            )
        )  # fmt: skip
    heads = [
        read("mount"), read("kind of load"), read("rate"), read("range"), read("operations/s"), "p50 us", "p99 us", "p99.9 us",
        read("rounds"),
    ]  # fmt: skip
    return Grid(heads, rows)


def _charts(facts: dict[Trial[Any], list[Round]], read: Reader) -> Iterator[Chart]:
    rates: dict[str, dict[str, list[float]]] = {}
    latencies: dict[str, list[tuple[float | str, float]]] = {}
    over: dict[str, list[tuple[float | str, float]]] = {}
    for trial, rounds in facts.items():
        pattern, where = place(trial)
        rates.setdefault(where, {})[pattern] = [one.bytes_per_second / 1e9 for one in rounds]
        percents = sorted({percent for one in rounds for percent in one.latency_us})
        latencies[f"{where} {pattern}"] = [
            (f"{percent:g}", median(one.latency_us[percent] for one in rounds if percent in one.latency_us))
            for percent in percents
        ]
        over[f"{where} {pattern}"] = [(float(n), one.bytes_per_second / 1e9) for n, one in enumerate(rounds, 1)]
    yield bars(read("Throughput"), rates, "GB/s", read("kind of load"), read("mount"))
    yield lines(
        read("Latency"),
        latencies,
        "us",
        read("requests answered within it, %"),
        read("mount and load"),
        logarithmic=True,
    )
    yield lines(read("Throughput round by round"), over, "GB/s", read("round"), read("mount and load"))


def _latency(rounds: Sequence[Round], percent: float) -> str:
    values = [one.latency_us[percent] for one in rounds if percent in one.latency_us]
    return f"{median(values):,.1f}" if values else "-"


def _round(trial: Trial[Any], ended: Ended, read: Reader) -> Sequence[str]:
    pattern, where = place(trial)
    name, number = f"{where} {pattern}", str(ended.number)
    if not isinstance(ended.fact, Round):
        why = ended.void if ended.void is not None else ended.failed.phrase if ended.failed is not None else None
        mark = read("void") if ended.void is not None else read("could not be told")
        return (name, number, "-", "-", "-", "-", "-", "-", "-", f"{mark}: {read.phrase(why)}")
    found = ended.fact
    seen = found.watched
    watched = f"{show_bytes(int(seen.bytes_per_second))}/s" if isinstance(seen, Watched) else read.phrase(seen)
    heat = " / ".join("-" if one is None else str(one) for one in found.celsius)
    return (
        name, number, f"{show_bytes(int(found.bytes_per_second))}/s", f"{found.iops:,.0f}",
        _latency([found], 50.0), _latency([found], 99.0), watched,
        "-" if found.cpu_percent is None else f"{found.cpu_percent:.0f}", heat, around(ended, read),
    )  # fmt: skip
