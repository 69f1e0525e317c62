"""``worker.pyz``: run, start, status, stop, read, acknowledge, list, remove. Answers with one JSON line; ``read`` with bytes."""

from __future__ import annotations

import os
import sys
import traceback
import zlib
from pathlib import Path

from . import kvfiles, launch, room
from .journal import Busy, Full, canonical, segments, write_whole
from .worker import Worker


def main(words: list[str]) -> int:
    """Do what the words say."""
    verb, *rest = words
    if verb == "run":
        return _run(Path(rest[0]))
    if verb == "read":
        return _read(Path(rest[0]), int(rest[1]), int(rest[2]), int(rest[3]))
    if verb in ("fill", "janitor"):
        return room.main(verb, rest)
    if verb == "kvfiles":
        return kvfiles.main(rest, Path(sys.argv[0]).resolve().parent)
    os.umask(0o077)
    if verb == "list":
        base = Path(rest[0])
        there = {one.parent for name in ("plan.json", "state.json", "worker.pyz") for one in base.glob(f"*/*/{name}")}
        print(canonical({"soaks": [launch.status(one) for one in sorted(there)]}))
        return 0
    folder = Path(rest[0])
    if verb == "acknowledge":
        write_whole(folder / "acknowledged.json", canonical({"segment": int(rest[1])}))
        told = launch.status(folder)
    elif verb == "remove":
        told = launch.remove(folder, int(rest[1]), int(rest[2]))
    else:
        told = {"start": launch.start, "status": launch.status, "stop": launch.stop}[verb](folder)
    print(canonical(told))
    return 0


def _run(folder: Path) -> int:
    os.umask(0o077)
    try:
        return Worker(folder).run()
    except Busy:
        return 0  # another one does it already
    except Full as error:
        print(f"no room for the journal: {error}", file=sys.stderr)
        return 75
    except BaseException:
        traceback.print_exc()
        raise


def _read(folder: Path, number: int, offset: int, most: int) -> int:
    """Print whole lines from an offset of a segment on, at most ``most`` bytes or one line, all of them on the disk here.

    Compressed; inside, a line ``more 0`` or ``more 1`` (there is more to ask for), then for each segment a line
    ``number length`` and so many bytes.
    """
    there = segments(folder)
    if number not in dict(there):
        return 44
    frames, left, more = [], most, 0
    for one, path in there:
        if one < number:
            continue
        if left <= 0:
            more = 1
            break
        whole = _whole(path, offset if one == number else 0, left)
        if whole:
            frames.append(b"%d %d\n%s" % (one, len(whole), whole))
            left -= len(whole)
        if (offset if one == number else 0) + len(whole) < path.stat().st_size:
            more = 1 if whole else 0
            break
    sys.stdout.buffer.write(zlib.compress(b"more %d\n%s" % (more, b"".join(frames)), 6))
    sys.stdout.buffer.flush()
    return 0


def _whole(path: Path, offset: int, most: int) -> bytes:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        file.seek(offset)
        data = file.read(most)
        while data and b"\n" not in data:  # a line longer than that comes whole
            more = file.read(most)
            if not more:
                break
            data += more
    return data[: data.rfind(b"\n") + 1]
