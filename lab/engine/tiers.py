"""Where the KV of a prompt comes from: HBM, DRAM, page cache, files; and what of it is kept again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

from lab.engine.device import Devices, Path
from lab.engine.knobs import Knobs
from lab.engine.shape import Shape
from lab.engine.store import Store


def share(what: str, key: str, part: float) -> bool:
    """Whether this share of keys is hit: always the same ones."""
    if part <= 0:
        return False
    return int.from_bytes(hashlib.sha256(f"{what} {key}".encode()).digest()[:8], "big") < part * 2**64


class Recent:
    """Keys that fit, the least recently used ones gone."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: OrderedDict[str, None] = OrderedDict()

    def add(self, key: str) -> None:
        """Keep a key."""
        self.held[key] = None
        self.held.move_to_end(key)
        while len(self.held) > self.most:
            self.held.popitem(last=False)

    def has(self, key: str) -> bool:
        """Whether it is there."""
        return key in self.held


@dataclass(frozen=True)
class Found:
    """Tokens of one prompt by source, bytes moved, and what the KV held (its own keys where nothing is wrong)."""

    computed: int
    device: int
    host: int
    store: int
    hits: int  # tokens that the store calls hits
    stored: int  # tokens it was given to keep
    read: int
    memory: int  # bytes of the page cache
    held: tuple[str, ...]
    restored: bool
    failed_loads: int = 0
    failed_writes: int = 0


@dataclass
class Tiers:
    """The tiers of one engine. ``known`` are the chunks that its store remembers; None: it looks at the files."""

    shape: Shape
    knobs: Knobs
    store: Store | None
    devices: Devices
    path: Path
    seed: int = 0
    known: set[str] | None = None
    device: Recent = field(init=False)
    host: Recent = field(init=False)
    pages: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.device = Recent(self.shape.device_tokens // self.shape.chunk)
        self.host = Recent(max(self.shape.host_tokens, self.knobs.host_tokens) // self.shape.chunk)
        if self.knobs.index_lost or self.shape.kind == "lmcache-local-disk":
            self.known = set()

    def restarted(self) -> None:
        """Lose what lives in the process."""
        if not self.knobs.keeps_device:
            self.device.held.clear()
        if not self.knobs.host_lies:
            self.host.held.clear()
        if self.known is not None:
            self.known.clear()
        if self.knobs.new_seed:
            self.seed += 1

    def reset(self) -> None:
        """Forget what HBM holds."""
        if not self.knobs.reset_lies:
            self.device.held.clear()

    def clear_host(self) -> None:
        """Forget what DRAM holds."""
        if not self.knobs.host_lies:
            self.host.held.clear()

    def dropped(self) -> None:
        """The host dropped its page cache."""
        if not self.knobs.page_cache:
            self.pages.clear()

    def take(self, prompt: str, keys: list[str], tokens: int) -> Found:
        """Find the KV of a prompt's chunks, as far as they are there one after another, and keep the rest."""
        named = [f"{key}-{self.seed}" if self.seed else key for key in keys]
        size = self.shape.chunk
        counted = {"device": 0, "host": 0, "store": 0}
        held: list[str] = []
        read = memory = failed = 0
        gone = self.knobs.unhealthy or share("load fails", prompt, self.knobs.load_fails)
        for key in named:
            source, word, in_memory = self._look(key, gone)
            if source is None:
                failed += int(gone and self.store is not None and self._knows(key))
                break
            counted[source] += 1
            held.append(word)
            if source == "store":
                read += 0 if in_memory else self.shape.file_bytes * self.shape.ranks
                memory += self.shape.file_bytes * self.shape.ranks if in_memory else 0
        whole = sum(counted.values())
        lost, stored = self._keep(prompt, named, whole)
        if read:
            self._count_read(read)
        again = 1 if whole * size == tokens else 0  # the last token is always computed
        last = next((name for name in ("store", "host", "device") if counted[name]), "device")
        parts = {name: count * size - (again if name == last else 0) for name, count in counted.items()}
        restored = bool(counted["store"] or counted["host"])
        if restored and share("foreign", prompt, self.knobs.foreign):
            held[0] = f"of another {prompt}"
        return Found(
            computed=tokens - sum(parts.values()),
            device=parts["device"] if whole else 0,
            host=parts["host"],
            store=parts["store"],
            hits=counted["store"] * size,
            stored=stored * size,
            read=read,
            memory=memory,
            held=tuple(word for word, key in zip(held, named, strict=False) if word != key),
            restored=restored,
            failed_loads=failed,
            failed_writes=lost,
        )

    def _look(self, key: str, gone: bool) -> tuple[str | None, str, bool]:
        if self.device.has(key):
            return "device", key, False
        if self.host.has(key):
            return "host", key, False
        if self.store is None or gone or not self._knows(key):
            return None, "", False
        word = self.store.get(key)
        if word is None:
            return None, "", False
        in_memory = key in self.pages
        if self.knobs.page_cache or not self.shape.direct:
            self.pages.add(key)
        self.host.add(key)
        return "store", word, in_memory

    def _knows(self, key: str) -> bool:
        return self.known is None or key in self.known

    def _count_read(self, size: int) -> None:
        self.path.read(self.devices, int(size * (1 + self.knobs.amplified)), silent=self.knobs.port_silent)

    def _keep(self, prompt: str, keys: list[str], whole: int) -> tuple[int, int]:
        """Keep every chunk in HBM and the new ones in the store; answer how many writes failed, and how many were given."""
        failed = given = 0
        for place, key in enumerate(keys):
            self.device.add(key)
            if (
                place < whole
                or self.store is None
                or self.knobs.unhealthy
                or (self._knows(key) and self.store.get(key))
            ):
                continue
            given += 1
            if share("write lost", key, self.knobs.write_lost):
                continue
            size = self.shape.file_bytes * self.shape.ranks
            held = len(self.store.keys()) * size if self.knobs.full or self.knobs.capacity else 0
            if (self.knobs.full and held + size > self.knobs.full) or not self.store.put(key):
                failed += 1
                continue
            self.path.write(self.devices, size, silent=self.knobs.port_silent)
            self.host.add(key)
            if self.known is not None:
                self.known.add(key)
            if self.knobs.page_cache or not self.shape.direct:
                self.pages.add(key)
            if share("corrupt", key, self.knobs.corrupt):
                self.store.spoil(key)
            if self.knobs.capacity and held + size > self.knobs.capacity:
                self.store.drop(self.store.keys()[0])
        return failed, given
