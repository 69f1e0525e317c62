"""A load that another client was ordered for is not the load that was agreed."""

from __future__ import annotations

from pathlib import Path

from checks.serving import judging, trials
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from lab.rack import build
from tests.gates.harness import Virtual
from tests.serving.experiment import held, site


def test_another_client_than_the_ordered_one_decides_nothing(tmp_path: Path) -> None:
    trial = trials.paired(site(), 8)
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        transport = Virtual({host.name: host for host in build()})
        found = Trials([trial], transport, Answers(evidence), "kvgate:test").run().measured(trial)
    assert judging.valid(found, site(), held()).outcome is Outcome.PASS
    assert judging.ttft(found, site(), held(), 25.0).outcome is Outcome.PASS
    ordered = site(client="vllm")
    for verdict in (judging.valid(found, ordered, held()), judging.ttft(found, ordered, held(), 25.0)):
        assert verdict.outcome is Outcome.UNDECIDED
        assert "vllm" in str(verdict.note)
