"""Bytes that are on the disk when a call returns, and what to tell a person when they cannot be."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from tempfile import TemporaryFile

from checks.phrase import say
from kvgate.errors import Unwritable, because

_REMEDY = {
    errno.ENOSPC: say("free space there, or choose another place"),
    errno.EDQUOT: say("free some of your quota, or choose another place"),
    errno.EFBIG: say("raise the file size limit of this shell (ulimit -f)"),
    errno.EROFS: say("the file system is mounted read-only: choose another place"),
    errno.EACCES: say("take ownership of that folder, or choose one that you may write to"),
    errno.EPERM: say("take ownership of that folder, or choose one that you may write to"),
    errno.EIO: say("the disk reports an error: choose another disk and look at this one's log"),
    errno.EMFILE: say("raise the limit of open files (ulimit -n)"),
}


def unwritable(error: OSError, what: str, place: Path) -> Unwritable:
    """Return the exception that says what could not be written, where, why, and what to do."""
    remedy = _REMEDY.get(error.errno or 0, say("see that this place can be written to"))
    return Unwritable(
        say(
            "{what} could not be written to {place}: {why}; {remedy}, then give the same command again",
            what=what,
            place=str(place),
            why=because(error),
            remedy=remedy,
        )
    )


def flush(descriptor: int) -> None:
    """Return when the file's bytes are on the medium (macOS: through the drive's cache as well)."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def flush_file(path: Path) -> None:
    """Same for a file that is not open."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: Path) -> None:
    """Make names created in or renamed into the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte. Raises OSError; how many bytes are in the file then is unknown."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def room(folder: Path) -> None:
    """Notice before an attempt is counted that no evidence could be kept below a folder. Raises Unwritable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(2**16))
            file.flush()
    except OSError as error:
        raise unwritable(error, "evidence (folder)", folder) from error
