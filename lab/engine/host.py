"""A virtual host with engines that really listen: the load client runs as a process, pages and units are those of the engines.

Of everything that a host may be asked, only the client is executed, and only the one whose words were given beforehand.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.engine.server import Server
from lab.machine import Answering, Reply

_REFUSED = "Failed to connect to 127.0.0.1: Connection refused"


def fingerprint(words: Sequence[str]) -> str:
    """SHA-256 of a program's words: what may be executed is named by it."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


@dataclass(frozen=True)
class Unit:
    """A unit of systemd that serves one engine, the URLs that the inventory knows it by, and the store's path and folder."""

    name: str
    server: Server
    endpoint: str
    metrics: tuple[str, ...] = ()
    store: str = ""
    folder: Path | None = None

    def real(self, url: str) -> str | None:
        """Where a URL of the inventory leads to; None for another's."""
        for known, real in zip(self.metrics, self.server.metrics, strict=False):
            if url == known:
                return real
        return self.server.url + url.removeprefix(self.endpoint) if url.startswith(self.endpoint) else None


@dataclass
class EngineHost:
    """Answers for its engines; whatever is none of theirs is left to ``inner``. ``program`` is the client's fingerprint."""

    units: Sequence[Unit]
    program: str
    inner: Answering | None = None
    limit: float = 600.0
    executed: list[list[str]] = field(default_factory=list)

    def answer(self, line: str) -> Reply | None:
        """Answer one command line; None for one that nobody here knows."""
        try:
            words = shlex.split(line)
        except ValueError:
            return None
        if words[:1] == ["env"] and len(words) > 2 and words[1].startswith("KVGATE_LOAD="):
            words = words[2:]
        ways: Mapping[str, Callable[[list[str]], Reply | None]] = {
            "python3": self._client, "curl": self._curl, "systemctl": self._systemctl, "find": self._find, "du": self._du,
            "rm": self._rm,
        }  # fmt: skip
        if "/proc/sys/vm/drop_caches" in line:
            for unit in self.units:
                unit.server.engine.tiers.dropped()
        found = ways[words[0]](words) if words and words[0] in ways else None
        return found if found is not None or self.inner is None else self.inner.answer(line)

    def _client(self, words: list[str]) -> Reply | None:
        if len(words) != 6 or fingerprint(words[:5]) != self.program:
            return None
        options = json.loads(words[5])
        asked = options["endpoints"]
        options["endpoints"] = [self._real(url) or url for url in asked]
        process = [sys.executable, *words[1:5], json.dumps(options)]
        self.executed.append(process[:1] + words[1:2])
        try:
            done = subprocess.run(
                process, capture_output=True, check=False, timeout=self.limit, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return Reply(status=124)
        told = done.stdout
        for theirs, ours in zip(options["endpoints"], asked, strict=True):
            told = told.replace(json.dumps(theirs).encode(), json.dumps(ours).encode())
        return Reply(told, done.stderr, done.returncode)

    def _real(self, url: str) -> str | None:
        """Where a URL leads to now: several units may share an endpoint, and one of them runs."""
        running = (unit for unit in self.units if unit.server.engine.running)
        return next((real for unit in running if (real := unit.real(url)) is not None), None)

    def _curl(self, words: list[str]) -> Reply | None:
        url = next((word for word in words[1:] if word.startswith("http://")), "")
        if not any(unit.real(url) for unit in self.units):
            return None
        real = self._real(url)
        if real is None:
            return Reply(stderr=f"curl: (7) {_REFUSED}\n".encode(), status=7)
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        try:
            with urllib.request.urlopen(urllib.request.Request(real, method=method), timeout=30) as answer:  # noqa: S310 - loopback
                return Reply(answer.read())
        except urllib.error.HTTPError as error:
            return Reply(stderr=f"curl: (22) The requested URL returned error: {error.code}\n".encode(), status=22)
        except OSError as error:
            return Reply(stderr=f"curl: (7) {error}\n".encode(), status=7)

    def _systemctl(self, words: list[str]) -> Reply | None:
        unit = next((one for one in self.units if one.name in words), None)
        if unit is None:
            return None
        engine, verb = unit.server.engine, words[1]
        if verb == "start":
            good = engine.start(unit.server.now)
            why = f"Job for {unit.name} failed because the control process exited with error code.\n"
            return Reply() if good else Reply(stderr=why.encode(), status=1)
        if verb == "stop":
            engine.stop()
            return Reply()
        state = "active" if engine.running else "inactive"
        if verb == "is-active":
            return Reply(f"{state}\n".encode(), status=0 if engine.running else 3)
        if verb == "show":
            process = 4242 if engine.running else 0
            return Reply(f"ActiveState={state}\nMainPID={process}\nExecMainStatus=0\n".encode())
        return None

    def _folder(self, words: list[str]) -> tuple[str, Path] | None:
        for unit in self.units:
            if unit.folder is not None and unit.store in words:
                return unit.store, unit.folder
        return None

    def _find(self, words: list[str]) -> Reply | None:
        found = self._folder(words)
        if found is None:
            return None
        store, folder = found
        if "-delete" in words:
            for path in folder.glob("*.data"):
                path.unlink()
            return Reply()
        return Reply("".join(f"{store}/{path.name}\n" for path in sorted(folder.glob("*.data"))).encode())

    def _du(self, words: list[str]) -> Reply | None:
        found = self._folder(words)
        if found is None:
            return None
        store, folder = found
        return Reply(f"{sum(path.stat().st_size for path in folder.glob('*.data'))}\t{store}\n".encode())

    def _rm(self, words: list[str]) -> Reply | None:
        for unit in self.units:
            named = [
                word for word in words[1:] if unit.store and re.fullmatch(re.escape(unit.store) + r"(/[^/]+)?/?", word)
            ]
            if unit.folder is not None and named:
                for path in unit.folder.glob("*.data"):
                    if named[0].rstrip("/") in (unit.store, f"{unit.store}/{path.name}", f"{unit.store}/*"):
                        path.unlink()
                return Reply()
        return None
