"""A load that a tool drives is measured by that tool and no other, from the question for its version on."""

from __future__ import annotations

from pathlib import Path

from checks.serving import judging, trials
from checks.serving.tools import Driver
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from lab.rack import build
from tests.gates.harness import Virtual
from tests.serving.experiment import held, site


def test_a_trial_of_one_driver_never_reads_what_another_measured(tmp_path: Path) -> None:
    own, other = site(), site(driver=Driver("vllm-bench", "0.20.1", "/opt/bench"))
    mine, theirs = trials.paired(own, 8), trials.paired(other, 8)
    assert mine.key != theirs.key
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        transport = Virtual({host.name: host for host in build()})
        tried = Trials([mine, theirs], transport, Answers(evidence), "kvgate:test").run()
    for where, trial, tool in ((own, mine, "kvgate client"), (other, theirs, "vllm bench serve")):
        found = tried.measured(trial)
        assert {arm.run.tool for one in found.facts for arm in (one.local, one.array)} == {tool}
        assert judging.valid(found, where, held()).outcome is Outcome.PASS
        assert judging.ttft(found, where, held(), 25.0).outcome is Outcome.PASS
