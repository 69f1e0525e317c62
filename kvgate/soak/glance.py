"""What can be seen of a soak while it runs: the last lines of each host's journal as a few numbers. Judges nothing."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from checks.parsers import kvgate_client
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput
from checks.soak.outages import FABRICS
from checks.statistics.percentile import percentile

_PATH = re.compile(r"nvme(\d+)c(\d+)n(\d+)", re.ASCII)
_DISK = re.compile(r"nvme(\d+)n\d+|md\d+|sd[a-z]+|vd[a-z]+", re.ASCII)
_RECENT = 1 / 6  # hours of the soak
_REQUESTS = 200  # of a load that are looked back at
_ALARMS = 6  # of a host that are kept to be shown
_ERROR = 3  # kernel priority: error and worse


@dataclass
class Glance:
    """One host. Rates in bytes a second of its busiest device; ``waits`` by arm (array: over the fabric; local) in milliseconds an I/O
    of the busiest device there; ``ttft`` by load in seconds; ``pace`` samples a minute of the soak, over the last ten of them."""

    host: str
    scale: float = 1.0
    lines: int = 0
    samples: Counter[str] = field(default_factory=Counter)
    hours: float = 0.0
    read: float | None = None
    written: float | None = None
    waits: dict[str, float] = field(default_factory=dict)
    ttft: dict[str, float] = field(default_factory=dict)
    loads: dict[str, Phrase] = field(default_factory=dict)
    alarms: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_ALARMS))
    alarm_count: int = 0
    _first: tuple[str, float] | None = None
    _passed: float = 0.0
    _disk: tuple[float, Mapping[str, Mapping[str, Any]]] | None = None
    _transports: dict[str, str] = field(default_factory=dict)
    _paths: dict[str, str] = field(default_factory=dict)
    _answers: dict[str, deque[float]] = field(default_factory=dict)
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    @property
    def pace(self) -> float | None:
        """Samples a minute of the soak; None before there is a minute of them."""
        if len(self._recent) < 2 or self._recent[-1][0] - self._recent[0][0] < 1 / 60:
            return None
        (begin, before), (end, after) = self._recent[0], self._recent[-1]
        return (after - before) / (end - begin) / 60

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
            self._recent.append((self.hours, self.samples.total()))
            while self._recent[-1][0] - self._recent[0][0] > _RECENT:
                self._recent.popleft()
            self._sample(stream, values, mono, record["utc"])
        elif kind == "event":
            self._event(stream, values, record["utc"])

    def _sample(self, stream: str, values: Mapping[str, Mapping[str, Any]], mono: float, utc: str) -> None:
        if stream == "disk":
            self._rates(values, mono)
        for subject, fields in values.items():
            if stream == "nvme" and "transport" in fields:
                self._transports[subject] = str(fields["transport"])
            if stream == "nvme" and (path := _PATH.fullmatch(subject)):
                self._paths[f"nvme{path[1]}n{path[3]}"] = f"nvme{path[2]}"
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
        for arm in ("array", "local"):
            counts = {name: gained(name, "reads", "writes") for name in values if self._arm(name) == arm}
            busiest = max(counts, key=lambda name: counts[name], default=None)
            if busiest is not None and counts[busiest] > 0:
                self.waits[arm] = gained(busiest, "read_ms", "write_ms") / counts[busiest]

    def _arm(self, device: str) -> str | None:
        """Whether a block device stands in the array or in this host; None for one that says nothing of either (loop, dm)."""
        if (disk := _DISK.fullmatch(device)) is None:
            return None
        controller = self._paths.get(device, f"nvme{disk[1]}")
        return "array" if self._transports.get(controller) in FABRICS else "local"

    def _event(self, stream: str, values: Mapping[str, Mapping[str, Any]], utc: str) -> None:
        for subject, fields in values.items():
            event = str(fields["event"])
            if stream == "soak" and event != "stop":
                self._alarm(utc, " ".join(f"{key} {value}" for key, value in fields.items() if key != "event") or event)
            elif stream == "load" and event == "line":
                self._answered(subject, str(fields["line"]))
            elif stream == "load" and event in ("begin", "end", "missed"):
                bad = event == "missed" or (event == "end" and fields["status"] != 0 and fields.get("why") != "stopped")
                self.loads[subject] = _doing(event, fields.get("status"))
                if bad:
                    self._alarm(utc, f"{subject}: {fields.get('why') or fields.get('status')}")
                if event == "end" and subject != "cleanup":
                    self._latency(subject, str(fields.get("stdout", "")))

    def _answered(self, load: str, line: str) -> None:
        """One request of a load that prints one a line; other lines are not about requests."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            recent = self._answers.setdefault(load, deque(maxlen=_REQUESTS))
            recent.append(float(json.loads(line)["ttft_s"]))
            self.ttft[load] = percentile(sorted(recent), 50)

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


def _doing(event: str, status: object) -> Phrase:
    if event == "begin":
        return say("runs")
    return say("was missed") if event == "missed" else say("ended ({status})", status=str(status))
