"""Load tells how far it is: one line that changes on a terminal and fits it, whole lines elsewhere, in both languages."""

from __future__ import annotations

import io
from typing import Any

import pytest

from checks.block.live import rates
from checks.files.loading import Loaded
from checks.parsers.diskstats import Moved
from checks.parsers.mountstats import NfsMount, Operation
from checks.phrase import say
from checks.verdict import Verdict
from kvgate.errors import CannotTell, IoFailed
from kvgate.gate.moment import Moment
from kvgate.gate.tried import Ended
from kvgate.reports.loading import Load

TITLE = say("{pattern} on {host}:{path}", pattern="read-1m-q32", host="node-01", path="/mnt/fx100")
LIVE = say("{name} reads {read}/s, writes {written}/s", name="nvme1n1", read="11.9 GB", written="0 B")
MEANWHILE = Moment(TITLE, 2, 3, 600.0, 1800.0, LIVE, step="lay out", elapsed=75.0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_LANG", "en")


def shown(stream: io.StringIO, *moments: Moment) -> str:
    load = Load(stream)
    for moment in moments:
        load(moment)
    return stream.getvalue()


def test_a_wide_terminal_shows_share_step_live_number_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert shown(Terminal(), MEANWHILE) == (
        "\r\x1b[K   25%  round 2 of 3  read-1m-q32 on node-01:/mnt/fx100  laying out files 1:15  "
        "nvme1n1 reads 11.9 GB/s, writes 0 B/s  about 30 min of load left"
    )


def test_a_narrow_terminal_keeps_the_live_number_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    line = shown(Terminal(), MEANWHILE).removeprefix("\r\x1b[K")
    assert "nvme1n1 reads 11.9 GB/s, writes 0 B/s" in line
    assert "laying out" not in line
    assert len(line) < 100


def test_what_a_round_came_to_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    good = Moment(TITLE, 2, 3, 600.0, 1800.0, ended=Ended(2, Loaded(4, 10**10, 5.0, 10**10)))
    bad = Moment(TITLE, 3, 3, 600.0, 1800.0, ended=Ended(3, failed=CannotTell(say("node-01 is gone"))))
    said = shown(Terminal(), MEANWHILE, good, bad).removesuffix("\n").split("\n")
    assert said[-2].endswith("round 2 of 3  read-1m-q32 on node-01:/mnt/fx100  2 GB/s, 5.0 s")
    assert said[-1].endswith("could not be told: node-01 is gone")


def test_a_round_by_which_the_gate_is_lost_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    failed = Ended(2, failed=IoFailed(say("node-01: fio: Input/output error")))
    lost = Moment(TITLE, 2, 3, 600.0, 1800.0, ended=failed, decides=True)
    watched = Moment(TITLE, 2, 3, 600.0, 1800.0, ended=failed)
    assert "decides: STOP: node-01: fio" in shown(Terminal(), lost)
    assert "nor a new attempt takes that back" in shown(io.StringIO(), lost)
    assert "could not be told: node-01" in shown(io.StringIO(), watched)


def test_elsewhere_a_line_begins_each_load_and_one_ends_each_round() -> None:
    begins = Moment(TITLE, 1, 3, 0.0, 1800.0)
    ends = Moment(TITLE, 1, 3, 60.0, 1740.0, ended=Ended(1, object()))
    again = Moment(TITLE, 2, 3, 60.0, 1740.0)
    said = shown(io.StringIO(), begins, MEANWHILE, ends, again, ends).splitlines()
    assert [line.split()[0] for line in said] == ["0%", "round", "round"]
    assert said[1].endswith("measured")


def test_time_left_of_a_simulated_rack_is_called_the_rack_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    Load(stream, simulated=True)(MEANWHILE)
    assert "about 30 min of the rack's own time left (simulated: far fewer here)" in stream.getvalue()
    assert "of load left" not in stream.getvalue()


def test_a_round_beyond_the_planned_ones_is_called_extra_with_why() -> None:
    extra = Moment(TITLE, 4, 3, 600.0, 0.0, ended=Ended(4, object()))
    said = shown(io.StringIO(), extra)
    assert "round 4 (extra: of the 3 planned some are void or differ too much)" in said
    assert "of 3 " not in said.replace("of the 3 ", "")


def test_the_same_proof_of_the_judgement_is_told_once() -> None:
    proof = Verdict.of(True, "10 %: STOP; 40 %: PASS", "both")
    moments = (Moment(say(name), 0, 3, 0.0, 1.0, proof=proof) for name in ("tp8", "tp4x2"))
    said = shown(io.StringIO(), *moments).splitlines()
    assert len(said) == 1
    assert said[0].endswith(
        "the judgement can fail, computed from made-up rounds of fixed input: 10 %: STOP; 40 %: PASS"
    )


def test_it_speaks_chinese_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVGATE_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "160")
    said = shown(Terminal(), MEANWHILE)
    assert "准备文件 1:15" in said
    assert "laying" not in said
    assert "left" not in said


def disk(name: str, read: int, written: int) -> Moved:
    return Moved(name, 1, read, 1, written, 1)


def served(sent: int, received: int) -> NfsMount:
    operations = tuple(Operation(name, 1, 1, 0, sent, received, 1, 1, 1) for name in ("READ", "WRITE"))
    return NfsMount("server:/export", "/mnt/nfs", "nfs4", (), 1, "rdma", operations)


@pytest.mark.parametrize(
    ("live", "before", "after", "wanted"),
    [
        (rates("a"), (disk("x", 5, 5), disk("y", 0, 0)), (disk("x", 6, 5), disk("y", 0, 4 * 10**9)), "y reads 0 B/s, writes 2 GB/s"),
        (rates("a"), (disk("x", 0, 0),), (disk("x", 10**9, 0), disk("new", 10**12, 0)), "x reads 500 MB/s, writes 0 B/s"),
        (rates("a"), (), (), "- reads 0 B/s, writes 0 B/s"),
        (rates("a", "/mnt/nfs", "nfs4"), (served(0, 0),), (served(10**9, 4 * 10**9),), "/mnt/nfs reads 2 GB/s, writes 500 MB/s"),
    ],
)  # fmt: skip
def test_the_live_number_is_what_the_busiest_device_or_the_server_moves(
    live: Any, before: Any, after: Any, wanted: str
) -> None:
    assert str(live.tell(before, after, 2.0)) == wanted
