"""Filling a folder and emptying it again: the life of a store that nobody else keeps below its limit. JSON lines tell each step."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

_FILE = 64 << 20
_PIECE = 1 << 20
_PREFIX = "kvgate-fill-"


def main(verb: str, words: list[str]) -> int:
    """``fill FOLDER LOW HIGH RATE``: percent used and bytes a second; ``janitor FOLDER LOW HIGH SECONDS``. Until TERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    folder, low, high = Path(words[0]), float(words[1]), float(words[2])
    if not folder.is_dir() or not 0 < low < high <= 95:
        print(f"found {words}, wanted a folder and 0 < low < high <= 95", file=sys.stderr)
        return 64
    if verb == "janitor":
        while True:
            if used(folder) > high:
                _tell("emptied", folder, files=empty(folder, low))
            time.sleep(float(words[3]))
    try:
        fill(folder, low, high, float(words[3]))
    finally:
        for path in folder.glob(_PREFIX + "*"):
            path.unlink()
    return 0


def used(folder: Path) -> float:
    """Percent of the file system that nobody can write any more."""
    found = os.statvfs(str(folder))
    return 100.0 * (1 - found.f_bavail / max(1, found.f_blocks))


def empty(folder: Path, low: float) -> int:
    """Remove the files that were used least recently until so much is free; only in this file system, only plain files."""
    home = folder.stat().st_dev
    found = []
    for place, _, names in os.walk(str(folder)):
        for name in names:
            with contextlib.suppress(OSError):
                one = os.lstat(os.path.join(place, name))
                if one.st_dev == home and (one.st_mode & 0o170000) == 0o100000:
                    found.append((max(one.st_atime, one.st_mtime), os.path.join(place, name)))
    count = 0
    for _, path in sorted(found):
        if used(folder) <= low:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            count += 1
    return count


def fill(folder: Path, low: float, high: float, rate: float) -> None:
    """Write files until ``high``, remove them until ``low``, again and again, no faster than ``rate``."""
    number = 0
    while True:
        while used(folder) < high:
            number += 1
            _write(folder / f"{_PREFIX}{number:08d}", rate)
        _tell("full", folder, files=number)
        for path in sorted(folder.glob(_PREFIX + "*")):
            if used(folder) <= low:
                break
            path.unlink()
        _tell("emptied", folder, files=len(list(folder.glob(_PREFIX + "*"))))
        if used(folder) >= high:
            time.sleep(60)  # others fill it: nothing to be done here


def _write(path: Path, rate: float) -> None:
    piece = os.urandom(_PIECE)
    with path.open("wb") as file:
        for _ in range(_FILE // _PIECE):
            begun = time.monotonic()
            file.write(piece)
            time.sleep(max(0.0, _PIECE / rate - (time.monotonic() - begun)))
        file.flush()
        os.fsync(file.fileno())


def _tell(event: str, folder: Path, files: int) -> None:
    print(json.dumps({"event": event, "used": round(used(folder), 3), "files": files}), flush=True)
