"""One round of G3 by itself on the virtual rack: both arms, by the gate's own steps, with the proof of where the KV came from.

It needs no gate before it: a quarter of an hour for who changes the procedure (`KVGATE_RACK=round`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.serving import judging, trials
from checks.serving.limits import limits
from kvgate import agreement as agreements
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.start import transport_for
from kvgate.gate.trials import Trials
from kvgate.inventory import reader
from kvgate.inventory.experiment import site
from lab.vm.rack import Rack
from tests.rack.conftest import HOW

pytestmark = [
    pytest.mark.skipif(
        HOW != "round", reason="one round of G3 on virtual machines, a quarter of an hour: KVGATE_RACK=round"
    ),
    pytest.mark.timeout(7200),
]

#: Prompts of a round, whole chunks of each in tokens, and bytes of KV a token.
PROMPTS, WHOLE, TOKEN = 20, 1024, 512


def test_both_arms_read_their_kv_from_the_block_devices_they_should(
    rack: Rack, tmp_path: Path, note: list[str]
) -> None:
    inventory = reader.read(rack.inventory)
    where = replace(site(inventory.rack, "tp2"), rounds=1, more_rounds=0)
    terms: Mapping[str, Any] = (
        agreements.read(rack.inventory.parent / (inventory.rack.acceptance or "")).acceptance.clauses["G3.2.2"].limits
    )
    held = limits({name: limit.value for name, limit in terms.items()}, where)
    trial = trials.paired(where, 2)
    transport, watch = transport_for(inventory), transport_for(inventory)
    try:
        with Evidence.create(tmp_path, "round", {"gate": "G3"}) as evidence:
            tried = Trials([trial], transport, Answers(evidence), "kvgate:rack-round", watch=watch).run()
            (found,) = tried.measured(trial).facts
    finally:
        transport.close()
        watch.close()
    for arm in (found.local, found.array):
        assert not judging.loaded(arm, where, 2, held)
        lines = {str(row.what): row for row in judging.rows(arm, held)}
        note += [f"{arm.side.role}: {name} {row.found} ({row.expected}) {row.holds}" for name, row in lines.items()]
        assert not judging.proof(arm, held), [str(why) for why in judging.proof(arm, held)]
        assert lines["tokens from the store"].found == PROMPTS * WHOLE
        read = lines["bytes read on the block device"].found or 0
        assert read >= PROMPTS * WHOLE * TOKEN
    assert ((found.array.traffic and found.array.traffic.rdma) or 0) >= PROMPTS * WHOLE * TOKEN
