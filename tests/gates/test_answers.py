"""Kept answers: what a host said before and after a reboot is never put together."""

from __future__ import annotations

import pytest

from checks.nvme.probes import controllers
from checks.parsers.sysfs_nvme import RELEASE
from kvgate.errors import CannotTell
from kvgate.gate.answers import Answers, Met
from kvgate.transport.base import Answer

TREE = Answer("", f"{RELEASE}:6.8.0\n".encode(), b"", 0, 0.1)


class Kept:
    """An evidence folder that holds one answer."""

    def answer(self, _: int) -> Answer:
        return TREE


def answers(*boots: str) -> Answers:
    """Answers of one host, met once a round: identities, devices by serial, counters again."""
    found = Answers(Kept())  # type: ignore[arg-type]
    found.keep("node-01", controllers().command(), 1, 1)
    found.keep("node-01", controllers().command(), 2, 1)
    for boot, sample, moment in zip(boots, (1, 1, 2), (0.0, 1.0, 4.0), strict=True):
        found.meet("node-01", sample, Met("SHA256:x", boot, None, moment))
    return found


def test_one_boot_is_read_and_timed() -> None:
    found = answers("a", "a", "a")
    assert found.fact("node-01", controllers()).kernel == "6.8.0"
    assert found.seconds_between("node-01", controllers()) == 3.0


@pytest.mark.parametrize("boots", [("a", "b", "b"), ("a", "a", "b"), ("a", "b", "a")])
def test_a_host_that_booted_in_between_tells_nothing(boots: tuple[str, str, str]) -> None:
    found = answers(*boots)
    with pytest.raises(CannotTell, match="rebooted"):
        found.fact("node-01", controllers())


def test_a_fact_read_before_the_reboot_was_seen_is_not_kept() -> None:
    found = answers("a", "a", "a")
    found.fact("node-01", controllers())
    found.meet("node-01", 2, Met("SHA256:x", "b", None, 5.0))
    with pytest.raises(CannotTell, match="rebooted"):
        found.fact("node-01", controllers())


def test_a_host_that_does_not_tell_its_boot_is_not_timed() -> None:
    found = answers("", "", "")
    with pytest.raises(CannotTell, match="rebooted"):
        found.seconds_between("node-01", controllers())
