"""A file is there as a whole before it is read, and what moves beside a load is counted in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.block.counters import Bytes, counted, idle, moved
from checks.block.filling import Extent, extent, filled, whole
from checks.block.patterns import Pattern, Way, lay_out
from checks.block.trials import on_file
from checks.parsers.fio import Direction, FioRun, Job
from checks.probe import UnreadableOutput

MIB = 2**20


def laid(size: int, **more: Any) -> FioRun:
    way = Direction("write", size, size // MIB, 1000, 1.0, size, None, None)
    job = Job("lay-out", 0, None, None, (), (way,))
    return FioRun("fio-3.33", 1, (), (replace(job, **more),), ())


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (laid(64 * MIB), ""),
        (laid(64 * MIB - 1), "67,108,863 of 67,108,864 bytes"),
        (laid(0, directions=()), "0 of 67,108,864 bytes"),
        (laid(64 * MIB, error=28), "error 28"),
        (laid(64 * MIB, total_errors=1, first_error=5), "error 5"),
        (replace(laid(64 * MIB), notes=("fio: terminating on signal 15",)), "ended by a signal"),
    ],
)
def test_what_was_laid_out_was_written_whole(run: FioRun, why: str) -> None:
    found = filled(64 * MIB)(run)
    assert (found is None) if not why else (why in str(found))


@pytest.mark.parametrize(
    ("found", "filesystem", "why"),
    [
        (Extent(64 * MIB, 64 * MIB), "xfs", ""),
        (Extent(64 * MIB, 64 * MIB - 1), "xfs", "holes are answered by nobody"),
        (Extent(64 * MIB, 0), "nfs4", ""),
        (Extent(64 * MIB - 1, 64 * MIB), "nfs4", "67,108,863 of 67,108,864 bytes"),
    ],
)
def test_a_file_with_holes_or_cut_off_is_not_whole(found: Extent, filesystem: str, why: str) -> None:
    said = whole(64 * MIB, filesystem)(found)
    assert (said is None) if not why else (why in str(said))


def test_where_a_file_lies_is_read_from_stat() -> None:
    assert extent("/x").parse("1048576 2048 512\n") == Extent(MIB, MIB)
    for text in ("", "1 2\n", "a b c\n", "1 2 3\n1 2 3\n"):
        with pytest.raises(UnreadableOutput):
            extent("/x").parse(text)


def test_random_writes_find_a_file_that_was_written_twice() -> None:
    assert [Pattern(way, 4096, 1, 1).fills for way in Way] == [1, 1, 1, 2]
    assert "--loops=2" in lay_out("/x", MIB, 2)
    trial = on_file("node-01", "/m", "xfs", Pattern(Way.RANDWRITE, 4096, 32, 60), 64 * MIB)
    step = next(one for one in trial.preparation if one.name == "lay out")
    assert step.must is not None
    assert step.must(laid(64 * MIB)) is not None
    assert step.must(laid(128 * MIB)) is None


def test_what_stands_around_a_load_is_looked_at_in_one_turn_before_and_one_after_it() -> None:
    trial = on_file("node-01", "/m", "xfs", Pattern(Way.RANDREAD, 4096, 32, 60), 64 * MIB, "S1")
    assert [[step.name for step in stage] for stage in trial.stages] == [
        ["mounts", "file", "health before", "idle", "counters before"], ["load"], ["counters after", "health after"],
    ]  # fmt: skip


ROW = " 259 0 nvme0n1 1 0 {read} 0 1 0 {written} 0 0 0 0\n"


def test_two_looks_at_a_device_tell_what_others_move() -> None:
    first, second = ROW.format(read=10, written=20), ROW.format(read=12, written=24)
    found = idle("xfs").parse(f"{first}\n--- later\n{second}")
    assert moved(*found, "nvme0n1") == Bytes(1024, 2048)
    for text in (first, f"{first}\n--- later\n", ""):
        with pytest.raises(UnreadableOutput):
            idle("xfs").parse(text)


def test_what_is_not_counted_is_not_taken_for_nothing() -> None:
    counts = counted("xfs").parse(ROW.format(read=0, written=0))
    with pytest.raises(UnreadableOutput, match="counts nothing of sda"):
        moved(counts, counts, "sda")
    with pytest.raises(UnreadableOutput, match="went backwards"):
        moved({"sda": Bytes(1, 5)}, {"sda": Bytes(2, 4)}, "sda")


def test_what_a_server_gives_and_takes_is_counted_by_mount() -> None:
    assert counted("nfs4").argv[-1] == "/proc/self/mountstats"
    assert counted("nfs4").parse("device /dev/sda mounted on / with fstype xfs\n") == {}
