"""Where chunks of KV are kept: in memory (thousands of rounds in seconds) or as real files, whole chunks a rank.

What a chunk holds is told by a word: its own key, or another word for bytes that are not what was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from lab.engine.shape import Shape


class Store(Protocol):
    """Chunks by key, in the order they were written."""

    def put(self, key: str) -> bool:
        """Keep a chunk; False where the device has no room."""
        ...

    def get(self, key: str) -> str | None:
        """What the chunk holds; None where it is not there."""
        ...

    def drop(self, key: str) -> None:
        """Forget a chunk."""
        ...

    def spoil(self, key: str) -> None:
        """Change what a chunk holds."""
        ...

    def keys(self) -> list[str]:
        """All chunks, oldest first."""
        ...

    def clear(self) -> None:
        """Remove every file."""
        ...


class MemoryStore:
    """Files that exist by name and size only."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def put(self, key: str) -> bool:
        """Keep a chunk."""
        self._held[key] = key
        return True

    def get(self, key: str) -> str | None:
        """What the chunk holds."""
        return self._held.get(key)

    def drop(self, key: str) -> None:
        """Forget a chunk."""
        self._held.pop(key, None)

    def spoil(self, key: str) -> None:
        """Change what a chunk holds."""
        self._held[key] = f"spoilt {key}"

    def keys(self) -> list[str]:
        """All chunks, oldest first."""
        return list(self._held)

    def clear(self) -> None:
        """Remove every file."""
        self._held.clear()


class FolderStore:
    """Real files in a folder, named and sized as LMCache's fs:// backend does: a file a chunk and rank.

    The bytes are made of the key, so that a file which holds others is seen by whoever reads it.
    """

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder, self.shape = folder, shape
        self.dtype = shape.dtype

    def _paths(self, key: str) -> list[Path]:
        model = self.shape.model.replace("/", "-SEP-")
        return [
            self.folder / f"{model}@{self.shape.ranks}@{rank}@{key}@{self.dtype}.data"
            for rank in range(self.shape.ranks)
        ]

    def _content(self, key: str, rank: int) -> bytes:
        size = self.shape.file_bytes
        seed = hashlib.sha256(f"{key} {rank}".encode()).digest()
        return (seed * (size // len(seed) + 1))[:size]

    def put(self, key: str) -> bool:
        """Write a file a rank; False where the device has no room."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for rank, path in enumerate(self._paths(key)):
                path.write_bytes(self._content(key, rank))
        except OSError:
            return False
        return True

    def get(self, key: str) -> str | None:
        """Read every rank's file; one that is missing or short is a miss, as a lookup takes the least of all ranks."""
        held = key
        for rank, path in enumerate(self._paths(key)):
            try:
                content = path.read_bytes()
            except OSError:
                return None
            if len(content) != self.shape.file_bytes:
                return None
            if content != self._content(key, rank):
                held = hashlib.sha256(content).hexdigest()
        return held

    def drop(self, key: str) -> None:
        """Remove a chunk's files."""
        for path in self._paths(key):
            path.unlink(missing_ok=True)

    def spoil(self, key: str) -> None:
        """Turn the bits of one file's first bytes."""
        path = self._paths(key)[0]
        content = path.read_bytes()
        path.write_bytes(bytes(byte ^ 0xFF for byte in content[:64]) + content[64:])

    def keys(self) -> list[str]:
        """All chunks of the first rank, oldest first."""
        found = [path for path in self.folder.glob("*.data") if path.name.split("@")[2] == "0"]
        return [path.name.split("@")[3] for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def clear(self) -> None:
        """Remove every file."""
        for path in self.folder.glob("*.data"):
            path.unlink(missing_ok=True)


def files(store: Store, shape: Shape) -> Mapping[str, int]:
    """Names and sizes of what the store's folder holds."""
    model = shape.model.replace("/", "-SEP-")
    return {
        f"{model}@{shape.ranks}@{rank}@{key}@{shape.dtype}.data": shape.file_bytes
        for key in store.keys()  # noqa: SIM118 - a store is no mapping
        for rank in range(shape.ranks)
    }
