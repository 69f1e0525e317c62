"""One round of perftest: what was carried, whether it may be believed, and what the counters of both ends say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.fabric.perftest import Counted, End, Kind, Run, Served
from checks.parsers.ib_write_bw import Bandwidth
from checks.parsers.ib_write_lat import LatencyRun
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput


@dataclass(frozen=True, slots=True)
class Grown:
    """Counters of one end that were there before and after a round, by difference; None: not implemented or absent once."""

    end: End
    roce: Mapping[str, int]
    port: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Flow:
    """What one client measured. ``bits`` a second, recomputed from message rate x size; ``mtu`` in bytes."""

    client: str
    bits: float
    mtu: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """A round for rates: one flow a client, and the counters of every end."""

    flows: tuple[Flow, ...]
    grown: tuple[Grown, ...]

    @property
    def bits(self) -> float:
        """All flows together, bits a second."""
        return sum(flow.bits for flow in self.flows)

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        return say("{rate:.1f} Gb/s", rate=self.bits / 1e9)


@dataclass(frozen=True, slots=True)
class Times:
    """A round for latency, in microseconds."""

    typical: float
    p99: float
    p999: float
    grown: tuple[Grown, ...]

    @property
    def brief(self) -> Phrase:
        """In a few words, for whoever watches."""
        return say("{typical:.2f} us, {late:.2f} us at 99.9 %", typical=self.typical, late=self.p999)


def read(facts: Mapping[str, Any], run: Run, clients: Sequence[End], ends: Sequence[End]) -> Exchange:
    """Facts of the steps -> flows. Raises UnreadableOutput where one of them may not be believed."""
    flows = tuple(_flow(facts[f"call {end.host}"], run, end, facts["serve"]) for end in clients)
    return Exchange(flows, _grown(facts, ends))


def read_times(facts: Mapping[str, Any], client: End, ends: Sequence[End]) -> Times:
    """Facts of the steps -> times. Raises as :func:`read`."""
    found: LatencyRun = facts[f"call {client.host}"]
    _no_errors(found.errors, facts["serve"])
    row = found.rows[0] if len(found.rows) == 1 else None
    if row is None or row.typical is None or row.p99 is None or row.p999 is None:
        raise UnreadableOutput(f"{len(found.rows)} rows of latency, wanted one with its percentiles")
    return Times(row.typical, row.p99, row.p999, _grown(facts, ends))


def _flow(found: Bandwidth, run: Run, client: End, served: Served) -> Flow:
    _no_errors(found.errors, served)
    if len(found.rows) != 1:
        raise UnreadableOutput(f"perftest printed {len(found.rows)} results, wanted one")
    if found.link != "Ethernet":
        raise UnreadableOutput(f"perftest ran on a link of type {found.link}, wanted Ethernet")
    row = found.rows[0]
    bits = (
        row.message_rate * 1e6 * row.size * 8
    )  # the unit in the heading is not trusted; the parser saw that both agree
    if bits <= 0:
        raise UnreadableOutput(
            f"perftest tells a rate of 0 after {row.iterations} messages: none counted in its window"
        )
    # Both directions are summed in the rate and not in the count of a side.
    seconds = row.iterations * row.size * 8 * (2 if run.kind is Kind.BOTH else 1) / bits
    if seconds < 0.98 * run.seconds:
        raise UnreadableOutput(f"perftest measured {seconds:.1f} s of {run.seconds} s")
    return Flow(client.host, bits, found.mtu, seconds)


def _no_errors(errors: Sequence[str], served: Served) -> None:
    if errors:
        raise UnreadableOutput(
            f"perftest ended with {errors[0][:120]!r}" + (f"; its server: {served.said}" if served.said else "")
        )
    if bad := [f"{port}: status {status}" for port, status in served.status if status]:
        raise UnreadableOutput(f"a server of perftest failed ({', '.join(bad)}): {served.said or 'it says nothing'}")


def _grown(facts: Mapping[str, Any], ends: Sequence[End]) -> tuple[Grown, ...]:
    return tuple(_difference(end, facts[f"before {end.host}"], facts[f"after {end.host}"]) for end in ends)


def _difference(end: End, before: Counted, after: Counted) -> Grown:
    roce = {name: after.roce[name] - count for name, count in before.roce.items() if name in after.roce}
    port: dict[str, int | None] = {}
    for name, count in before.port.items():
        then = after.port.get(name)
        port[name] = None if count is None or then is None else then - count
    back = [name for name, change in (*roce.items(), *port.items()) if change is not None and change < 0]
    if counted := [name for name in back if name not in _GAUGES]:
        raise UnreadableOutput(f"{end.host}: {counted[0]} went backwards while it was loaded: reset or wrapped")
    return Grown(end, roce, port)


#: What stands among the counters and is none: ages and levels that may fall.
_GAUGES = frozenset({"lifespan"})
