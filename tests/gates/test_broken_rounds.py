"""A device or filesystem that answered load with an error: STOP of what it carries, whatever the other rounds gave, and for good."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks import io_errors
from checks.block import criteria, guard
from checks.files import criteria as files
from checks.files.anew import anew
from checks.files.integrity import Place
from checks.files.loading import Loaded, cold
from checks.files.saving import Saved
from checks.phrase import say
from checks.probe import AnsweredWithError, Level, Probe
from checks.trial import Measured
from checks.verdict import Outcome, Verdict
from kvgate.errors import CannotTell, CommandFailed, IoFailed
from kvgate.evidence.store import Evidence
from kvgate.gate.collect import replay
from kvgate.gate.reading import read
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.transport.base import Answer
from kvgate.transport.local import LocalTransport
from tests.checks.test_block_criteria import BOTH, HELD, RULE, THREE, against
from tests.checks.test_files import GOOD
from tests.gates.harness import judge
from tests.gates.test_trials import load, make, trial

SAMPLES = Path(__file__).parent / "captured"

#: As fio 3.33 and dd of coreutils 9.1 said it of a loop device that was cut short below them.
FIO = (SAMPLES / "fio" / "3.33-loop-io-error.txt").read_text()
DD = "dd: error reading '/dev/loop0': Input/output error\n"


@pytest.fixture
def evidence(tmp_path: Path) -> Iterator[Evidence]:
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as found:
        yield found


def failing(tmp_path: Path, text: str) -> Any:
    """The second of three rounds ends with what a tool said; the others count."""
    script = f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >{tmp_path}/n; test $n != 2 && echo $n && exit; "
    return trial(
        load("sh", "-c", script + 'printf %s "$1" >&2; exit 1', "sh", text.strip()), rounds=3, errors_decide=True
    )


@pytest.mark.usefixtures("alone")
def test_rounds_end_at_an_error_of_the_device_and_no_later_sitting_washes_it_away(
    evidence: Evidence, tmp_path: Path
) -> None:
    wanted = failing(tmp_path, DD)
    found = make(evidence, wanted).measured(wanted)
    assert found.facts == (1,)
    assert [str(one) for one in found.broken] == [f"here: {DD.strip()}"]
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run()
    assert again.measured(wanted) == found
    assert Tried(replay(evidence)).measured(wanted) == found
    assert (tmp_path / "n").read_text().split() == ["2"]


@pytest.mark.usefixtures("alone")
def test_where_no_clause_looks_for_it_such_a_round_is_undecided_as_any_that_failed(
    evidence: Evidence, tmp_path: Path
) -> None:
    wanted = replace(failing(tmp_path, DD), errors_decide=False)
    with pytest.raises(IoFailed):
        make(evidence, wanted).measured(wanted)
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run()
    assert (again.measured(wanted).facts, again.measured(wanted).broken) == ((1, 3, 4), ())


@pytest.mark.usefixtures("alone")
def test_a_full_disk_is_made_again_as_before(evidence: Evidence, tmp_path: Path) -> None:
    wanted = failing(tmp_path, "fio: io_u error on file x: No space left on device: write offset=0, buflen=4096\n")
    with pytest.raises(CommandFailed):
        make(evidence, wanted).measured(wanted)
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run()
    assert again.measured(wanted).facts == (1, 3, 4)


@pytest.mark.parametrize(
    "text", [FIO, DD, *(f"fio: io_u error on file x: {why}: read\n" for why in io_errors.ERRNOS.values())]
)
def test_an_error_of_the_device_is_told_from_the_output_of_a_failed_load(text: str) -> None:
    with pytest.raises(IoFailed, match=r"here: (fio|dd): "):
        read("here", Probe("fio-x", ("fio",), str, level=Level.LOAD), answer(text, 1))


@pytest.mark.parametrize(
    ("text", "status", "level"),
    [
        ("fio: io_u error on file x: No space left on device: write\n", 1, Level.LOAD),
        ("fio: failed opening x: Permission denied\n", 1, Level.LOAD),
        ("sh: 1: fio: Input/output error\n", 126, Level.LOAD),  # a root disk that cannot be read: not what was loaded
        ("find: '/mnt/x': Input/output error\n", 1, Level.PASSIVE),
        ("dd: error reading 'x': Input/output error\n", 1, Level.PASSIVE),
        ("notes of fio: Input/output error\n", 1, Level.LOAD),
        ("cat: /sys/class/hwmon/hwmon3/temp1_input: No data available\n", 1, Level.PASSIVE),
        ("df: /mnt/nvme0: No such file or directory\n", 1, Level.PASSIVE),
    ],
)  # fmt: skip
def test_anything_else_is_no_error_of_the_device(text: str, status: int, level: Level) -> None:
    with pytest.raises(CannotTell) as found:
        read("here", Probe("fio-x", ("fio",), str, level=level), answer(text, status))
    assert not isinstance(found.value, IoFailed)


def answer(text: str, status: int) -> Answer:
    return Answer("load", text.encode(), b"", status, 0.1)


CHECKED = Measured((GOOD, GOOD))
LOADED = Measured((Loaded(4, 6 * 10**10, 10.0, 1),) * 3)
SAVED = Measured((Saved(6 * 10**10, 10.0, ""),) * 3)


def broken(measured: Measured[Any]) -> Measured[Any]:
    return replace(measured, broken=(say("node-01: fio: io_u error"),))


_STOPS: tuple[tuple[Callable[[Measured[Any]], Verdict], Measured[Any]], ...] = (
    (lambda it: criteria.repeatable(it, HELD), THREE),
    (lambda it: criteria.carries(it, against(10**9), 0.9, HELD), THREE),
    (lambda it: criteria.carries(it, say("nobody declared it"), 0.9, HELD), THREE),
    (lambda it: criteria.carries_settled(it, against(10**9), 0.9, HELD, RULE), THREE),
    (lambda it: criteria.settled(it, HELD, RULE), THREE),
    (lambda it: criteria.answers_within(it, 99.0, 10**6, HELD), THREE),
    (files.intact, CHECKED),
    (lambda it: files.outlives_its_connection(it, True), CHECKED),
    (lambda it: files.loads(it, THREE, 0.1, HELD, None), LOADED),
    (lambda it: files.saves(it, THREE, 0.1, HELD, None), SAVED),
    (lambda it: files.faster_than_nfs(it, LOADED, 0.1, {"array": HELD, "nfs": HELD}, None), LOADED),
)  # fmt: skip
_UNTOLD: tuple[tuple[Callable[[Measured[Any]], Verdict], Measured[Any]], ...] = (
    (lambda it: criteria.device_agrees(it, 5, HELD), THREE),
    (lambda it: criteria.client_is_free(it, 90, HELD), THREE),
    (lambda it: criteria.added_latency(it, THREE, 10**6, BOTH), THREE),
    (lambda it: criteria.added_latency(THREE, it, 10**6, BOTH), THREE),
    (lambda it: files.loads(LOADED, it, 0.1, HELD, None), THREE),
    (lambda it: files.saves(SAVED, it, 0.1, HELD, None), THREE),
    (lambda it: files.faster_than_nfs(LOADED, it, 0.1, {"array": HELD, "nfs": HELD}, None), LOADED),
)  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "good", "outcome", "said"),
    [(*one, Outcome.STOP, "dmesg") for one in _STOPS] + [(*one, Outcome.UNDECIDED, "io_u error") for one in _UNTOLD],
)
@pytest.mark.parametrize("facts", ["all", "none"])
def test_what_a_device_carries_stops_and_what_only_looks_at_it_is_undecided(
    judged: Callable[[Any], Verdict], good: Measured[Any], outcome: Outcome, said: str, facts: str
) -> None:
    found = judged(broken(good if facts == "all" else Measured(())))
    assert found.outcome is outcome
    assert "io_u error" in f"{found.measured} {found.note}"
    assert said in str(found.note)


def test_one_error_in_one_round_of_three_stops_though_the_others_are_as_ordered() -> None:
    found = judge(("fio-io-error",), gate="G2", only=r"G2\.1\.2")
    (verdict,) = [one for item, one in found.verdicts.items() if item.subject == "node-01:/mnt/fx100"]
    assert verdict.outcome is Outcome.STOP
    assert "Input/output error: read offset" in str(verdict.measured)


@pytest.mark.usefixtures("alone")
def test_whoever_interrupts_a_round_after_its_error_takes_nothing_back(
    evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that is closed between the answer and the end of the round leaves the answer in the evidence."""
    wanted = failing(tmp_path, DD)
    cleaned: list[int] = []

    def cleaning(self: Trials, trial: Any, number: int) -> None:
        cleaned.append(number)
        if number == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Trials, "_clean", cleaning)
        with pytest.raises(KeyboardInterrupt):
            make(evidence, wanted)
    assert cleaned == [1, 2]
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run()
    found = again.measured(wanted)
    assert (found.facts, [str(one) for one in found.broken]) == ((1,), [f"here: {DD.strip()}"])
    assert Tried(replay(evidence)).measured(wanted) == found
    assert len(again.numbers(wanted)) > len(Tried(replay(evidence)).ended[wanted.key])


