"""One answer -> fact, or the reason why not. Exit status first, text second, nothing by default."""

from __future__ import annotations

import re
from typing import Protocol, TypeVar

from checks import io_errors
from checks.phrase import Phrase, say
from checks.probe import AnsweredWithError, Level, NothingPrinted, NotOffered, Probe, Streams, UnreadableOutput
from kvgate.errors import (
    CommandFailed,
    IoFailed,
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
_ABSENT = re.compile(r"no such file or directory|not found", re.I)
_UNSUPPORTED = re.compile(r"operation not supported|not supported|function not implemented", re.I)
_TYPED = 160  # characters of a command that a person may type


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
    failed = kept.status not in (*probe.accepted, 126, 127)  # those two say that the tool itself could not be had
    loads = probe.level is not Level.PASSIVE
    if failed and (line := io_errors.said(f"{stdout}\n{stderr}", loads=loads)) is not None:
        raise IoFailed(say("{host}: {line}", host=host, line=line))
    if kept.truncated:
        raise Truncated(say("{host}: {tool} printed more than its limit; the rest was cut", host=host, tool=probe.tool))
    if kept.status in (124, 137) and kept.status not in probe.accepted:
        raise TimedOut(
            say(
                "{host}: {tool} did not end within {limit:g} s: run it there by hand, and look at the load of the host",
                host=host,
                tool=probe.tool,
                limit=probe.limit,
            )
        )
    if kept.status not in probe.accepted:
        if kept.status == 127:
            if _ABSENT.search(stderr):  # as any shell says it: nothing to add
                raise ToolMissing(say("{host}: {tool} is not installed; install it", host=host, tool=probe.tool))
            raise ToolMissing(
                say("{host}: {tool} is not installed ({said}); install it", host=host, tool=probe.tool, said=said)
            )
        if kept.status == 126 or _DENIED.search(stderr):
            raise PermissionDenied(
                say("{host}: {tool}: {said}; run as root (become: sudo)", host=host, tool=probe.tool, said=said)
            )
        if _UNSUPPORTED.search(stderr) or (not stderr and _UNSUPPORTED.search(stdout[:500])):
            raise Unsupported(say("{host}: {tool}: {said}", host=host, tool=probe.tool, said=said))
        why = say(
            "{host}: {tool} ended with status {status} and said: {said}",
            host=host,
            tool=probe.tool,
            status=kept.status,
            said=said,
        )
        raise CommandFailed(_by_hand(why, probe))
    text = stdout + stderr if probe.streams is Streams.BOTH else stdout
    try:
        return probe.parse(text)
    except AnsweredWithError as error:
        raise IoFailed(say("{host}: {line}", host=host, line=str(error))) from None
    except NotOffered as error:
        raise Unsupported(say("{host}: {why}", host=host, why=str(error))) from None
    except NothingPrinted:
        raise Unreadable(_by_hand(_nothing(host, probe), probe)) from None
    except UnreadableOutput as error:
        why = say("{host}: output of {tool} could not be read: {why}", host=host, tool=probe.tool, why=str(error))
        raise Unreadable(_by_hand(why, probe)) from None


def _nothing(host: str, probe: Probe[Fact]) -> Phrase:
    if probe.path is None:
        return say("{host}: {tool} printed nothing, wanted what it shows on a healthy host", host=host, tool=probe.tool)
    return say(
        "{host}: {tool} found nothing at {path}: no such file, or nothing in it that was asked for; see that the device is "
        "there and its driver loaded",
        host=host,
        tool=probe.tool,
        path=probe.path,
    )


def _by_hand(why: Phrase, probe: Probe[Fact]) -> Phrase:
    """Say how to look by oneself; a script of ours is nothing to type, and a disk's name is not known here."""
    line = probe.command()
    if probe.argv[0] == "sh" or probe.devices or len(line) > _TYPED:
        return say("{why}; `--plan` shows what was asked", why=why)
    return say("{why}; look by hand: {line}", why=why, line=line)
