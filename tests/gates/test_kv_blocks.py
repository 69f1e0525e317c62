"""KV-shaped reads in the block of the engine: asked of the node first, loaded as it answers, judged again from the evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.verdict import Outcome, Verdict
from kvgate import agreement as agreements
from kvgate.evidence.store import Evidence
from kvgate.gate.body import GateTest
from kvgate.gate.collect import replay
from kvgate.gate.preview import preview
from kvgate.gate.session import GateSession
from kvgate.inventory import reader
from kvgate.inventory.subjects import owed
from lab.inventory import text
from lab.load.host import LoadHost
from lab.rack import VirtualHost, build, fingerprint, host_key
from tests.gates.harness import Virtual, _parameters, agreement, bodies, judge

CLAUSE, SUBJECT = "G2.1.4", "node-01:/mnt/fx100"
CHUNK, AGREED = "--bs=8126464 --iodepth=1 ", "--bs=1048576 --iodepth=1 "


def written(*concurrencies: int) -> str:
    """The order of the embedded rack; without concurrencies it serves nothing."""
    hosts = [(host.ordered, 42200 + place, fingerprint(host_key(host.name))) for place, host in enumerate(build(2))]
    return text(hosts, concurrencies=concurrencies)


def session() -> tuple[GateSession, list[GateTest]]:
    inventory, agreed = reader.parse(written(8)), agreements.read()
    items = [
        pair
        for pair in owed(agreed.acceptance, inventory.rack, "G2")
        if (pair[0].clause, pair[0].subject) == (CLAUSE, SUBJECT)
    ]
    body = bodies("g2_baseline")[CLAUSE]
    tests = [GateTest(item, thing, body, _parameters(body)) for item, thing in items]
    return GateSession("G2", inventory, agreed, items), tests


def loaded(host: VirtualHost) -> list[str]:
    assert isinstance(host.machine.computed, LoadHost)
    return [line for line in host.machine.asked if "--rw=randread" in line]


def test_what_a_node_answers_decides_what_it_is_loaded_with_and_its_evidence_tells_the_same(tmp_path: Path) -> None:
    hosts = {host.name: host for host in build(2, "rocm", ())}
    made, tests = session()
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        made.evidence = evidence
        made.look(tests, Virtual(hosts))
        assert made.late == {tests[0].owed}, "it can be judged only after the load"
        made.look_again()
        (line,) = loaded(hosts["node-01"])
        assert CHUNK in line
        live = made.judge(tests[0]).verdict
        again, _ = session()
        again.answers = replay(evidence)
        assert again.judge(tests[0]).verdict == live
    assert live.outcome is Outcome.PASS, live
    assert "256 tokens x 31,744 bytes on a rank = 8,126,464 bytes" in str(live.note)


def test_a_plan_shows_the_load_of_a_node_that_does_not_tell_and_says_that_it_will_follow() -> None:
    made, tests = session()
    found = {planned.command: planned for planned in preview(made, tests).asked}
    assert not found["cat -- /models/Qwen3-Coder-480B-A35B-Instruct-FP8/config.json"].follows
    loads = [planned for command, planned in found.items() if "--rw=randread" in command]
    assert [(AGREED in planned.command, planned.follows) for planned in loads] == [(True, True)]


def verdict(faults: tuple[str, ...] = (), inventory: str | None = None, **agreed: object) -> Verdict:
    """What the clause comes to on the array's volume; ``agreed`` are limits that the campaign changed."""
    standard = agreement()
    clause = standard.acceptance.clauses[CLAUSE]
    limits = {name: clause.limits[name].model_copy(update={"value": value}) for name, value in agreed.items()}
    changed = clause.model_copy(update={"limits": {**clause.limits, **limits}})
    clauses = {**standard.acceptance.clauses, CLAUSE: changed}
    own = replace(standard, acceptance=standard.acceptance.model_copy(update={"clauses": clauses}))
    found = judge(faults, gate="G2", only=CLAUSE.replace(".", r"\."), clauses=own, inventory=inventory)
    return next(one for item, one in found.verdicts.items() if item.subject == SUBJECT)


def test_a_model_that_nobody_can_tell_of_decides_nothing_unless_the_parties_let_their_block_stand() -> None:
    left = verdict(("model-config-gone",))
    assert left.outcome is Outcome.UNDECIDED
    assert "No such file or directory" in str(left.note)
    stands = verdict(("model-config-gone",), block_stands_in=True, block=4)
    assert stands.outcome is Outcome.PASS, stands
    assert "4 MiB, which the parties let stand" in str(stands.note)


def test_layers_that_differ_are_no_chunk_of_one_size() -> None:
    found = verdict(("baseline-layers-unlike",))
    assert found.outcome is Outcome.UNDECIDED
    assert "layers are not alike" in str(found.note)


def test_a_rack_that_serves_nothing_is_read_in_the_agreed_block() -> None:
    found = verdict(inventory=written())
    assert found.outcome is Outcome.PASS, found
    assert "no engine is ordered for this node: KV is read in the agreed `block`, 1 MiB" in str(found.note)


@pytest.mark.parametrize(("block", "said"), [(1, "not the agreed `block`, 1 MiB"), (7.75, "")])
def test_the_engine_s_chunk_is_read_whatever_block_was_agreed(block: float, said: str) -> None:
    found = verdict(block=block)
    assert "8,126,464 bytes" in str(found.note)
    assert said in str(found.note)
    assert ("agreed" in str(found.note)) is bool(said)


def test_a_volume_that_is_slow_in_large_reads_alone_is_stopped() -> None:
    assert verdict(("volume-chunks-slow",)).outcome is Outcome.STOP
