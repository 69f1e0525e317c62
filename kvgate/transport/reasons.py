"""Why a batch gave no answer, in words that say what was found, what was wanted and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checks.phrase import Phrase, say
from kvgate.errors import CannotTell, CommandFailed, LinkLost, PermissionDenied, TimedOut, Truncated
from kvgate.transport.base import Command
from kvgate.transport.batch import Reply
from kvgate.transport.link import Ending, Outcome

_SUDO = (
    (
        re.compile(r"a password is required|a terminal is required|no askpass program", re.IGNORECASE),
        say(
            "sudo asks for a password; allow it without: put '<user> ALL=(root) NOPASSWD: ALL' into /etc/sudoers.d/kvgate"
        ),
    ),
    (
        re.compile(r"must have a tty|no tty present", re.IGNORECASE),
        say("sudo wants a terminal; put 'Defaults:<user> !requiretty' into /etc/sudoers.d/kvgate"),
    ),
    (
        re.compile(r"not in the sudoers|may not run sudo|is not allowed to (run|execute)", re.IGNORECASE),
        say("sudo does not allow it; put '<user> ALL=(root) NOPASSWD: ALL' into /etc/sudoers.d/kvgate"),
    ),
    (
        re.compile(r"sudo:? .*not found|sudo: inaccessible|can't execute 'sudo'", re.IGNORECASE),
        say("there is no sudo; install it, or log in as root and set 'become: none'"),
    ),
)
_EXPIRED = re.compile(r"password has expired|password change required|account (has )?expired", re.IGNORECASE)


def said(stream: bytes | bytearray, most: int = 200) -> str:
    """Show the first words of a stream on one line, nothing in it that a terminal would obey."""
    text = bytes(stream[: most * 4]).decode("utf-8", "backslashreplace")
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text[:most] + ("…" if len(text) > most else "")


def unanswered(
    host: str, commands: Sequence[Command], missing: Sequence[Command], outcome: Outcome, reply: Reply, become: bool
) -> dict[str, CannotTell]:
    """Return the reason of each command that has no frame."""
    if reply.complete:
        return {command.key: TimedOut(_left_behind(host, command)) for command in missing}
    progress = say("{good} of {count} answers had arrived", good=len(commands) - len(missing), count=len(commands))
    stuck = missing[0]
    if reply.garbled:
        error: CannotTell = LinkLost(
            say(
                "{host}: the reply stopped to make sense ({garbled}); {progress}; run again",
                host=host,
                garbled=reply.garbled,
                progress=progress,
            )
        )
    elif outcome.ending is Ending.FLOODED:
        error = Truncated(
            say(
                "{host}: far more bytes came than the commands may print, the batch was cut; {progress}",
                host=host,
                progress=progress,
            )
        )
    elif outcome.ending in (Ending.SILENT, Ending.LATE):
        return {command.key: TimedOut(_too_long(host, command, stuck, outcome, reply, progress)) for command in missing}
    elif outcome.ending is Ending.LOST:
        error = LinkLost(
            say(
                "{host}: the connection ended in the middle of the batch; {progress}; look at the link, run again",
                host=host,
                progress=progress,
            )
        )
    elif reply.began:
        error = LinkLost(
            say(
                "{host}: the shell that ran the batch ended with status {status} before its end; {progress}; a "
                "full /dev/shm or the OOM killer does that; it said: {what}",
                host=host,
                status=str(outcome.status),
                progress=progress,
                what=said(outcome.stderr) or say("nothing"),
            )
        )
    else:
        error = _never_began(host, outcome, become)
    return {command.key: error for command in missing}


def _left_behind(host: str, command: Command) -> Phrase:
    return say(
        "{host}: did not end within its limit of {limit:g} s, not even when killed, and was left behind: {line}; "
        "a process that SIGKILL does not end hangs in a driver: look at 'dmesg' and 'ps -eo pid,stat,wchan,args' on the host",
        host=host,
        limit=command.limit,
        line=command.line,
    )


def _too_long(host: str, command: Command, stuck: Command, outcome: Outcome, reply: Reply, progress: Phrase) -> Phrase:
    seconds = outcome.seconds
    if not reply.began:
        return say(
            "{host}: the shell did not begin after {seconds:.0f} s: host overloaded, or a login script waits; "
            "log in by hand and look",
            host=host,
            seconds=seconds,
        )
    if command is stuck:
        return say(
            "{host}: nothing more came after {seconds:.0f} s, while this was to run or to be sent: {line}; {progress}",
            host=host,
            seconds=seconds,
            line=command.line,
            progress=progress,
        )
    return say(
        "{host}: never came to its turn: nothing more came after {seconds:.0f} s, from or after: {line}; {progress}",
        host=host,
        seconds=seconds,
        line=stuck.line,
        progress=progress,
    )


def _never_began(host: str, outcome: Outcome, become: bool) -> CannotTell:
    words = said(outcome.stderr) or said(outcome.stdout) or say("nothing")
    text = bytes(outcome.stderr + outcome.stdout).decode("utf-8", "replace")
    if become:
        for pattern, advice in _SUDO:
            if pattern.search(text):
                return PermissionDenied(say("{host}: {advice} (found: {words})", host=host, advice=advice, words=words))
        if "sudo" in text:
            return PermissionDenied(
                say("{host}: sudo refused: {words}; run 'sudo -n -- sh -c true' there by hand", host=host, words=words)
            )
    if _EXPIRED.search(text):
        return PermissionDenied(
            say(
                "{host}: the account cannot work until someone logs in by hand (found: {words})", host=host, words=words
            )
        )
    return CommandFailed(
        say(
            "{host}: 'sh -s' ended with status {status} and ran nothing (found: {words}); wanted a POSIX "
            "shell; give the user a login shell, or set 'access: commands' for a device without one",
            host=host,
            status=str(outcome.status),
            words=words,
        )
    )
