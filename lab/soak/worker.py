"""The worker of a soak on a virtual host: laid out, started, asked and collected as a real one, its journal made up.

Of the real worker's file it knows only how it is called and what it answers. What it wrote so far follows from the time that
passed since it was started: its hours are those of the plan, divided by the plan's scale.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lab.machine import Reply
from lab.soak.journal import Begin, written
from lab.soak.trouble import Trouble

_CALL = re.compile(r"; set -- (.*); for p in python3 ", re.DOTALL)
_GONE = 44  # what `read` ends with for a segment that is not there
#: Seconds of the soak between two requests of its load.
STEP = 120.0


@dataclass
class _Soak:
    """One soak of this host. ``begun`` is None until it is started."""

    plan: dict[str, Any]
    text: str
    worker: str
    begun: tuple[float, datetime] | None = None
    ended: float | None = None  # seconds of the soak at which it was stopped
    segments: list[list[tuple[float, str]]] = field(default_factory=list)
    safe: int = 0  # number of the last segment that somebody collected

    @property
    def over(self) -> float:
        """Second of the soak at which it has ended: its last line is written by then."""
        return float(self.plan["seconds"]) + 1.0 if self.ended is None else self.ended


@dataclass
class SoakHost:
    """Answers what the worker of a virtual host is asked. ``captured`` is what its accelerator's tool prints."""

    host: str
    boot: str
    troubles: tuple[Trouble, ...] = ()
    captured: str = ""
    soaks: dict[str, _Soak] = field(default_factory=dict)
    begun: list[dict[str, Any]] = field(default_factory=list)  # every start, whatever was removed since

    def answer(self, line: str) -> Reply | None:
        """Answer one command line; None for one that calls no worker."""
        if "kvgate-soak" not in line or (call := _CALL.search(line)) is None:
            return None
        words = [word.replace("$base/", "") for word in shlex.split(call[1])]
        if words[0] == "-c":
            if words[2:] == ["$base"]:
                return self._listed()
            at, _, name = words[2].rpartition("/")
            return Reply(self.soaks[at].text.encode("ascii")) if name == "plan.json" else self._laid_out(words[2:])
        soak, host, _ = words[0].split("/")
        if f"{soak}/{host}" not in self.soaks:
            return Reply(status=45)  # as the shell line's own look at the folder
        return self._asked(f"{soak}/{host}", words[1], words[3:])

    def _laid_out(self, words: Sequence[str]) -> Reply:
        at, *files = words
        there = {
            name: zlib.decompress(base64.b64decode(data)) for name, data in zip(files[::3], files[2::3], strict=True)
        }
        for name, digest in zip(files[::3], files[1::3], strict=True):
            if hashlib.sha256(there[name]).hexdigest() != digest:
                return Reply(stderr=b"the bytes that arrived are others than those that were sent\n", status=1)
        text = there["plan.json"].decode("ascii")
        worker = hashlib.sha256(there["worker.pyz"]).hexdigest()
        self.soaks.setdefault(at, _Soak(json.loads(text), text, worker))
        return Reply()

    def _listed(self) -> Reply:
        return _said({"soaks": [self._status(at) for at in self.soaks], "begun": self.begun})

    def _asked(self, at: str, verb: str, words: Sequence[str]) -> Reply:
        if verb == "read":
            return self._read(self.soaks[at], int(words[0]), int(words[1]), int(words[2]))
        verbs: dict[str, Callable[[str], dict[str, Any]]] = {
            "start": self._start, "status": self._status, "stop": self._stop, "remove": self._remove,
        }  # fmt: skip
        if verb == "acknowledge":
            self.soaks[at].safe = int(words[0])
            verb = "status"
        return _said(verbs[verb](at))

    def _start(self, at: str) -> dict[str, Any]:
        soak = self.soaks[at]
        if soak.begun is not None:
            return {**self._status(at), "did": "attached"}
        told = self._status(at)
        named = {key: soak.plan.get(key, "") for key in ("soak", "host", "rack", "campaign")}
        self.begun.append({**named, "utc": _utc(datetime.now(UTC))})
        soak.begun = (
            time.monotonic(),
            datetime.now(UTC),
        )  # what it will write is made up when somebody asks: others begin meanwhile
        return {**told, "did": "started", "tried": [], **self._running(soak)}

    def _stop(self, at: str) -> dict[str, Any]:
        soak = self.soaks[at]
        if self._there(soak) and self._reached(soak) < soak.over:
            soak.ended = self._reached(soak)
            soak.segments = self._cut(soak)
        return {**self._status(at), "did": "stopped", "left": 0}

    def _remove(self, at: str) -> dict[str, Any]:
        told = self._status(at)
        if told["state"] != "running":
            del self.soaks[at]
            told["did"] = "removed"
        return told

    def _reached(self, soak: _Soak) -> float:
        """Seconds of the soak that passed."""
        begun = soak.begun[0] if soak.begun is not None else time.monotonic()
        return min((time.monotonic() - begun) * float(soak.plan["scale"]), soak.over)

    def _there(self, soak: _Soak) -> list[bytes]:
        """What stands in each segment by now."""
        if soak.begun is None:
            return []
        if not soak.segments:
            clock = Begin(soak.begun[1], soak.begun[0], self.boot, soak.worker, soak.text, self.captured)
            soak.segments = written(soak.plan, 1, self.troubles, step=STEP, clock=clock)
        reached = self._reached(soak)
        whole = ["".join(raw for at, raw in part if at <= reached).encode("ascii") for part in soak.segments]
        return [raw for raw in whole if raw]

    def _cut(self, soak: _Soak) -> list[list[tuple[float, str]]]:
        """The segments as they stand, with the line that a worker writes which was told to end."""
        parts = [[one for one in part if one[0] <= soak.over] for part in soak.segments]
        parts = [part for part in parts if part]
        last = json.loads(parts[-1][-1][1])
        end = {"why": "stopped", "status": 0, "cpu_seconds": 1.0, "rss_bytes": 2**24, "wall_seconds": soak.over}
        line = {
            **last, "kind": "end", "stream": "", "tick": None, "seq": last["seq"] + 1, "values": {"end": end},
            "prev": hashlib.sha256(parts[-1][-1][1].encode("ascii")).hexdigest(),
        }  # fmt: skip
        parts[-1].append((soak.over, json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n"))
        return parts

    def _status(self, at: str) -> dict[str, Any]:
        soak = self.soaks[at]
        mono, utc = time.monotonic(), datetime.now(UTC)
        found: dict[str, Any] = {
            "folder": f"/var/lib/kvgate-soak/{at}", "soak": soak.plan["soak"], "host": soak.plan["host"], "scale": soak.plan["scale"],
            "seconds": soak.plan["seconds"], "boot": self.boot, "utc": _utc(utc), "mono": round(mono, 6), "origin": {}, "started": {},
            "exit": {}, "rebooted": False, "segments": [[n, len(raw)] for n, raw in enumerate(self._there(soak), start=1)],
            "state": "absent", "rack": soak.plan.get("rack", ""), "campaign": soak.plan.get("campaign", ""), "free": 2**40, "full": False,
        }  # fmt: skip
        found["unread"] = sum(size for number, size in found["segments"] if number > soak.safe)
        found |= self._running(soak)
        if soak.begun is not None and self._reached(soak) >= soak.over:
            why, lasted = "planned" if soak.ended is None else "stopped", soak.over / float(soak.plan["scale"])
            end = {"mono": round(soak.begun[0] + lasted, 6), "utc": _utc(soak.begun[1] + timedelta(seconds=lasted))}
            found |= {"state": "ended", "exit": {**found["origin"], **end, "status": 0, "why": why}}
        return found

    def _running(self, soak: _Soak) -> dict[str, Any]:
        if soak.begun is None:
            return {}
        origin = {"boot": self.boot, "mono": round(soak.begun[0], 6), "utc": _utc(soak.begun[1])}
        unit = {**origin, "pid": 4242, "start": "1000", "unit": "system"}
        return {"origin": origin, "started": unit, "state": "running"}

    def _read(self, soak: _Soak, number: int, offset: int, most: int) -> Reply:
        there = self._there(soak)
        if not 1 <= number <= len(there):
            return Reply(status=_GONE)
        frames, left, more = [], most, 0
        for one, raw in enumerate(there[number - 1 :], start=number):
            rest = raw[offset if one == number else 0 :]
            if left <= 0 and rest:
                more = 1
                break
            piece = rest[:left]
            piece = piece[: piece.rfind(b"\n") + 1] or rest[: rest.find(b"\n") + 1]
            if piece:
                frames.append(b"%d %d\n%s" % (one, len(piece), piece))
                left -= len(piece)
            if len(piece) < len(rest):
                more = 1
                break
        return Reply(zlib.compress(b"more %d\n%s" % (more, b"".join(frames)), 6))


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _said(table: dict[str, Any]) -> Reply:
    return Reply(json.dumps(table, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")
