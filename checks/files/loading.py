"""Loading a model cold: all its files read once, as an engine reads them, after the caches were dropped; the time by the host's clock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from checks.block import rounds
from checks.block.filling import filled
from checks.block.live import rates
from checks.block.space import made, removed, room
from checks.block.trials import PACE
from checks.files import proof
from checks.files.integrity import Place
from checks.lexing import lines
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, UnreadableOutput
from checks.raid import probes as raid
from checks.statistics.steadiness import level
from checks.trial import Step, Trial
from checks.units import show_bytes

#: Below so many seconds the clock of /proc/uptime is too coarse to tell a rate.
SHORTEST = 1.0

_SLOWEST = 50 * 10**6

# Every file once, some at a time, through the page cache; links are followed, as in the folder of a hub that links to its blobs. The
# time is the kernel's since boot: no clock is set meanwhile.
_READ = " ".join(
    (
        "dir=$1; jobs=$2;",
        # A folder that cannot be listed must not pass for one with fewer files: pipes below take the status of their last command.
        """find -L "$dir" -type f -size +0 >/dev/null || exit;""",
        """count=$(find -L "$dir" -type f -size +0 | wc -l);""",
        """size=$(find -L "$dir" -type f -printf '%s\\n' | awk '{s += $1} END {printf "%.0f", s}');""",
        "read -r start rest </proc/uptime;",
        """find -L "$dir" -type f -size +0 -print0 | xargs -0 -r -n 1 -P "$jobs" sh -c """,
        """'exec dd if="$0" of=/dev/null bs=4M status=none' || exit;""",
        "read -r end rest </proc/uptime;",
        'echo "files $count bytes ${size:-0} start $start end $end"',
    )
)
_TOLD = re.compile(r"files (\d{1,7}) bytes (\d{1,18}) start (\d{1,12}\.\d\d) end (\d{1,12}\.\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Timed:
    """What the script says: files, their bytes, seconds."""

    files: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """One cold load; ``given`` are the bytes that device or server gave for it."""

    files: int
    bytes: int
    seconds: float
    given: int

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        return say("{rate}/s, {seconds:.1f} s", rate=show_bytes(int(self.bytes / self.seconds)), seconds=self.seconds)


def cold(place: Place, shards: int, size: int, jobs: int, count: int, model: str = "") -> Trial[Loaded]:
    """Load ``model`` (a folder below the mount) cold; without one, ``shards`` files of ``size`` bytes that stand for it."""
    mounted = rounds.stands(place.path, place.filesystem)
    folder = model or f"{place.folder}/model"
    prepare: tuple[tuple[Step, ...], ...] = ((Step("mounts first", place.host, raid.mounts(), must=mounted),),)
    clean: tuple[Step, ...] = ()
    if not model:
        prepare += (
            (Step("space", place.host, raid.space(place.path), must=room(place.path, shards * size)),),
            (Step("folder", place.host, made(folder)),),
            (Step("lay out", place.host, _laid(folder, shards, size), must=filled(shards * size)),),
        )
        clean = (Step("remove", place.host, removed(place.folder)),)
    total = shards * size
    return Trial(
        id=f"model.load:{place.host}:{place.path}",
        title=say("a model read cold from {host}:{path}", host=place.host, path=place.path),
        prepare=prepare,
        stages=(
            (Step("mounts", place.host, raid.mounts(), must=mounted),),
            (
                Step("drop", place.host, proof.dropped()),
                Step("given before", place.host, proof.given(place.filesystem)),
            ),
            (Step("load", place.host, _read(folder, jobs, total)),),
            (Step("given after", place.host, proof.given(place.filesystem)),),
        ),
        clean=clean,
        read=partial(_loaded, place=place, least=0 if model else total),
        errors_decide=True,
        rounds=count,
        at_most=2 * count,
        enough=_level,
        again=True,
        seconds=total / (3 * 10**9) + 5.0,
        setup=0.0 if model else total / PACE,
        live=rates(place.host, place.path, place.filesystem),
    )


def _level(found: Sequence[Loaded]) -> bool:
    return level([one.bytes / one.seconds for one in found])


def _laid(folder: str, shards: int, size: int) -> Probe[FioRun]:
    argv = (
        "fio", "--name=shards", f"--directory={folder}", "--filename_format=shard-$jobnum", f"--numjobs={shards}",
        f"--size={size}", "--rw=write", "--bs=1048576", "--iodepth=16", "--ioengine=libaio", "--direct=1",
        "--refill_buffers=1", "--end_fsync=1", "--group_reporting", "--output-format=json",
    )  # fmt: skip
    return Probe("fio-shards", argv, fio.parse, 120.0 + shards * size / _SLOWEST, level=Level.LOAD)


def _read(folder: str, jobs: int, size: int) -> Probe[Timed]:
    argv = ("sh", "-c", _READ, "sh", folder, str(jobs))
    return Probe("model-read", argv, _timed, 600.0 + size / _SLOWEST, level=Level.LOAD)


def _timed(text: str) -> Timed:
    found = lines(text)
    match = _TOLD.fullmatch(found[-1]) if len(found) == 1 else None
    if match is None:
        raise UnreadableOutput(f"found {text[:120]!r}, wanted 'files N bytes N start S end S'")
    return Timed(int(match[1]), int(match[2]), round(float(match[4]) - float(match[3]), 2))


def _loaded(facts: Mapping[str, Any], place: Place, least: int) -> Loaded:
    timed: Timed = facts["load"]
    if not timed.files or not timed.bytes:
        raise UnreadableOutput("the model's folder holds no file")
    if timed.bytes < least:
        raise UnreadableOutput(f"{timed.bytes:,} bytes were read of {least:,} that were laid out")
    if timed.seconds < SHORTEST:
        raise UnreadableOutput(f"{timed.bytes:,} bytes in {timed.seconds:g} s: too short to tell a rate")
    given = proof.came(facts, facts["mounts"], place.path, timed.bytes)
    return Loaded(timed.files, timed.bytes, timed.seconds, given)
