"""The clocks of this host, and which boot they belong to."""

from __future__ import annotations

import datetime
import os
import time
from typing import NamedTuple


class Now(NamedTuple):
    """One moment: wall clock, monotonic clock, and the monotonic clock that goes on while the host sleeps; seconds."""

    wall: float
    mono: float
    boottime: float

    @property
    def utc(self) -> str:
        """The wall clock as it stands in a line."""
        moment = datetime.datetime.fromtimestamp(self.wall, datetime.timezone.utc)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now() -> Now:
    """Read the clocks, the wall clock first."""
    wall, mono = time.time(), time.monotonic()
    try:
        boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (AttributeError, OSError):
        boottime = mono
    return Now(wall, mono, boottime)


def seconds_of(utc: str) -> float:
    """Inverse of :attr:`Now.utc`. Raises ValueError."""
    found = datetime.datetime.strptime(utc, "%Y-%m-%dT%H:%M:%S.%fZ")
    return found.replace(tzinfo=datetime.timezone.utc).timestamp()


def boot_id() -> str:
    """Identity of this boot; "-" where the kernel does not tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "-"


def started(pid: int) -> str | None:
    """When a process began, in ticks since boot: with its id it names a process for good. None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if len(fields) < 20 or fields[0] in (b"Z", b"X") else fields[19].decode()


def living(pid: int, start: str) -> bool:
    """Whether that very process lives."""
    return pid > 0 and os.path.isdir("/proc/%d" % pid) and started(pid) == start
