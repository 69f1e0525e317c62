"""The order of a cell's steps, and what each of them refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.block.memory import ArrayMemory
from checks.parsers.df import Space
from checks.parsers.model_config import parse as model
from checks.probe import UnreadableOutput
from checks.serving import judging, probes, trials
from checks.serving.probes import Count, Ready, Reset, Room
from checks.serving.procedure import Asked, cell, ended
from checks.serving.site import Site
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from lab.rack import build
from lab.serving.host import _CONFIG
from lab.serving.model import Flaw
from tests.gates.harness import Virtual
from tests.serving.experiment import held, json_of, site

ASKED = Asked("tp8/c8/r1", 80, 8, 8192, 128)


def names(role: str = "local") -> list[str]:
    return [step.name for stage in cell(site(), site().arm(role), ASKED) for step in stage]


def room(available: int) -> Room:
    space = Space("/dev/x", "xfs", 10**13, 0, available, None, None, "/mnt/nvme0", None)
    return Room(
        (space, Space("/dev/y", "xfs", 10**13, 0, available, None, None, "/mnt/fx100", None)), model(json_of(_CONFIG))
    )


def must(name: str, role: str = "local"):  # type: ignore[no-untyped-def]
    where = site()
    step = next(s for stage in cell(where, where.arm(role), ASKED) for s in stage if s.name == f"{role}: {name}")
    assert step.must is not None
    return step.must


def test_nothing_is_measured_before_it_was_stored_counted_evicted_and_warmed() -> None:
    order = [
        "local: empty", "local: start 1", "local: populate", "local: kept", "local: evict: stop 1", "local: drop caches",
        "local: again: start 1", "local: settings 1", "local: warm", "local: before", "local: measure", "local: after",
    ]  # fmt: skip
    found = names()
    assert [name for name in found if name in order] == order


def test_an_arm_that_keeps_nothing_is_neither_filled_nor_emptied() -> None:
    assert not [name for name in names("recompute") if "populate" in name or "empty" in name]


def test_every_engine_on_the_accelerators_is_stopped_first() -> None:
    first = cell(site(), site().local, ASKED)[0]
    assert len(first) == 8  # three of this shape and its reader on the second node, four of the other


def test_arms_take_turns_and_no_prompt_is_asked_in_two_rounds() -> None:
    trial = trials.paired(site(), 8)
    roles, sets = [], set()
    for number in range(1, 5):
        steps = trial.steps_of(number)
        measured = [step.name for step in steps if step.name.endswith(": measure")]
        roles.append(measured[0])
        sets |= {step.probe.argv[-1] for step in steps if step.name.endswith(": measure")}
    assert roles[0] == roles[2] != roles[1] == roles[3]
    assert len(sets) == 4  # one for each round, the same words on both arms, whose engines share their endpoint


def test_whatever_happens_engines_are_stopped_and_stores_emptied() -> None:
    steps = [step for stage in ended(site(), site().local, site().array) for step in stage]
    assert all(step.always for step in steps)
    assert [step.name for step in steps if "empty" in step.name] == ["end: empty local", "end: empty array"]


def test_the_working_set_must_fit_with_room_to_spare() -> None:
    size = 80 * 8192 * 253_952
    assert must("room")(room(int(size * 1.3) + 1)) is None
    assert "1.3 times" in str(must("room")(room(int(size * 1.3) - 1)))


def test_the_array_must_not_keep_the_whole_working_set_in_its_own_memory() -> None:
    small = site(memory=ArrayMemory(10**15))
    step = next(s for stage in cell(small, small.array, ASKED) for s in stage if s.name == "array: room")
    assert step.must is not None
    assert "own memory" in str(step.must(room(10**13)))
    flushed = site(memory=ArrayMemory(10**15, flushed=True))
    step = next(s for stage in cell(flushed, flushed.array, ASKED) for s in stage if s.name == "array: room")
    assert step.must is not None
    assert step.must(room(10**13)) is None


def test_what_is_not_so_is_said_with_what_to_do() -> None:
    assert "--only-stale" in str(must("ready 1")(Ready(None, "failed", "out of memory")))
    assert must("ready 1")(Ready(62, "ready", "")) is None
    assert "nothing" in str(must("kept")(Count(0, 0, True)))
    assert "still change" in str(must("kept")(Count(5, 9, False)))
    assert "17 entries" in str(must("empty")(17))
    assert "Permission denied" in str(must("writable")("sh: cannot create: Permission denied"))


def with_pages() -> Site:
    """The site as an inventory with ``evict: api`` orders it: every store has a page that clears its memory."""
    where = site(evict="api")
    page = ("http://127.0.0.1:7001/cache/clear?locations=LocalCPUBackend",)
    sides = tuple(
        replace(side, servers=tuple(replace(one, cache=page if side.store else ()) for one in side.servers))
        for side in where.sides
    )
    return replace(where, sides=sides)


def test_an_eviction_by_interfaces_must_be_confirmed_by_engine_and_store() -> None:
    where = with_pages()
    steps = [s for stage in cell(where, where.local, ASKED) for s in stage if s.name == "local: reset 1"]
    assert steps[0].must is not None
    assert steps[0].must(Reset(200, (200,))) is None
    for wrong in (
        Reset(404, (200,)), Reset(200, ()), Reset(200, (200, 500)), Reset(200, (500,)), Reset(200, (200,), refused=True),
    ):  # fmt: skip
        assert steps[0].must(wrong) is not None


@pytest.mark.parametrize("text", ["", "left 0\n", "end\n", "left x\nend\n", "left 0\nleft 1\nend\n"])
def test_an_answer_that_is_cut_short_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        probes.emptied("/mnt/x/kv").parse(text)


def test_a_reset_that_says_no_is_refused_whatever_its_status() -> None:
    parse = probes.reset(site().local.servers[0], "vllm").parse
    assert parse("engine 200\nstore 200\nend\n") == Reset(200, (200,))
    assert parse("engine 200 false\nstore 200\nend\n") == Reset(200, (200,), refused=True)
    assert parse("engine 200\nstore 200 false\nend\n") == Reset(200, (200,), refused=True)
    with pytest.raises(UnreadableOutput):
        parse("engine 000 maybe\nend\n")


def test_each_engine_is_reset_where_it_takes_that_order() -> None:
    server = site().local.servers[0]
    assert probes.reset(server, "vllm").argv[4] == "http://127.0.0.1:8000/reset_prefix_cache"
    assert probes.reset(server, "sglang").argv[4] == "http://127.0.0.1:8000/flush_cache"


@pytest.mark.parametrize(
    ("flaws", "outcome"), [((), Outcome.PASS), ((Flaw("reset-lies", "array"),), Outcome.UNDECIDED)]
)
def test_an_eviction_without_a_restart_counts_only_with_proof(
    tmp_path: Path, flaws: tuple[Flaw, ...], outcome: Outcome
) -> None:
    where = with_pages()
    trial = trials.paired(where, 8)
    hosts = {host.name: host for host in build()}
    hosts["node-01"].machine.computed.serving.flaws = flaws  # type: ignore[union-attr]
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        found = Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run().measured(trial)
    verdict = judging.proven(found, where, held(where))
    assert verdict.outcome is outcome, verdict
    if flaws:
        assert "tokens from HBM" in str(verdict.note)


def test_an_arm_that_keeps_nothing_shows_sglangs_sources_before_they_are_counted() -> None:
    anew = site().arm("recompute")
    names = [step.name for stage in cell(site(engine="sglang"), anew, ASKED) for step in stage]
    assert names.index("recompute: warm") < names.index("recompute: again: warm") < names.index("recompute: before")
    assert "recompute: again: warm" not in [step.name for stage in cell(site(), anew, ASKED) for step in stage]
    assert not [
        n
        for stage in cell(site(engine="sglang"), site().local, ASKED)
        for n in (s.name for s in stage)
        if "again: warm" in n
    ]
