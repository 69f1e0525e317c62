"""Loads on one mount: a file is laid out, read or written in rounds, and removed; nothing else on the mount is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from checks.block import rounds
from checks.block.burst import burst
from checks.block.live import rates
from checks.block.patterns import Pattern, Way, lay_out
from checks.block.rounds import Round
from checks.lexing import lines
from checks.nvme import probes as nvme
from checks.parsers import diskstats, fio
from checks.parsers.df import Space
from checks.parsers.fio import FioRun
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, UnreadableOutput
from checks.raid import probes as raid
from checks.trial import Step, Trial
from checks.units import show_bytes

#: Folder below a mount that loads make and remove; nothing else is ever removed.
FOLDER = ".kvgate-load"

#: Bytes a second that laying out is given at least, to tell a slow disk from one that hangs.
_SLOWEST = 100 * 10**6

#: Bytes a second that laying out is planned with, for whoever shows progress.
PACE = 10**9

#: Space that stays free beside the file, as a share of it.
_SPARE = 0.1


def counters() -> Probe[tuple[diskstats.Moved, ...]]:
    """What every block device moved since boot."""
    return Probe("diskstats", ("cat", "/proc/diskstats"), diskstats.parse)


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
    """Load a file of ``size`` bytes on the mount ``path`` in ``count`` rounds.

    ``serial`` is the disk below it where it is a local one: its health is read around each round. ``enough`` lets rounds
    go on until it holds or ``at_most`` were made.
    """
    folder = f"{path.rstrip('/')}/{FOLDER}"
    file = f"{folder}/{pattern.name}"
    mounted = rounds.stands(path, filesystem)
    health = (lambda moment: (Step(moment, host, nvme.smart_log(serial)),)) if serial else (lambda _: ())
    return Trial(
        id=f"fio.{pattern.name}:{host}:{path}",
        title=say("{pattern} on {host}:{path}", pattern=pattern.name, host=host, path=path),
        prepare=(
            (Step("mounts first", host, raid.mounts(), must=mounted),),
            (Step("space", host, raid.space(path), must=room(path, size)),),
            (Step("folder", host, made(folder)),),
            (Step("lay out", host, _laid(file, size)),),
        ),
        stages=(
            (Step("mounts", host, raid.mounts(), must=mounted),),
            *((step,) for step in health("health before")),
            (Step("counters before", host, counters()),),
            (Step("load", host, burst(pattern, file, size)),),
            (Step("counters after", host, counters()),),
            *((step,) for step in health("health after")),
        ),
        clean=(Step("remove", host, removed(folder)),),
        read=partial(rounds.read, pattern=pattern, path=path),
        rounds=count,
        at_most=at_most,
        enough=enough,
        seconds=pattern.seconds + pattern.ramp + 5.0,
        setup=size / PACE,
        live=rates(host, path, filesystem),
    )


def kv_read(block: int, depth: int, seconds: int) -> Pattern:
    """Reads as a KV store makes them: chunks of ``block`` bytes at random places, ``depth`` at a time."""
    return Pattern(Way.RANDREAD, block, depth, seconds)


def room(path: str, size: int) -> Callable[[tuple[Space, ...]], Phrase | None]:
    """Return what looks at the space of a mount and says why ``size`` bytes do not fit, or None."""

    def must(found: tuple[Space, ...]) -> Phrase | None:
        here = next((one for one in found if one.target == path), None)
        if here is None or here.available is None:
            return say("the free space of {path} is not known", path=path)
        wanted = int(size * (1 + _SPARE))
        if here.available < wanted:
            free = show_bytes(here.available)
            return say("{path} has {free} free, wanted {wanted}", path=path, free=free, wanted=show_bytes(wanted))
        return None

    return must


def made(folder: str) -> Probe[str]:
    """Make the folder of a load; one that is there already stays as it is."""
    return Probe("load-folder", ("mkdir", "-p", "-m", "700", "--", folder), _nothing, level=Level.LOAD)


def removed(folder: str) -> Probe[str]:
    """Remove the folder of a load. Raises ValueError for any other folder."""
    if not folder.endswith(f"/{FOLDER}"):
        raise ValueError(f"found {folder!r}, wanted a folder named {FOLDER}: nothing else is removed")
    return Probe("load-removed", ("rm", "-rf", "--one-file-system", "--", folder), _nothing, 300.0, level=Level.LOAD)


def _laid(file: str, size: int) -> Probe[FioRun]:
    return Probe("fio-lay-out", lay_out(file, size), fio.parse, 120.0 + size / _SLOWEST, level=Level.LOAD)


def _nothing(text: str) -> str:
    return text


def _version(text: str) -> str:
    found = lines(text)
    if len(found) != 1 or not found[0].startswith("fio-"):
        raise UnreadableOutput(f"found {text[:80]!r}, wanted one line as fio-3.33")
    return found[0].strip()
