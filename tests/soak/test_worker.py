"""The worker on this machine: every planned sample once, whatever happens to it, and nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checks.load import running
from kvgate.mask import Masker
from tests.soak.hosted import CHEAP, ask, events, kill, lay_out, lines, plan, ticks, until


def older_python() -> list[str]:
    """Interpreters of this machine that a host may have."""
    known = sorted(Path.home().glob(".pyenv/versions/3.[89].*/bin/python")) + [
        Path(f"/usr/bin/python3.{n}") for n in (8, 9)
    ]
    return [sys.executable, *(str(path) for path in known if path.exists())]


@pytest.fixture
def soaking(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "soak-test"
    yield folder
    if (folder / "worker.pyz").exists():
        ask(folder, "stop")


def marked(soak: str = "soak-test") -> int:
    probe = running(f"kvgate:{soak}:here")
    return probe.parse(
        subprocess.run(["sh", "-c", probe.command()], capture_output=True, text=True, check=True).stdout
    ).ours


@pytest.mark.parametrize("python", older_python())
def test_a_planned_soak_takes_every_sample_once_and_says_how_it_ended(soaking: Path, python: str) -> None:
    lay_out(soaking, plan(seconds=120))
    assert ask(soaking, "start", python=python)["did"] == "started"
    until(lambda: ask(soaking, "status", python=python)["state"] == "ended")
    found = lines(soaking)
    assert found[0].kind == "begin"
    assert found[0].values["soak"]["scale"] == 60
    assert json.loads(str(found[0].values["plan"]["text"]))["seconds"] == 120
    assert found[-1].kind == "end"
    assert found[-1].values["end"]["why"] == "planned"
    for name in CHEAP:
        taken = ticks(found)[name]
        assert taken == sorted(set(taken)), name
        assert taken, name  # which of them a busy machine misses is for G4.1.3 to count
        assert set(taken) <= set(range(12))
    done = ask(soaking, "status")["exit"]
    assert (done["status"], done["why"], done["seq"]) == (0, "planned", found[-1].seq)
    assert done["boot"] == found[-1].boot


def test_who_starts_twice_attaches(soaking: Path) -> None:
    lay_out(soaking, plan())
    first = ask(soaking, "start")
    second = ask(soaking, "start")
    assert second["did"] == "attached"
    assert second["started"] == first["started"]
    subprocess.run(
        [sys.executable, str(soaking / "worker.pyz"), "run", str(soaking)], check=True
    )  # a second one gives way
    assert ask(soaking, "status")["started"] == first["started"]


def test_segments_are_closed_when_they_are_full_and_follow_one_another(soaking: Path) -> None:
    lay_out(soaking, plan(bounds={"segment_bytes": 4000}))
    ask(soaking, "start")
    until(lambda: len(ask(soaking, "status")["segments"]) >= 4)
    ask(soaking, "stop")
    found = lines(soaking)
    closed = [line.values["rotate"] for line in found if line.kind == "rotate"]
    opened = [line.values["segment"] for line in found if line.kind == "segment"]
    assert [one["next"] for one in closed] == [one["number"] for one in opened]
    assert all(one["scale"] == 60 for one in opened)


def test_killed_at_any_moment_it_resumes_without_a_sample_lost_or_twice(soaking: Path) -> None:
    lay_out(soaking, plan(bounds={"segment_bytes": 3000}))
    ask(soaking, "start")
    chance = random.Random(6)
    before: list[Any] = []
    for _ in range(8):
        time.sleep(chance.uniform(0.0, 0.8))
        kill(soaking)
        now = lines(soaking)
        assert now[: len(before)] == before  # what was written stays as it was
        before = now
        assert ask(soaking, "start")["did"] == "resumed"
    ask(soaking, "stop")
    found = lines(soaking)
    assert [line.seq for line in found] == list(range(1, len(found) + 1))
    resumed = [line for line in found if line.kind == "resume"]
    assert len(resumed) == 8
    for line in resumed:
        assert line.values["soak"]["after"] == line.seq - 1
        assert line.values["soak"]["same_boot"] is True
        assert line.values["soak"]["away"] == pytest.approx(line.mono - found[line.seq - 2].mono, abs=0.01)
    for name, taken in ticks(found).items():
        assert taken == sorted(set(taken)), name


def test_bytes_of_a_line_that_a_crash_cut_off_are_set_aside_and_named(soaking: Path) -> None:
    lay_out(soaking, plan())
    ask(soaking, "start")
    until(lambda: len(lines(soaking)) > 5)
    kill(soaking)
    last = max(soaking.glob("journal-*.jsonl"))
    with last.open("ab") as file:
        file.write(b'{"boot":"half a li')
    ask(soaking, "start")
    resume = next(line for line in reversed(lines(soaking)) if line.kind == "resume")
    assert resume.values["soak"]["cut"] == 18
    assert last.with_suffix(".cut-1").read_bytes() == b'{"boot":"half a li'


def test_zeros_that_a_power_cut_left_are_set_aside(soaking: Path) -> None:
    lay_out(soaking, plan())
    ask(soaking, "start")
    until(lambda: len(lines(soaking)) > 5)
    kill(soaking)
    whole = len(lines(soaking))
    with max(soaking.glob("journal-*.jsonl")).open("ab") as file:
        file.write(bytes(4096))
    ask(soaking, "start")
    assert lines(soaking)[whole].kind == "resume"


def test_a_host_that_was_booted_anew_is_told_from_a_worker_that_was_killed(soaking: Path) -> None:
    lay_out(soaking, plan())
    ask(soaking, "start")
    until(lambda: len(lines(soaking)) > 5)
    kill(soaking)
    assert ask(soaking, "status")["rebooted"] is False
    state = json.loads((soaking / "state.json").read_text())
    (soaking / "state.json").write_text(json.dumps({**state, "boot": "11111111-2222-3333-4444-555555555555"}))
    assert ask(soaking, "status")["rebooted"] is True


def test_told_to_end_it_ends_its_loads_cleans_up_and_says_so(soaking: Path, tmp_path: Path) -> None:
    made = tmp_path / "left-by-the-load"
    loads = [{"name": "busy", "argv": ["sh", "-c", f"touch {made}; sleep 1000 & sleep 1000"], "limit": 100_000}]
    lay_out(soaking, plan(loads=loads, cleanup=[["rm", "-f", str(made)]]))
    ask(soaking, "start")
    until(made.exists)
    assert marked() >= 2
    told = ask(soaking, "stop")
    assert told["state"] == "ended"
    assert told["exit"]["why"] == "stopped"
    assert marked() == 0
    assert not made.exists()
    found = lines(soaking)
    assert [one["event"] for one in events(found, "load", "busy")] == ["begin", "end"]
    assert events(found, "load", "busy")[-1]["why"] == "stopped"
    assert events(found, "load", "cleanup")[0]["status"] == 0


def test_a_load_that_goes_on_and_on_is_not_begun_anew_when_the_soak_ends(soaking: Path) -> None:
    loads = [{"name": "again", "argv": ["sleep", "1000"], "again": True, "limit": 100_000}]
    lay_out(soaking, plan(loads=loads))
    ask(soaking, "start")
    until(lambda: marked() == 1)
    ask(soaking, "stop")
    assert [one["event"] for one in events(lines(soaking), "load", "again")] == ["begin", "end"]


def test_what_a_killed_worker_left_running_is_ended_before_the_next_begins(soaking: Path) -> None:
    lay_out(soaking, plan(loads=[{"name": "busy", "argv": ["sleep", "1000"], "limit": 100_000}]))
    ask(soaking, "start")
    until(lambda: marked() == 1)
    kill(soaking)
    assert marked() == 1
    ask(soaking, "start")
    until(lambda: len(events(lines(soaking), "load", "busy")) == 2)
    assert marked() == 1


def test_loads_keep_their_rhythm_their_limit_and_their_lines(soaking: Path) -> None:
    loads = [
        {"name": "again", "argv": ["sh", "-c", "echo one; echo two"], "again": True, "limit": 600, "output": "lines"},
        {
            "name": "hourly",
            "argv": ["sh", "-c", "echo whole; echo talk >&2; exit 3"],
            "first": 60,
            "every": 60,
            "limit": 600,
        },
        {"name": "hangs", "argv": ["sleep", "1000"], "limit": 60},
        {"name": "absent", "argv": ["no-such-program"], "limit": 60},
        {"name": "slow", "argv": ["sleep", "5"], "every": 60, "limit": 600},
    ]
    lay_out(soaking, plan(seconds=300, loads=loads))
    ask(soaking, "start")
    until(lambda: ask(soaking, "status")["state"] == "ended")
    found = lines(soaking)
    first = [
        one for one in events(found, "load", "again") if one["number"] == events(found, "load", "again")[0]["number"]
    ]
    assert [one.get("line", one["event"]) for one in first] == ["begin", "one", "two", "end"]
    ends = [one for one in events(found, "load", "hourly") if one["event"] == "end"]
    assert 2 <= len(ends) <= 4
    assert (ends[0]["status"], ends[0]["stdout"], ends[0]["stderr"]) == (3, "whole\n", "talk\n")
    assert [(one["event"], one.get("why"), one.get("status")) for one in events(found, "load", "hangs")][1] == (
        "end",
        "limit",
        124,
    )
    assert "No such file" in events(found, "load", "absent")[0]["why"]
    assert any(one["event"] == "missed" for one in events(found, "load", "slow"))


def test_a_secret_that_a_load_prints_never_stands_in_the_journal(soaking: Path, tmp_path: Path) -> None:
    said = "password=hunter2hunter2"
    loads = [{"name": "talks", "argv": ["sh", "-c", f"echo {said}; echo {said} >&2", said], "limit": 60}]
    lay_out(soaking, plan(seconds=60, loads=loads))
    ask(soaking, "start")
    until(lambda: ask(soaking, "status")["state"] == "ended")
    raw = b"".join(path.read_bytes() for path in sorted(soaking.glob("journal-*.jsonl")))
    assert b"hunter2" not in raw
    assert [one["stdout"] for one in events(lines(soaking), "load", "talks")[1:]] == ["password=[masked]\n"]
    assert Masker().mask(raw) == (raw, 0)  # what the evidence keeps is what the worker wrote, to the byte


def test_a_tool_that_hangs_or_is_missing_is_said_in_its_tick_and_stops_nothing(soaking: Path) -> None:
    commands = {"hangs": ["sleep", "1000"], "absent": ["no-such-tool"], "works": ["echo", "told"]}
    streams = {"memory": {"every": 10}, "smart": {"every": 60, "limit": 120, "commands": commands}}
    lay_out(soaking, plan(seconds=300, streams=streams))
    ask(soaking, "start")
    until(lambda: ask(soaking, "status")["state"] == "ended")
    found = [line for line in lines(soaking) if line.stream == "smart"]
    assert any("have not ended" in str(line.values.get("", {}).get("error")) for line in found)
    whole = next(line for line in found if "works" in line.values)
    assert whole.values["works"]["stdout"] == "told\n"
    assert whole.values["hangs"]["status"] == 124
    assert "No such file" in str(whole.values["absent"]["error"])
    assert len(ticks(lines(soaking))["memory"]) >= 25


def test_an_engine_that_does_not_answer_is_said_in_its_tick(soaking: Path) -> None:
    streams = {"metrics": {"every": 15, "limit": 1, "pages": ["http://127.0.0.1:9/metrics"], "names": ["vllm:"]}}
    lay_out(soaking, plan(seconds=60, streams=streams))
    ask(soaking, "start")
    until(lambda: ask(soaking, "status")["state"] == "ended")
    found = [line for line in lines(soaking) if line.stream == "metrics"]
    assert found
    assert all("refused" in str(line.values["http://127.0.0.1:9/metrics"]["error"]) for line in found)


def test_it_costs_less_than_a_hundredth_of_a_core_and_its_memory_stays(soaking: Path) -> None:
    names = ("disk", "net", "rdma", "nvme", "pressure", "memory", "load", "thermal", "throttle", "edac", "aer")
    streams = {name: {"every": 10} for name in names} | {"worker": {"every": 60}}
    lay_out(soaking, plan(streams=streams, seconds=600))
    ask(soaking, "start")
    until(lambda: ask(soaking, "status")["state"] == "ended")
    costs = [line.values["worker"] for line in lines(soaking) if line.stream == "worker"]
    busy = float(costs[-1]["cpu_seconds"]) - float(costs[0]["cpu_seconds"])  # type: ignore[arg-type]
    assert busy / (60 * (len(costs) - 1)) < 0.01  # soak seconds: as if it had been run at its own speed
    assert int(costs[-1]["rss_bytes"]) < int(costs[1]["rss_bytes"]) * 1.1  # type: ignore[arg-type]
    assert costs[-1]["fds"] == costs[1]["fds"]


def occupy(path: Path) -> None:
    """Write until no byte is free."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 400 kB; skips where none can be had."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs a small file system of its own: root, and leave to mount")
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_and_stays_full_leaves_the_end_and_its_reason(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small") as small:
        folder = lay_out(small / "soak-test", plan(seconds=300, bounds={"free_bytes": 0, "segment_bytes": 20_000}))
        ask(folder, "start")
        until(lambda: len(lines(folder)) > 5)
        occupy(small / "ballast")
        until(lambda: ask(folder, "status")["state"] in ("ended", "vanished"))
        told = ask(folder, "status")
        assert (told["state"], told["exit"]["why"], told["exit"]["status"]) == ("ended", "full", 1)
        assert told["exit"]["full"]["boot"] == told["boot"]
        found = lines(folder)
        assert found[-1].kind == "end"
        assert found[-1].values["end"]["why"] == "full"
        assert [one["event"] for one in events(found, "soak", "soak")] == ["full"]
        assert told["exit"]["seq"] == found[-1].seq
        # Begun again by systemd, it leaves what it said as it is.
        subprocess.run([sys.executable, str(folder / "worker.pyz"), "run", str(folder)], check=True)
        assert lines(folder) == found


def test_without_room_it_waits_and_goes_on_and_says_how_long(soaking: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small") as small:
        folder = lay_out(small / "soak-test", plan(bounds={"free_bytes": 0, "segment_bytes": 20_000}))
        try:
            ask(folder, "start")
            until(lambda: len(lines(folder)) > 5)
            ballast = small / "ballast"
            occupy(ballast)
            time.sleep(1.5)
            lines(folder)  # whole, however full
            ballast.unlink()
            until(lambda: any(one["event"] == "room" for one in events(lines(folder), "soak", "soak")), 15)
            ask(folder, "stop")
            found = lines(folder)
            told = [one["event"] for one in events(found, "soak", "soak")]
            assert told[:2] == ["full", "room"]
            assert [line.seq for line in found] == list(range(1, len(found) + 1))
            taken = ticks(found)["memory"]
            assert taken == list(range(taken[0], taken[-1] + 1))  # what was seen meanwhile waited for room
        finally:
            state = json.loads((folder / "state.json").read_text())
            if ask(folder, "status")["state"] == "running":
                os.kill(state["pid"], signal.SIGKILL)
                time.sleep(0.3)


def test_what_nobody_collected_is_never_removed_and_what_was_acknowledged_may_be(soaking: Path) -> None:
    lay_out(soaking, plan(bounds={"segment_bytes": 4000, "journal_bytes": 24_000}))
    ask(soaking, "start")

    def full() -> bool:
        return (
            ask(soaking, "status")["state"] == "running"
            and sum(size for _, size in ask(soaking, "status")["segments"]) > 19_000
        )

    until(full)
    time.sleep(1.0)
    assert lines(soaking)[0].kind == "begin"  # the first is still there
    ask(soaking, "acknowledge", "3")
    until(lambda: not (soaking / "journal-000001.jsonl").exists(), 15)
    assert (soaking / "journal-000004.jsonl").exists()
