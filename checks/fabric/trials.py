"""Loads on the fabric: perftest between two ports, and from many ports to one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from checks.fabric import exchange
from checks.fabric.exchange import Exchange, Times
from checks.fabric.perftest import MANY, End, Kind, Run, call, call_for_latency, counters, serve
from checks.parsers import sysfs_infiniband
from checks.parsers.sysfs_infiniband import IbPort
from checks.phrase import Phrase, say
from checks.probe import Probe
from checks.statistics.steadiness import level
from checks.trial import Live, Step, Trial

_PASSED = ("port_xmit_data", "port_rcv_data")


def between(client: End, server: End, run: Run, rounds: int) -> Trial[Exchange]:
    """Rate between two ports; the counters of both are read around each round."""
    ends = (client, server)
    return Trial(
        id=f"fabric.{run.name}:{client.host}:{client.nic}",
        title=say("{tool} between {client} and {server}", tool=run.name, client=client.host, server=server.host),
        stages=(
            _look("before", ends),
            (
                Step("serve", server.host, serve(server, run)),
                Step(f"call {client.host}", client.host, call(client, server, run)),
            ),
            _look("after", ends),
        ),
        read=partial(exchange.read, run=run, clients=(client,), ends=ends),
        rounds=rounds,
        at_most=2 * rounds,
        enough=_level,
        again=True,
        seconds=run.seconds + 10.0,
        live=_rates(server),
    )


def latency(client: End, server: End, run: Run, rounds: int) -> Trial[Times]:
    """Time of a single read between two ports."""
    if run.kind is not Kind.LATENCY:
        raise ValueError(f"found {run.kind}, wanted a test of latency")
    ends = (client, server)
    return Trial(
        id=f"fabric.{run.name}:{client.host}:{client.nic}",
        title=say("{tool} between {client} and {server}", tool=run.name, client=client.host, server=server.host),
        stages=(
            _look("before", ends),
            (
                Step("serve", server.host, serve(server, run)),
                Step(f"call {client.host}", client.host, call_for_latency(client, server, run)),
            ),
            _look("after", ends),
        ),
        read=partial(exchange.read_times, client=client, ends=ends),
        rounds=rounds,
        at_most=2 * rounds,
        enough=_level_times,
        again=True,
        seconds=10.0,
    )


def together(clients: Sequence[End], server: End, run: Run, rounds: int) -> Trial[Exchange]:
    """Rate of several ports with one, all at the same time, each with a server of its own there."""
    ends = (*clients, server)
    calls = (
        Step(f"call {client.host}", client.host, call(client, server, run, MANY + place))
        for place, client in enumerate(clients)
    )
    return Trial(
        id=f"fabric.{run.name}-{len(clients)}-to-1:{server.host}:{server.nic}",
        title=say("{tool} of {count} hosts with {server}", tool=run.name, count=len(clients), server=server.host),
        stages=(
            _look("before", ends),
            (Step("serve", server.host, serve(server, run, len(clients), MANY)), *calls),
            _look("after", ends),
        ),
        read=partial(exchange.read, run=run, clients=tuple(clients), ends=ends),
        rounds=rounds,
        at_most=2 * rounds,
        enough=_level,
        again=True,
        seconds=run.seconds + 10.0,
        live=_rates(server),
    )


def _level(found: Sequence[Exchange]) -> bool:
    return level([one.bits for one in found])


def _level_times(found: Sequence[Times]) -> bool:
    return level([one.typical for one in found])


def _rates(end: End) -> Live[tuple[IbPort, ...]]:
    """What passes a port while it is loaded; its counters are of words of four bytes."""
    files = (f"/sys/class/infiniband/{end.device}/ports/{end.port}/counters/{name}" for name in _PASSED)
    return Live(end.host, Probe("port-data", ("grep", "-Hs", "", *files), sysfs_infiniband.parse), _passed)


def _passed(before: tuple[IbPort, ...], after: tuple[IbPort, ...], seconds: float) -> Phrase:
    then, now = before[0].counters, after[0].counters
    if any(name not in side for name in _PASSED for side in (then, now)):
        return say("{device} does not count what passes it", device=after[0].device)
    sent, received = ((now[name] - then[name]) * 32 / max(seconds, 1e-3) / 1e9 for name in _PASSED)
    return say(
        "{device} sends {sent:.1f} Gb/s, receives {received:.1f} Gb/s",
        device=after[0].device, sent=sent, received=received,
    )  # fmt: skip


def _look(moment: str, ends: Sequence[End]) -> tuple[Step, ...]:
    return tuple(Step(f"{moment} {end.host}", end.host, counters(end)) for end in ends)
