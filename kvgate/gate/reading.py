"""One answer -> fact, or the reason why not. Exit status first, text second, nothing by default."""

from __future__ import annotations

import re
from typing import Protocol, TypeVar

from checks.phrase import say
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
    said = next((line.strip()[:200] for line in (stderr or stdout).splitlines() if line.strip()), say("nothing"))
    if kept.truncated:
        raise Truncated(say("{host}: {tool} printed more than its limit; the rest was cut", host=host, tool=probe.tool))
    if kept.status in (124, 137) and kept.status not in probe.accepted:
        raise TimedOut(
            say("{host}: {tool} did not end within {limit:g} s", host=host, tool=probe.tool, limit=probe.limit)
        )
    if kept.status not in probe.accepted:
        if kept.status == 127:
            raise ToolMissing(
                say("{host}: {tool} is not installed ({said}); install it", host=host, tool=probe.tool, said=said)
            )
        if kept.status == 126 or _DENIED.search(stderr):
            raise PermissionDenied(
                say("{host}: {tool}: {said}; run as root (become: sudo)", host=host, tool=probe.tool, said=said)
            )
        if _UNSUPPORTED.search(stderr) or (not stderr and _UNSUPPORTED.search(stdout[:500])):
            raise Unsupported(say("{host}: {tool}: {said}", host=host, tool=probe.tool, said=said))
        raise CommandFailed(
            say(
                "{host}: {tool} ended with status {status} and said: {said}",
                host=host,
                tool=probe.tool,
                status=kept.status,
                said=said,
            )
        )
    text = stdout + stderr if probe.streams is Streams.BOTH else stdout
    try:
        return probe.parse(text)
    except NotOffered as error:
        raise Unsupported(f"{host}: {error}") from None
    except UnreadableOutput as error:
        raise Unreadable(
            say("{host}: output of {tool} could not be read: {why}", host=host, tool=probe.tool, why=str(error))
        ) from None
