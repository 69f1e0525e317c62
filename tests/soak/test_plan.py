"""Plans from an inventory: every host its own, loads only below mounts that are mounted, the serving load from `serving`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvgate.errors import BadInput, NotAllowed
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.soak.package import worker, worker_digest
from kvgate.soak.plan import EVERY, plans
from tests.cli.conftest import ROOT
from tests.soak.hosted import ask, events, lay_out, lines, plan, until
from tests.soak.rack import inventory

EXAMPLE = ROOT / "inventories" / "example-fx100-mi308x.yaml"


def example(soak: str) -> Inventory:
    return reader.parse(EXAMPLE.read_text("utf-8") + f"\nsoak: {soak}\n", str(EXAMPLE))


def planned(soak: str) -> dict[str, dict[str, Any]]:
    return {host: json.loads(text) for host, text in plans(example(soak).rack, "soak-t").items()}


def loads(found: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in found["loads"]}


def test_a_plan_says_hours_streams_and_bounds_for_each_host() -> None:
    found = planned("{}")
    rack = example("{}").rack
    assert set(found) == {name for name, host in rack.hosts.items() if host.access == "shell"}
    for name, one in found.items():
        assert (one["scale"], one["wanted"], one["seconds"]) == (1, 72 * 3600, 73 * 3600)
        assert one["streams"].keys() <= EVERY.keys()
        assert set(one["streams"].get("smart", {}).get("commands", {})) == {
            disk.serial for disk in rack.hosts[name].disks
        }
        assert set(one["streams"]["ethtool"]["commands"]) == {nic.name for nic in rack.hosts[name].nics}
        assert one["policy"]["interruption"] == "restart_clock"


def test_the_serving_load_is_that_of_the_arm_on_the_array() -> None:
    found = planned("{serve: {}}")
    serving = example("{}").rack.serving
    assert serving is not None
    [arm] = [one for one in serving.shapes[serving.primary].arms.values() if one.role == "array"]
    client = loads(found[serving.load_host])["client"]
    asked = [json.loads(words[-1]) for words in client["rota"]]
    assert [one["concurrency"] for one in asked] == [16, 8, 16, 32]
    assert {tuple(one["endpoints"]) for one in asked} == {tuple(instance.endpoint for instance in arm.instances)}
    assert (
        len({(one["seed"], one["set"], one["count"]) for one in asked}) == 1
    )  # the same prompts: they come from the store
    canary = json.loads(loads(found[serving.load_host])["canary"]["argv"][-1])
    assert (canary["mode"], canary["concurrency"]) == ("canaries", 1)
    assert loads(found[arm.host])["kvfiles"]["mount"] == arm.mount
    assert loads(found[arm.host])["kvfiles"]["argv"][2] == arm.store
    assert all("client" not in loads(one) for host, one in found.items() if host != serving.load_host)


def test_pages_of_the_arm_on_the_array_are_watched_unless_others_or_none_are_named() -> None:
    rack = example("{}").rack
    assert rack.serving is not None
    (arm,) = [one for one in rack.serving.shapes[rack.serving.primary].arms.values() if one.role == "array"]
    streams = planned("{}")[arm.host]["streams"]
    assert streams["metrics"]["pages"] == [page for one in arm.instances for page in one.metrics]
    other = "http://127.0.0.1:9/metrics"
    assert planned(f"{{pages: {{{arm.host}: ['{other}']}}}}")[arm.host]["streams"]["metrics"]["pages"] == [other]
    assert "metrics" not in planned(f"{{pages: {{{arm.host}: []}}}}")[arm.host]["streams"]


def test_each_host_verifies_in_a_file_of_its_own_and_every_one_is_named(tmp_path: Path) -> None:
    one = "{{host: {0}, path: /mnt/fx100, size: 1 GB, rate: 1 MB/s}}"
    found = planned(f"{{verify: [{', '.join(one.format(host) for host in ('node-01', 'node-02', 'node-02'))}]}}")
    named = {
        (host, load["name"]): next(word for word in load["argv"] if word.startswith("--filename="))
        for host, plan in found.items()
        for load in plan["loads"]
    }
    assert set(named) == {("node-01", "verify"), ("node-02", "verify"), ("node-02", "verify1")}
    assert len(set(named.values())) == 3


def test_scaled_hours_are_sampled_no_more_often_than_a_host_can() -> None:
    rack = reader.parse(inventory(Path("/x")), "x").rack
    for scale, least in ((1, 10), (200, 10), (2000, 100)):
        streams = json.loads(plans(rack, "soak-t", scale)["node-01"])["streams"]
        assert min(one["every"] for one in streams.values()) == least


def test_plans_are_the_same_bytes_each_time_and_so_is_the_worker() -> None:
    assert plans(example("{serve: {}}").rack, "soak-t") == plans(example("{serve: {}}").rack, "soak-t")
    code = "from kvgate.soak.package import worker_digest; print(worker_digest())"
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert other == worker_digest() == hashlib.sha256(worker()).hexdigest()


@pytest.mark.parametrize(
    ("soak", "said"),
    [
        ("{verify: [{host: node-99, path: /mnt, size: 1 GB, rate: 1 MB/s}]}", "node-99"),
        ("{verify: [{host: node-01, path: /elsewhere, size: 1 GB, rate: 1 MB/s}]}", "/elsewhere"),
        ("{fill: [{host: node-01, path: /mnt/fx100, low: 80, high: 70}]}", "less than high"),
        ("{programs: [{name: a, host: node-01, limit: 1 s}]}", "argv and rota"),
        (
            "{programs: [{name: a, host: node-01, argv: [b], again: true, every: 1 h, limit: 1 s}]}",
            "again as well as every",
        ),
        ("{serve: {}, programs: [{name: client, host: node-01, argv: [b], limit: 1 s}]}", "client"),
        ("{duration: 72}", "72"),
    ],
)
def test_what_could_not_be_run_is_refused_before_any_host_is_contacted(soak: str, said: str) -> None:
    with pytest.raises(BadInput) as refusal:
        example(soak)
    assert said in str(refusal.value)


def test_an_inventory_without_a_soak_has_none() -> None:
    with pytest.raises(NotAllowed, match="says nothing of a soak"):
        plans(reader.parse(EXAMPLE.read_text("utf-8"), str(EXAMPLE)).rack, "soak-t")


def test_a_load_below_a_mount_that_is_not_mounted_is_not_begun(tmp_path: Path) -> None:
    place = {"folder": str(tmp_path / "mnt" / "x"), "mount": str(tmp_path / "mnt")}
    (tmp_path / "mnt").mkdir()
    folder = lay_out(
        tmp_path / "soak", plan(seconds=60, loads=[{"name": "verify", "argv": ["true"], "limit": 60, **place}])
    )
    ask(folder, "start")
    until(lambda: ask(folder, "status")["state"] == "ended")
    [missed] = events(lines(folder), "load", "verify")
    assert (missed["event"], "nothing is mounted" in missed["why"]) == ("missed", True)
    assert not (tmp_path / "mnt" / "x").exists()


def test_a_rota_takes_its_turns(tmp_path: Path) -> None:
    load = {"name": "client", "rota": [["echo", "c8"], ["echo", "c16"]], "turn": 60, "every": 60, "limit": 30}
    folder = lay_out(tmp_path / "soak", plan(seconds=230, loads=[load]))
    ask(folder, "start")
    until(lambda: ask(folder, "status")["state"] == "ended")
    said = [one["stdout"].strip() for one in events(lines(folder), "load", "client") if one["event"] == "end"]
    assert said == ["c8", "c16", "c8", "c16"]


def kvfiles(folder: Path, store: Path, word: str = "keeps") -> dict[str, int]:
    argv = [sys.executable, str(folder / "worker.pyz"), "kvfiles", str(store), word]
    found = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    assert isinstance(found, dict)
    return found


def test_a_kv_file_that_changed_or_went_is_counted(tmp_path: Path) -> None:
    folder, store = lay_out(tmp_path / "soak", plan()), tmp_path / "kv"
    store.mkdir()
    for number in range(5):
        (store / f"{number}.pt").write_bytes(os.urandom(1000))
    assert kvfiles(folder, store) == {"files": 5, "mismatched": 0, "missing": 0, "evicted": 0, "new": 5}
    (store / "6.pt").write_bytes(b"later")
    assert kvfiles(folder, store)["new"] == 1
    (store / "0.pt").write_bytes((store / "0.pt").read_bytes()[:-1] + b"!")
    (store / "1.pt").unlink()
    told = kvfiles(folder, store)
    assert (told["files"], told["mismatched"], told["missing"]) == (5, 1, 1)
    told = kvfiles(folder, store, "evicts")
    assert (told["missing"], told["evicted"]) == (0, 1)
    assert kvfiles(folder, store, "evicts")["evicted"] == 0


def test_the_janitor_removes_what_was_used_least_recently_and_the_filler_its_own(tmp_path: Path) -> None:
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("needs a small file system of its own")
    folder, small = lay_out(tmp_path / "soak", plan()), tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(small)], check=True)
    try:
        for number in range(9):
            (small / f"{number}.kv").write_bytes(bytes(1 << 20))
            os.utime(small / f"{number}.kv", (1000 + number, 1000 + number))
        argv = [sys.executable, str(folder / "worker.pyz"), "janitor", str(small), "50", "80", "1"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as janitor:
            assert janitor.stdout is not None
            told = json.loads(janitor.stdout.readline())
            janitor.terminate()
        assert (told["event"], told["files"]) == ("emptied", 4)
        assert sorted(path.name for path in small.iterdir()) == [f"{number}.kv" for number in range(4, 9)]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_the_inventory_of_the_tests_is_one_that_a_person_could_write(tmp_path: Path) -> None:
    (tmp_path / "rack.yaml").write_text(inventory(tmp_path))
    assert set(plans(reader.read(tmp_path / "rack.yaml").rack, "soak-t")) == {"array-a", "node-01"}
