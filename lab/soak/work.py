"""What the loads of a soak do and print: requests, fio passes, canaries, looks at KV files, planned restarts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lab.soak.trouble import Away, Failing, Restart, Result, Slow, Tail, Trouble, Unhooked, Value

#: One event: seconds of the soak, load, fields.
Event = tuple[float, str, dict[str, Value]]

_TTFT = {8: 0.5, 16: 0.8, 32: 1.4}
_TOOK = {"verify": 1200.0, "canary": 60.0, "kvfiles": 240.0, "restart": 240.0}


def fio(error: int = 0, read: int = 8 * 2**30, wrote: int = 0) -> str:
    """What fio prints of a verify pass; ``error`` 84 is a block that is not what was written. ``read``, ``wrote``: bytes."""
    table: dict[str, Any] = json.loads((Path(__file__).parents[1] / "load" / "fio-3.33.json").read_text("ascii"))
    table["jobs"][0] |= {"jobname": "verify", "error": error}
    table["jobs"][0]["read"] |= {"io_bytes": read, "total_ios": read // 2**20}
    table["jobs"][0]["write"] |= {"io_bytes": wrote or read, "total_ios": (wrote or read) // 2**20}
    return json.dumps(table)


_PRINTS = {
    "verify": fio(),
    "canary": json.dumps({"asked": 32, "computed_differs": 1, "restored_differs": 0, "garbled": 0}),
    "kvfiles": json.dumps({"files": 512, "mismatched": 0, "missing": 0}),
    "restart": "",
}


class Work:
    """The events of every load of a plan, in no order."""

    def __init__(self, plan: dict[str, Any], seed: int, troubles: Sequence[Trouble], step: float) -> None:
        self._plan, self._step = plan, step
        self._random = Random(f"{seed}/{plan['host']}/work")
        self._slow = [one for one in troubles if isinstance(one, Slow)]
        self._tails = [one for one in troubles if isinstance(one, Tail)]
        self._failing = [one for one in troubles if isinstance(one, Failing)]
        self._failing += [
            Failing(one.at, one.at + one.seconds + one.booting)
            for one in troubles
            if isinstance(one, Away) and one.kind == "reboot"
        ]
        self._results = [one for one in troubles if isinstance(one, Result)]
        self._unhooked = [one for one in troubles if isinstance(one, Unhooked)]
        self._end = float(plan["seconds"])

    @property
    def restarts(self) -> list[Restart]:
        """The planned restarts of the engine, as its process sees them."""
        return [
            Restart(at + 30, 150)
            for load in self._plan["loads"]
            if load["name"] == "restart"
            for at in self._times(load)
        ]

    def events(self) -> Iterator[Event]:
        """Yield every event."""
        for load in self._plan["loads"]:
            if load["name"] == "client":
                yield from self._client(load)
            else:
                yield from self._passes(load)

    def _times(self, load: dict[str, Any]) -> Iterator[float]:
        at = float(load["first"])
        while at + _TOOK[_kind(load["name"])] < self._end:
            yield at
            at += float(load["every"])

    def _off(self, name: str, at: float) -> bool:
        return any(one.load == name and one.begin <= at < one.end for one in self._unhooked)

    def _passes(self, load: dict[str, Any]) -> Iterator[Event]:
        name, number = str(load["name"]), 0
        results = sorted((one for one in self._results if one.load == name), key=lambda one: one.at)
        for at in self._times(load):
            if self._off(name, at):
                continue
            number += 1
            begin: dict[str, Value] = {
                "event": "begin", "number": number, "pid": 5000 + number, "argv": json.dumps(load["argv"]),
                "scheduled": bool(load.get("scheduled")),
            }  # fmt: skip
            yield at, name, begin
            end = at + _TOOK[_kind(name)]
            status, stdout, stderr, why = 0, _PRINTS[_kind(name)], "", ""
            if results and end > results[0].at:
                one = results.pop(0)
                status, stdout, stderr, why = one.status, one.stdout, one.stderr, one.why
            yield end, name, _ended(number, status, _TOOK[_kind(name)], why, stdout, stderr)

    def _client(self, load: dict[str, Any]) -> Iterator[Event]:
        name, number = str(load["name"]), 0
        begin = 1.0
        while begin < self._end:
            end = min(begin + 3590, self._end)
            if self._off(name, begin):
                begin = end + 10
                continue
            number += 1
            yield (
                begin,
                name,
                {"event": "begin", "number": number, "pid": 6000 + number, "argv": "[]", "scheduled": False},
            )
            hour = int(begin // 3600)
            level = {2: 8, 5: 32}.get(hour % 6, 16)
            at = begin + self._step
            while at < end:
                yield at, name, {"event": "line", "number": number, "line": self._request(at, level)}
                at += self._step
            yield end - 1, name, _ended(number, 0, end - 1 - begin, "limit", "", "")
            begin = end + 10 if end < self._end else self._end

    def _request(self, at: float, level: int) -> str:
        restarting = any(one.at <= at < one.at + one.seconds for one in self.restarts)
        if restarting or any(one.begin <= at < one.end for one in self._failing):
            return json.dumps({"status": "failed", "concurrency": level, "error": "connection refused"})
        factor, tokens = 1.0, 256.0
        for one in self._slow:
            if one.begin <= at < one.end:
                part = 1.0 if one.at_once else (at - one.begin) / (min(one.end, self._end) - one.begin)
                factor *= 1 + (one.factor - 1) * part
                tokens *= one.tokens
        for tail in self._tails:
            if tail.begin <= at < tail.end and int(at / self._step) % tail.nth == 0:
                factor *= tail.factor
        ttft = _TTFT[level] * factor * self._random.uniform(0.9, 1.1)
        return json.dumps(
            {
                "status": "completed",
                "concurrency": level,
                "ttft_s": round(ttft, 4),
                "seconds": round(ttft + 4, 3),
                "tokens": int(tokens),
            }
        )


def _kind(name: str) -> str:
    """What a load is, whichever of several it is."""
    return name.rstrip("0123456789")


def _ended(number: int, status: int, seconds: float, why: str, stdout: str, stderr: str) -> dict[str, Value]:
    return {
        "event": "end", "number": number, "status": status, "seconds": round(seconds, 3), "why": why, "stdout": stdout,
        "stderr": stderr, "cut": False,
    }  # fmt: skip