@pytest.mark.usefixtures("alone")
def test_nor_what_came_back_wrong(evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = load("echo", "7", name="after")
    wanted = trial(load("echo", "13"), last, rounds=2, decisive=lambda fact: fact == 13)

    def stage(self: Trials, *more: Any) -> bool:
        if more[2][0].name == "after":
            raise KeyboardInterrupt
        return staged(self, *more)

    staged = Trials._stage
    with monkeypatch.context() as patched:
        patched.setattr(Trials, "_stage", stage)
        with pytest.raises(KeyboardInterrupt):
            make(evidence, wanted)
    assert Tried(replay(evidence)).measured(wanted).facts == (13,)


def test_a_raw_disk_that_goes_away_under_the_load_is_told_by_what_the_load_said() -> None:
    probe = guard.write("S1", ("fio",), str, 10.0)
    clear, gone = "guard: clear S1 nvme1n1\n", "guard: refused: serial /dev/nvme1n1 tells no serial\n"
    with pytest.raises(IoFailed, match="here: fio: io_u error"):
        read("here", probe, answer(clear + FIO + gone, guard.REFUSED))
    refused = read("here", probe, answer("guard: refused: claim /dev/nvme1n1 is in use\n", guard.REFUSED))
    assert refused.refused is not None


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("dd: error reading '/mnt/x': Input/output error\n", 124, True),  # 30 s an error, until the limit ended it
        ("mkdir: cannot create directory '/mnt/x/.kvgate-load': Input/output error\n", 1, True),
        ("sh: 1: cannot open /mnt/x/.kvgate-load/sum-1: Input/output error\n", 2, True),
        ("sh: line 1: /mnt/x/.kvgate-load/sum-1: Structure needs cleaning\n", 1, True),
        ("find: '/mnt/x/model': Input/output error\n", 1, True),
        ("df: /mnt/x: Input/output error\n", 1, True),
        ("fio: error while loading shared libraries: libaio.so.1: cannot read file data: Input/output error\n", 127, False),
        ("sh: line 1: /usr/bin/fio: Input/output error\n", 126, False),
        ("sh: 1: cannot open /mnt/x/sum-1: No such file or directory\n", 2, False),
    ],
)  # fmt: skip
def test_every_tool_of_a_load_and_its_shell_are_heard_and_no_loader_is(text: str, status: int, told: bool) -> None:
    with pytest.raises(CannotTell) as found:
        read("here", Probe("fio-x", ("sh",), str, level=Level.LOAD), answer(text, status))
    assert isinstance(found.value, IoFailed) is told


