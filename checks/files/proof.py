"""Proof that bytes came from the device or the server and not from memory: caches dropped, and counters around the read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.block.burst import is_path_of
from checks.parsers import diskstats, mountstats
from checks.parsers.findmnt import Mounted
from checks.probe import Level, Probe, UnreadableOutput

#: Share of the bytes read that device or server must have given.
SERVED = 0.95

_NETWORK = ("nfs", "nfs4")
_DROP = "sync && echo 3 >/proc/sys/vm/drop_caches && echo dropped"


@dataclass(frozen=True, slots=True)
class Given:
    """Bytes read so far, by kernel name of the device or by path of the network mount."""

    read: Mapping[str, int]


def dropped() -> Probe[str]:
    """Write back and forget everything that the host's memory holds of files."""
    return Probe("drop-caches", ("sh", "-c", _DROP, "sh"), _dropped, 300.0, level=Level.LOAD)


def given(filesystem: str) -> Probe[Given]:
    """Bytes that devices (or servers, on a network filesystem) gave so far."""
    if filesystem in _NETWORK:
        return Probe("mountstats", ("cat", "/proc/self/mountstats"), _of_servers)
    return Probe("diskstats", ("cat", "/proc/diskstats"), _of_devices)


def came(facts: Mapping[str, Any], mounts: tuple[Mounted, ...], path: str, size: int) -> int:
    """Bytes that device or server gave between the looks ``given before`` and ``given after``.

    Raises UnreadableOutput where they are fewer than :data:`SERVED` of ``size``: memory answered.
    """
    here = [one for one in mounts if one.target == path]
    if len(here) != 1:
        raise UnreadableOutput(f"{len(here)} filesystems are mounted at {path}")
    name = path if here[0].filesystem in _NETWORK else here[0].source.removeprefix("/dev/")
    before, after = (_bytes(facts[f"given {moment}"], name) for moment in ("before", "after"))
    if after < before:
        raise UnreadableOutput(f"counters of {name} went backwards: it was connected anew while files were read")
    if after - before < SERVED * size:
        raise UnreadableOutput(f"{name} gave {after - before:,} bytes while {size:,} were read: memory answered")
    return after - before


def _bytes(found: Given, name: str) -> int:
    if name not in found.read:
        raise UnreadableOutput(f"no counter of {name}, which is mounted here")
    return max(found.read[name], sum(size for path, size in found.read.items() if is_path_of(path, name)))


def _dropped(text: str) -> str:
    if text.strip() != "dropped":
        raise UnreadableOutput(f"found {text[:80]!r}, wanted 'dropped': the page cache is not ruled out")
    return "dropped"


def _of_devices(text: str) -> Given:
    return Given({row.device: row.read_bytes for row in diskstats.parse(text)})


def _of_servers(text: str) -> Given:
    return Given(
        {
            mount.path: sum(one.bytes_received for one in mount.operations if one.name == "READ")
            for mount in mountstats.parse(text)
        }
    )
