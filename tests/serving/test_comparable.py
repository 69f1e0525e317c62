"""Two arms are alike but for where the cache lies, or both sides of every difference are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.serving.comparable import REQUIRED, Arm, comparable, differences
from checks.verdict import Outcome


def arm(name: str, path: str, device: str) -> Arm:
    settings: dict[str, str | None] = dict.fromkeys(REQUIRED, "same")
    settings["store.configuration"] = f'{{"chunk_size":256,"remote_url":"fs://localhost:0{path}"}}'
    settings["engine.arguments"] = f"serve model --port 8000 --kv-path {path}/kv"
    settings["host.mount"] = f"{device} on {path} type xfs (rw,noatime)"
    return Arm(name, path, device, "vllm", "lmcache", "fs", True, settings)


LOCAL = arm("local", "/mnt/nvme0", "/dev/nvme0n1")
ARRAY = arm("array", "/mnt/fx100", "/dev/nvme4n1")


def test_arms_that_differ_in_the_stores_place_only_are_comparable() -> None:
    verdict = comparable(LOCAL, ARRAY)
    assert verdict.outcome is Outcome.PASS, str(verdict.note)
    assert "14 settings" in str(verdict.measured)


@pytest.mark.parametrize("setting", [*REQUIRED, "environment.PYTHONHASHSEED"])
@pytest.mark.parametrize("value", ["other", "", None])
def test_one_setting_that_differs_or_was_not_told_is_shown_on_both_sides(setting: str, value: str | None) -> None:
    local = replace(LOCAL, settings={**LOCAL.settings, "environment.PYTHONHASHSEED": "0"})
    array = replace(ARRAY, settings={**ARRAY.settings, "environment.PYTHONHASHSEED": "0", setting: value})
    verdict = comparable(local, array)
    assert verdict.outcome is Outcome.UNDECIDED
    shown = "not told" if value is None else value
    assert f"{setting}: local " in str(verdict.note)
    assert str(verdict.note).endswith(f", array {shown}")
    assert comparable(local, array, declared=[setting]).outcome is Outcome.PASS


def test_a_setting_missing_on_both_sides_is_no_agreement() -> None:
    bare = {name: value for name, value in LOCAL.settings.items() if name != "kv.dtype"}
    far = {name: value for name, value in ARRAY.settings.items() if name != "kv.dtype"}
    verdict = comparable(replace(LOCAL, settings=bare), replace(ARRAY, settings=far))
    assert verdict.outcome is Outcome.UNDECIDED
    assert "kv.dtype: local not told, array not told" in str(verdict.note)


def test_a_setting_of_one_arm_only_is_a_difference() -> None:
    array = replace(ARRAY, settings={**ARRAY.settings, "environment.LMCACHE_X": "1"})
    assert [one.setting for one in differences(LOCAL, array)] == ["environment.LMCACHE_X"]
    assert [one.setting for one in differences(array, LOCAL)] == ["environment.LMCACHE_X"]


def test_only_the_whole_path_of_the_store_stands_for_itself() -> None:
    near = replace(LOCAL, settings={**LOCAL.settings, "x": "/mnt/nvme0-fast/kv"})
    far = replace(ARRAY, settings={**ARRAY.settings, "x": "/mnt/fx100-fast/kv"})
    assert [one.setting for one in differences(near, far)] == ["x"]
    near = replace(LOCAL, settings={**LOCAL.settings, "x": "/mnt/nvme0/kv,/mnt/nvme0"})
    far = replace(ARRAY, settings={**ARRAY.settings, "x": "/mnt/fx100/kv,/mnt/fx100"})
    assert differences(near, far) == ()


def test_both_arms_written_with_the_others_path_are_not_alike() -> None:
    crossed = replace(ARRAY, settings={**ARRAY.settings, "engine.arguments": LOCAL.settings["engine.arguments"]})
    assert [one.setting for one in differences(LOCAL, crossed)] == ["engine.arguments"]


def test_local_disk_against_fs_with_a_restart_in_between_is_refused() -> None:
    verdict = comparable(replace(LOCAL, backend="local_disk"), ARRAY)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "vllm/lmcache/local_disk on the local arm, vllm/lmcache/fs on the array arm" in str(verdict.note)
    assert "the local arm computes anew; use fs:// on both" in str(verdict.note)


def test_local_disk_on_both_arms_forgets_on_both() -> None:
    pair = [replace(one, backend="local_disk") for one in (LOCAL, ARRAY)]
    assert str(comparable(*pair).note).count("forgets its index") == 2
    warm = [replace(one, restarted=False) for one in pair]
    assert comparable(*warm).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "local, said",
    [
        (replace(LOCAL, restarted=False), "only one arm was restarted"),
        (replace(LOCAL, engine="sglang"), "sglang/lmcache/fs on the local arm"),
        (replace(LOCAL, store_path="/mnt/fx100/"), "both arms keep their files under"),
        (replace(LOCAL, store_device="/dev/nvme4n1"), "both arms keep their files on /dev/nvme4n1"),
    ],
)
def test_an_experiment_that_cannot_tell_is_refused(local: Arm, said: str) -> None:
    verdict = comparable(local, ARRAY)
    assert verdict.outcome is Outcome.UNDECIDED
    assert said in str(verdict.note)


def test_many_differences_are_counted() -> None:
    array = replace(ARRAY, settings={**ARRAY.settings, **{f"x.{number}": "1" for number in range(20)}})
    assert "and 12 more settings" in str(comparable(LOCAL, array).note)
    long = replace(ARRAY, settings={**ARRAY.settings, "engine.version": "v" * 500})
    assert len(str(comparable(LOCAL, long).note)) < 300


@pytest.mark.parametrize("place", [0, 40, 200, 400])
def test_what_differs_in_long_arguments_stands_in_the_remark_wherever_it_is(place: int) -> None:
    words = [f"--option-{number} {number}" for number in range(60)]
    local, array = ([*words[: place // 8], f"--max-num-seqs {seqs}", *words[place // 8 :]] for seqs in (64, 256))
    verdict = comparable(
        replace(LOCAL, settings={**LOCAL.settings, "engine.arguments": " ".join(local)}),
        replace(ARRAY, settings={**ARRAY.settings, "engine.arguments": " ".join(array)}),
    )
    mine, theirs = str(verdict.note).split(", array ")
    assert "--max-num-seqs 64" in mine
    assert "--max-num-seqs 256" in theirs
    assert max(len(mine), len(theirs)) < 170
