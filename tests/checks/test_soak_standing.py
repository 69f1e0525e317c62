"""What is away, by whatever name and word: controllers with other numbers, ports that vanish, samples that tell nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from checks.parsers import soak_journal
from checks.soak import errors, integrity
from checks.soak.accounting import State
from checks.soak.facts import HostSoak
from checks.soak.track import gather, track
from checks.verdict import Outcome
from lab.soak.journal import Begin, segments, written
from lab.soak.plan import plan
from lab.soak.trouble import Away, Trouble
from tests.gates import soaking

_FROM, _TO = 1800.0, 2400.0  # seconds of the soak, in which samples are told otherwise
Subjects = dict[str, dict[str, Any]]
Rewrite = Callable[[Subjects], Subjects]

RESUME = {"interruption": "resume", "interruptions": 1, "longest": 1800.0}


def soak(
    stream: str, rewrite: Rewrite, *troubles: Trouble, within: Callable[[dict[str, Any]], bool] | None = None, host: str = "node-01"
) -> HostSoak:  # fmt: skip
    """An hour in which samples of a stream are told otherwise from the thirtieth to the fortieth minute, every digest anew."""
    role = "node" if host == "node-01" else "array"
    texts = segments(plan(host, role, 1.0, 960, 60, RESUME), 7, troubles, step=60)
    chosen = within or (lambda line: _FROM <= line["tick"] * 60 < _TO)
    prev, found = hashlib.sha256(f"soak-lab/{host}".encode()).hexdigest(), []
    for text in texts:
        part = ""
        for line in map(json.loads, text.splitlines()):
            line["prev"] = prev
            if line["kind"] == "sample" and line["stream"] == stream and chosen(line):
                line["values"] = rewrite(line["values"])
            raw = json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n"
            prev, part = hashlib.sha256(raw.encode()).hexdigest(), part + raw
        found.append(part)
    return soaking.read(found)


def causes(found: HostSoak) -> list[tuple[str, int, int]]:
    return [(one.cause, one.begin, one.end) for one in found.account.of(State.INTERRUPTED)]


def without(*names: str) -> Rewrite:
    return lambda values: {name: fields for name, fields in values.items() if name not in names}


def named(names: dict[str, str]) -> Rewrite:
    return lambda values: {names.get(name, name): fields for name, fields in values.items()}


def telling(subject: str, **fields: Any) -> Rewrite:
    def rewrite(values: Subjects) -> Subjects:
        return {**values, subject: {**values[subject], **fields}}

    return rewrite


@pytest.mark.parametrize("word", ["down", "lowerlayerdown", "notpresent", "dormant", "unknown"])
def test_a_port_that_was_up_is_away_by_every_other_word(word: str) -> None:
    found = soak("net", telling("ens1f0np0", operstate=word))
    assert causes(found) == [("link", 30, 40)]
    assert errors.links_stayed(found).outcome is Outcome.STOP


@pytest.mark.parametrize(("stream", "subject", "cause"), [
    ("net", "ens1f0np0", "link"), ("rdma", "mlx5_0/1", "link"), ("nvme", "nvme1", "array"), ("nvme", "nvme0", "disk"),
])  # fmt: skip
def test_what_is_missing_from_samples_is_away(stream: str, subject: str, cause: str) -> None:
    assert causes(soak(stream, without(subject))) == [(cause, 30, 40)]


def test_where_all_controllers_are_gone_the_sample_has_no_subject_and_all_are_away() -> None:
    found = soak("nvme", without("nvme0", "nvme1"))
    assert causes(found) == [("array", 30, 40)]
    assert {one.detail for one in found.outages} >= {"nvme0", "nvme1"}
    assert errors.paths_stayed(found).outcome is Outcome.STOP
    end = soak("nvme", without("nvme0", "nvme1"), within=lambda line: line["tick"] >= 30)
    assert integrity.ends_as_it_began(end, ("nvme",)).outcome is Outcome.STOP


def test_a_sample_that_could_not_be_taken_says_of_nobody_that_it_is_gone() -> None:
    found = soak("nvme", lambda _: {"": {"error": "OSError: sysfs"}})
    assert causes(found) == []
    assert found.account.minutes(State.GAP) >= 6


@pytest.mark.parametrize("error", ["Input/output error", "Stale file handle", "No such file or directory"])
def test_a_file_system_that_answers_with_an_error_is_away(error: str) -> None:
    assert causes(soak("space", lambda _: {"/mnt/fx100": {"error": error}})) == [("mount", 30, 40)]


@pytest.mark.parametrize(
    ("stream", "rewrite"),
    [
        ("space", lambda _: {"/mnt/fx100": {"error": "Permission denied"}}),
        ("net", lambda _: {"ens1f0np0": {"rx_bytes": 1}}),
        ("rdma", lambda _: {"mlx5_0/1": {"error": "refused"}}),
        ("nvme", lambda values: {name: {"reset_count": 0} for name in values}),
    ],
)
def test_a_subject_that_is_there_and_does_not_say_how_it_stands_makes_a_gap(stream: str, rewrite: Rewrite) -> None:
    found = soak(stream, rewrite)
    assert causes(found) == []
    assert [(one.begin, one.end) for one in found.account.of(State.GAP)] == [(30, 40)]
    brief = soak(stream, rewrite, within=lambda line: line["tick"] in (30, 31))
    assert found.account.qualified == 50
    assert brief.account.minutes(State.GAP) == 0


def test_what_was_away_before_it_told_nothing_is_away_until_it_tells_that_it_is_back() -> None:
    def rewrite(values: Subjects) -> Subjects:
        return {**values, "nvme1": {**values["nvme1"], "state": next(told)}}

    told: Iterable[Any] = iter(["connecting", *[None] * 9])
    assert causes(soak("nvme", rewrite)) == [("array", 30, 40)]


def after_reboot(boots: list[str]) -> Callable[[dict[str, Any]], bool]:
    def within(line: dict[str, Any]) -> bool:
        if line["boot"] not in boots:
            boots.append(line["boot"])
        return len(boots) > 1 and line["boot"] == boots[1]

    return within


@pytest.mark.parametrize("names", [{"nvme0": "nvme1", "nvme1": "nvme0"}, {"nvme1": "nvme4"}, {"nvme0": "nvme2"}, {}])
def test_a_controller_that_has_another_number_after_a_boot_is_the_one_that_it_was(names: dict[str, str]) -> None:
    found = soak("nvme", named(names), Away("reboot", 1801, 120), within=after_reboot([]))
    assert {cause for cause, _, _ in causes(found)} == {"reboot"}
    assert errors.paths_stayed(found).outcome is Outcome.PASS
    assert integrity.ends_as_it_began(found, ("nvme",)).outcome is Outcome.PASS


def test_another_controller_under_the_old_name_is_another() -> None:
    found = soak(
        "nvme", telling("nvme0", serial="OTHER"), Away("reboot", 1801, 120, booting=0), within=after_reboot([])
    )
    assert integrity.ends_as_it_began(found, ("nvme",)).outcome is Outcome.STOP


def test_a_controller_that_was_connected_anew_between_two_samples_was_away() -> None:
    found = soak("nvme", named({"nvme1": "nvme5"}), within=lambda line: line["tick"] >= 30)
    assert [cause for cause, _, _ in causes(found)] == ["array"]
    assert causes(found)[0][1:] == (29, 30)
    stopped = errors.paths_stayed(found)
    assert stopped.outcome is Outcome.STOP
    assert "minute 29" in str(stopped.note)


@pytest.mark.parametrize("fields", [
    {"subsysnqn": "nqn.2014-08.org.nvmexpress.discovery", "transport": "rdma", "state": "live"},
    {"subsysnqn": "nqn.2026-01.example:fx100-a", "cntrltype": "discovery", "transport": "tcp", "state": "connecting"},
])  # fmt: skip
def test_a_controller_of_discovery_comes_and_goes_and_is_no_path(fields: dict[str, Any]) -> None:
    found = soak("nvme", lambda values: {**values, "nvme7": fields}, within=lambda line: line["tick"] == 30)
    assert causes(found) == []
    assert errors.paths_stayed(found).outcome is Outcome.PASS
    assert {one.subject for one in found.sampled if one.stream == "nvme"} <= {"nvme0", "nvme1"}


def test_a_boot_is_an_interruption_however_short_it_is() -> None:
    found = soak("nvme", lambda values: values, Away("reboot", 1801, 20, booting=0), host="fx100-a")
    assert causes(found) == [("reboot", 30, 31)]


def test_a_sample_that_is_due_on_a_minute_is_read_as_of_that_minute_however_fast_the_soak_runs() -> None:
    order = plan("node-01", "node", 2.0, 20_000.0, 1000.0)
    for part in range(12):
        clock = Begin(mono=1000.0 + part * 0.1234567891)
        texts = ["".join(raw for _, raw in lines) for lines in written(order, 1, clock=clock)]
        found = track(*gather(soak_journal.parse(text) for text in texts))
        assert all(at % 1000.0 < 500.0 for at in found.seconds["nvme"].tolist()), part
