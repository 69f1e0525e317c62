"""A further round that was wanted and is not there: those before it must not pass for all of them, and do not hide what they found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.files.integrity import Checked, Place, by_blocks, by_sums
from checks.files.saving import Saved, checkpoint
from checks.verdict import Outcome
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.collect import replay
from kvgate.gate.moment import Moment
from kvgate.gate.trials import Trials
from kvgate.gate.tried import BEGUN, Tried
from kvgate.transport.local import LocalTransport
from tests.gates.harness import judge
from tests.gates.test_trials import counting, load, make, trial

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as found:
        yield found


@pytest.mark.parametrize("ending", ["fails", "is cut short"])
def test_a_further_round_that_was_wanted_and_is_not_there_leaves_the_others_undecided(
    evidence: Evidence, tmp_path: Path, ending: str
) -> None:
    """Three rounds that do not show yet that they stay must not pass because the fourth could not be told."""
    step = load("sh", "-c", f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >{tmp_path}/n; "
                f"test $n != 4 -o -e {tmp_path}/mended && echo $n")  # fmt: skip
    wanted = trial(step, rounds=3, at_most=6, enough=lambda found: len(found) >= 5, again=True)
    if ending == "fails":
        tried = make(evidence, wanted)
    else:

        def tell(moment: Moment) -> None:
            if moment.number == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            make(evidence, wanted, tell=tell)
        evidence.note(BEGUN, trial=wanted.key, id=wanted.id, number=4, mark="kvgate:test-1")
        tried = Tried(replay(evidence))
    with pytest.raises(CannotTell, match="3 rounds do not show enough, and the next one is not there"):
        tried.measured(wanted)
    with pytest.raises(CannotTell, match="3 rounds do not show enough"):
        Tried(replay(evidence)).measured(wanted)
    (tmp_path / "mended").touch()
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run().measured(wanted)
    assert len(again.facts) == 5


def test_rounds_that_are_enough_or_all_that_may_be_made_are_told_whatever_came_after(
    evidence: Evidence, tmp_path: Path
) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=2, at_most=5, enough=lambda _: False)
    assert make(evidence, wanted).measured(wanted).facts == (1, 2, 3, 4, 5)
    evidence.note(BEGUN, trial=wanted.key, id=wanted.id, number=6, mark="kvgate:test-1")
    assert Tried(replay(evidence)).measured(wanted).facts == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(("decisive", "told"), [(True, (1,)), (False, None)])
def test_a_round_that_decides_by_itself_is_told_though_the_next_one_could_not_be(
    evidence: Evidence, tmp_path: Path, decisive: bool, told: tuple[int, ...] | None
) -> None:
    """Data that came back wrong in the first round; the link to the host was lost in the second."""
    step = load("sh", "-c", f"test ! -e {tmp_path}/n && touch {tmp_path}/n && echo 1")
    wanted = trial(step, rounds=3, decisive=(lambda found: found == 1) if decisive else None)
    tried = make(evidence, wanted)
    if told is None:
        with pytest.raises(CannotTell):
            tried.measured(wanted)
        return
    measured = tried.measured(wanted)
    assert measured.facts == told
    assert len(measured.failed) == 1
    assert Tried(replay(evidence)).measured(wanted) == measured


def test_data_that_came_back_wrong_is_told_though_nothing_else_could_be_measured() -> None:
    """A checkpoint whose shard is damaged, on a disk whose fio is killed each time: how fast it was nobody knows."""
    found = judge(("checkpoint-corrupt", "fio-killed"), gate="G2", only=r"G2\.5\.1")
    assert found.clauses(Outcome.STOP) == {"G2.5.1"}, found.why("G2.5.1")
    assert judge(("fio-killed",), gate="G2", only=r"G2\.5\.1").clauses(Outcome.UNDECIDED) == {"G2.5.1"}


def test_every_load_that_reads_back_what_it_wrote_is_decided_by_one_bad_round() -> None:
    place = Place("node-01", "/mnt/fx100", "xfs")
    good, bad = (Checked("node-01", "node-01", 1, 1, wrong, 1) for wrong in ("", "a failed verify"))
    for one in (by_blocks(place, place, 2**30, 3), by_sums(place, place, 2, 100, 2)):
        assert one.decisive is not None
        assert (one.decisive(good), one.decisive(bad)) == (False, True)
    saving = checkpoint(place, 2, 2**20, 3).decisive
    assert saving is not None
    assert [saving(Saved(1, 1.0, wrong)) for wrong in ("", "a failed verify")] == [False, True]
