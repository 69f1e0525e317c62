"""A disk may be named for destruction only if the inventory calls it scratch; everything else is refused before any host is met."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.block import guard
from checks.block.patterns import Pattern, Way
from checks.block.raw import steady_writes
from checks.block.trials import on_file
from checks.trial import Step
from checks.verdict import Outcome
from kvgate.errors import CannotTell, NotAllowed
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.options import Options
from kvgate.gate.permission import NOT_PERMITTED, permitted
from kvgate.gate.permission import written as written_raw
from kvgate.gate.start import prepare
from kvgate.gate.tried import Tried
from tests.gates.harness import judge
from tests.inventory.test_reader import written


def options(tmp_path: Path, text: str, *serials: str) -> Options:
    file = tmp_path / "rack.yaml"
    file.write_text(text)
    return Options("G1", file, "sqlite://", tmp_path / "evidence", allow_destructive=serials)


SCRATCH = written(nodes=2).replace('"PHLN00000001", ', '"PHLN00000001", scratch: true, ')


def test_a_scratch_disk_may_be_named(tmp_path: Path) -> None:
    assert prepare(options(tmp_path, SCRATCH, "PHLN00000001")).owed


def test_every_serial_that_may_not_be_written_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed) as refused:
        prepare(options(tmp_path, SCRATCH, "PHLN00000001", "PHLN00000002", "phln00000001", ""))
    said = str(refused.value)
    assert "'PHLN00000002' (node-02), which" in said
    assert "'phln00000001', which no disk" in said
    assert "'', which no disk" in said
    assert "'PHLN00000001'" not in said
    assert said.endswith("wanted a disk that may be written raw: PHLN00000001 (node-01)")


def test_a_rack_without_scratch_disks_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="this inventory has none"):
        prepare(options(tmp_path, written(), "PHLN00000001"))


RAW = steady_writes(
    "node-01", "PHLN00000001", 3840755982336, Pattern(Way.RANDWRITE, 4096, 32, 60), 5, 25, lambda _: True
)
FILE = on_file("node-01", "/mnt/nvme0", "xfs", Pattern(Way.READ, 4096, 1, 1), 2**20)


def test_only_a_named_disk_is_written_raw() -> None:
    assert written_raw(RAW) == {"PHLN00000001"}
    assert permitted([RAW, FILE], ["PHLN00000001"]) == ([RAW, FILE], [])
    for named in ([], ["PHLN00000002"], ["PHLN0000000"]):
        assert permitted([RAW, FILE], named) == ([FILE], [RAW])


def test_a_destructive_load_that_names_no_serial_is_never_permitted() -> None:
    probe = guard.look("PHLN00000001", "/dev/nvme0n1")
    trial = replace(RAW, stages=((Step("load", "node-01", probe),),), prepare=())
    assert permitted([trial], ["PHLN00000001"]) == ([], [trial])


def test_what_was_not_permitted_says_how_to_permit_it(tmp_path: Path) -> None:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        evidence.note(NOT_PERMITTED, trial=RAW.key, serials=["PHLN00000001"])
        with pytest.raises(CannotTell, match="--allow-destructive PHLN00000001"):
            Tried(Answers(evidence)).measured(RAW)
        with pytest.raises(CannotTell, match="0 of 3 rounds"):
            Tried(Answers(evidence)).measured(FILE)


def test_a_disk_in_use_is_refused_by_its_guard_on_the_rack_and_nothing_is_written() -> None:
    result = judge(gate="G2", only=r"G2\.1\.13", inventory=SCRATCH)
    assert [verdict.outcome for verdict in result.verdicts.values()] == [Outcome.UNDECIDED]
    assert "condition: claim" in result.why("G2.1.13")[0]


@pytest.mark.parametrize(
    ("faults", "outcome"), [((), Outcome.PASS), (("local-random-writes-slow",), Outcome.STOP)], ids=["healthy", "slow"]
)
def test_a_raw_disk_that_is_steady_below_its_data_sheet_is_stopped(faults: tuple[str, ...], outcome: Outcome) -> None:
    result = judge(faults, gate="G2", only=r"G2\.1\.13", inventory=SCRATCH, unused=["nvme0n1"])
    (found,) = result.verdicts.values()
    assert found.outcome is outcome, found
    assert "operations/s (90% of" in str(found.required)
    assert "the data sheet" in str(found.required)


def test_a_raw_disk_whose_data_sheet_nobody_declared_is_undecided_with_the_key() -> None:
    silent = SCRATCH.replace(", random_write: 180000 IOPS", "")
    result = judge(gate="G2", only=r"G2\.1\.13", inventory=silent, unused=["nvme0n1"])
    (found,) = result.verdicts.values()
    assert found.outcome is Outcome.UNDECIDED
    assert "declare 'random_write' in the 'sheet' of disk PHLN00000001" in str(found.note)
    assert "operations/s" in str(found.measured)  # it was measured all the same
