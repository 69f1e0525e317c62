"""``grep -Hs '' /sys/class/infiniband/DEV/ports/N/...``: state, rate, GID table and counters of RDMA ports.

The attributes asked for may differ from probe to probe; what was not asked is None or empty. Slots of the GID table that are
all zero are left out; reading their type fails, which is normal. ``port_rcv_data`` and ``port_xmit_data`` count 4-byte words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.lexing import integer, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-infiniband"

_PATH = re.compile(r"/sys/class/infiniband/([\w.-]+)/(?:ports/(\d{1,3})/([\w./-]+)|([\w./-]+))", re.ASCII)
_STATE = re.compile(r"(\d): (\w+(?: \w+)?)", re.ASCII)
_RATE = re.compile(r"\d{1,5}(\.\d)? Gb/sec \(\d{1,2}X [A-Z0-9]+\)", re.ASCII)
_GID = re.compile(r"[0-9a-f]{4}(:[0-9a-f]{4}){7}", re.ASCII)
_ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"


@dataclass(frozen=True, slots=True)
class Gid:
    """One filled slot. ``kind`` is ``RoCE v2`` or ``IB/RoCE v1``; ``netdev`` is None when the slot names none."""

    index: int
    gid: str
    kind: str
    netdev: str | None


@dataclass(frozen=True, slots=True)
class IbPort:
    """One port. ``state`` and ``physical_state`` are the words after the number (``4: ACTIVE``, ``5: LinkUp``)."""

    device: str
    port: int
    state: str | None
    physical_state: str | None
    rate: str | None  # as printed: 100 Gb/sec (4X EDR)
    link_layer: str | None
    gids: tuple[Gid, ...]
    counters: dict[str, int]
    hw_counters: dict[str, int]


def parse(text: str) -> tuple[IbPort, ...]:
    """Read the dump; a filled GID slot without its type, a counter that is no number, or no port at all is refused."""
    ports: dict[tuple[str, int], dict[str, str]] = {}
    for path, value in tree(text).items():
        found = _PATH.fullmatch(path)
        if found is None:
            raise UnreadableOutput(f"found {path[:80]!r}, wanted a file below /sys/class/infiniband")
        if found[2] is not None:
            ports.setdefault((found[1], int(found[2])), {})[found[3]] = value
    if not ports:
        raise UnreadableOutput("no attribute of a port in the dump")
    return tuple(_port(device, port, files) for (device, port), files in ports.items())


def _port(device: str, port: int, files: dict[str, str]) -> IbPort:
    return IbPort(
        device=device,
        port=port,
        state=_word(files, "state"),
        physical_state=_word(files, "phys_state"),
        rate=_matching(files, "rate", _RATE),
        link_layer=_matching(files, "link_layer", re.compile(r"Ethernet|InfiniBand|Unknown|Unspecified")),
        gids=tuple(_gids(files)),
        counters=_numbers(files, "counters/"),
        hw_counters=_numbers(files, "hw_counters/"),
    )


def _word(files: dict[str, str], name: str) -> str | None:
    if name not in files:
        return None
    found = _STATE.fullmatch(files[name])
    if found is None:
        raise UnreadableOutput(f"{name} is {files[name][:40]!r}, wanted such as '4: ACTIVE'")
    return found[2]


def _matching(files: dict[str, str], name: str, pattern: re.Pattern[str]) -> str | None:
    value = files.get(name)
    if value is not None and pattern.fullmatch(value) is None:
        raise UnreadableOutput(f"{name} is {value[:40]!r}")
    return value


def _gids(files: dict[str, str]) -> Iterator[Gid]:
    for name, gid in files.items():
        folder, _, index = name.partition("/")
        if folder != "gids":
            continue
        if _GID.fullmatch(gid) is None:
            raise UnreadableOutput(f"{name} is {gid[:60]!r}, wanted eight groups of four hexadecimal digits")
        if gid == _ZERO:
            continue
        kind = files.get(f"gid_attrs/types/{index}")
        if kind not in ("RoCE v2", "IB/RoCE v1"):
            raise UnreadableOutput(f"GID {index} is {gid} and its type is {kind!r}")
        netdev = files.get(f"gid_attrs/ndevs/{index}")
        if netdev is not None and re.fullmatch(r"[\w.@:-]{1,64}", netdev, re.ASCII) is None:
            raise UnreadableOutput(f"network device of GID {index} is {netdev[:40]!r}")
        yield Gid(integer(index, "GID index"), gid, kind, netdev)


def _numbers(files: dict[str, str], folder: str) -> dict[str, int]:
    return {name.removeprefix(folder): integer(value, name) for name, value in files.items() if name.startswith(folder)}
