"""What was collected of a soak: ``<root>/<soak>/<host>/journal-*.jsonl``, byte for byte, the chain checked on the way in."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from checks.phrase import say
from kvgate.codec import canonical, digest, parse_object
from kvgate.errors import Damaged, NotAllowed
from kvgate.evidence.durable import flush, flush_folder, unwritable, write_all
from kvgate.evidence.journal import now_utc

_NAME = re.compile(r"journal-(\d{6})\.jsonl", re.ASCII)
_WHAT = "what was collected of the soak"


class Store:
    """One soak's folder here. ``about`` is what was written when it was started or first met."""

    def __init__(self, root: Path, soak: str) -> None:
        self.root, self.soak = root, soak
        self.path = root / soak

    @classmethod
    def create(cls, root: Path, soak: str, about: Mapping[str, object]) -> Store:
        """Write down that a soak is begun, before any host hears of it; the same soak again changes nothing. Raises Unwritable."""
        store = cls(root, soak)
        try:
            store.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (store.path / "soak.json").exists():
                _replace(store.path / "soak.json", canonical({**about, "soak": soak}))
        except OSError as error:
            raise unwritable(error, _WHAT, store.path) from error
        return store

    @classmethod
    def all(cls, root: Path) -> list[Store]:
        """Every soak that this machine knows, oldest first."""
        found = [cls(root, path.parent.name) for path in root.glob("*/soak.json")]
        return sorted(found, key=lambda one: (str(one.about.get("begun", "")), one.soak))

    @property
    def about(self) -> dict[str, Any]:
        """What was written at the start: inventory text and fingerprint, scale, hosts with their plans, when. Raises Damaged."""
        try:
            return parse_object((self.path / "soak.json").read_bytes())
        except OSError as error:
            raise NotAllowed(say("no soak {soak} in {root}", soak=self.soak, root=str(self.root))) from error
        except ValueError as error:
            raise Damaged(f"{self.path / 'soak.json'}: {error}") from error

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else collect meanwhile. Raises NotAllowed."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise NotAllowed(say("another process collects {soak}: wait until it ends", soak=self.soak)) from None
        finally:
            os.close(descriptor)

    def copy(self, host: str) -> Copy:
        """The copy of one host's journal. Raises Unwritable, Damaged."""
        folder = self.path / host
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(error, _WHAT, folder) from error
        return Copy(folder, f"{self.soak}/{host}")

    def poll(self, host: str, found: Mapping[str, object]) -> None:
        """Note what a host answered, or why it did not; the last such line is its state as known here. Raises Unwritable."""
        place = self.path / host / "polls.jsonl"
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            with place.open("ab") as file:
                file.write(canonical({**found, "polled": now_utc()}).encode() + b"\n")
        except OSError as error:
            raise unwritable(error, _WHAT, place) from error

    def state(self, host: str) -> bytes | None:
        """What the host said of the worker: that it ended, if it ever said so, else what it said last."""
        found = self.last(host, "ended") or self.last(host)
        return canonical(found).encode("ascii") if found else None

    def last(self, host: str, state: str | None = None) -> dict[str, Any]:
        """What the host said when it last answered, or last told that state; empty if it never did."""
        place = self.path / host / "polls.jsonl"
        rows = place.read_bytes().splitlines() if place.exists() else []
        for row in reversed(rows):
            with contextlib.suppress(ValueError):
                found = parse_object(row)
                if "state" in found and state in (None, found["state"]):
                    return found
        return {}


class Copy:
    """The segments of one host here. ``number``, ``size``: the last one and its bytes; ``head``: digest of the last line."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.number, self.size, self.head, self.seq = 0, 0, digest(name), 0
        segments = self.segments()
        if not segments:
            return
        if len(segments) > 1:
            before = segments[-2][1].read_bytes().splitlines(keepends=True)
            self.head = digest(before[-1])
            self.seq = _seq(before[-1])
        self.number, path = segments[-1]
        raw = path.read_bytes()
        good = self._follow(raw)
        if good < len(raw):  # this machine stopped in the middle of writing: the rest is fetched again
            with path.open("r+b") as file:
                file.truncate(good)
                flush(file.fileno())
        self.size = good

    def segments(self) -> list[tuple[int, Path]]:
        """Every segment here, by number."""
        return self.listed(self.folder)

    @staticmethod
    def listed(folder: Path) -> list[tuple[int, Path]]:
        """Every segment in a folder, by number; none where there is no folder."""
        names = folder.iterdir() if folder.is_dir() else ()
        return sorted((int(found[1]), path) for path in names for found in [_NAME.fullmatch(path.name)] if found)

    def _follow(self, raw: bytes) -> int:
        """Bytes of the lines that follow what is here; head and number go on with them."""
        good = 0
        for line in raw.splitlines(keepends=True):
            if not line.endswith(b"\n") or _prev(line) != self.head or _seq(line) != self.seq + 1:
                break
            self.head, self.seq = hashlib.sha256(line).hexdigest(), self.seq + 1
            good += len(line)
        return good

    def add(self, number: int, data: bytes) -> None:
        """Take whole lines of a segment that follow what is here, durably. Raises Damaged where they do not, Unwritable."""
        if not data:
            return
        if number != self.number:
            self.number, self.size = number, 0
        head, seq = self.head, self.seq
        if (good := self._follow(data)) != len(data):
            self.head, self.seq = head, seq
            raise Damaged(
                say(
                    "{place}: the host's segment {number} does not follow what was collected, at byte {at}: one of both was changed",
                    place=str(self.folder), number=number, at=self.size + good,
                )
            )  # fmt: skip
        path = self.folder / f"journal-{number:06d}.jsonl"
        fresh = not path.exists()
        try:
            with path.open("ab", buffering=0) as file:
                write_all(file.fileno(), data)
                flush(file.fileno())
            if fresh:
                flush_folder(self.folder)
        except OSError as error:
            self.head, self.seq = head, seq
            raise unwritable(error, _WHAT, path) from error
        self.size += len(data)


def _prev(line: bytes) -> str:
    at = line.find(b'"prev":"')
    return line[at + 8 : at + 72].decode("ascii", "replace") if at >= 0 else ""


def _seq(line: bytes) -> int:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return int(json.loads(line)["seq"])
    return -1


def _replace(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    with part.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        flush(file.fileno())
    part.replace(path)
    flush_folder(path.parent)
