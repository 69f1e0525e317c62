"""Kept answers: what a host said before and after a reboot is never put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.nvme.probes import controllers, identity
from checks.parsers.sysfs_nvme import RELEASE
from kvgate.errors import CannotTell, DeviceAbsent
from kvgate.evidence.store import AskedProbe, Evidence
from kvgate.gate.answers import Answers, Met
from kvgate.transport.base import Answer, Batch, Clock

TREE = Answer("", f"{RELEASE}:6.8.0\n".encode(), b"", 0, 0.1)


ONE = Path(__file__).parents[1] / "parsers" / "sysfs-nvme" / "6.8--array-four-disks.txt"
SERIAL = "S7Y0NX0W100003"


class Kept:
    """An evidence folder with these answers; the first where a number is not told."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers or (TREE,)

    def answer(self, number: int) -> Answer:
        return self.answers[number - 1] if number <= len(self.answers) else self.answers[0]


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
    with pytest.raises(CannotTell, match="rebooted in between"):
        found.seconds_between("node-01", controllers())


def asked(after: str) -> Answers:
    """A disk asked by the name that its serial had at first; ``after`` is the tree that was read afterwards."""
    said = (Path(__file__).parents[1] / "parsers" / "nvme-id-ctrl" / "2.3-json--fabrics.txt").read_bytes()
    trees = [Answer("", text.encode(), b"", 0, 0.1) for text in (ONE.read_text(), after)]
    found = Answers(Kept(*trees, Answer("", said, b"", 0, 0.1)))  # type: ignore[arg-type]
    for key, sample, number in ((controllers(), 1, 1), (controllers(), 2, 2), (identity(SERIAL), 1, 3)):
        found.keep("fx100-a", key.command(), sample, number)
    return found


def test_a_disk_that_kept_its_name_is_read() -> None:
    assert asked(ONE.read_text()).fact("fx100-a", identity(SERIAL)).serial


def test_a_disk_that_moved_to_another_name_was_perhaps_not_the_one_that_answered() -> None:
    moved = ONE.read_text().replace("/nvme2/", "/nvme9/")
    assert moved != ONE.read_text()
    with pytest.raises(DeviceAbsent, match="moved from /dev/nvme2 to /dev/nvme9"):
        asked(moved).fact("fx100-a", identity(SERIAL))


def test_a_disk_that_left_is_not_read_from_its_last_words() -> None:
    with pytest.raises(DeviceAbsent, match="no local NVMe disk"):
        asked(TREE.stdout.decode()).fact("fx100-a", identity(SERIAL))


def clocked(*looks: tuple[float, float, float]) -> Answers:
    """Looks at one clock: (operator's seconds, low, high)."""
    found = Answers(Kept())  # type: ignore[arg-type]
    for moment, low, high in looks:
        found.meet("node-01", 1, Met("SHA256:x", "a", Clock(low, high), moment))
    return found


def test_several_looks_narrow_a_clock() -> None:
    found = clocked((0.0, -0.5, 0.5), (10.0, -0.25, 1.0), (20.0, -1.0, 0.75))
    assert found.clock("node-01") == (-0.25, 0.5)
    assert found.looseness("node-01") == 0.75
    assert found.looseness("node-02") == 0.0


def test_a_look_of_long_ago_no_longer_counts() -> None:
    assert clocked((0.0, -0.1, 0.1), (120.0, -0.5, 0.5)).clock("node-01") == (-0.1, 0.1)
    assert clocked((0.0, -0.1, 0.1), (120.5, -0.5, 0.5)).clock("node-01") == (-0.5, 0.5)


def test_looks_that_exclude_each_other_tell_of_a_clock_that_was_set() -> None:
    assert clocked((0.0, -0.1, 0.2), (1.0, 0.2, 0.3)).clock("node-01") == (0.2, 0.2)
    with pytest.raises(CannotTell, match="set its clock"):
        clocked((0.0, -0.1, 0.1), (1.0, 0.2, 0.3)).clock("node-01")


def test_a_host_met_once_is_not_timed_and_still_has_its_key() -> None:
    found = Answers(Kept())  # type: ignore[arg-type]
    with pytest.raises(CannotTell, match="not met"):
        found.host_key("node-01")
    found.meet("node-01", 2, Met("SHA256:x", "a", None, 1.0))
    assert found.host_key("node-01") == "SHA256:x"
    with pytest.raises(CannotTell, match="not met twice"):
        found.seconds_between("node-01", controllers())
    found.meet("node-01", 1, Met("", "a", None, 0.0))
    assert found.host_key("node-01") == "SHA256:x"
    assert found.seconds_between("node-01", controllers()) == 1.0


def test_the_number_of_an_answer_is_that_of_its_sample() -> None:
    found = answers("a", "a", "a")
    found.keep("node-01", controllers().command(), 2, 7)
    assert found.numbers("node-01", controllers()) == [1]
    assert found.numbers("node-01", controllers(), 2) == [7]
    assert found.numbers("node-02", controllers()) == []


def test_samples_of_two_sittings_are_no_pair(tmp_path: Path) -> None:
    """A run that is taken up asks anew, and dies before the second sample: the second one of before is older than its first."""
    line = controllers().command()
    with Evidence.create(tmp_path, "run-1", {"gate": "G1"}) as evidence:
        found = Answers(evidence)

        def sitting(key: str, moment: float, *samples: int) -> None:
            for sample in samples:
                batch = Batch(
                    "node-01",
                    {key: TREE},
                    host_key="SHA256:x",
                    boot_id="a",
                    started_monotonic=moment + 2.5 * (sample - 1),
                )
                found.keep(
                    "node-01", key, sample, evidence.keep(batch, {key: AskedProbe("x", key, "passive")}, sample)[key]
                )
                found.meet("node-01", sample, Met("SHA256:x", "a", None, batch.started_monotonic))

        sitting(line, 10.0, 1, 2)
        assert found.seconds_between("node-01", controllers()) == 2.5
        sitting("another question", 100.0, 1)
        assert found.seconds_between("node-01", controllers()) == 2.5, (
            "its own two moments, whenever the host was met since"
        )
        sitting(line, 200.0, 1)
        assert found.fact("node-01", controllers()).kernel == "6.8.0"
        with pytest.raises(CannotTell, match="was not asked in this run"):
            found.fact("node-01", controllers(), 2)
