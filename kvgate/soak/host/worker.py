"""The loop: takes samples when they are due, runs the loads, writes lines, and ends when planned, told, or out of bounds."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .children import Child
from .journal import Entry, Full, Journal, Values, canonical, digest, keep_room, write_into, write_whole
from .launch import mark_of
from .loads import Load
from .reading import text
from .streams import Stream
from .times import Now, now, seconds_of, started

_SETTLE = 1.0  # seconds that lines of loads may wait for company
_STEP = 0.1  # seconds by which the wall clock may move against the monotonic one
_LOOK = 0.5  # seconds between two looks at what is being ended
_END = 20.0  # seconds that loads have to end, all together
_TRY = 5.0  # seconds between two tries when there is no room
_MOST = 8 << 20  # bytes of lines that wait for room; more are dropped, and said so
_HELD = (
    ("reserve", 64 << 10),
    ("exit.reserve", 4 << 10),
)  # room for the last lines and for exit.json, whatever fills the disk


class Worker:
    """One soak on this host. ``run`` returns the exit status."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        raw = (folder / "plan.json").read_bytes()
        self.plan: dict[str, Any] = json.loads(raw)
        self.scale, self.name = float(self.plan["scale"]), f"{self.plan['soak']}/{self.plan['host']}"
        bounds = self.plan["bounds"]
        self.journal = Journal(
            folder, self.name, *(int(bounds[f"{one}_bytes"]) for one in ("segment", "journal", "free"))
        )
        self.unit = os.environ.get("KVGATE_SOAK_UNIT", "process")
        self.start = now()
        self.selector = selectors.DefaultSelector()
        self.why = ""
        self._plan, self._raw = digest(raw), raw
        self._waiting: list[Entry] = []
        self._since, self._late, self._offset = 0.0, 0.0, self._drift(self.start)
        self._full: Now | None = None
        self._dropped, self._held = 0, 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self.selector.register(self._reader, selectors.EVENT_READ, None)

    # ---- lines

    @property
    def header(self) -> Values:
        """First line of a further segment."""
        return {"segment": {"soak": self.plan["soak"], "host": self.plan["host"], "scale": self.plan["scale"]}}

    def _open(self) -> float:
        """Begin or resume the journal; return the moment of the begin on today's monotonic clock. Raises Full."""
        one = {
            "form": 1, "soak": self.plan["soak"], "host": self.plan["host"], "scale": self.plan["scale"],
            "seconds": self.plan["seconds"], "plan": self._plan, "worker": self._digest(), "unit": self.unit,
            "invocation": os.environ.get("INVOCATION_ID", ""), "pid": os.getpid(), "python": platform.python_version(),
            "kernel": platform.release(),
        }  # fmt: skip
        last = self.journal.last
        if not last:
            self.journal.begin(
                Entry("begin", "", None, self.start, {"soak": one, "plan": {"text": self._raw.decode("ascii")}})
            )
            return self.start.mono
        same = last["boot"] == self.journal.boot
        wall = self.start.wall - seconds_of(last["utc"])
        away = round(self.start.mono - last["mono"], 6) if same else None
        one.update(number=self.journal.number + 1, cut=self.journal.cut, after=self.journal.seq, same_boot=same)
        one.update(away=away, away_wall=round(wall, 6))
        for record in reversed(self.journal.records):
            if same and record["stream"] == "kernel" and "next" in record["values"].get("", {}):
                self.plan["streams"].get("kernel", {})["next"] = record["values"][""]["next"]
                break
        else:
            self.plan["streams"].get("kernel", {})["next"] = 0  # whatever the kernel still has may be new
        first = json.loads((self.folder / "origin.json").read_text("ascii"))
        self.journal.begin(Entry("resume", "", None, self.start, {"soak": one}))
        if first["boot"] == self.journal.boot:
            return float(first["mono"])
        return self.start.mono - max(0.0, self.start.wall - seconds_of(first["utc"]))

    def _digest(self) -> str:
        place = self.folder / "worker.pyz"
        return digest(place.read_bytes()) if place.exists() else ""

    def add(self, kind: str, stream: str, values: Values, tick: int | None = None, at: Now | None = None) -> None:
        """Add a line; it is written at the end of this turn of the loop."""
        if self._held > _MOST:
            self._dropped += 1
            return
        self._waiting.append(Entry(kind, stream, tick, at or now(), values))
        self._held += 200 + sum(len(str(fields)) for fields in values.values()) if self._full else 0

    def _tell(self, name: str, fields: dict[str, Any]) -> None:
        self.add("event", "load", {name: fields})

    def write(self, *, whatever: bool = False) -> None:
        """Write what waits, if it waits long enough or holds a sample."""
        at = time.monotonic()
        if not self._waiting or (self._full is not None and at < self._since + _TRY and not whatever):
            return
        settled = at - self._waiting[0].at.mono >= _SETTLE or any(one.kind != "event" for one in self._waiting)
        if not (settled or whatever):
            return
        entries = self._waiting
        if self._full is not None:
            told = {"event": "room", "seconds": round(at - self._full.mono, 3), "dropped": self._dropped}
            entries = [*entries, Entry("event", "soak", None, now(), {"soak": told})]
        try:
            self.journal.append(entries, self.header)
        except Full as error:
            if self._full is None:
                self._full = now()
                self._waiting.append(
                    Entry("event", "soak", None, self._full, {"soak": {"event": "full", "why": str(error)}})
                )
                self._held = sum(len(str(one)) for one in self._waiting)
            self._since = at
            return
        self._waiting, self._full, self._dropped, self._held = [], None, 0, 0

    # ---- the loop

    def run(self) -> int:
        """Run the soak to its end."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if self.journal.last.get("kind") == "end" or (self.folder / "exit.json").exists():
            return 0
        if not self.journal.last:  # before its first line: whoever resumes it needs both
            write_whole(self.folder / "origin.json", canonical(self._moment(self.start)))
        origin = self._open()
        for name, size in _HELD:
            keep_room(self.folder, name, size)
        self._state()
        streams = [
            Stream(name, config, self.scale, origin, self._writer, self.selector) for name, config in self.plan["streams"].items()
            if name != "worker"
        ]  # fmt: skip
        own = self.plan["streams"].get("worker", {"every": 60})
        ours = Stream("worker", {**own}, self.scale, origin, self._writer, self.selector)
        loads = [
            Load(
                {**one, "worker": str(self.folder / "worker.pyz")},
                self.scale,
                origin,
                mark_of(self.plan),
                self._tell,
                self.selector,
            )
            for one in self.plan["loads"]
        ]
        timed: list[Stream | Load] = [*streams, ours, *loads]
        for one in timed:
            if self.start.mono > origin:
                one.skip(self.start.mono)
        until = origin + float(self.plan["seconds"]) / self.scale
        while not self.why:
            at = self._clocks()
            if at >= until:
                self.why = "planned"
                break
            self._turn(at, streams, ours, loads)
            self.write()
            self._wait(min([until, *(one.due for one in timed)]), streams, loads)
        return self._end(streams, loads)

    def _stop(self, *_: object) -> None:
        self.why = self.why or "stopped"

    def _turn(self, at: float, streams: list[Stream], ours: Stream, loads: list[Load]) -> None:
        for stream in streams:
            if at >= stream.due:
                self._late = max(self._late, at - stream.due)
            for tick, values in stream.take(at):
                self.add("sample", stream.name, values, tick)
        for load in loads:
            load.step(at, self.journal.seq + len(self._waiting) + 1)
        if at >= ours.due:
            ours.skip(at + 1e-9)
            self.add("sample", "worker", {"worker": self.cost()}, ours.tick)
            self._late = 0.0

    def _wait(self, due: float, streams: list[Stream], loads: list[Load]) -> None:
        children: list[Child] = [child for stream in streams for child in stream.children]
        children += [load.child for load in loads if load.child is not None]
        times = [due, *(child.begun + child.limit for child in children)]
        if any(child.waits for child in children):
            times.append(time.monotonic() + _LOOK)
        if self._waiting:
            times.append(self._since + _TRY if self._full else self._waiting[0].at.mono + _SETTLE)
        wait = max(0.0, min(times) - time.monotonic())
        for key, _ in self.selector.select(min(wait, 60.0)):
            if key.data is None:
                self._drain()
            else:
                key.data[0].take(key.data[1])

    def _drain(self) -> None:
        try:
            while os.read(self._reader, 4096):
                pass
        except BlockingIOError:
            pass

    @staticmethod
    def _drift(at: Now) -> tuple[float, float]:
        return at.wall - at.mono, at.boottime - at.mono

    def _clocks(self) -> float:
        """Notice a wall clock that was set, and a host that slept."""
        at = now()
        offset = self._drift(at)
        stepped, slept = (new - old for new, old in zip(offset, self._offset))
        if abs(slept) > _STEP:
            self.add("event", "soak", {"soak": {"event": "suspended", "seconds": round(slept, 6)}})
        if abs(stepped - slept) > _STEP:
            self.add("event", "soak", {"soak": {"event": "clock", "stepped": round(stepped - slept, 6)}})
        self._offset = offset
        return at.mono

    # ---- what it costs, how it ends

    def cost(self) -> dict[str, Any]:
        """Processor time and memory of the worker itself, without the loads, and room for the journal."""
        pages = (text("/proc/self/statm") or "0 0").split()
        total, unread = self.journal.sizes()
        return {
            "cpu_seconds": round(time.process_time(), 3), "rss_bytes": int(pages[1]) * os.sysconf("SC_PAGE_SIZE"),
            "fds": len(os.listdir("/proc/self/fd")), "lines": self.journal.seq, "journal_bytes": total,
            "unread_bytes": unread, "free_bytes": self.journal.free(), "late_seconds": round(max(0.0, self._late), 3),
        }  # fmt: skip

    def _moment(self, at: Now) -> dict[str, Any]:
        return {"utc": at.utc, "mono": round(at.mono, 6), "boot": self.journal.boot}

    def _state(self) -> None:
        one = {**self._moment(self.start), "pid": os.getpid(), "start": started(os.getpid()), "unit": self.unit}
        one.update(invocation=os.environ.get("INVOCATION_ID", ""), soak=self.plan["soak"], host=self.plan["host"])
        write_whole(self.folder / "state.json", canonical(one))

    def _end(self, streams: list[Stream], loads: list[Load]) -> int:
        begun = time.monotonic()
        if self.why == "stopped":
            self.add("event", "soak", {"soak": {"event": "stop"}})
        for load in loads:
            load.end(begun, "stopped")
        for stream in streams:
            for child in stream.children:
                child.end(begun, "stopped")
        while time.monotonic() < begun + _END and any(load.child for load in loads):
            self._finish(streams, loads)
        for load in loads:
            if load.child is not None:
                load.child.kill()
        self._finish(streams, loads)
        for argv in self.plan.get("cleanup", []):
            self._clean(argv)
        cost = self.cost()
        self.write(whatever=True)
        status, why = (0, self.why) if self._full is None else (1, "full")
        done = {**self._moment(now()), "status": status, "why": why}
        if self._full is not None:
            done["full"] = self._moment(self._full)
        fields = {"why": why, "status": status, "cpu_seconds": cost["cpu_seconds"], "rss_bytes": cost["rss_bytes"]}
        self._last_words({**fields, "wall_seconds": round(time.monotonic() - self.start.mono, 3)})
        done.update(seq=self.journal.seq, head=self.journal.head, invocation=os.environ.get("INVOCATION_ID", ""))
        write_into(self.folder / "exit.json", self.folder / "exit.reserve", canonical(done))
        self.journal.close()
        return status

    def _last_words(self, end: dict[str, Any]) -> None:
        """Write the end, where there is no room into what was held for it: with all lines that wait, else with those of the soak alone.

        Where there is no room even for these, exit.json alone tells that the worker ended, and why.
        """
        with contextlib.suppress(OSError):
            (self.folder / "reserve").unlink()
        few = [one for one in self._waiting if (one.kind, one.stream) == ("event", "soak")]
        for entries in (self._waiting, few):
            lost = self._dropped + len(self._waiting) - len(entries)
            last = Entry("end", "", None, now(), {"end": {**end, **({"dropped": lost} if lost else {})}})
            try:
                self.journal.append([*entries, last], self.header, final=True)
                return
            except Full as error:
                print(f"no room for the end of the journal: {error}", file=sys.stderr)

    def _finish(self, streams: list[Stream], loads: list[Load]) -> None:
        for load in loads:
            if load.child is not None:
                load.step(time.monotonic(), 0)
        for stream in streams:
            for tick, values in stream.take(min(time.monotonic(), stream.due - 1e-6)):
                self.add("sample", stream.name, values, tick)
        for key, _ in self.selector.select(0.1):
            if key.data is None:
                self._drain()
            else:
                key.data[0].take(key.data[1])

    def _clean(self, argv: list[str]) -> None:
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
            told = {"status": done.returncode, "stderr": done.stderr.decode("utf-8", "backslashreplace")[-2000:]}
        except (OSError, subprocess.TimeoutExpired) as error:
            told = {"status": 124, "stderr": str(error)}
        self._tell("cleanup", {"event": "end", "number": self.journal.seq, "argv": json.dumps(argv), **told})
