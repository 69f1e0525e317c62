"""A file is there as a whole before anything is read from it: written, counted, and not a hole that no device has to answer for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checks.block.counters import NETWORK
from checks.lexing import integer, lines
from checks.parsers.fio import FioRun
from checks.phrase import Phrase, say
from checks.probe import Probe, UnreadableOutput


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a file is, and how many bytes of it have a place on the device."""

    size: int
    allocated: int


def filled(size: int) -> Callable[[FioRun], Phrase | None]:
    """Return what looks at the fio run that laid a file out and says why ``size`` bytes were not all written, or None."""

    def must(run: FioRun) -> Phrase | None:
        if run.interrupted:
            return say("the file was not written whole: fio was ended by a signal")
        if bad := next((job.error or job.first_error or 0 for job in run.jobs if job.error or job.total_errors), None):
            return say("the file was not written whole: fio reports error {error}", error=bad)
        written = sum(one.io_bytes for job in run.jobs for one in job.directions if one.name == "write")
        if written < size:
            return say(
                "the file was not written whole: {written} of {size} bytes", written=f"{written:,}", size=f"{size:,}"
            )
        return None

    return must


def extent(file: str) -> Probe[Extent]:
    """Look at a file."""
    return Probe("file-extent", ("stat", "-c", "%s %b %B", "--", file), _extent)


def whole(size: int, filesystem: str) -> Callable[[Extent], Phrase | None]:
    """Return what looks at a file and says why a load on it would read holes or something shorter, or None.

    A server of a network filesystem may tell late, or in units of its own, where bytes lie: there the length alone counts.
    """

    def must(found: Extent) -> Phrase | None:
        if found.size < size:
            return say("the file has {found} of {size} bytes", found=f"{found.size:,}", size=f"{size:,}")
        if filesystem not in NETWORK and found.allocated < size:
            return say(
                "{found} of the file's {size} bytes have a place on the device: holes are answered by nobody",
                found=f"{found.allocated:,}", size=f"{size:,}",
            )  # fmt: skip
        return None

    return must


def _extent(text: str) -> Extent:
    found = [line.split() for line in lines(text)]
    if len(found) != 1 or len(found[0]) != 3:
        raise UnreadableOutput(f"found {text[:80]!r}, wanted size, blocks and bytes a block of one file")
    size, blocks, each = (integer(word, "number") for word in found[0])
    return Extent(size, blocks * each)
