"""The kernel's log as it grows: every record of /dev/kmsg once, and how many were overwritten before they were read."""

from __future__ import annotations

import errno
import os
from typing import Any, Dict

_MOST = 2000  # records a tick; what is left is read at the next


class KernelLog:
    """Reads records after ``next``; without one, those that come from now on."""

    def __init__(self, following: int | None) -> None:
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.next = following
        if following is None:
            while self._record() is not None:
                pass

    def read(self) -> Dict[str, Dict[str, Any]]:
        """Records since the last call by number; the subject "" carries the number that comes next and how many were lost."""
        found: Dict[str, Dict[str, Any]] = {}
        lost = 0
        while len(found) < _MOST:
            expected = self.next
            record = self._record()
            if record is None:
                break
            number, fields = record
            if expected is not None and number < expected:
                self.next = expected
                continue
            if expected is not None:
                lost += number - expected
            found[str(number)] = fields
        found[""] = {"next": self.next, "lost": lost}
        return found

    def _record(self) -> tuple[int, dict[str, Any]] | None:
        """Read one record; what was overwritten meanwhile is passed over. None when there is no more now."""
        while True:
            try:
                raw = os.read(self._fd, 16384)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    continue
                if error.errno == errno.EAGAIN:
                    return None
                raise
            head, _, rest = raw.partition(b";")
            words = head.split(b",")
            if len(words) < 3 or not words[1].isdigit():
                continue
            number = int(words[1])
            self.next = number + 1
            told = rest.split(b"\n", 1)[0].decode("utf-8", "backslashreplace")
            return number, {"prio": int(words[0]), "usec": int(words[2]), "text": told}

    def close(self) -> None:
        """Let go of the device."""
        os.close(self._fd)
