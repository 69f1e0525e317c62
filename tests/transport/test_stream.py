"""Batches are handed on as they come, so that memory does not grow with the number of hosts."""

from __future__ import annotations

import gc
from collections.abc import Callable

from kvgate.transport.base import Batch, Command
from kvgate.transport.ssh import SshTransport
from tests.transport.server import Sshd


def _alive() -> int:
    gc.collect()
    return sum(isinstance(thing, Batch) for thing in gc.get_objects())


def test_a_fast_host_is_read_before_a_slow_one_has_answered(
    plain: Sshd, transport: Callable[..., SshTransport]
) -> None:
    asked = {"slow": [Command("a", "sleep 1")], "fast": [Command("a", "true")]}
    wanted = transport({name: plain.host() for name in asked})
    assert [batch.host for batch in wanted.each(asked)] == ["fast", "slow"]


def test_a_batch_that_was_handed_on_is_not_held(plain: Sshd, transport: Callable[..., SshTransport]) -> None:
    before, hosts = _alive(), {f"n{i}": plain.host() for i in range(4)}
    wanted = transport(hosts, workers=1)
    most = 0
    for _ in wanted.each({name: [Command("a", "echo x")] for name in hosts}):
        most = max(most, _alive() - before)
    assert most <= 3  # one here, one on its way, one in the making
