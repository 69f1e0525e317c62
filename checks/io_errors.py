"""What a tool that makes load says when the device or filesystem below it answered a request with an error.

Such an answer is no accident of the measurement: whatever the other rounds give, the data was not read or not taken. A full disk, a file
that is not there and a missing right are none of these: they say nothing of the device.
"""

from __future__ import annotations

import re

#: What Linux makes of a command that failed below the filesystem (``blk_status_to_errno``), and XFS of damage to itself, in the words
#: of its C library: number of the host, not of the laptop that reads it.
ERRNOS = {
    5: "Input/output error",  # EIO: anything else, a path given up, a filesystem that was shut down
    52: "Invalid exchange",  # EBADE: reserved by another host
    61: "No data available",  # ENODATA: a medium that cannot be read
    67: "Link has been severed",  # ENOLINK: the transport failed
    74: "Bad message",  # EBADMSG: a checksum of XFS does not match
    84: "Invalid or incomplete multibyte or wide character",  # EILSEQ: protection information does not match
    110: "Connection timed out",  # ETIMEDOUT: no answer in time
    117: "Structure needs cleaning",  # EUCLEAN: XFS found itself damaged
    121: "Remote I/O error",  # EREMOTEIO: the target failed
}
_ERROR = "|".join(re.escape(text) for text in ERRNOS.values())
_TOOLS = "fio|dd|tee|sync|sha256sum|mkdir|rm|stat|df|head|find|cat"
#: A shell that could not open a file says so in words of its own; a program that it could not start is none of these.
_SHELL = r"(?:ba|da)?sh: (?:line )?\d+: (?:cannot (?:open|create) )?/[^:]*"
_SAID = re.compile(rf"^(?:(?:{_TOOLS}): .*|{_SHELL}: )(?:{_ERROR})", re.MULTILINE)
#: What asks a filesystem whether it is there: these mean it whoever asks. Other tools read sensors, too, which give no data for less.
_ASKED = re.compile(rf"^(?:df|stat): .*(?:{_ERROR})", re.MULTILINE)


def said(text: str, *, loads: bool = True) -> str | None:
    """The line in which a tool of a load, or its shell, tells of such an answer, cut to 160 characters; None where none does.

    ``loads``: it is the output of what makes load; of anything else only df and stat are heard.
    """
    found = (_SAID if loads else _ASKED).search(text)
    if found is None:
        return None
    line = text[found.start() :].splitlines()[0]
    return line.strip()[:160]


def named(text: str) -> bool:
    """Whether a text names such an answer in whichever words, as `mount` does of a filesystem that it cannot read."""
    return re.search(_ERROR, text) is not None
