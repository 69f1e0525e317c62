"""Readings that may hang with what they read (a file system, an engine's page): each in a thread of its own, never waited for."""

from __future__ import annotations

import http.client
import os
import queue
import threading
import time
from typing import Any, Callable, Dict
from urllib.parse import urlsplit

from .reading import Config, Values

_MOST = 8 << 20


class Apart:
    """One reading at a time; an answer that comes late is left out, for its tick has said so."""

    def __init__(self, read: Callable[[Config, int], Values], config: Config, wake: int) -> None:
        self._read, self._config, self._wake = read, config, wake
        self._asked: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[tuple[int, Values]] = queue.SimpleQueue()
        self.since, self.tick = 0.0, -1
        threading.Thread(target=self._run, daemon=True).start()

    def ask(self, tick: int, at: float) -> Values | None:
        """Begin a reading; where the one before has not ended, return what this tick says instead."""
        if self.tick >= 0:
            return {"": {"error": "the reading before has not come back since %.0f s" % (at - self.since)}}
        self.since, self.tick = at, tick
        self._asked.put(tick)
        return None

    def told(self) -> tuple[int, Values] | None:
        """A reading that came back."""
        try:
            found = self._told.get_nowait()
        except queue.Empty:
            return None
        self.tick = -1
        return found

    def _run(self) -> None:
        while True:
            tick = self._asked.get()
            try:
                values = self._read(self._config, tick)
            except Exception as error:
                values = {"": {"error": "%s: %s" % (type(error).__name__, error)}}
            self._told.put((tick, values))
            os.write(self._wake, b"\0")


def metrics(config: Config, tick: int) -> Values:
    """Pages of engines: only the lines whose name begins as planned, and what says what they are."""
    return {
        page: _page(page, tuple(config.get("names", ())), float(config.get("limit", 5))) for page in config["pages"]
    }


def _page(url: str, wanted: tuple[str, ...], limit: float) -> Dict[str, Any]:
    parts = urlsplit(url)
    begun = time.monotonic()
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=limit)
    try:
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        body = answer.read(_MOST + 1)
    except (OSError, http.client.HTTPException) as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}
    finally:
        connection.close()
    kept = [
        line for line in body.decode("utf-8", "backslashreplace").splitlines() if not wanted or _names(line, wanted)
    ]
    told = {
        "status": answer.status,
        "seconds": round(time.monotonic() - begun, 6),
        "stdout": "".join(f"{one}\n" for one in kept),
    }
    return {**told, **({"cut": True} if len(body) > _MOST else {})}


def _names(line: str, wanted: tuple[str, ...]) -> bool:
    if line.startswith(("# TYPE ", "# HELP ")):
        line = line[7:]
    return line.startswith(wanted)
