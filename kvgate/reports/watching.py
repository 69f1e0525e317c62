"""The live view of a soak: a row a host of what counts, what was sampled, what it does and how fast; below it what to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from checks.soak.accounting import State
from checks.units import show_bytes
from kvgate.reports.messages import Reader, language
from kvgate.reports.soaking import STYLE, head, hours
from kvgate.soak.glance import Glance
from kvgate.soak.reckoning import Reckoned
from kvgate.soak.store import Store
from kvgate.soak.told import Told, described, elapsed

#: Columns from which on all stands in one table; below, time, work and latency each have their own.
_WIDE = 160


class View:
    """What is drawn at one look; fits itself to the terminal. ``wanted`` are the seconds that shall count."""

    def __init__(
        self, store: Store, told: Sequence[Told], glances: Mapping[str, Glance], reckoned: Mapping[str, Reckoned],
        wanted: float, scale: float | None,
    ) -> None:  # fmt: skip
        self._store, self._told, self._glances, self._reckoned = store, told, glances, reckoned
        self._wanted, self._scale = wanted, scale
        self._read = Reader(language())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw for as many columns as there are."""
        tables: list[RenderableType] = []
        parts = [
            (self._time_heads(), self._time),
            (self._work_heads(), self._work),
            (self._latency_heads(), self._latency),
        ]
        if options.max_width >= _WIDE:
            tables.append(self._table([one for heads, _ in parts for one in heads], [cells for _, cells in parts]))
        else:
            for heads, cells in parts:
                tables += [self._table(heads, [cells]), Text("")]
        below = [Text(line, style) for line, style in self._below()]
        yield Group(Text(head(self._store, self._scale, self._read), "bold"), *tables, *below)

    def _table(self, heads: Sequence[str], parts: Sequence[Callable[[Told], Sequence[str | Text]]]) -> Table:
        table = Table(box=None, pad_edge=False)
        for at, name in enumerate([self._read("host"), *heads]):
            table.add_column(name, no_wrap=at < len(heads), overflow="fold")
        for one in self._told:
            table.add_row(one.host, *(cell for cells in parts for cell in cells(one)))
        return table

    def _time_heads(self) -> list[str]:
        read = self._read
        wanted = read("counts, of {hours:g} h", hours=self._wanted / 3600)
        return [read("state"), wanted, read("left"), read("interrupted"), read("alarms")]

    def _time(self, one: Told) -> list[str | Text]:
        read, seen, account = self._read, self._glances[one.host], self._reckoned[one.host].account
        passed, left = elapsed(one.found), "-"
        if one.state == "running" and passed is not None:
            left = hours(max(0.0, float(one.found["seconds"]) - passed))
        broken = account.minutes(State.INTERRUPTED) if account else 0
        return [
            Text(read.word(one.state), STYLE[one.state]), f"{account.qualified / 60:.2f}" if account else "-", left,
            Text(read("{minutes} min", minutes=broken) if account else "-", "bold red" if broken else ""),
            Text(str(seen.alarm_count), "bold red" if seen.alarm_count else ""),
        ]  # fmt: skip

    def _work_heads(self) -> list[str]:
        read = self._read
        return [read("samples"), read("a minute"), read("sampled worst"), read("reads"), read("writes")]

    def _work(self, one: Told) -> list[str | Text]:
        seen, worst = self._glances[one.host], self._reckoned[one.host].worst
        return [
            f"{seen.samples.total()}", "-" if seen.pace is None else f"{seen.pace:.1f}",
            f"{worst.stream} {worst.share * 100:.1f} %" if worst else "-", _rate(seen.read), _rate(seen.written),
        ]  # fmt: skip

    def _latency_heads(self) -> list[str]:
        read = self._read
        return [read("I/O on the array"), read("I/O locally"), read("TTFT p50"), read("loads")]

    def _latency(self, one: Told) -> list[str | Text]:
        seen = self._glances[one.host]
        waits = [f"{seen.waits[arm]:.2f} ms" if arm in seen.waits else "-" for arm in ("array", "local")]
        ttft = ", ".join(f"{name} {value:.2f} s" for name, value in sorted(seen.ttft.items()))
        loads = ", ".join(f"{name} {self._read.phrase(last)}" for name, last in sorted(seen.loads.items()))
        return [*waits, ttft or "-", loads or "-"]

    def _below(self) -> list[tuple[str, str]]:
        """What somebody should look at, with its style."""
        read = self._read
        lines: list[tuple[str, str]] = []
        for one in self._told:
            told = self._reckoned[one.host]
            if one.error is not None:
                lines.append((read.phrase(one.error.phrase), "yellow"))
            elif one.state != "running" or one.found.get("full"):
                lines.append(
                    (
                        f"{one.host}  {read.phrase(described(one))}",
                        "bold red" if one.state == "running" else STYLE[one.state],
                    )
                )
            if told.why:
                lines.append(
                    (
                        read("{host}: the journal of the soak cannot be read: {why}", host=one.host, why=told.why),
                        "bold red",
                    )
                )
            lines += [(f"{one.host}  {utc[:19]}  {text}", "red") for utc, text in self._glances[one.host].alarms]
        return lines


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{show_bytes(int(rate))}/s"