def test_a_model_folder_that_cannot_be_listed_is_not_one_with_fewer_files(tmp_path: Path) -> None:
    folder, tools = tmp_path / "model", tmp_path / "bin"
    folder.mkdir()
    tools.mkdir()
    (folder / "one").write_bytes(b"x" * 4096)
    (tools / "find").write_text(
        '#!/bin/sh\necho "find: \'$2/two\': Input/output error" >&2\n/usr/bin/find "$@"\nexit 1\n'
    )
    (tools / "find").chmod(0o755)
    probe = next(
        step.probe
        for step in cold(Place("here", str(tmp_path), "xfs"), 1, 1, 1, 1, str(folder)).steps
        if step.name == "load"
    )
    done = subprocess.run(
        [str(word) for word in probe.argv], env={"PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True, check=False
    )
    with pytest.raises(IoFailed, match="find: "):
        read("here", probe, Answer("load", done.stdout, done.stderr, done.returncode, 0.1))


def test_an_error_stops_whatever_the_size_of_the_engines_blocks_and_whatever_became_of_the_mount_since() -> None:
    found = judge(("fio-io-error", "model-config-gone"), gate="G2", only=r"G2\.1\.[456]")
    kinds = {
        (item.clause, verdict.outcome)
        for item, verdict in found.verdicts.items()
        if item.subject == "node-01:/mnt/fx100"
    }
    assert kinds == {(clause, Outcome.STOP) for clause in ("G2.1.4", "G2.1.5", "G2.1.6")}
    both = judge(("model-read-error", "fio-short"), gate="G2", only=r"G2\.4\.1")
    (verdict,) = [one for item, one in both.verdicts.items() if item.subject == "node-01:/mnt/fx100"]
    assert verdict.outcome is Outcome.STOP, "what it would be held against need not be told"


@pytest.mark.parametrize("clause", ["G2.4.1", "G2.4.2", "G2.5.1"])
def test_what_is_held_against_something_asks_for_both_by_itself(clause: str) -> None:
    """A clause that is chosen alone makes every load that it needs: no other one asks for it then."""
    found = judge(("nfs-unsteady",), gate="G2", only=re.escape(clause))  # a rack with NFS
    assert {verdict.outcome for verdict in found.verdicts.values()} == {Outcome.PASS}, found.why(clause)


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("mount: /mnt/fx100: mount(2) system call failed: Structure needs cleaning.: mount -t xfs -o rw /dev/nvme1n1 /mnt/fx100", True),
        ("mount: /mnt/fx100: special device /dev/nvme1n1 does not exist.: mount -t xfs -o rw /dev/nvme1n1 /mnt/fx100", False),
    ],
)  # fmt: skip
def test_a_volume_that_cannot_be_read_after_its_connection_is_a_finding(why: str, told: bool) -> None:
    probe = anew("/mnt/fx100")
    if told:
        with pytest.raises(IoFailed, match=r"cannot be mounted again: .*Structure needs cleaning"):
            read("here", probe, answer(f"anew: lost {why}\n", 0))
    else:
        assert read("here", probe, answer(f"anew: lost {why}\n", 0)).how == "lost"


@pytest.mark.parametrize("tool", ["df", "stat"])
def test_a_filesystem_that_answers_a_mere_question_with_an_error_is_a_finding_too(tool: str) -> None:
    with pytest.raises(IoFailed, match=f"here: {tool}: /mnt/x: Input/output error"):
        read("here", Probe("space", (tool,), str), answer(f"{tool}: /mnt/x: Input/output error\n", 1))


@pytest.mark.usefixtures("alone")
def test_a_filesystem_that_df_finds_dead_in_an_interrupted_round_stays_dead(
    evidence: Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step must show is looked at by the same lines in a round that ended and in one that was cut short."""

    def dead(fact: int) -> None:
        raise AnsweredWithError("df: /mnt/x: Input/output error")

    wanted = trial(load("echo", "1", must=dead), rounds=1, errors_decide=True)
    with monkeypatch.context() as patched:
        patched.setattr(Trials, "_clean", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            make(evidence, wanted)
    again = Trials([wanted], LocalTransport(), replay(evidence), "kvgate:test-1").run().measured(wanted)
    assert [str(one) for one in again.broken] == ["here: df: /mnt/x: Input/output error"]
