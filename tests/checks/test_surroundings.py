"""What stands around a round: read as far as it is shown, counted once, named where rounds differ, and never made up."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pytest

from checks.around import probes as surroundings
from checks.around.causes import cause, causes, seen
from checks.around.facts import Around, Surroundings
from checks.around.probes import parse
from checks.block import criteria as block
from checks.fabric import carrying
from checks.files import criteria as files
from checks.trial import Measured
from checks.verdict import Outcome
from tests.checks.test_block_criteria import BOTH, HELD, RULE, a_round
from tests.checks.test_fabric_carrying import carried
from tests.checks.test_files import loaded

GB = 10**9
ENS1 = ("ens1", "carrier_changes")
CALM = Surroundings(
    3700.0, {("package", "cpu0"): 90, ("core", "cpu0"): 1}, {"cpu0": (0, 0)}, {ENS1: 2}, {"nvme0": 40.0}, (100, 1000)
)
LATER = replace(CALM, ticks=(200, 2000))
QUIET = {"node-01": Around(CALM, LATER)}


def around(**more: Any) -> dict[str, Around]:
    return {"node-01": Around(CALM, replace(LATER, **more))}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (around(), ""),
        (around(megahertz=3310.0), "node-01: the processors' clock went from 3700 to 3505 MHz"),
        (around(megahertz=3350.0), ""),
        (around(links={ENS1: 3}), "node-01: the link of ens1 went away or came back 1 times"),
        (around(links={("mlx5_0/1", "out_of_sequence"): 7}), ""),
        (around(celsius={"nvme0": 45.0}), "node-01: nvme0 went from 40 to 45 C"),
        (around(celsius={"nvme0": 44.0}), ""),
        (around(ticks=(350, 2000)), "node-01: rounds kept the processors busy for 10 to 25 %"),
        (around(ticks=(340, 2000)), ""),
        (around(throttled={("package", "cpu0"): 93, ("core", "cpu0"): 1}), "node-01: its processor was throttled for heat 3 times"),
        (around(throttled={("core", "cpu0"): 3}), "node-01: single cores were throttled for heat 2 times"),
        (around(throttled={("package", "cpu0"): 4}), ""),
    ],
)  # fmt: skip
def test_what_was_seen_around_some_rounds(found: dict[str, Around], said: str) -> None:
    assert "; ".join(str(one) for one in causes([QUIET, found, QUIET])) == said


def throttled(*counts: tuple[str, str, int, int]) -> Around:
    """Two packages of two cores of two threads: cpu0, cpu4 are the threads of the first core of the first package."""
    places = {f"cpu{n}": (n % 4 // 2, n % 2) for n in range(8)}
    before = {(level, cpu): count for level, cpu, count, _ in counts}
    after = {(level, cpu): count + more for level, cpu, count, more in counts}
    return Around(Surroundings(throttled=before, places=places), Surroundings(throttled=after, places=places))


def test_an_event_is_counted_once_however_many_processors_tell_it() -> None:
    package = throttled(*(("package", f"cpu{n}", 100 - 90 * (n % 4 // 2), 5 if n % 4 >= 2 else 0) for n in range(8)))
    assert package.throttled == {"package": 5}
    both = throttled(("package", "cpu0", 7, 2), ("package", "cpu4", 9, 3), ("package", "cpu2", 0, 4))
    assert both.throttled == {"package": 7}
    threads = throttled(("core", "cpu0", 7, 2), ("core", "cpu4", 7, 2), ("core", "cpu1", 1, 1), ("core", "cpu2", 0, 1))
    assert threads.throttled == {"core": 4}
    unknown = replace(both.after, places=None)
    assert Around(both.before, unknown).throttled == {"package": 4}


def test_what_counts_nothing_was_not_throttled_as_far_as_anybody_knows() -> None:
    assert Around(Surroundings(), LATER).throttled is None
    assert throttled(("core", "cpu0", 7, -3)).throttled == {"core": 0}
    new = Around(Surroundings(throttled={("core", "cpu1"): 1}), Surroundings(throttled={("core", "cpu0"): 9}))
    assert new.throttled == {"core": 0}


@pytest.mark.parametrize("ticks", [(100, 1000), (90, 1100), (300, 1100)])
def test_ticks_that_make_no_share_tell_none(ticks: tuple[int, int]) -> None:
    assert Around(CALM, replace(CALM, ticks=ticks)).busy is None


def test_what_is_not_shown_is_not_said_to_have_been_looked_at() -> None:
    whole = str(cause([QUIET, QUIET]))
    assert "looked at: clocks, throttling, links, other work, heat of disks" in whole
    assert "not shown" not in whole
    bare = str(
        cause([{"node-01": Around(replace(CALM, megahertz=None), replace(LATER, megahertz=None, celsius=None))}])
    )
    assert "looked at: throttling, links, other work; not shown here: clocks, heat of disks" in bare
    assert "not shown here: clocks, throttling, links, other work, heat of disks" in str(cause([]))
    assert "looked at" not in str(cause([{}]))


THROTTLED = around(throttled={("package", "cpu0"): 93, ("core", "cpu0"): 1})
WHY = "node-01: its processor was throttled for heat 3 times"


def test_every_kind_of_load_that_differs_names_it() -> None:
    hosts = (QUIET, QUIET, THROTTLED)
    blocks = Measured((a_round(), a_round(), a_round(3.0 * GB)), around=hosts)
    steady = Measured((a_round(), a_round(), a_round()), around=(QUIET,) * 3)
    for verdict in (
        block.repeatable(blocks, HELD),
        block.settled(blocks, HELD, replace(RULE, window=3)),
        files.loads(replace(loaded(3.0, 3.0, 1.0), around=hosts), steady, 0.8, HELD, None),
        files.loads(loaded(3.0, 3.0, 3.0), blocks, 0.8, HELD, None),
        carrying.carries(replace(carried(97, 97, 60), around=hosts), 100 * GB, 0.95, 0.97, 0.5),
    ):
        assert verdict.outcome is Outcome.UNDECIDED
        assert WHY in str(verdict.note)


def test_what_passes_all_the_same_says_what_went_wrong_around_it() -> None:
    hosts = (QUIET, QUIET, THROTTLED)
    blocks = Measured((a_round(), a_round(), a_round()), around=hosts)
    for verdict in (
        block.repeatable(blocks, HELD),
        block.settled(blocks, HELD, replace(RULE, window=3)),
        block.added_latency(blocks, blocks, 30.0, BOTH),
        files.loads(replace(loaded(6.0, 6.0, 6.0), around=hosts), replace(blocks, around=()), 0.8, HELD, None),
        files.loads(loaded(6.0, 6.0, 6.0), blocks, 0.8, HELD, None),
        carrying.carries(replace(carried(97, 97, 97), around=hosts), 100 * GB, 0.95, 0.97, 0.5),
    ):
        assert verdict.outcome is Outcome.PASS
        assert WHY in str(verdict.note)
    assert seen([QUIET]) == []
    assert block.repeatable(replace(blocks, around=(QUIET,) * 3), HELD).note is None
    warm = around(megahertz=3000.0, celsius={"nvme0": 60.0})
    assert block.repeatable(replace(blocks, around=(QUIET, QUIET, warm)), HELD).note is None


def test_what_stands_around_a_round_is_read_as_far_as_it_is_shown() -> None:
    cpu = "/sys/devices/system/cpu/cpu"
    text = (
        "/proc/stat:cpu  10 1 5 80 20 0 4 0 7 0\n"
        f"{cpu}0/cpufreq/scaling_cur_freq:3000000\n{cpu}1/cpufreq/scaling_cur_freq:2000000\n"
        f"{cpu}0/topology/physical_package_id:1\n{cpu}0/topology/core_id:3\n{cpu}1/topology/core_id:4\n"
        f"{cpu}0/thermal_throttle/package_throttle_count:7\n{cpu}0/thermal_throttle/core_throttle_count:2\n"
        "/sys/class/net/ens1/carrier_changes:2\n/sys/class/net/ens1/statistics/rx_errors:5\nsomething else\n"
        "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error:1\n"
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence:4\n"
        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan:10\n"
        "/sys/class/nvme/nvme0/hwmon3/temp1_input:39850\n"
    )
    assert parse(text) == Surroundings(
        2500.0, {("package", "cpu0"): 7, ("core", "cpu0"): 2}, {"cpu0": (1, 3)},
        {("ens1", "carrier_changes"): 2, ("ens1", "rx_errors"): 5, ("mlx5_0/1", "symbol_error"): 1, ("mlx5_0/1", "out_of_sequence"): 4},
        {"nvme0": 39.85}, (20, 120),
    )  # fmt: skip
    assert parse("") == Surroundings()


def test_the_question_is_answered_by_a_real_machine() -> None:
    probe = surroundings.surroundings()
    done = subprocess.run(["sh", "-c", probe.command({})], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in probe.accepted
    found = probe.parse(done.stdout)
    assert found.ticks is not None
    assert 0 < found.ticks[0] <= found.ticks[1]
