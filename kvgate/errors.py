"""Every exception of kvgate.

::

    KvgateError
    ├── Refused                 before any host is contacted: exit status 4
    │   ├── BadInput            inventory, acceptance file or overlay; carries every fault with line and column
    │   ├── NotAllowed          option missing, ledger busy
    │   │   ├── Declined        what the hosts said does not permit it
    │   │   └── OutOfOrder      the campaign does not allow this gate now; carries every reason with what removes it
    │   └── Unproven            a signed document that is malformed, or not signed by those who must sign it
    ├── CannotTell              the question has no answer: UNDECIDED (turned into a verdict at one place: kvgate.gate)
    │   ├── Unreachable         no connection: refused, no route, jump host, login denied
    │   ├── HostKeyRefused      the host presents another key than the pinned one
    │   ├── TimedOut            the command or the connection ran into its limit
    │   ├── LinkLost            the connection ended in the middle
    │   ├── ToolMissing         the host has no such program
    │   ├── PermissionDenied    the host refuses, sudo included
    │   ├── Unsupported         the tool answers that the device or driver does not offer this
    │   ├── CommandFailed       another exit status than the probe accepts
    │   ├── IoFailed            what was under load answered a request with an error: a clause about what it carries says STOP
    │   ├── Unreadable          the parser refused the output
    │   ├── Truncated           more output than the limit allows
    │   ├── NotAskable          the inventory says that this host does not allow the question
    │   └── DeviceAbsent        no device with that serial answers today
    └── Unwritable              evidence or ledger could not be written and read back: never PASS
        └── Damaged             what was stored earlier is not what was written: tampered with, cut or rotten
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from checks.phrase import Phrase, plain, say


class KvgateError(Exception):
    """Root of all exceptions that kvgate raises on purpose.

    Its message is a text, or a phrase where the reader's language matters; ``str()`` is English.
    """

    @property
    def phrase(self) -> Phrase:
        """The message as a phrase; a text is the same in every language."""
        message = self.args[0] if self.args else type(self).__name__
        return message if isinstance(message, Phrase) else plain(str(message))


class Refused(KvgateError):
    """Refused before any host was contacted."""


#: Where a fault lies that is at no key.
_WHOLE = {"syntax": say("syntax"), "file": say("file")}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input file. Line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int
    column: int
    where: str
    found: Phrase | str
    wanted: Phrase | str

    @property
    def phrase(self) -> Phrase:
        """The whole fault on one line."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return say(
            "{place}: {where}: found {found}, wanted {wanted}",
            place=place,
            where=_WHOLE.get(self.where, plain(self.where)),
            found=plain(self.found),
            wanted=plain(self.wanted),
        )

    def __str__(self) -> str:
        return str(self.phrase)


class BadInput(Refused):
    """An input file with all of its faults."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("\n".join(str(fault) for fault in faults))


class NotAllowed(Refused):
    """An option, order or state that does not permit the run."""


class Declined(NotAllowed):
    """What hosts said does not permit it: unlike every other refusal it comes after they were asked."""


class OutOfOrder(NotAllowed):
    """The campaign does not allow this gate now; ``reasons`` are pairs of what is in the way and what removes it."""

    def __init__(self, gate: str, reasons: tuple[tuple[Phrase, Phrase], ...]) -> None:
        self.gate, self.reasons = gate, reasons
        super().__init__("; ".join([f"{gate} may not start", *(f"{why}: {do}" for why, do in reasons)]))


class Unproven(Refused):
    """A signed document, key or trust file that proves nothing; the message says what was found and what is wanted."""


class CannotTell(KvgateError):
    """A question without an answer; the message says what was found and what to do next: ``phrase`` is what a verdict carries."""


class Unreachable(CannotTell):
    """No connection to the host."""


class HostKeyRefused(CannotTell):
    """The host's key is not the pinned one; ``presented`` is its SHA256 fingerprint."""

    def __init__(self, message: Phrase | str, presented: str) -> None:
        super().__init__(message)
        self.presented = presented


class TimedOut(CannotTell):
    """A limit ran out."""


class LinkLost(CannotTell):
    """The connection ended in the middle of a batch."""


class ToolMissing(CannotTell):
    """The host has no such program."""


class PermissionDenied(CannotTell):
    """The host refused, with or without sudo."""


class Unsupported(CannotTell):
    """The tool works and says that this device or driver does not offer what was asked."""


class CommandFailed(CannotTell):
    """The command ended with a status under which its output is not read."""


class IoFailed(CannotTell):
    """What was under load answered a request with an error: nothing was measured, and something was found."""


class Unreadable(CannotTell):
    """The output was refused by its parser."""


class Truncated(CannotTell):
    """The output was longer than its cap and was cut."""


class NotAskable(CannotTell):
    """The inventory says that the host does not answer such a question."""


class DeviceAbsent(CannotTell):
    """No device of that identity is there today."""


class Unwritable(KvgateError):
    """Evidence or ledger could not be written, or did not read back as written."""


class Damaged(Unwritable):
    """What was stored earlier is not what was written: the message names the line, blob or row."""


#: Reasons under which an answer that a person declared in the inventory may stand in for the measurement.
#: A host that is down, slow or garbled is not among them.
DECLARABLE = (NotAskable, ToolMissing, Unsupported)


#: What the operating system says, in words that are in the message catalogue. Network errors have words of their own where they occur.
_SYSTEM: Mapping[int, Phrase] = {
    errno.ENOENT: say("No such file or directory"),
    errno.EACCES: say("Permission denied"),
    errno.EPERM: say("Operation not permitted"),
    errno.ENOSPC: say("No space left on device"),
    errno.EDQUOT: say("Disk quota exceeded"),
    errno.EFBIG: say("File too large"),
    errno.EISDIR: say("Is a directory"),
    errno.ENOTDIR: say("Not a directory"),
    errno.ENOTEMPTY: say("Directory not empty"),
    errno.EEXIST: say("File exists"),
    errno.EROFS: say("Read-only file system"),
    errno.EIO: say("Input/output error"),
    errno.EINVAL: say("Invalid argument"),
    errno.ELOOP: say("Too many levels of symbolic links"),
    errno.ENAMETOOLONG: say("File name too long"),
    errno.EMFILE: say("Too many open files"),
    errno.ENFILE: say("Too many open files in system"),
    errno.EBUSY: say("Device or resource busy"),
    errno.ETXTBSY: say("Text file busy"),
    errno.ENOMEM: say("Cannot allocate memory"),
    errno.ENXIO: say("No such device or address"),
    errno.ENODEV: say("No such device"),
    errno.EBADF: say("Bad file descriptor"),
    errno.ESTALE: say("Stale file handle"),
    errno.EADDRINUSE: say("Address already in use"),
    errno.EADDRNOTAVAIL: say("Cannot assign requested address"),
    errno.EHOSTUNREACH: say("No route to host"),
    errno.ENETUNREACH: say("Network is unreachable"),
    errno.ETIMEDOUT: say("Connection timed out"),
}


def because(error: BaseException | None) -> Phrase:
    """What the operating system says of an error, in the reader's language where it is a known one."""
    if isinstance(error, OSError):
        known = _SYSTEM.get(error.errno or 0)
        return known if known is not None else plain(error.strerror or str(error))
    return plain(str(error))
