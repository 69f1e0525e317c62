"""The live view: what counts by the gate's rules, samples, rates and both arms of latency, in any width and both languages."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from kvgate.errors import Unreachable
from kvgate.reports.watching import View
from kvgate.soak.glance import Glance
from kvgate.soak.reckoning import Reckoned, Reckoning
from kvgate.soak.store import Store
from kvgate.soak.told import Told, elapsed
from lab.soak.journal import segments
from lab.soak.plan import plan
from lab.soak.trouble import Away
from tests.gates.soaking import read

HOST = "node-01"
ORDER = plan(HOST, "node", 4, 960, 60)
TEXTS = segments(ORDER, 3, (Away("worker", 3600, 600),), until=3 * 3600, step=60, lines=1500)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    found = Store.create(tmp_path, str(ORDER["soak"]), {"begun": "2026-11-29"})
    (found.path / HOST).mkdir()
    return found


def lay(store: Store, *texts: str) -> None:
    for number, text in enumerate(texts, start=1):
        (store.path / HOST / f"journal-{number:06d}.jsonl").write_text(text)


def glance(*texts: str) -> Glance:
    found = Glance(HOST)
    found.take("".join(texts).encode().splitlines(keepends=True))
    return found


def told(state: str = "running", **more: object) -> Told:
    boot = {"boot": "b", "mono": 0.0, "utc": "2026-11-29T20:40:00.000000Z"}
    found = {
        "state": state,
        "origin": boot,
        "boot": "b",
        "mono": 11.25,
        "scale": 960,
        "seconds": 14400,
        "segments": [],
        **more,
    }
    return Told(HOST, {**found, "started": {"pid": 7, "unit": "system"}})


def drawn(store: Store, one: Told, width: int, *texts: str) -> str:
    out = io.StringIO()
    view = View(store, [one], {HOST: glance(*texts)}, {HOST: Reckoning(store, HOST).look()}, 4 * 3600.0, 960)
    Console(file=out, width=width, no_color=True).print(view)
    return out.getvalue()


def test_what_counts_is_what_the_gate_would_count_and_not_the_time_that_passed(store: Store) -> None:
    lay(store, *TEXTS)
    account = Reckoning(store, HOST).look().account
    assert account == read(TEXTS).account
    assert account is not None
    assert account.qualified < 130 < 180, "ten minutes without a worker cost the hour before them"


def test_it_reads_on_from_the_segment_it_stopped_at_and_a_line_without_its_end_waits(store: Store) -> None:
    assert len(TEXTS) > 2
    reckoning = Reckoning(store, HOST)
    assert reckoning.look(now=True) == Reckoned()
    for count in range(1, len(TEXTS) + 1):
        lay(store, *TEXTS[: count - 1], TEXTS[count - 1][:-40])
        reckoning.look(now=True)
        lay(store, *TEXTS[:count])
        assert reckoning.look(now=True).account == read(TEXTS[:count]).account


def test_it_reckons_anew_only_after_a_while_unless_it_shall(store: Store) -> None:
    reckoning = Reckoning(store, HOST)
    lay(store, TEXTS[0])
    first = reckoning.look()
    lay(store, *TEXTS)
    assert reckoning.look() is first
    assert reckoning.look(now=True) != first


def test_a_journal_that_cannot_be_read_says_why(store: Store) -> None:
    lay(store, TEXTS[0].replace('"seq":7,', '"seq":8,'))
    assert "lines are missing" in Reckoning(store, HOST).look().why
    assert "lines are missing" in drawn(store, told(), 200)


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize(
    ("lang", "heads"),
    [
        ("en", ("counts, of 4 h", "samples", "a minute", "sampled worst", "reads", "I/O on the array", "I/O locally", "TTFT p50")),
        ("zh", ("有效时长/4 小时", "样本数", "每分钟", "采样最差", "阵列 I/O 时延", "本地 I/O 时延", "告警", "运行")),
    ],
)  # fmt: skip
def test_everything_is_there_in_any_width(
    store: Store, monkeypatch: pytest.MonkeyPatch, width: int, lang: str, heads: tuple[str, ...]
) -> None:
    monkeypatch.setenv("KVGATE_LANG", lang)
    lay(store, *TEXTS)
    text = drawn(store, told(), width, *TEXTS)
    assert [head for head in heads if head not in text] == []
    assert max(cell_len(line) for line in text.splitlines()) <= width
    account = read(TEXTS).account
    assert f"{account.qualified / 60:.2f}" in text
    assert "ms" in text


def test_each_arm_has_its_own_latency() -> None:
    found = Glance(HOST)

    def sample(stream: str, tick: int, values: dict[str, dict[str, object]]) -> bytes:
        line = {
            "kind": "sample",
            "stream": stream,
            "tick": tick,
            "utc": "u",
            "mono": 10.0 * tick,
            "boot": "b",
            "values": values,
        }
        return json.dumps(line).encode()

    def disk(reads: int, ms: int) -> dict[str, object]:
        return {
            "reads": reads,
            "writes": 0,
            "read_ms": ms,
            "write_ms": 0,
            "read_sectors": reads * 8,
            "write_sectors": 0,
        }

    local, loop = {"transport": "pcie", "state": "live"}, {"transport": "rdma", "state": "live"}
    # The array's namespace is named after the subsystem; its controller has another number, which is that of a local disk's subsystem.
    found.take([sample("nvme", 0, {"nvme0": local, "nvme5": loop, "nvme1c5n1": {"ana_state": "optimized"}})])
    found.take([sample("disk", 0, {"nvme0n1": disk(0, 0), "nvme1n1": disk(0, 0), "loop0": disk(0, 0)})])
    found.take([sample("disk", 1, {"nvme0n1": disk(100, 10), "nvme1n1": disk(50, 100), "loop0": disk(999, 99900)})])
    assert found.waits == {"array": 2.0, "local": 0.1}
    found.take([sample("memory", 12, {})])
    assert found.pace == pytest.approx(3 / 2)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (Told(HOST, error=Unreachable("node-01 does not answer")), "node-01 does not answer"),
        (told("vanished"), "it was killed"),
        (told("ended", exit={"why": "full", "status": 1, "utc": "2026-11-30T01:02:03.0Z"}), "ended 2026-11-30T01:02:03: no room for"),
        (told(full=True, free=4096), "its journal has no room: 4.096 kB free"),
    ],
)  # fmt: skip
def test_what_somebody_should_look_at_stands_below(store: Store, one: Told, said: str) -> None:
    lay(store, TEXTS[0])
    assert said in " ".join(drawn(store, one, 200, TEXTS[0]).split())


def test_a_host_whose_clock_was_read_a_moment_before_the_begin_has_passed_nothing_yet() -> None:
    told = {"origin": {"boot": "b", "mono": 10.0004}, "boot": "b", "mono": 10.0, "scale": 20_000}
    assert elapsed(told) == 0
    assert elapsed({**told, "mono": 11.0004}) == 20_000
