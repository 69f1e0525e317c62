"""What is shown while files are loaded: what the busiest device moves, or what the server of a network filesystem gives and takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checks.parsers import diskstats, mountstats
from checks.parsers.diskstats import Moved
from checks.parsers.mountstats import NfsMount
from checks.phrase import Phrase, say
from checks.probe import Probe
from checks.trial import Live
from checks.units import show_bytes

_NETWORK = ("nfs", "nfs4")


def rates(host: str, path: str = "", filesystem: str = "") -> Live[Any]:
    """Bytes a second on ``host`` while something is loaded; ``path`` is the mount that is, where there is one."""
    if filesystem in _NETWORK:
        return Live(host, Probe("mountstats", ("cat", "/proc/self/mountstats"), mountstats.parse), _Served(path))
    return Live(host, Probe("diskstats", ("cat", "/proc/diskstats"), diskstats.parse), _busiest)


def _busiest(before: tuple[Moved, ...], after: tuple[Moved, ...], seconds: float) -> Phrase:
    """The device that moved most: what is loaded is what is busy."""
    known = {row.device: row for row in before}
    gained = {
        row.device: (row.read_bytes - then.read_bytes, row.written_bytes - then.written_bytes)
        for row in after
        if (then := known.get(row.device)) is not None
    }
    device = max(gained, key=lambda name: sum(gained[name]), default="-")
    return _shown(device, gained.get(device, (0, 0)), seconds)


class _Served:
    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, before: tuple[NfsMount, ...], after: tuple[NfsMount, ...], seconds: float) -> Phrase:
        then, now = (_operations(rows, self.path) for rows in (before, after))
        gained = (
            now.get("READ", (0, 0))[1] - then.get("READ", (0, 0))[1],
            now.get("WRITE", (0, 0))[0] - then.get("WRITE", (0, 0))[0],
        )
        return _shown(self.path, gained, seconds)


def _operations(rows: tuple[NfsMount, ...], path: str) -> Mapping[str, tuple[int, int]]:
    here = [row for row in rows if row.path == path]
    return {one.name: (one.bytes_sent, one.bytes_received) for row in here for one in row.operations}


def _shown(name: str, gained: tuple[int, int], seconds: float) -> Phrase:
    read, written = (show_bytes(max(0, int(size / max(seconds, 1e-3)))) for size in gained)
    return say("{name} reads {read}/s, writes {written}/s", name=name, read=read, written=written)
