"""Journals of a soak of the lab: the lines of a host in the form of runbooks/soak-journal.md, segment by segment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lab.soak.host import Host
from lab.soak.trouble import Away, Lost, Moved, Record, Replanned, Restart, Stopped, Trouble
from lab.soak.work import Work

_BEGUN = datetime(2026, 11, 29, 20, 40, tzinfo=UTC)
#: Boot ids begin as those of the embedded rack do: nobody takes such a journal for a real one.
_BOOT = "6b766761-7465-4c61-8000-{number:012d}"
_LINES = 20_000  # of a segment


@dataclass(frozen=True)
class Begin:
    """A host when its soak begins: its clocks and boot, what was laid out there (digest of the worker, text of the plan).

    ``captured`` is what the tool of its accelerators prints, where that is not made up.
    """

    utc: datetime = _BEGUN
    mono: float = 1000.0
    boot: str = _BOOT.format(number=0)
    worker: str = "0" * 64
    plan: str = ""
    captured: str = ""


_PLAIN = Begin()
Moment = tuple[float, int, str, str, int | None, dict[str, Any]]


def segments(
    plan: dict[str, Any],
    seed: int = 1,
    troubles: Sequence[Trouble] = (),
    until: float | None = None,
    step: float = 30.0,
    lines: int = _LINES,
) -> list[str]:
    """Text of every segment of one host's journal. ``until``: the soak has come no further; ``step``: seconds between requests;
    ``lines``: of a segment."""
    return ["".join(raw for _, raw in part) for part in written(plan, seed, troubles, until, step, lines)]


def written(
    plan: dict[str, Any],
    seed: int = 1,
    troubles: Sequence[Trouble] = (),
    until: float | None = None,
    step: float = 30.0,
    lines: int = _LINES,
    clock: Begin = _PLAIN,
) -> list[list[tuple[float, str]]]:
    """The lines of every segment, each with the second of the soak at which it is written. ``clock``: that of the host at the begin."""
    work = Work(plan, seed, troubles, step)
    boots = [one for one in troubles if isinstance(one, Away) and one.kind == "reboot"]
    restarts: list[Trouble] = [
        *troubles,
        *work.restarts,
        *(Restart(one.at, one.seconds + one.booting) for one in boots),
    ]
    host = Host(plan, seed, restarts, clock.captured)
    stop = next((one for one in troubles if isinstance(one, Stopped)), None)
    end = min(float(plan["seconds"]), until if until is not None else 1e18, stop.at if stop else 1e18)
    aways = sorted((one for one in troubles if isinstance(one, Away)), key=lambda one: one.at)
    moments = [
        one for one in sorted(_moments(plan, host, work, restarts, end), key=lambda one: one[:2])
        if not any(away.at < one[0] < away.at + away.seconds for away in aways)
    ]  # fmt: skip
    book = _Book(plan, troubles, lines, clock)
    book.begin()
    for at, _, kind, stream, tick, values in moments:
        book.pass_by(aways, at)
        book.line(at, kind, stream, tick, values)
    book.pass_by(aways, end)
    if until is None or end < until:
        why = stop.why if stop else "planned"
        book.line(
            max(end, book.last),
            "end",
            "",
            None,
            {"end": {"why": why, "status": 0, "cpu_seconds": 1.0, "rss_bytes": 2**24, "wall_seconds": end}},
        )
    return book.parts


def _moments(plan: dict[str, Any], host: Host, work: Work, troubles: Sequence[Trouble], end: float) -> Iterator[Moment]:
    records = sorted((one for one in troubles if isinstance(one, Record)), key=lambda one: one.at)
    lost = [one for one in troubles if isinstance(one, Lost)]
    number = 8800
    # A sample is a little late. Clocks are written in millionths of a second, which is this much of a soak that runs so fast: one that
    # is due on a minute must not be read as of the minute before.
    late = max(0.01, 2e-6 * float(plan["scale"]))
    for stream, table in plan["streams"].items():
        every, tick = float(table["every"]), 0
        while (tick + 1) * every <= end + 1e-6:
            tick += 1
            at = tick * every
            values = host.sample(stream, at)
            if values is None:
                continue
            if stream == "kernel":
                while records and records[0].at <= at:
                    one, number = records.pop(0), number + 1
                    values[str(number)] = {"prio": one.prio, "text": one.text, "usec": int(one.at * 1e6)}
                for gone in lost:
                    if at - every < gone.at <= at:
                        values[""] = {"lost": gone.count}
            yield at + late, 1, "sample", stream, tick, values
    for at, name, fields in work.events():
        if at < end:
            yield at, 2, "event", "load", None, {name: fields}
    for moved in troubles:
        if isinstance(moved, Moved) and moved.at < end:
            yield moved.at + 0.02, 3, "event", "soak", None, {"soak": {"event": "clock", "stepped": moved.seconds}}


class _Book:
    """Writes lines: numbers, digests, clocks and boots, and what a worker writes when it begins again."""

    def __init__(self, plan: dict[str, Any], troubles: Sequence[Trouble], lines: int, clock: Begin) -> None:
        self._lines, self._clock = lines, clock
        self.plan, self.scale = plan, float(plan["scale"])
        self._replanned = [one for one in troubles if isinstance(one, Replanned)]
        self._moved = [one for one in troubles if isinstance(one, Moved)]
        self.parts: list[list[tuple[float, str]]] = [[]]
        self._seq, self._boot, self._mono = 0, 0, (clock.mono, 0.0)
        self._prev = hashlib.sha256(f"{plan['soak']}/{plan['host']}".encode()).hexdigest()
        self._done: list[Away] = []
        self.last = 0.0

    def begin(self) -> None:
        text = self._clock.plan or json.dumps(self.plan, sort_keys=True, separators=(",", ":"))
        for one in self._replanned:
            changed = json.loads(text)
            changed["policy"]["longest"] = one.longest
            text = json.dumps(changed, sort_keys=True, separators=(",", ":"))
        self.line(
            0.0,
            "begin",
            "",
            None,
            {"soak": {**self._soak(), "plan": hashlib.sha256(text.encode()).hexdigest()}, "plan": {"text": text}},
        )

    def _soak(self) -> dict[str, Any]:
        return {
            "form": 1, "soak": self.plan["soak"], "host": self.plan["host"], "scale": self.plan["scale"],
            "seconds": self.plan["seconds"], "worker": self._clock.worker, "unit": "system", "invocation": "lab", "pid": 4242,
            "python": "3.9.18", "kernel": "6.8.0",
        }  # fmt: skip

    def pass_by(self, aways: Sequence[Away], at: float) -> None:
        """Write what stands between the line before and ``at``: a worker that begins again, no room for the journal."""
        for one in aways:
            if one in self._done or one.at + one.seconds > at:
                continue
            self._done.append(one)
            back = one.at + one.seconds
            if one.kind == "full":
                self.line(one.at, "event", "soak", None, {"soak": {"event": "full"}})
                self.line(back, "event", "soak", None, {"soak": {"event": "room"}})
                continue
            same = one.kind == "worker"
            if not same:
                self._boot += 1
                self._mono = (30.0, back)
            number = len(self.parts) + 1
            self.parts.append([])
            away = (back - self.last) / self.scale
            fields = {
                **self._soak(),
                "number": number,
                "cut": 0,
                "after": self._seq,
                "same_boot": same,
                "away": away if same else None,
                "away_wall": away,
            }
            self.line(back, "resume", "", None, {"soak": fields})

    def line(self, at: float, kind: str, stream: str, tick: int | None, values: dict[str, Any]) -> None:
        if len(self.parts[-1]) >= self._lines and kind not in ("end", "resume"):
            number = len(self.parts)
            self._write(
                self.last, "rotate", "", None, {"rotate": {"number": number, "next": number + 1, "why": "size"}}
            )
            self.parts.append([])
            head = {
                "number": number + 1,
                "soak": self.plan["soak"],
                "host": self.plan["host"],
                "scale": self.plan["scale"],
            }
            self._write(self.last, "segment", "", None, {"segment": head})
        self._write(at, kind, stream, tick, values)

    def _write(self, at: float, kind: str, stream: str, tick: int | None, values: dict[str, Any]) -> None:
        self._seq += 1
        self.last = at
        base, since = self._mono
        stepped = sum(one.seconds for one in self._moved if one.at <= at)
        utc = self._clock.utc + timedelta(seconds=at / self.scale + stepped)
        boot = _BOOT.format(number=self._boot) if self._boot else self._clock.boot
        record = {
            "boot": boot, "kind": kind, "mono": round(base + (at - since) / self.scale, 6), "prev": self._prev,
            "seq": self._seq, "stream": stream, "tick": tick, "utc": utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "values": values,
        }  # fmt: skip
        raw = json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n"
        self._prev = hashlib.sha256(raw.encode()).hexdigest()
        self.parts[-1].append((at, raw))
