"""Content-addressed bytes: ``blobs/ab/cdef....gz`` holds the bytes whose SHA-256 is ``abcdef...``; read means verified."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks.phrase import say
from kvgate.errors import Damaged, because
from kvgate.evidence.durable import flush_file, flush_folder, unwritable, write_all

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_GZIP = 31  # zlib window bits that mean: gzip header and trailer
_LARGE = 2**20  # from here on speed counts more than size
_WRITERS = 8  # files flushed at once; the disk merges them


def digest_of(data: bytes) -> str:
    """SHA-256 of the bytes, lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def _pack(data: bytes) -> bytes:
    packer = zlib.compressobj(1 if len(data) > _LARGE else 6, zlib.DEFLATED, _GZIP)
    return packer.compress(data) + packer.flush()


def _unpack(packed: bytes, size: int) -> bytes:
    """Unpack at most ``size`` bytes. Raises ValueError for more, for less and for what is not gzip."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise ValueError(f"it does not unpack ({error})") from error
    if len(data) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError(f"it does not hold exactly the {size} bytes written")
    return data


class Blobs:
    """The blobs of one run. Nothing is ever overwritten, except a blob that a crash left torn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sound: set[str] = set()
        self._made: set[Path] = set()

    def path(self, digest: str) -> Path:
        """Return where the bytes with this digest are. Raises ValueError for what is no digest."""
        if _DIGEST.fullmatch(digest) is None:
            raise ValueError(f"found {digest!r:.80}, wanted a SHA-256 in hex")
        return self._folder / digest[:2] / f"{digest[2:]}.gz"

    def keep(self, many: Iterable[bytes]) -> list[str]:
        """Write what is not there yet, durably, and return the digests in order. Raises Unwritable; then nothing counts.

        All are written before the first is flushed: the first flush then takes the others along to the disk.
        """
        contents = list(many)
        digests = [digest_of(data) for data in contents]
        fresh = {d: data for d, data in zip(digests, contents, strict=True) if not self._present(d, data)}
        paths = {name: self.path(name) for name in fresh}
        parents = sorted({path.parent for path in paths.values()})
        written: dict[Path, Path] = {}
        try:
            for parent in set(parents) - self._made:
                parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, data in fresh.items():
                path = paths[name]
                written[temporary := path.with_name(f".{path.name[:16]}-{secrets.token_hex(4)}")] = path
                _write(temporary, data)
            _each(flush_file, list(written))
            for temporary, path in written.items():
                temporary.replace(path)
            _each(flush_folder, [*parents, self._folder] if set(parents) - self._made else parents)
        except OSError as error:
            for temporary in written:
                temporary.unlink(missing_ok=True)
            raise unwritable(error, "evidence (raw output)", self._folder) from error
        self._made.update(parents)
        self._sound.update(fresh)
        return digests

    def read(self, digest: str, size: int) -> bytes:
        """Return the bytes. Raises Damaged when the blob is gone or holds other bytes than were written."""
        path = self.path(digest)
        try:
            data = _unpack(path.read_bytes(), size)
        except FileNotFoundError as error:
            raise Damaged(say("blob {digest} is missing: {path}", digest=digest[:12], path=str(path))) from error
        except OSError as error:
            raise Damaged(
                say(
                    "blob {digest} cannot be read: {path}: {strerror}",
                    digest=digest[:12],
                    path=str(path),
                    strerror=because(error),
                )
            ) from error
        except ValueError as error:
            raise Damaged(
                say("blob {digest} was changed: {error}: {path}", digest=digest[:12], error=str(error), path=str(path))
            ) from error
        if digest_of(data) != digest:
            raise Damaged(
                say(
                    "blob {digest} was changed: its bytes have another digest: {path}",
                    digest=digest[:12],
                    path=str(path),
                )
            )
        return data

    def _present(self, digest: str, data: bytes) -> bool:
        """Whether the blob is there and whole; one of an earlier process is read before it is trusted."""
        if digest in self._sound:
            return True
        with contextlib.suppress(Damaged):
            self.read(digest, len(data))
            self._sound.add(digest)
            return True
        return False


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_all(descriptor, _pack(data))
    finally:
        os.close(descriptor)


def _each(flushes: Callable[[Path], None], places: Sequence[Path]) -> None:
    if len(places) < _WRITERS:
        for place in places:
            flushes(place)
        return
    with ThreadPoolExecutor(_WRITERS) as writers:
        list(writers.map(flushes, places))


def merkle_root(digests: Iterable[str]) -> str:
    """RFC 6962 tree hash over the sorted distinct digests: one blob is proven with a few digests, without the others."""
    leaves = [hashlib.sha256(b"\0" + bytes.fromhex(digest)).digest() for digest in sorted(set(digests))]
    return _tree(leaves).hex()


def _tree(leaves: list[bytes]) -> bytes:
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + _tree(leaves[:left]) + _tree(leaves[left:])).digest()
