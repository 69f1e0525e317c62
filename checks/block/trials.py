"""Loads on one mount: a file is laid out, read or written in rounds, and removed; nothing else on the mount is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from checks.block import counters, rounds
from checks.block.burst import burst
from checks.block.filling import extent, filled, whole
from checks.block.live import rates
from checks.block.patterns import Pattern, Way, lay_out
from checks.block.rounds import Round
from checks.block.space import FOLDER, made, removed, room
from checks.lexing import lines
from checks.nvme import probes as nvme
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.phrase import say
from checks.probe import Level, Probe, UnreadableOutput
from checks.raid import probes as raid
from checks.statistics.steadiness import level
from checks.trial import Step, Trial

#: Bytes a second that laying out is given at least, to tell a slow disk from one that hangs.
_SLOWEST = 100 * 10**6

#: Bytes a second that laying out is planned with, for whoever shows progress.
PACE = 10**9


def version() -> Probe[str]:
    """Which fio a host has."""
    return Probe("fio-version", ("fio", "--version"), _version)


def on_file(
    host: str,
    path: str,
    filesystem: str,
    pattern: Pattern,
    size: int,
    serial: str | None = None,
    count: int = 3,
    *,
    at_most: int = 0,
    enough: Callable[[Sequence[Round]], bool] | None = None,
) -> Trial[Round]:
    """Load a file of ``size`` bytes, written whole before, on the mount ``path`` in ``count`` rounds.

    ``serial`` is the disk below it where it is a local one: its health is read around each round. ``enough`` lets rounds
    go on until it holds or ``at_most`` were made; without it they go on, up to twice as many, while each is slower (or
    faster) than the one before.
    """
    folder = f"{path.rstrip('/')}/{FOLDER}"
    file = f"{folder}/{pattern.name}"
    mounted = rounds.stands(path, filesystem)
    health = (lambda moment: (Step(moment, host, nvme.smart_log(serial)),)) if serial else (lambda _: ())
    return Trial(
        id=f"fio.{pattern.name}:{host}:{path}",
        title=say("{pattern} on {host}:{path}", pattern=pattern.name, host=host, path=path),
        prepare=(
            (
                Step("mounts first", host, raid.mounts(), must=mounted),
                Step("space", host, raid.space(path), must=room(path, size)),
            ),
            (Step("folder", host, made(folder)),),
            (Step("lay out", host, _laid(file, size, pattern.fills), must=filled(size * pattern.fills)),),
        ),
        stages=(
            (
                Step("mounts", host, raid.mounts(), must=mounted),
                Step("file", host, extent(file), must=whole(size, filesystem)),
                *health("health before"),
                Step("idle", host, counters.idle(filesystem)),
                Step("counters before", host, counters.counted(filesystem)),
            ),
            (Step("load", host, burst(pattern, file, size)),),
            (Step("counters after", host, counters.counted(filesystem)), *health("health after")),
        ),
        clean=(Step("remove", host, removed(folder)),),
        read=partial(rounds.read, pattern=pattern, path=path, size=size, file=file),
        errors_decide=True,
        rounds=count,
        at_most=at_most or 2 * count,
        enough=enough or _level,
        again=True,
        seconds=pattern.seconds + pattern.ramp + counters.IDLE + 5.0,
        setup=size * pattern.fills / PACE,
        live=rates(host, path, filesystem),
    )


def kv_read(block: int, depth: int, seconds: int) -> Pattern:
    """Reads as a KV store makes them: chunks of ``block`` bytes at random places, ``depth`` at a time."""
    return Pattern(Way.RANDREAD, block, depth, seconds)


def _laid(file: str, size: int, fills: int) -> Probe[FioRun]:
    limit = 120.0 + fills * size / _SLOWEST
    return Probe("fio-lay-out", lay_out(file, size, fills), fio.parse, limit, level=Level.LOAD)


def _level(found: Sequence[Round]) -> bool:
    return level([one.bytes_per_second for one in found])


def _version(text: str) -> str:
    found = lines(text)
    if len(found) != 1 or not found[0].startswith("fio-"):
        raise UnreadableOutput(f"found {text[:80]!r}, wanted one line as fio-3.33")
    return found[0].strip()
