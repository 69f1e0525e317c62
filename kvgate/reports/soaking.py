"""A soak as an operator sees it: what became of each worker, and the live view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from rich.table import Table
from rich.text import Text

from checks.soak.attempts import Remembered, Start, Starts
from checks.units import show_bytes
from kvgate.reports import begun, terminal
from kvgate.reports.messages import Reader, language
from kvgate.reports.wrapping import Sentence
from kvgate.soak.store import Store
from kvgate.soak.told import Told, described, elapsed

STYLE = {
    "running": "green",
    "ended": "bold",
    "vanished": "bold red",
    "absent": "yellow",
    "damaged": "bold red",
    "unknown": "yellow",
}


def row(told: Told, store: Store) -> dict[str, Any]:
    """One host under stable keys; what is not known is null."""
    found, passed = told.found, elapsed(told.found)
    held = {path.name: path.stat().st_size for path in (store.path / told.host).glob("journal-*.jsonl")}
    there = {f"journal-{number:06d}.jsonl": size for number, size in found.get("segments", [])}
    whole = float(found["seconds"]) if found.get("seconds") else None
    running = told.state == "running" and passed is not None and whole is not None
    return {
        "host": told.host, "state": told.state, "did": found.get("did"), "unit": (found.get("started") or {}).get("unit"),
        "passed": round(passed, 1) if passed is not None and told.state == "running" else None,
        "left": round(max(0.0, whole - passed), 1) if running and whole is not None and passed is not None else None,
        "ended": (found.get("exit") or {}).get("why"), "rebooted": bool(found.get("rebooted")) if found else None,
        "collected": sum(held.values()), "unread": sum(max(0, size - held.get(name, 0)) for name, size in there.items()),
        "told": str(described(told)),
    }  # fmt: skip


def as_json(
    store: Store, told: Sequence[Told], scale: float | None, *, new: bool = False, starts: Starts | None = None
) -> dict[str, Any]:
    """All hosts under stable keys; ``starts``: every soak that the ledger has, none where it was not asked."""
    hosts = [row(one, store) for one in told]
    listed = [] if starts is None else [start_json(one, starts) for one in starts.soaks]
    return {
        "soak": store.soak, "folder": str(store.path), "scale": scale, "new": new, "hosts": hosts, "starts": listed,
        "problems": [] if starts is None else list(starts.problems),
        "remembered": [] if starts is None else [_remembered(name, some) for name, some in starts.strange().items()],
        "untold": [] if starts is None else list(starts.unasked),
    }  # fmt: skip


def _remembered(name: str, found: Sequence[Remembered]) -> dict[str, Any]:
    first = found[0]
    hosts = list(dict.fromkeys(one.host for one in found))
    return {"soak": name, "begun": first.utc, "hosts": hosts, "rack": first.rack, "campaign": first.campaign}


def start_json(one: Start, starts: Starts) -> dict[str, Any]:
    """One soak of the ledger under stable keys."""
    return {
        "soak": one.soak, "started": one.started or None, "times": one.times, "begun": one.begun or None,
        "stopped": one.stopped or None, "removed": one.removed or None, "runs": [run for run, _ in one.runs],
        "signed_by": list(one.signed), "abandoned": one in starts.abandoned(),
    }  # fmt: skip


def show(
    store: Store, told: Sequence[Told], scale: float | None, stream: IO[str], starts: Starts | None = None
) -> None:
    """Print a line a host."""
    read, out = Reader(language()), terminal.console(stream)
    out.print(Text(head(store, scale, read), "bold"))
    table = Table(
        read("host"), read("state"), read("passed"), read("left"), read("collected"), read("not yet"), read("what became of it"),
        box=None, pad_edge=False,
    )  # fmt: skip
    for one in told:
        shown = row(one, store)
        table.add_row(
            one.host, Text(read.word(one.state), STYLE[one.state]), hours(shown["passed"]), hours(shown["left"]),
            show_bytes(shown["collected"]), show_bytes(shown["unread"]), read.phrase(described(one)),
        )  # fmt: skip
    out.print(table)
    for line in () if starts is None else begun.lines(starts, read):
        out.print(Sentence(line))


def head(store: Store, scale: float | None, read: Reader) -> str:
    """Name of the soak, and that it is one of the lab if it is."""
    if scale in (None, 1):
        return read("{soak}, collected in {folder}", soak=store.soak, folder=str(store.path))
    return read(
        "{soak}, collected in {folder}; {scale:g} times the speed: it certifies nothing",
        soak=store.soak, folder=str(store.path), scale=scale or 1,
    )  # fmt: skip


def hours(seconds: float | None) -> str:
    """``12:34:56``, hours first; a dash where it is not known."""
    if seconds is None:
        return "-"
    whole = int(seconds)
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
