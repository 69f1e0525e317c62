"""``cat /proc/self/mountstats``: NFS mounts with their options, transport and counters of every operation.

Seen: statvers=1.1 (Linux 4.x). A time counter above 2^63 is a wrapped negative number: it is given as None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "mountstats"

_MOUNT = re.compile(r"device (.+) mounted on (/.*) with fstype (\S+)(?: statvers=(\S+))?")
_OPERATION = re.compile(r"\t\s*([A-Z0-9_]+): (\d+(?: \d+)*)")
_WRAPPED = 2**63


@dataclass(frozen=True, slots=True)
class Operation:
    """Counters of one NFS operation since the mount: requests, bytes, and times in ms (None: wrapped)."""

    name: str
    requests: int
    transmissions: int
    timeouts: int
    bytes_sent: int
    bytes_received: int
    queue_ms: int | None
    round_trip_ms: int | None
    execute_ms: int | None


@dataclass(frozen=True, slots=True)
class NfsMount:
    """One NFS mount. ``options`` in the kernel's order; ``transport`` is tcp, udp or rdma, from the transport's own line."""

    device: str
    path: str
    filesystem: str
    options: tuple[str, ...]
    age_seconds: int
    transport: str
    operations: tuple[Operation, ...]


def parse(text: str) -> tuple[NfsMount, ...]:
    """Read the NFS mounts; a host that has none gives an empty tuple, an NFS mount without its lines is refused."""
    found: list[NfsMount] = []
    rows = lines(text)
    starts = [number for number, row in enumerate(rows) if row.startswith("device ")]
    if not starts or starts[0] != 0:
        raise UnreadableOutput(f"found {rows[0][:80]!r}, wanted 'device ... mounted on ...'")
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        head = _MOUNT.fullmatch(rows[start])
        if head is None:
            raise UnreadableOutput(f"found {rows[start][:80]!r}, wanted 'device ... mounted on ...'")
        if head[3] in {"nfs", "nfs4"}:
            found.append(_nfs(head, rows[start + 1 : end]))
    return tuple(found)


def _nfs(head: re.Match[str], rows: list[str]) -> NfsMount:
    labels = dict(re.findall(r"^\t(\w+):\t(.*)$", "\n".join(rows), re.MULTILINE))
    if missing := {"opts", "age", "xprt"} - labels.keys():
        raise UnreadableOutput(f"{head[2]} has no {', '.join(sorted(missing))} line")
    marks = [number for number, row in enumerate(rows) if row == "\tper-op statistics"]
    if len(marks) != 1:
        raise UnreadableOutput(f"{head[2]} has {len(marks)} blocks of per-op statistics, wanted one")
    return NfsMount(
        device=head[1],
        path=head[2],
        filesystem=head[3],
        options=tuple(labels["opts"].split(",")),
        age_seconds=integer(labels["age"], "age"),
        transport=labels["xprt"].split(" ")[0],
        operations=tuple(_operation(row) for row in rows[marks[0] + 1 :] if row.strip()),
    )


def _operation(row: str) -> Operation:
    match = _OPERATION.fullmatch(row)
    values = [integer(word, row.split(":")[0].strip()) for word in match[2].split()] if match else []
    if match is None or len(values) not in {8, 9}:  # kernel 5.3 adds a count of errors
        raise UnreadableOutput(f"found {row.strip()[:80]!r}, wanted an operation and 8 or 9 counters")
    requests, transmissions, timeouts, sent, received, *times = values
    queue, trip, execute = (time if time < _WRAPPED else None for time in times[:3])
    return Operation(match[1], requests, transmissions, timeouts, sent, received, queue, trip, execute)
