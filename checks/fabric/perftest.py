"""perftest between hosts: which test, from which port to which, and the two scripts that run it. Reading a round is in exchange.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TypeVar

from checks.lexing import lines
from checks.parsers import ethtool_S, ib_write_bw, ib_write_lat, sysfs_infiniband
from checks.parsers.ib_write_bw import Bandwidth
from checks.parsers.ib_write_lat import LatencyRun
from checks.probe import Level, Probe, UnreadableOutput
from checks.roce.facts import gid_of

Fact = TypeVar("Fact")

#: TCP ports on which servers wait: of a pair, and from here on of many at once.
PAIR, MANY = 18515, 18600

#: Seconds at each end of a run that perftest leaves out; its default changed from 2 to a quarter of the run.
MARGIN = 2

#: Seconds that a server waits for its client, and a client looks for its server.
PATIENCE = 20

# The slot of the GID table that RoCE v2 has for the ordered address: it differs from host to host and is never written down.
_SLOT = " ".join(
    (
        "dev=$1; ib=$2; gid=$3; shift 3; base=/sys/class/infiniband/$dev/ports/$ib; slot=;",
        'for file in "$base"/gids/*; do n=${file##*/}; found=; kind=;',
        '{ IFS= read -r found <"$file"; } 2>/dev/null; [ "$found" = "$gid" ] || continue;',
        '{ IFS= read -r kind <"$base/gid_attrs/types/$n"; } 2>/dev/null; [ "$kind" = "RoCE v2" ] || continue;',
        '[ -z "$slot" ] || { echo "kvgate: GID $gid stands twice as RoCE v2 on $dev port $ib"; exit 3; };',
        "slot=$n; done;",
        '[ -n "$slot" ] || { echo "kvgate: no GID $gid of RoCE v2 on $dev port $ib"; exit 3; };',
    )
)

# Servers, one a client, all at once; each waits no longer than its limit. What it says is kept, one block a port.
_SERVE = _SLOT + " ".join(
    (
        "",
        "count=$1; port=$2; limit=$3; tool=$4; shift 4; i=0;",
        'while [ "$i" -lt "$count" ]; do here=$((port + i));',
        'if taken=$(ss -Hltn "sport = :$here" 2>/dev/null) && [ -n "$taken" ]; then',
        'echo "kvgate: TCP port $here is taken"; exit 3; fi; i=$((i + 1)); done; i=0;',
        'while [ "$i" -lt "$count" ]; do here=$((port + i)); {',
        'out=$(timeout -k 5 "$limit" "$tool" -d "$dev" -i "$ib" -x "$slot" -p "$here" "$@" 2>&1);',
        r"""printf 'server %s ended %s\n%s\n' "$here" "$?" "$out"; } & i=$((i + 1)); done; wait""",
    )
)

# The client: its server may need a moment, so a refused connection is tried again; nothing else is.
_CALL = _SLOT + " ".join(
    (
        "",
        "limit=$1; tries=$2; tool=$3; shift 3;",
        'while :; do out=$(timeout -k 5 "$limit" "$tool" -d "$dev" -i "$ib" -x "$slot" "$@" 2>&1); status=$?;',
        """case $out in *"Couldn't connect to"*) tries=$((tries - 1)); [ "$tries" -gt 0 ] && sleep 1 && continue;; esac;""",
        r"""break; done; printf '%s\n' "$out"; exit "$status" """,
    )
)

# Counters of the RDMA port, then those of its network port: one look at both.
_COUNTERS = (
    'grep -Hs "" /sys/class/infiniband/"$1"/ports/"$2"/hw_counters/*; echo "ethtool -S $3"; exec ethtool -S "$3"'
)
_ENDED = re.compile(r"server (\d{1,5}) ended (\d{1,3})", re.ASCII)


class Kind(StrEnum):
    """A test, by the name of its program; ``both`` sends in both directions at once."""

    WRITE = "ib_write_bw"
    READ = "ib_read_bw"
    BOTH = "ib_write_bw -b"
    LATENCY = "ib_read_lat"


@dataclass(frozen=True, slots=True)
class End:
    """One RDMA port as ordered: where its commands run, its address, what its counters are called. ``speed`` in bits a second."""

    host: str
    nic: str
    driver: str
    device: str
    port: int
    address: str
    speed: int

    @property
    def gid(self) -> str:
        """The GID of its address as sysfs writes it. Raises ValueError for what is no IP address."""
        found = gid_of(self.address)
        if found is None:
            raise ValueError(f"found {self.address!r}, wanted an IP address")
        return found.exploded


@dataclass(frozen=True, slots=True)
class Run:
    """What is run: ``seconds`` measured (latency goes by count), ``gpu`` the option for accelerator memory, ``tclass`` of its packets."""

    kind: Kind
    seconds: int
    tclass: int
    gpu: str = ""

    @property
    def name(self) -> str:
        """Part of a key."""
        return self.kind.value.replace(" -b", "-both") + (
            f"-{self.gpu.strip('-').partition('=')[0]}" if self.gpu else ""
        )

    @property
    def limit(self) -> int:
        """Seconds after which a process of it is ended."""
        return self.seconds + 2 * MARGIN + PATIENCE

    @property
    def words(self) -> tuple[str, ...]:
        """Words of both ends, device and port left out."""
        tool = self.kind.value.partition(" ")[0]
        common = (tool, "-F", f"--tclass={self.tclass}")
        if self.kind is Kind.LATENCY:
            return (*common, "-s", "4096", "-n", "20000")
        more = ("-b",) if self.kind is Kind.BOTH else ()
        length = ("-D", str(self.seconds + 2 * MARGIN), "-f", str(MARGIN))
        return (*common, "-s", "65536", "-q", "4", *length, "--report_gbits", *more)


@dataclass(frozen=True, slots=True)
class Served:
    """How servers ended: status by TCP port, and the first line that says why one failed."""

    status: tuple[tuple[int, int], ...]
    said: str


@dataclass(frozen=True, slots=True)
class Counted:
    """Counters of one port at one moment: of the RDMA port, and of its network port (None: not implemented)."""

    roce: dict[str, int]
    port: dict[str, int | None]


def serve(end: End, run: Run, count: int = 1, port: int = PAIR) -> Probe[Served]:
    """Wait for ``count`` clients on TCP ports from ``port`` on, in host memory."""
    argv = (
        "sh",
        "-c",
        _SERVE,
        "sh",
        end.device,
        str(end.port),
        end.gid,
        str(count),
        str(port),
        str(run.limit),
        *run.words,
    )
    return Probe(f"perftest-serve-{run.name}", argv, _served, run.limit + 20.0, frozenset({0, 3}), level=Level.LOAD)


def call(end: End, peer: End, run: Run, port: int = PAIR) -> Probe[Bandwidth]:
    """Call the server on ``peer`` and measure the rate."""
    return _call(end, peer, run, port, ib_write_bw.parse)


def call_for_latency(end: End, peer: End, run: Run) -> Probe[LatencyRun]:
    """Call the server on ``peer`` and measure the time of single messages."""
    return _call(end, peer, run, PAIR, ib_write_lat.parse)


def _call(end: End, peer: End, run: Run, port: int, parse: Callable[[str], Fact]) -> Probe[Fact]:
    gpu = (run.gpu,) if run.gpu else ()
    place = (end.device, str(end.port), end.gid, str(run.limit), str(PATIENCE))
    words = (*run.words, *gpu, "-p", str(port), peer.address.partition("/")[0])
    argv = ("sh", "-c", _CALL, "sh", *place, *words)
    # A failed run ends with 1 and says why: the words are worth more than the status.
    return Probe(
        f"perftest-{run.name}", argv, _called(parse), 2.0 * run.limit + PATIENCE, frozenset({0, 1, 3}), level=Level.LOAD
    )


@cache
def _called(parse: Callable[[str], Fact]) -> Callable[[str], Fact]:
    def read(text: str) -> Fact:
        if said := next((line for line in text.splitlines() if line.startswith("kvgate: ")), None):
            raise UnreadableOutput(said.removeprefix("kvgate: "))
        return parse(text)

    return read


def counters(end: End) -> Probe[Counted]:
    """Look at all counters of a port."""
    argv = ("sh", "-c", _COUNTERS, "sh", end.device, str(end.port), end.nic)
    return Probe("fabric-counters", argv, _counted)


def _served(text: str) -> Served:
    found = lines(text)
    if said := next((line for line in found if line.startswith("kvgate: ")), None):
        raise UnreadableOutput(said.removeprefix("kvgate: "))
    ended = [match for line in found if (match := _ENDED.fullmatch(line)) is not None]
    if not ended:
        raise UnreadableOutput(f"found {text[:80]!r}, wanted 'server PORT ended STATUS'")
    complaints = [line.strip() for line in found if re.search(r"Couldn't|Unable|Failed|error|not found|No such", line)]
    return Served(tuple((int(one[1]), int(one[2])) for one in ended), complaints[0][:160] if complaints else "")


def _counted(text: str) -> Counted:
    before, mark, after = text.partition("ethtool -S ")
    if not mark:
        raise UnreadableOutput("found no 'ethtool -S' between the counters of the two ports")
    ports = sysfs_infiniband.parse(before)
    if len(ports) != 1 or not ports[0].hw_counters:
        raise UnreadableOutput(f"{len(ports)} RDMA ports show counters, wanted one")
    return Counted(ports[0].hw_counters, dict(ethtool_S.parse(after.partition("\n")[2]).port))
