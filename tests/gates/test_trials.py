"""Load in rounds: what counts, what is made again, and that nothing is left running however a round ends."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from checks.load import running
from checks.phrase import Phrase, say
from checks.probe import Device, Level, Probe, UnreadableOutput
from checks.trial import Live, Step, Trial, Voided, turn
from kvgate.errors import CannotTell, CommandFailed
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.collect import replay
from kvgate.gate.moment import Moment
from kvgate.gate.trials import Trials
from kvgate.gate.tried import AROUND, Tried
from kvgate.transport.base import Batch, Command
from kvgate.transport.local import LocalTransport

HOST = "here"


def number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UnreadableOutput(f"found {text!r}, wanted a number") from None


def load(*argv: str, name: str = "load", limit: float = 10.0, **more: Any) -> Step:
    return Step(name, HOST, Probe(name, argv, number, limit, level=Level.LOAD), **more)


def trial(*steps: Step, read: Callable[[Mapping[str, Any]], Any] | None = None, **more: Any) -> Trial[Any]:
    stages = tuple((step,) for step in steps)
    return Trial("test.load", say("a load"), stages, read or (lambda facts: facts["load"]), **more)


pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as found:
        yield found


def make(evidence: Evidence, *trials: Trial[Any], tell: Callable[[Moment], None] | None = None) -> Tried:
    transport = LocalTransport()
    return Trials(trials, transport, Answers(evidence), "kvgate:test-1", watch=LocalTransport(), tell=tell).run()


def living(mark: str) -> int:
    text = subprocess.run(["sh", "-c", running(mark).command()], capture_output=True, text=True, check=True).stdout
    return running(mark).parse(text).ours


def counting(path: Path) -> Step:
    return load("sh", "-c", f"n=$(cat {path} 2>/dev/null || echo 0); n=$((n + 1)); echo $n >{path}; echo $n")


def test_every_round_gives_a_fact_in_order(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=3)
    assert make(evidence, wanted).measured(wanted).facts == (1, 2, 3)


def test_what_stands_around_a_round_is_asked_in_one_go(evidence: Evidence) -> None:
    """Before, load, after, and that nothing is left: each turn costs a connection its time."""
    make(evidence, trial(load("echo", "1"), rounds=1))
    assert len(evidence.batches()) == 4


def test_a_trial_wanted_twice_is_made_once(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=2)
    assert make(evidence, wanted, wanted).measured(wanted).facts == (1, 2)


def test_stored_rounds_are_read_to_the_same_facts_with_no_host(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=3)
    make(evidence, wanted)
    assert Tried(replay(evidence)).measured(wanted).facts == (1, 2, 3)
    assert len(Tried(replay(evidence)).numbers(wanted)) == 3 * (1 + len(AROUND))


def test_rounds_of_another_procedure_are_not_taken(evidence: Evidence) -> None:
    make(evidence, trial(load("echo", "1"), rounds=1))
    with pytest.raises(CannotTell, match="0 of 1 rounds"):
        Tried(replay(evidence)).measured(trial(load("echo", "2"), rounds=1))


def test_a_failed_step_ends_the_trial_and_what_must_always_run_still_runs(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(
        load("sh", "-c", "echo no space left >&2; exit 3"),
        load("touch", str(tmp_path / "later"), name="later"),
        load("touch", str(tmp_path / "cleaned"), name="clean", always=True),
    )
    tried = make(evidence, wanted)
    with pytest.raises(CommandFailed, match="no space left"):
        tried.measured(wanted)
    assert not (tmp_path / "later").exists()
    assert (tmp_path / "cleaned").exists()
    assert len(tried.rounds(wanted)) == 1


def test_a_later_sitting_makes_the_failed_round_again_and_keeps_the_good_ones(
    evidence: Evidence, tmp_path: Path
) -> None:
    step = load("sh", "-c", f"test -e {tmp_path}/mended && echo 7")
    wanted = trial(step, rounds=2)
    make(evidence, wanted)
    (tmp_path / "mended").touch()
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run().measured(wanted)
    assert again.facts == (7, 7)
    assert len(again.failed) == 1


def test_a_precondition_that_does_not_hold_lets_no_load_begin(evidence: Evidence, tmp_path: Path) -> None:
    def mounted(found: int) -> Phrase | None:
        return None if found == 1 else say("the store is not mounted")

    check = Step("mounted", HOST, Probe("mounted", ("echo", "0"), number), must=mounted)
    wanted = trial(check, load("sh", "-c", f"touch {tmp_path}/loaded; echo 1"))
    with pytest.raises(CannotTell, match="not mounted"):
        make(evidence, wanted).measured(wanted)
    assert not (tmp_path / "loaded").exists()


def void_at(*numbers: int) -> Callable[[Mapping[str, Any]], int]:
    def read(facts: Mapping[str, Any]) -> int:
        found: int = facts["load"]
        if found in numbers:
            raise Voided(say("the disk was hot"))
        return found

    return read


def test_a_void_round_is_made_again_and_told(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=3, read=void_at(2))
    measured = make(evidence, wanted).measured(wanted)
    assert measured.facts == (1, 3, 4, 5)  # and good ones beside it, until it is one of five
    assert [str(why) for why in measured.voided] == ["the disk was hot"]


@pytest.mark.parametrize(
    ("wanted", "one_in", "void", "good"), [(3, 5, (2,), 4), (3, 4, (2,), 3), (2, 5, (1,), 4), (8, 5, (9,), 8), (5, 5, (6,), 5)]
)  # fmt: skip
def test_rounds_go_on_until_few_enough_of_them_are_void_and_all_good_ones_count(
    evidence: Evidence, tmp_path: Path, wanted: int, one_in: int, void: tuple[int, ...], good: int
) -> None:
    made = trial(counting(tmp_path / "n"), rounds=wanted, read=void_at(*void), one_void_in=one_in)
    assert len(make(evidence, made).measured(made).facts) == good


def test_a_second_void_round_within_the_limit_is_made_up_for_too(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=5, at_most=10, read=void_at(2, 6))
    measured = make(evidence, wanted).measured(wanted)
    assert measured.facts == (1, 3, 4, 5, 7, 8, 9, 10)
    assert len(measured.voided) == 2


def test_void_rounds_that_cannot_be_made_up_for_decide_nothing_and_are_all_told(
    evidence: Evidence, tmp_path: Path
) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=5, at_most=7, read=void_at(2, 4))
    with pytest.raises(CannotTell, match=r"2 of 7 rounds are void .*at most 1 in 5") as told:
        make(evidence, wanted).measured(wanted)
    assert str(told.value).count("the disk was hot") == 2


def test_a_trial_of_a_single_round_makes_it_again_when_it_is_void(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=1, read=void_at(1))
    assert make(evidence, wanted).measured(wanted).facts == (2,)


def test_rounds_that_are_made_beyond_the_wanted_ones_do_not_loosen_the_rule_on_void_ones(
    evidence: Evidence, tmp_path: Path
) -> None:
    wanted = trial(
        counting(tmp_path / "n"), rounds=3, at_most=6, enough=lambda _: False, again=True, read=void_at(1, 3)
    )
    with pytest.raises(CannotTell, match="2 rounds are void"):
        make(evidence, wanted).measured(wanted)


def test_rounds_go_on_beyond_the_wanted_ones_until_they_are_enough(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(
        counting(tmp_path / "n"), rounds=2, at_most=6, enough=lambda found: len(found) >= 4, again=True, read=void_at(1)
    )
    assert len(make(evidence, wanted).measured(wanted).facts) == 4


def test_more_void_rounds_than_one_in_five_decide_nothing(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(counting(tmp_path / "n"), rounds=3, read=void_at(1, 3))
    with pytest.raises(CannotTell, match="2 of 5 rounds are void"):
        make(evidence, wanted).measured(wanted)


@pytest.mark.parametrize(("steady_at", "made"), [(3, 3), (5, 5), (99, 6)])
def test_rounds_go_on_until_enough_or_the_limit(evidence: Evidence, tmp_path: Path, steady_at: int, made: int) -> None:
    def steady(facts: Sequence[int]) -> bool:
        return facts[-1] >= steady_at

    wanted = trial(counting(tmp_path / "n"), rounds=2, at_most=6, enough=steady)
    assert len(make(evidence, wanted).measured(wanted).facts) == made


def test_a_process_that_a_step_left_behind_is_ended(evidence: Evidence) -> None:
    wanted = trial(load("sh", "-c", "sleep 1000 >/dev/null 2>&1 & trap '' TERM; echo 1"), rounds=1)
    assert make(evidence, wanted).measured(wanted).facts == (1,)
    assert living("kvgate:test-1") == 0


def test_somebody_elses_load_is_not_measured_and_not_ended(evidence: Evidence) -> None:
    other = subprocess.Popen(["sleep", "60"], env={"KVGATE_LOAD": "kvgate:theirs"})
    try:
        wanted = trial(load("echo", "1"), rounds=1)
        with pytest.raises(CannotTell, match="kvgate:theirs"):
            make(evidence, wanted).measured(wanted)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_what_a_killed_laptop_left_running_is_ended_first(evidence: Evidence) -> None:
    left = subprocess.Popen(["sleep", "60"], env={"KVGATE_LOAD": "kvgate:test-1"})
    wanted = trial(load("echo", "1"), rounds=1)
    assert make(evidence, wanted).measured(wanted).facts == (1,)
    assert left.wait(5) != 0


class Interrupting(LocalTransport):
    """The operator presses Ctrl-C while the load runs."""

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        if any(
            "load" in command.key.rsplit("/", 1)[-1]
            for batch in commands.values()
            for command in batch
            if "#" not in command.key
        ) and any("sleep 1000" in command.line for batch in commands.values() for command in batch):
            subprocess.Popen(["sleep", "1000"], env={"KVGATE_LOAD": "kvgate:test-1"})
            raise KeyboardInterrupt
        yield from super().each(commands)


def test_ctrl_c_ends_the_load_cleans_up_and_leaves_the_round_uncounted(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(
        load("sh", "-c", "sleep 1000; echo 1"), load("touch", str(tmp_path / "cleaned"), name="clean", always=True)
    )
    trials = Trials([wanted], Interrupting(), Answers(evidence), "kvgate:test-1", watch=LocalTransport())
    with pytest.raises(KeyboardInterrupt):
        trials.run()
    assert living("kvgate:test-1") == 0
    assert (tmp_path / "cleaned").exists()
    assert Tried(replay(evidence)).rounds(wanted) == []


def test_a_disk_that_is_not_there_fails_its_step_with_its_serial(evidence: Evidence) -> None:
    step = Step("load", HOST, Probe("fio", ("echo", Device("namespace", "S-NONE")), number, level=Level.LOAD))
    with pytest.raises(CannotTell):
        make(evidence, trial(step)).measured(trial(step))


def test_progress_tells_every_round_and_the_live_number(evidence: Evidence, tmp_path: Path) -> None:
    told: list[Moment] = []
    wanted = trial(counting(tmp_path / "n"), rounds=2, seconds=90.0)
    make(evidence, wanted, tell=told.append)
    assert [(m.number, m.left, m.ended is not None) for m in told if not m.elapsed] == [
        (1, 180.0, False),
        (1, 90.0, True),
        (2, 90.0, False),
        (2, 0.0, True),
    ]


def test_what_runs_now_and_what_is_left_of_it_is_told_meanwhile(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvgate.gate.trials._LOOK", 0.1)
    told: list[Moment] = []
    looks = Live(HOST, Probe("uptime", ("cut", "-d.", "-f1", "/proc/uptime"), number), lambda *_: say("it moves"))
    wanted = trial(
        load("sh", "-c", "sleep 1; echo 1", name="fill"), read=len, rounds=1, seconds=90.0, setup=10.0,
        live=looks,
    )  # fmt: skip
    without = trial(load("sh", "-c", "sleep 1; echo 2", name="verify"), read=len, rounds=1, seconds=50.0)
    make(evidence, wanted, without, tell=told.append)
    assert (told[0].left, told[0].done, told[0].elapsed) == (150.0, 0.0, 0.0)
    meanwhile = [moment for moment in told if moment.elapsed and moment.step]
    assert {moment.step for moment in meanwhile} == {"fill", "verify"}
    assert all(0 < moment.elapsed < 60 and moment.done + moment.left <= 150 for moment in meanwhile)
    assert {str(moment.live) for moment in meanwhile if moment.step == "fill"} >= {"it moves"}
    assert {moment.live for moment in meanwhile if moment.step == "verify"} == {None}
    assert (told[-1].left, told[-1].done) == (0.0, 150.0)


def test_no_step_name_stands_twice() -> None:
    with pytest.raises(ValueError, match="no name twice"):
        trial(load("echo"), load("echo"))


def test_load_that_outlives_its_limit_is_told_as_such(evidence: Evidence) -> None:
    began = time.monotonic()
    wanted = trial(load("sleep", "1000", limit=1.0), rounds=1)
    with pytest.raises(CannotTell, match="did not end within 1 s"):
        make(evidence, wanted).measured(wanted)
    assert time.monotonic() - began < 60
    assert living("kvgate:test-1") == 0


def test_what_is_laid_out_once_is_laid_out_before_the_first_round_and_removed_after_the_last(
    evidence: Evidence, tmp_path: Path
) -> None:
    lay = load("sh", "-c", f"echo laid >>{tmp_path}/file; wc -l <{tmp_path}/file", name="lay")
    wanted = trial(
        load("sh", "-c", f"wc -l <{tmp_path}/file"),
        rounds=3, prepare=((lay,),), clean=(load("sh", "-c", f"rm {tmp_path}/file; echo 0", name="remove"),),
    )  # fmt: skip
    assert make(evidence, wanted).measured(wanted).facts == (1, 1, 1)
    assert not (tmp_path / "file").exists()


def test_a_preparation_that_fails_is_the_reason_and_is_cleaned_up_too(evidence: Evidence, tmp_path: Path) -> None:
    wanted = trial(
        load("echo", "1"),
        prepare=((load("sh", "-c", "echo disk full >&2; exit 28", name="lay"),),),
        clean=(load("sh", "-c", f"touch {tmp_path}/removed; echo 0", name="remove"),),
    )
    with pytest.raises(CommandFailed, match="disk full"):
        make(evidence, wanted).measured(wanted)
    assert (tmp_path / "removed").exists()


def test_what_could_not_be_cleaned_up_is_told(evidence: Evidence) -> None:
    remove = load("sh", "-c", "echo busy >&2; exit 1", name="remove")
    trials = Trials(
        [trial(load("echo", "1"), rounds=1, clean=(remove,))], LocalTransport(), Answers(evidence), "kvgate:test-1"
    )
    trials.run()
    assert ["busy" in str(what) for what in trials.left] == [True]


def test_trials_of_a_group_take_turns_in_a_shuffled_order_that_is_always_the_same(
    evidence: Evidence, tmp_path: Path
) -> None:
    def named(name: str) -> Trial[Any]:
        step = load("sh", "-c", f"echo {name} >>{tmp_path}/order; echo 1")
        return Trial(name, say("a load"), ((step,),), lambda facts: facts["load"], rounds=4, group="pair", seed=7)

    trials = [named(name) for name in ("c8", "c16", "c32")]
    make(evidence, *trials)
    order = (tmp_path / "order").read_text().split()
    rounds = [order[start : start + 3] for start in range(0, 12, 3)]
    assert all(sorted(one) == ["c16", "c32", "c8"] for one in rounds)
    assert rounds == [[trial.id for trial in turn(trials, number)] for number in (1, 2, 3, 4)]
    assert len({tuple(one) for one in rounds}) > 1


def test_rounds_may_differ_by_their_number_but_not_in_their_steps(evidence: Evidence) -> None:
    def stages(number: int) -> tuple[tuple[Step, ...], ...]:
        both = ((load("echo", str(number), name="a"),), (load("echo", str(-number), name="b"),))
        return both if number % 2 else both[::-1]

    wanted = Trial("pair", say("a pair"), stages(1), lambda facts: (facts["a"], facts["b"]), rounds=3, varied=stages)
    assert make(evidence, wanted).measured(wanted).facts == ((1, -1), (2, -2), (3, -3))
    assert Tried(replay(evidence)).measured(wanted).facts == ((1, -1), (2, -2), (3, -3))
    other = Trial("other", say("x"), stages(1), len, varied=lambda _: stages(1)[:1])
    with pytest.raises(ValueError, match="other steps"):
        other.stages_of(2)
