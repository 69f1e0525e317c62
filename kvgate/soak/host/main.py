"""``worker.pyz``: run, start, status, stop, read, acknowledge, list, remove. Answers with one JSON line; ``read`` with bytes."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
import zlib
from pathlib import Path

from . import launch, room
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
    os.umask(0o077)
    if verb == "list":
        base = Path(rest[0])
        found = [launch.status(one) for one in sorted(base.iterdir()) if one.is_dir()] if base.is_dir() else []
        print(canonical({"soaks": found}))
        return 0
    folder = Path(rest[0])
    if verb == "acknowledge":
        write_whole(folder / "acknowledged.json", canonical({"segment": int(rest[1])}))
        told = launch.status(folder)
    elif verb == "remove":
        told = launch.status(folder)
        if told["state"] != "running":
            shutil.rmtree(str(folder))
            told["did"] = "removed"
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
    """Print whole lines of a segment after ``offset``, compressed: at most ``most`` bytes, and all of them on the disk here."""
    path = dict(segments(folder)).get(number)
    if path is None:
        return 44
    with path.open("rb") as file:
        os.fsync(file.fileno())
        file.seek(offset)
        data = file.read(most)
    whole = data[: data.rfind(b"\n") + 1]
    sys.stdout.buffer.write(zlib.compress(whole, 6))
    sys.stdout.buffer.flush()
    return 0
