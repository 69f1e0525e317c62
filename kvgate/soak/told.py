"""What a host tells of its worker, as data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checks.phrase import Phrase, say
from checks.units import show_bytes
from kvgate.errors import CannotTell, Damaged
from kvgate.soak import lying, remote


@dataclass(frozen=True)
class Told:
    """What one host answered (``found``), or why it did not."""

    host: str
    found: Mapping[str, Any] = field(default_factory=dict)
    error: CannotTell | Damaged | None = None

    @property
    def state(self) -> str:
        """running, ended, vanished, absent, damaged; unknown where the host did not answer."""
        if isinstance(self.error, remote.NothingThere):
            return "absent"
        return str(self.found.get("state", "unknown")) if self.error is None else "unknown"


def elapsed(found: Mapping[str, Any]) -> float | None:
    """Seconds of the soak since its begin, as a host that answers tells it; None where it cannot be told."""
    origin = found.get("origin")
    if not isinstance(origin, Mapping) or not origin or found.get("boot") != origin.get("boot"):
        return None
    return max(0.0, float(found["mono"]) - float(origin["mono"])) * float(found["scale"])


def described(told: Told) -> Phrase:
    """What became of the worker, for people."""
    found, done = told.found, told.found.get("exit") or {}
    if told.error is not None:
        return told.error.phrase
    if told.state == "damaged":
        return say(
            "{files} cannot be read there and nothing of it runs: `kvgate soak stop` gives it up, its journal stays and is collected",
            files=", ".join(map(str, found.get("damaged", ()))),
        )
    if found.get("did") == "failed":
        return say("did not begin: {why}", why=_why_not(found))
    if found.get("did") == "refused":
        return say(
            "did not begin: {other} runs there, begun by somebody else meanwhile. `kvgate soak stop --soak NAME` ends one of the two",
            other=str(found.get("other")),
        )
    if told.state == "running" and found.get("full"):
        return say(
            "runs (process {pid}, {unit}), and its journal has no room: {free} free; what it sees waits in memory. Make room, or collect",
            pid=found["started"]["pid"], unit=found["started"]["unit"], free=show_bytes(int(found["free"])),
        )  # fmt: skip
    if told.state == "running":
        return say("runs (process {pid}, {unit})", pid=found["started"]["pid"], unit=found["started"]["unit"])
    if told.state == "ended":
        return say(
            "ended {utc}: {why}, status {status}",
            utc=str(done.get("utc"))[:19], why=lying.ending(str(done.get("why"))), status=str(done.get("status")),
        )  # fmt: skip
    if told.state == "vanished":
        if found.get("rebooted"):
            return say("gone: the host was booted since; `kvgate soak start` resumes it")
        return say("gone without a word: it was killed; `kvgate soak start` resumes it, `kvgate soak stop` gives it up")
    return say("never began here")


def _why_not(found: Mapping[str, Any]) -> str:
    """Why a start came to nothing: each way that was tried, and the last words of the worker."""
    log = [line.strip() for line in str(found.get("log", "")).splitlines() if line.strip()]
    return "; ".join([*map(str, found.get("tried", ())), *log[-1:]]) or "-"
