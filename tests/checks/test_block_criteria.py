"""When a measured load is good enough, at the bound and one step beside it, and when it may not be believed at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.block import burst, criteria, rounds
from checks.block.burst import Burst, Watched, invalid, is_path_of, watched
from checks.block.counters import Bytes
from checks.block.criteria import Settling
from checks.block.patterns import Pattern, Way
from checks.block.references import Reference
from checks.block.rounds import Round
from checks.block.validity import Held
from checks.ceiling import Ceiling, payload_rate
from checks.parsers.findmnt import Mounted
from checks.parsers.fio import Direction, FioRun, Job, Latency
from checks.parsers.iostat import Activity, Report
from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.trial import Measured
from checks.verdict import Outcome

PATTERN = Pattern(Way.RANDREAD, 2**20, 8, 10)
GB = 10**9


def a_round(rate: float = 6.0 * GB, **more: Any) -> Round:
    watching = Watched(rate, 99.0, 7.9, 0.0)
    known: dict[str, Any] = {
        "latency_us": {50.0: 100.0, 99.0: 200.0},
        "cpu_percent": 20.0,
        "watched": watching,
        "celsius": (40, 41),
    }
    known["version"] = "fio-3.33"
    return Round(rate, rate / 2**20, int(rate * 10), device="nvme0n1", device_bytes=1, **{**known, **more})


#: More than anything in these tests gives.
WIDE = Ceiling(say("the slot"), 100 * GB)
HELD = Held(5, 0.5, 5, WIDE)
RULE = Settling(20, 10, 5)
BOTH = {"near": HELD, "far": HELD}


def against(rate: float, block: int = 0) -> Reference:
    return Reference(rate, say("the data sheets"), block)


def measured(*found: Round) -> Measured[Round]:
    return Measured(found)


THREE = measured(a_round(), a_round(6.1 * GB), a_round(5.9 * GB))


def direction(**more: Any) -> Direction:
    latency = Latency(1.0, 2.0, ((50.0, 100_000), (99.0, 200_000)))
    found = Direction("read", 10**9, 1000, 10_000, 100.0, 10**8, latency, None)
    return replace(found, **more)


SIZE, FILE = 2**30, "/mnt/nvme0/.kvgate-load/x"
SAME = {"numjobs": "1", "size": str(SIZE), "ioengine": "libaio", "filename": FILE}


def options(**more: str) -> tuple[tuple[str, str], ...]:
    wanted = {"direct": "1", "rw": "randread", "bs": "1048576", "iodepth": "8", "runtime": "10"} | SAME | more
    return tuple(wanted.items())


def run(job: dict[str, Any] | None = None, **more: Any) -> FioRun:
    fields: dict[str, Any] = {
        "name": "x", "error": 0, "total_errors": None, "first_error": None, "options": options(),
        "directions": (direction(),), "user_cpu": 1.0, "system_cpu": 2.0,
    }  # fmt: skip
    return replace(FioRun("fio-3.33", 1, (), (Job(**{**fields, **(job or {})}),), ()), **more)


def test_a_good_run_counts() -> None:
    assert invalid(run(), PATTERN, SIZE, FILE) is None


@pytest.mark.parametrize(
    "found, why",
    [
        (run(notes=("fio: terminating on signal 15",)), "signal"),
        (run(jobs=()), "0 jobs"),
        (run({"error": 84}), "error 84"),
        (run({"total_errors": 3, "first_error": 84}), "error 84 (3"),
        (run({"options": options(direct="0")}), "direct=0"),
        (run({"options": options(bs="4096")}), "bs=4096"),
        (run({"options": ()}), "direct=None"),
        (run({"options": options(numjobs="8")}), "numjobs=8"),
        (run({"options": options(size="4096")}), "size=4096"),
        (run({"options": options(ioengine="psync")}), "ioengine=psync"),
        (run({"options": options(filename="/tmp/x")}), "filename=/tmp/x"),
        (run({"directions": (direction(), direction(name="write"))}), "nobody asked for: write"),
        (run({"directions": ()}), "moved nothing"),
        (run({"directions": (direction(name="write"),)}), "moved nothing"),
        (run({"directions": (direction(io_bytes=0),)}), "moved nothing"),
        (run({"directions": (direction(runtime_ms=9799),)}), "9.8 s of 10 s"),
    ],
)
def test_what_fio_shows_as_fine_and_is_not(found: FioRun, why: str) -> None:
    assert why in str(invalid(found, PATTERN, SIZE, FILE))
    with pytest.raises(UnreadableOutput):
        burst.moved(found, PATTERN, SIZE, FILE)


def test_a_run_of_just_its_time_counts() -> None:
    assert invalid(run({"directions": (direction(runtime_ms=9800),)}), PATTERN, SIZE, FILE) is None


def facts(**more: Any) -> dict[str, Any]:
    none, idle = {"nvme0n1": Bytes(0, 0)}, ({"nvme0n1": Bytes(5, 0)}, {"nvme0n1": Bytes(5, 4000)})
    known: dict[str, Any] = {
        "mounts": (Mounted("/mnt/nvme0", "/dev/nvme0n1", None, "xfs", ("rw",)),),
        "counters before": none, "counters after": {"nvme0n1": Bytes(10**9, 30 * 10**6)}, "idle": idle,
        "load": Burst(run(), (), "iostat: not found"),
    }  # fmt: skip
    return {**known, **more}


def test_a_round_says_what_moved_and_how_long_it_took() -> None:
    found = rounds.read(facts(), PATTERN, "/mnt/nvme0", SIZE, FILE)
    assert (found.bytes_per_second, found.latency_us[99.0], found.device_bytes) == (10**8, 200.0, 10**9)
    assert found.cpu_percent == 3.0
    assert (found.across, found.before) == (2_000_000.0, 2000.0)


@pytest.mark.parametrize(("moved", "good"), [(950_000_000, True), (949_999_999, False), (0, False)])
def test_memory_that_answered_is_no_disk(moved: int, good: bool) -> None:
    after = {"nvme0n1": Bytes(moved, 0)}
    if good:
        assert rounds.read(facts(**{"counters after": after}), PATTERN, "/mnt/nvme0", SIZE, FILE)
    else:
        with pytest.raises(UnreadableOutput, match="memory answered"):
            rounds.read(facts(**{"counters after": after}), PATTERN, "/mnt/nvme0", SIZE, FILE)


def test_a_multipath_device_may_be_counted_on_its_paths() -> None:
    assert is_path_of("nvme1c0n1", "nvme1n1")
    assert not is_path_of("nvme1c0n2", "nvme1n1")
    assert not is_path_of("nvme2c0n1", "nvme1n1")
    mounts = (Mounted("/mnt/fx100", "/dev/nvme1n1", None, "xfs", ()),)
    rows = [{"nvme1n1": Bytes(0, 0), "nvme1c0n1": Bytes(size, 0)} for size in (0, 10**9)]
    known = facts(mounts=mounts, idle=(rows[0], rows[0]), **{"counters before": rows[0], "counters after": rows[1]})
    assert rounds.read(known, PATTERN, "/mnt/fx100", SIZE, FILE).device_bytes == 10**9


@pytest.mark.parametrize(
    "change, why",
    [
        ({"counters after": {}}, "counts nothing of nvme0n1"),
        ({"counters before": {"nvme0n1": Bytes(2 * 10**9, 0)}}, "went backwards"),
        ({"counters before": {"nvme0n1": Bytes(0, 10**9)}}, "went backwards"),
        ({"mounts": ()}, "0 filesystems"),
    ],
)
def test_a_round_that_cannot_be_told(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableOutput, match=why):
        rounds.read(facts(**change), PATTERN, "/mnt/nvme0", SIZE, FILE)


@pytest.mark.parametrize(
    "mounts, why",
    [
        ((), "0 filesystems"),
        ((Mounted("/m", "/dev/a", None, "xfs", ()),) * 2, "2 filesystems"),
        ((Mounted("/m", "/dev/a", None, "ext4", ()),), "ext4"),
        ((Mounted("/m", "/dev/a", None, "xfs", ("ro",)),), "read-only"),
        ((Mounted("/m", "/dev/a", None, "xfs", ("rw",)),), ""),
    ],
)
def test_load_falls_on_the_ordered_mount_only(mounts: tuple[Mounted, ...], why: str) -> None:
    found = rounds.stands("/m", "xfs")(mounts)
    assert (found is None) if not why else (why in str(found))


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        ((6.0, 6.1, 5.9), Outcome.PASS),
        ((6.0, 6.6, 5.4), Outcome.UNDECIDED),
        ((6.0,), Outcome.UNDECIDED),
        ((), Outcome.UNDECIDED),
    ],
)
def test_a_baseline_repeats_or_is_not_known(rates: tuple[float, ...], outcome: Outcome) -> None:
    assert criteria.repeatable(measured(*(a_round(rate * GB) for rate in rates)), HELD).outcome is outcome


@pytest.mark.parametrize(
    ("reference", "outcome"), [(6.0, Outcome.PASS), (6.0 / 0.9, Outcome.PASS), (6.68, Outcome.STOP)]
)
def test_a_rate_at_the_share_of_its_reference_is_enough(reference: float, outcome: Outcome) -> None:
    assert criteria.carries(THREE, against(reference * GB), 0.9, HELD).outcome is outcome


def test_an_unsteady_rate_is_neither_good_nor_bad() -> None:
    unsteady = measured(a_round(9 * GB), a_round(6 * GB), a_round(3 * GB))
    assert {criteria.carries(unsteady, against(reference * GB), 1.0, HELD).outcome for reference in (1, 100)} == {
        Outcome.UNDECIDED
    }


@pytest.mark.parametrize(("most", "outcome"), [(200.0, Outcome.PASS), (199.9, Outcome.STOP)])
def test_a_read_is_answered_in_time(most: float, outcome: Outcome) -> None:
    assert criteria.answers_within(THREE, 99.0, most, HELD).outcome is outcome


def test_a_latency_that_was_not_kept_is_not_known() -> None:
    assert criteria.answers_within(THREE, 99.9, 10**9, HELD).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [(1.05, Outcome.PASS), (0.95, Outcome.PASS), (1.051, Outcome.STOP), (0.949, Outcome.STOP)],
)
def test_the_device_agrees_with_fio(seen: float, outcome: Outcome) -> None:
    one = a_round(watched=Watched(seen * 6.0 * GB, 90, 8, 0.0))
    assert criteria.device_agrees(measured(a_round(), one), 5, HELD).outcome is outcome


def test_a_device_that_was_not_watched_is_not_known() -> None:
    assert criteria.device_agrees(measured(a_round(watched=say("no iostat"))), 5, HELD).outcome is Outcome.UNDECIDED
    assert criteria.device_agrees(measured(), 5, HELD).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(("cpu", "outcome"), [(90.0, Outcome.PASS), (90.1, Outcome.STOP), (None, Outcome.UNDECIDED)])
def test_the_client_is_not_what_was_measured(cpu: float | None, outcome: Outcome) -> None:
    assert criteria.client_is_free(measured(a_round(), a_round(cpu_percent=cpu)), 90, HELD).outcome is outcome


@pytest.mark.parametrize(
    ("rates", "outcome"),
    [
        ((6, 6, 6, 6, 6), Outcome.PASS),
        ((9, 6, 6, 6, 6, 6), Outcome.PASS),
        ((5, 5.5, 6, 6.5, 7), Outcome.UNDECIDED),
        ((6, 6, 6, 6), Outcome.UNDECIDED),
    ],
)
def test_steady_is_what_snia_calls_so(rates: tuple[float, ...], outcome: Outcome) -> None:
    found = tuple(a_round(rate * GB) for rate in rates)
    assert criteria.settled(measured(*found), HELD, RULE).outcome is outcome
    assert criteria.steady(found, RULE) is (outcome is Outcome.PASS)


@pytest.mark.parametrize(("far", "outcome"), [(130.0, Outcome.PASS), (130.1, Outcome.STOP)])
def test_what_the_fabric_adds(far: float, outcome: Outcome) -> None:
    remote = measured(*(a_round(latency_us={50.0: far}) for _ in range(3)))
    assert criteria.added_latency(THREE, remote, 30, BOTH).outcome is outcome
    assert criteria.added_latency(THREE, measured(), 30, BOTH).outcome is Outcome.UNDECIDED


def test_one_fio_on_every_host() -> None:
    assert criteria.same_version({"a": "fio-3.33", "b": "fio-3.33"}).outcome is Outcome.PASS
    assert criteria.same_version({"a": "fio-3.33", "b": "fio-3.42"}).outcome is Outcome.STOP
    assert criteria.same_version({}).outcome is Outcome.UNDECIDED


def test_the_share_of_a_frame_that_is_payload() -> None:
    assert payload_rate(100e9, 4096) / 12.5e9 == pytest.approx(0.980, abs=0.0005)
    assert payload_rate(100e9, 1024) / 12.5e9 == pytest.approx(0.926, abs=0.0005)


def seconds(device: str, rate: float, count: int) -> tuple[Report, ...]:
    row = Activity(device, 10.0, 0.0, rate, 7.0, 0.1, 0.1, 4.0, 90.0)
    return tuple(Report((row,)) for _ in range(count))


def test_iostat_is_averaged_without_ramp_and_edges() -> None:
    reports = seconds("nvme0n1", 1.0, 6) + seconds("nvme0n1", 100.0, 8) + seconds("nvme0n1", 1.0, 2)
    found = watched(Burst(run(), reports), PATTERN, "nvme0n1")
    assert isinstance(found, Watched)
    assert (found.bytes_per_second, found.other) == (100.0, 7.0)


def test_iostat_that_saw_too_little_tells_nothing() -> None:
    for reports in ((), seconds("nvme0n1", 1.0, 8), seconds("sda", 1.0, 20)):
        assert not isinstance(watched(Burst(run(), reports), PATTERN, "nvme0n1"), Watched)
