"""A G3 that is cut short: rounds that ended are kept, nothing stays up or stored, and the next sitting makes only the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from checks.serving import trials
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.transport.base import Batch, Command
from lab.rack import VirtualHost, build
from tests.gates.harness import Virtual
from tests.serving.experiment import site


class Cut(Virtual):
    """A way to the hosts that is interrupted at the n-th measured window."""

    def __init__(self, hosts: dict[str, VirtualHost], at: int) -> None:
        super().__init__(hosts)
        self.left = at

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        if any(command.key.endswith(": measure") for wanted in commands.values() for command in wanted):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
        return super().each(commands)


def test_the_next_sitting_makes_only_the_rounds_that_are_missing(tmp_path: Path) -> None:
    where = site(rounds=2)
    both = [trials.paired(where, level) for level in (8, 16)]
    hosts = {host.name: host for host in build()}
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        answers = Answers(evidence)
        # Two windows a round: the sixth is the second arm of the third round.
        with pytest.raises(KeyboardInterrupt):
            Trials(both, Cut(hosts, 6), answers, "kvgate:test").run()
        serving = hosts["node-01"].machine.computed.serving  # type: ignore[union-attr]
        assert not serving.running
        assert not any(serving.stores.values())
        assert len(list(evidence.notes("round"))) == 2
        tried = Trials(both, Virtual(hosts), answers, "kvgate:test").run()
        assert [len(tried.measured(trial).facts) for trial in both] == [2, 2]
        assert len(list(evidence.notes("round"))) == 4
        sets = [fact.local.client.prompt_set for trial in both for fact in tried.measured(trial).facts]
        assert len(set(sets)) == 4
