"""One answer -> fact, or the reason why not. Exit status first, text second, nothing by default."""

from __future__ import annotations

import re
from typing import Protocol, TypeVar

from checks.probe import NotOffered, Probe, Streams, UnreadableOutput
from kvgate.errors import (
    CommandFailed,
    PermissionDenied,
    TimedOut,
    ToolMissing,
    Truncated,
    Unreadable,
    Unsupported,
)

Fact = TypeVar("Fact")
_DENIED = re.compile(
    r"permission denied|operation not permitted|must be root|requires root|not allowed to execute", re.I
)
_UNSUPPORTED = re.compile(r"operation not supported|not supported|function not implemented", re.I)


class Said(Protocol):
    """What a command printed and how it ended."""

    @property
    def stdout(self) -> bytes: ...  # noqa: D102
    @property
    def stderr(self) -> bytes: ...  # noqa: D102
    @property
    def status(self) -> int: ...  # noqa: D102
    @property
    def truncated(self) -> bool: ...  # noqa: D102


def read(host: str, probe: Probe[Fact], kept: Said) -> Fact:
    """One kept answer -> fact, or the reason why not. Raises CannotTell."""
    stdout, stderr = kept.stdout.decode("utf-8", "backslashreplace"), kept.stderr.decode("utf-8", "backslashreplace")
    said = next((line.strip() for line in (stderr or stdout).splitlines() if line.strip()), "nothing")[:200]
    if kept.truncated:
        raise Truncated(f"{host}: {probe.tool} printed more than its limit; the rest was cut")
    if kept.status in (124, 137) and kept.status not in probe.accepted:
        raise TimedOut(f"{host}: {probe.tool} did not end within {probe.limit:g} s")
    if kept.status not in probe.accepted:
        if kept.status == 127:
            raise ToolMissing(f"{host}: {probe.tool} is not installed ({said})")
        if kept.status == 126 or _DENIED.search(stderr):
            raise PermissionDenied(f"{host}: {probe.tool}: {said}; run as root (become: sudo)")
        if _UNSUPPORTED.search(stderr) or (not stderr and _UNSUPPORTED.search(stdout[:500])):
            raise Unsupported(f"{host}: {probe.tool}: {said}")
        raise CommandFailed(f"{host}: {probe.tool} ended with status {kept.status} and said: {said}")
    text = stdout + stderr if probe.streams is Streams.BOTH else stdout
    try:
        return probe.parse(text)
    except NotOffered as error:
        raise Unsupported(f"{host}: {error}") from None
    except UnreadableOutput as error:
        raise Unreadable(f"{host}: output of {probe.tool} could not be read: {error}") from None
