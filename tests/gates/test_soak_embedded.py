"""Every soak fault that the embedded rack offers changes exactly its clauses there too: by the plan of its inventory, at its speed."""

from __future__ import annotations

import json
from functools import cache

import pytest

from checks.soak.facts import HostSoak
from checks.verdict import Outcome
from kvgate.cli.demo_soak import SCALE
from kvgate.inventory import reader
from kvgate.inventory.model import Rack
from kvgate.soak.plan import plans
from lab.inventory import text
from lab.rack import build, fingerprint, host_key
from lab.soak.faults import EMBEDDED, SoakFault
from lab.soak.journal import Begin, written
from lab.soak.worker import STEP
from tests.gates.soaking import clauses, judge, ran, read, told


@cache
def rack(platform: str) -> tuple[Rack, dict[str, str]]:
    """The embedded rack as its inventory orders it, and the tool of its accelerators as it was captured, by host."""
    hosts = build(1, platform, ())
    ordered = [(host.ordered, 42200 + at, fingerprint(host_key(host.name))) for at, host in enumerate(hosts)]
    soaked = {host.name: host.machine.computed.soak.captured for host in hosts}
    return reader.parse(text(ordered)).rack, soaked


def soak(platform: str, host: str, fault: SoakFault | None = None) -> HostSoak:
    """The soak of one host by the plan that `kvgate soak start` would lay out there."""
    ordered, captured = rack(platform)
    plan = json.loads(plans(ordered, "soak-t", SCALE)[host])
    troubles = fault.troubles if fault is not None else ()
    parts = written(plan, 1, troubles, step=STEP, clock=Begin(captured=captured[host]))
    return ran(plan, read(["".join(line for _, line in part) for part in parts]))


@cache
def array(platform: str) -> HostSoak:
    return soak(platform, "fx100-a")


@pytest.mark.parametrize("platform", ["rocm", "nvidia"])
def test_a_healthy_soak_passes_every_clause(platform: str) -> None:
    found = judge({"fx100-a": array(platform), "node-01": soak(platform, "node-01")}, rack(platform)[0], {})
    assert not clauses(found, Outcome.STOP) | clauses(found, Outcome.UNDECIDED), told(found)


def test_a_healthy_ascend_node_leaves_its_heat_undecided_and_nothing_else() -> None:
    found = judge({"fx100-a": array("ascend"), "node-01": soak("ascend", "node-01")}, rack("ascend")[0], {})
    assert not clauses(found, Outcome.STOP), told(found)
    assert clauses(found, Outcome.UNDECIDED) == {"G4.3.4"}, told(found)
    assert "neither a count of throttling nor a limit" in told(found)


@pytest.mark.parametrize("fault", EMBEDDED, ids=lambda fault: fault.name)
def test_each_fault_is_noticed_by_exactly_its_clauses(fault: SoakFault) -> None:
    platform = fault.platform or "rocm"
    found = judge({"fx100-a": array(platform), "node-01": soak(platform, "node-01", fault)}, rack(platform)[0], {})
    assert clauses(found, Outcome.STOP) == fault.stops, told(found)
    assert clauses(found, Outcome.UNDECIDED) - fault.stops == fault.undecided, told(found)
