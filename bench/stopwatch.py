"""A pytest plugin that times the probes of a gate run from inside: ``-p bench.stopwatch``, result in the file BENCH_STOPWATCH."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import kvgate.gate.collect
from kvgate.transport.base import Batch, Command
from kvgate.transport.ssh import SshTransport

_spent = {"probes": 0.0, "interval": 0.0}


class _Clock:
    """Stands in for the ``time`` module where the gate waits between two samples of a counter."""

    monotonic = staticmethod(time.monotonic)

    @staticmethod
    def sleep(seconds: float) -> None:
        """Sleep. All of the interval counts as probing: what was judged meanwhile has added nothing."""
        _spent["interval"] += kvgate.gate.collect.INTERVAL
        time.sleep(seconds)


_each = SshTransport.each


def _timed(self: SshTransport, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
    """Count until the last host has answered: what the gate does with the first answers meanwhile adds nothing."""
    begun = last = time.monotonic()
    for batch in _each(self, commands):
        last = max(last, batch.started_monotonic + batch.seconds)
        yield batch
    _spent["probes"] += last - begun


def pytest_configure() -> None:
    """Begin to measure."""
    SshTransport.each = _timed  # type: ignore[method-assign]
    vars(kvgate.gate.collect)["time"] = _Clock


def pytest_unconfigure() -> None:
    """Write what was measured."""
    Path(os.environ["BENCH_STOPWATCH"]).write_text(json.dumps(_spent), "utf-8")
