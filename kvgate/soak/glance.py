"""What can be seen of a soak while it runs: the last lines of each host's journal as a few numbers. Judges nothing."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from checks.parsers import kvgate_client
from checks.probe import UnreadableOutput
from checks.statistics.percentile import percentile

_ALARMS = 6  # of a host that are kept to be shown
_ERROR = 3  # kernel priority: error and worse


@dataclass
class Glance:
    """One host. Rates in bytes a second of its busiest device, ``wait`` in milliseconds an I/O there, ``ttft`` by load in seconds."""

    host: str
    scale: float = 1.0
    lines: int = 0
    samples: Counter[str] = field(default_factory=Counter)
    hours: float = 0.0
    read: float | None = None
    written: float | None = None
    wait: float | None = None
    ttft: dict[str, float] = field(default_factory=dict)
    loads: dict[str, str] = field(default_factory=dict)
    alarms: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_ALARMS))
    alarm_count: int = 0
    _first: tuple[str, float] | None = None
    _passed: float = 0.0
    _disk: tuple[float, Mapping[str, Mapping[str, Any]]] | None = None

    def take(self, raw: Iterable[bytes]) -> None:
        """Go on with lines as they stand in the journal."""
        for line in raw:
            try:
                record = json.loads(line)
                self._line(record)
            except (ValueError, KeyError, TypeError):
                self._alarm("", "a line of the journal cannot be read")

    def _line(self, record: Mapping[str, Any]) -> None:
        kind, stream, values, mono = record["kind"], record["stream"], record["values"], float(record["mono"])
        self.lines += 1
        if kind in ("begin", "resume"):
            self.scale = float(values["soak"]["scale"])
        if self._first is None or self._first[0] != record["boot"]:
            self._passed, self._first = self.hours, (record["boot"], mono)
        self.hours = self._passed + (mono - self._first[1]) * self.scale / 3600
        if kind == "resume":
            self._alarm(record["utc"], "the worker began again")
        elif kind == "sample":
            self.samples[stream] += 1
            self._sample(stream, values, mono, record["utc"])
        elif kind == "event":
            self._event(stream, values, record["utc"])

    def _sample(self, stream: str, values: Mapping[str, Mapping[str, Any]], mono: float, utc: str) -> None:
        if stream == "disk":
            self._rates(values, mono)
        for subject, fields in values.items():
            if "error" in fields and stream not in ("process",):
                self._alarm(utc, f"{stream} {subject}: {fields['error']}")
            if stream == "nvme" and fields.get("state", "live") != "live":
                self._alarm(utc, f"{subject} is {fields['state']}")
            if stream == "rdma" and fields.get("state", "ACTIVE") != "ACTIVE":
                self._alarm(utc, f"{subject} is {fields['state']}")
            if stream == "kernel" and subject and int(fields["prio"]) % 8 <= _ERROR:
                self._alarm(utc, str(fields["text"]))

    def _rates(self, values: Mapping[str, Mapping[str, Any]], mono: float) -> None:
        before, self._disk = self._disk, (mono, values)
        if before is None or mono <= before[0]:
            return
        seconds = mono - before[0]

        def gained(name: str, *fields: str) -> float:
            old, new = before[1].get(name, {}), values[name]
            return float(sum(new[one] - old[one] for one in fields if one in new and one in old))

        device = max(values, key=lambda name: gained(name, "read_sectors", "write_sectors"), default=None)
        if device is not None:
            self.read = gained(device, "read_sectors") * 512 / seconds
            self.written = gained(device, "write_sectors") * 512 / seconds
            count = gained(device, "reads", "writes")
            self.wait = gained(device, "read_ms", "write_ms") / count if count else None

    def _event(self, stream: str, values: Mapping[str, Mapping[str, Any]], utc: str) -> None:
        for subject, fields in values.items():
            event = str(fields["event"])
            if stream == "soak" and event != "stop":
                self._alarm(utc, " ".join(f"{key} {value}" for key, value in fields.items() if key != "event") or event)
            elif stream == "load" and event in ("begin", "end", "missed"):
                bad = event == "missed" or (event == "end" and fields["status"] != 0 and fields.get("why") != "stopped")
                self.loads[subject] = f"{event} {fields.get('status', '')}".strip()
                if bad:
                    self._alarm(utc, f"{subject}: {fields.get('why') or fields.get('status')}")
                if event == "end" and subject != "cleanup":
                    self._latency(subject, str(fields.get("stdout", "")))

    def _latency(self, load: str, text: str) -> None:
        try:
            run = kvgate_client.parse(text)
        except UnreadableOutput:
            return
        waits = [one.first_s - one.sent_s for one in run.requests if one.first_s is not None and one.sent_s is not None]
        if waits:
            self.ttft[load] = percentile(waits, 50)

    def _alarm(self, utc: str, text: str) -> None:
        self.alarm_count += 1
        if not self.alarms or self.alarms[-1][1] != text:
            self.alarms.append((utc, text[:200]))

    def plain(self) -> dict[str, Any]:
        """Under stable keys."""
        return {
            "host": self.host, "hours": round(self.hours, 4), "lines": self.lines, "samples": dict(self.samples),
            "read": self.read, "written": self.written, "wait": self.wait,
            "ttft": [{"load": name, "seconds": value} for name, value in self.ttft.items()],
            "loads": [{"load": name, "last": value} for name, value in self.loads.items()],
            "alarms": [{"utc": utc, "text": text} for utc, text in self.alarms], "alarm_count": self.alarm_count,
        }  # fmt: skip
