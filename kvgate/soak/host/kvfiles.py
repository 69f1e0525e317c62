"""Whether files of a KV store are still what they were when they were first seen: a sample is digested again at each look."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from .journal import canonical, write_whole

_ONE_IN = 100
_MOST = 2000  # files of the sample
_PIECE = 1 << 20


def main(words: list[str], home: Path) -> int:
    """``kvfiles FOLDER keeps|evicts``: of a store that evicts, a file that is gone is no loss."""
    folder, evicts = Path(words[0]), words[1] == "evicts"
    place = home / "kvfiles.json"
    known: dict[str, str] = json.loads(place.read_text("ascii")) if place.exists() else {}
    told = {"files": 0, "mismatched": 0, "missing": 0, "evicted": 0, "new": 0}
    gone: list[str] = []
    for name, digest in known.items():
        found = _digest(folder / name)
        if found is None:
            told["evicted" if evicts else "missing"] += 1
            gone += [name] if evicts else []
            continue
        told["files"] += 1
        told["mismatched"] += found != digest
    for name in gone:
        del known[name]
    for name in _sample(folder):
        if len(known) >= _MOST:
            break
        if name not in known:
            found = _digest(folder / name)
            if found is not None:
                known[name] = found
                told["new"] += 1
                told["files"] += 1
    write_whole(place, canonical(known))
    sys.stdout.write(canonical(told) + "\n")
    return 0


def _sample(folder: Path) -> list[str]:
    """One file in a hundred, chosen by its name: the same ones at every look; of a small store all."""
    names = [os.path.relpath(os.path.join(place, one), folder) for place, _, files in os.walk(folder) for one in files]
    chosen = [
        one
        for one in names
        if int(hashlib.sha256(one.encode("utf-8", "surrogateescape")).hexdigest()[:8], 16) % _ONE_IN == 0
    ]
    return sorted(chosen if len(names) >= _ONE_IN * _ONE_IN // 10 else names)


def _digest(path: Path) -> str | None:
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while True:
                piece = file.read(_PIECE)
                if not piece:
                    return found.hexdigest()
                found.update(piece)
    except FileNotFoundError:
        return None
