"""Saving a checkpoint: shards written side by side as frameworks do, the time until they are durable, and read back and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from checks.block import rounds
from checks.block.live import rates
from checks.block.space import made, removed, room
from checks.files import proof
from checks.files.integrity import BLOCKS, Place, verified, written
from checks.files.loading import SHORTEST
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, Streams, UnreadableOutput
from checks.raid import probes as raid
from checks.statistics.steadiness import level
from checks.trial import Step, Trial
from checks.units import show_bytes

_SLOWEST = 50 * 10**6

# Each shard is fsynced by fio when it is whole; the filesystem as a whole after that. Without it memory would be measured.
_SAVE = " ".join(
    (
        'dir=$1; shift; read -r start rest </proc/uptime; "$@"; status=$?;',
        'sync -f -- "$dir" || exit; read -r end rest </proc/uptime; echo; echo "durable $start $end"; exit "$status"',
    )
)
_DURABLE = re.compile(r"^durable (\d{1,12}\.\d\d) (\d{1,12}\.\d\d)$", re.ASCII | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Durable:
    """What fio says of the shards, and the seconds until all of them were durable."""

    run: FioRun
    seconds: float


@dataclass(frozen=True, slots=True)
class Saved:
    """One checkpoint: bytes, seconds until durable, and what came back wrong (empty: nothing)."""

    bytes: int
    seconds: float
    wrong: str

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        if self.wrong:
            return say("{wrong}", wrong=self.wrong)
        return say("{rate}/s, {seconds:.1f} s", rate=show_bytes(int(self.bytes / self.seconds)), seconds=self.seconds)


def checkpoint(place: Place, shards: int, size: int, count: int) -> Trial[Saved]:
    """Save ``shards`` files of ``size`` bytes, each fsynced, then read all of them back, caches dropped."""
    mounted = rounds.stands(place.path, place.filesystem)
    folder, total = f"{place.folder}/checkpoint", shards * size

    def stages(number: int) -> tuple[tuple[Step, ...], ...]:
        block = BLOCKS[(number - 1) % len(BLOCKS)]
        return (
            (Step("mounts", place.host, raid.mounts(), must=mounted),),
            (
                Step("fresh", place.host, _fresh(place.folder)),
                Step("folder", place.host, made(folder)),
                Step("drop first", place.host, proof.dropped()),
            ),
            (Step("save", place.host, _save(folder, shards, size, block)),),
            (
                Step("drop", place.host, proof.dropped()),
                Step("given before", place.host, proof.given(place.filesystem)),
            ),
            (Step("verify", place.host, _verify(folder, shards, size, block)),),
            (Step("given after", place.host, proof.given(place.filesystem)),),
        )

    return Trial(
        id=f"checkpoint.save:{place.host}:{place.path}",
        title=say("a checkpoint saved to {host}:{path}", host=place.host, path=place.path),
        prepare=(
            (Step("mounts first", place.host, raid.mounts(), must=mounted),),
            (Step("space", place.host, raid.space(place.path), must=room(place.path, total)),),
        ),
        stages=stages(1),
        varied=stages,
        clean=(Step("remove", place.host, removed(place.folder)),),
        read=partial(_saved, place=place, total=total),
        errors_decide=True,
        rounds=count,
        at_most=2 * count,
        enough=_level,
        again=True,
        decisive=lambda found: bool(found.wrong),
        seconds=2 * total / 10**9 + 10.0,
        live=rates(place.host, place.path, place.filesystem),
    )


def _level(found: Sequence[Saved]) -> bool:
    return level([one.bytes / one.seconds for one in found])


def _fresh(folder: str) -> Probe[str]:
    """Files of the last round are gone before the next begins: overwriting is another load than writing."""
    return removed(folder)


def _words(folder: str, shards: int, size: int, block: int, *more: str) -> tuple[str, ...]:
    return (
        "fio", "--name=checkpoint", f"--directory={folder}", "--filename_format=shard-$jobnum", f"--numjobs={shards}",
        f"--size={size}", f"--bs={block}", "--ioengine=psync", "--direct=0", "--verify=crc32c", "--verify_state_save=0",
        *more, "--group_reporting", "--output-format=json",
    )  # fmt: skip


def _save(folder: str, shards: int, size: int, block: int) -> Probe[Durable]:
    more = ("--rw=write", "--do_verify=0", "--fallocate=none", "--refill_buffers=1", "--end_fsync=1")
    argv = ("sh", "-c", _SAVE, "sh", folder, *_words(folder, shards, size, block, *more))
    return Probe("checkpoint-save", argv, _durable, 120.0 + shards * size / _SLOWEST, level=Level.LOAD)


def _verify(folder: str, shards: int, size: int, block: int) -> Probe[FioRun]:
    argv = _words(folder, shards, size, block, "--rw=read", "--verify_fatal=1", "--allow_file_create=0")
    limit = 120.0 + shards * size / _SLOWEST
    return Probe("checkpoint-verify", argv, fio.parse, limit, frozenset({0, 1}), Streams.BOTH, Level.LOAD)


def _durable(text: str) -> Durable:
    told = _DURABLE.findall(text)
    if len(told) != 1:
        raise UnreadableOutput(f"{len(told)} lines tell when the shards were durable, wanted one")
    start, end = told[0]
    return Durable(fio.parse(_DURABLE.sub("", text)), round(float(end) - float(start), 2))


def _saved(facts: Mapping[str, Any], place: Place, total: int) -> Saved:
    durable: Durable = facts["save"]
    put = written(durable.run, total)
    if durable.seconds < SHORTEST:
        raise UnreadableOutput(f"{put:,} bytes in {durable.seconds:g} s: too short to tell a rate")
    got, wrong = verified(facts["verify"], total)
    if not wrong:
        proof.came(facts, facts["mounts"], place.path, got)
    return Saved(put, durable.seconds, wrong)
