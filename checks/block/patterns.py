"""Kinds of load on a file: sequential and random, in blocks of the engine's KV chunks, at the queue depths that it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: Percentiles that fio keeps, in percent.
PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)


class Way(StrEnum):
    """Order and direction, in fio's words."""

    READ = "read"
    WRITE = "write"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"

    @property
    def direction(self) -> str:
        """``read`` or ``write``."""
        return self.value.removeprefix("rand")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One load: ``block`` in bytes, ``depth`` requests under way a job, ``seconds`` measured after ``ramp`` seconds."""

    way: Way
    block: int
    depth: int
    seconds: int
    jobs: int = 1
    ramp: int = 5

    @property
    def fills(self) -> int:
        """How often a file is written whole before this load: twice before random writes, as SNIA fills a disk, else once."""
        return 2 if self.way is Way.RANDWRITE else 1

    @property
    def name(self) -> str:
        """``randread-256k-q8``: what it is, as part of a key."""
        size = f"{self.block // 2**20}m" if self.block % 2**20 == 0 else f"{self.block // 1024}k"
        return f"{self.way}-{size}-q{self.depth}" + (f"-j{self.jobs}" if self.jobs > 1 else "")

    def argv(self, file: str, size: int) -> tuple[str, ...]:
        """Words of fio for this load on a file of ``size`` bytes that is there already.

        Direct, so that no page cache answers; other random blocks every time; contents that do not compress.
        """
        return (
            "fio", f"--name={self.name}", f"--filename={file}", f"--size={size}", f"--rw={self.way}",
            f"--bs={self.block}", f"--iodepth={self.depth}", f"--numjobs={self.jobs}", "--ioengine=libaio",
            "--direct=1", "--time_based", f"--runtime={self.seconds}", f"--ramp_time={self.ramp}",
            "--group_reporting", "--randrepeat=0", "--refill_buffers=1", "--allow_file_create=0",
            f"--percentile_list={':'.join(f'{one:g}' for one in PERCENTILES)}", "--output-format=json",
        )  # fmt: skip


def lay_out(file: str, size: int, fills: int = 1) -> tuple[str, ...]:
    """Words of fio that write a whole file so many times, durably, with contents that do not compress."""
    return (
        "fio", "--name=lay-out", f"--filename={file}", f"--size={size}", f"--loops={fills}", "--rw=write", "--bs=1048576",
        "--iodepth=16", "--ioengine=libaio", "--direct=1", "--refill_buffers=1", "--end_fsync=1", "--output-format=json",
    )  # fmt: skip
