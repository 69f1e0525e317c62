"""``kvgate doctor``: everything that would spoil a gate run is found before it, each with what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checks.serving.tools import Driver
from kvgate.cli.doctor import driver_found
from kvgate.errors import TimedOut
from kvgate.transport.base import Answer
from tests.cli.conftest import Kvgate, Served


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of one's own: relative paths start there."""
    monkeypatch.chdir(tmp_path)


def findings(kvgate: Kvgate, rack: Served, *words: str | Path) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    looked = kvgate("doctor", "--inventory", rack.inventory, "--json", *words)
    found: list[dict[str, Any]] = json.loads(looked.stdout)
    return looked.exit_code, {(one["where"], one["what"]): one for one in found}


def test_on_a_healthy_rack_all_is_well_and_nothing_is_changed(kvgate: Kvgate, serve: Callable[..., Any]) -> None:
    with serve() as rack:
        status, found = findings(kvgate, rack, "--ledger", "sqlite:///new/kvgate.db")
        shown = kvgate("doctor", "--inventory", rack.inventory)
    assert (status, [one for one in found.values() if not one["good"]]) == (0, [])
    for host in ("fx100-a", "node-01"):
        assert {what for where, what in found if where == host} == {
            "reach",
            "host key",
            "root",
            "clock",
            "tools",
            "versions",
        }
    assert "nvme 2.8" in found["node-01", "versions"]["found"]
    assert not (rack.folder / "new").exists()
    assert not (rack.folder / "var").exists()
    assert shown.exit_code == 0
    assert found["node-01", "host key"]["found"] in shown.stdout


def test_each_trouble_of_a_host_is_a_finding_with_its_remedy(kvgate: Kvgate, serve: Callable[..., Any]) -> None:
    behave = {
        "fx100-a": {"down"}, "node-01": {"clock-ahead-2"}, "node-02": {"no-sudo"}, "node-03": {"changed-host-key"},
        "node-04": {"refuse-login"},
    }  # fmt: skip
    with serve("ethtool-missing", nodes=5, behave=behave) as rack:
        text = rack.inventory.read_text()
        rack.inventory.write_text(text.replace("  node-05:\n", "  node-05:\n    become: none\n"))
        status, found = findings(kvgate, rack)
    assert status == 1
    wrong = {place for place, one in found.items() if not one["good"]}
    assert wrong == {
        ("fx100-a", "reach"), ("node-01", "clock"), ("node-01", "tools"), ("node-02", "root"), ("node-03", "host key"),
        ("node-04", "reach"), ("node-05", "root"),
    }  # fmt: skip
    said = {place: f"{found[place]['found']} {found[place]['remedy']}" for place in wrong}
    assert "NOPASSWD" in said["node-02", "root"]
    assert "NOPASSWD" in said["node-05", "root"]
    assert "missing: ethtool" in said["node-01", "tools"]
    assert re.search(
        r"\+(1\.9|2\.0)\d* s", said["node-01", "clock"]
    )  # the middle of an interval that holds the offset of 2 s
    assert "chrony" in said["node-01", "clock"]
    assert "refused the connection" in said["fx100-a", "reach"]
    assert "the inventory pins" in said["node-03", "host key"]
    assert "authorized_keys" in said["node-04", "reach"]


def test_keys_ledger_and_folders_of_this_machine_are_looked_at(
    kvgate: Kvgate, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve() as rack:
        (rack.folder / "file").write_text("")
        rack.identity.chmod(0o644)
        status, found = findings(kvgate, rack, "--ledger", "mysql://here/x", "--evidence", "file")
        assert status == 1
        assert {what for where, what in found if where == "here" and not found[where, what]["good"]} == {
            "login key", "ledger", "evidence folder",
        }  # fmt: skip
        assert found["here", "login key"]["remedy"] == f"chmod 600 {rack.identity}"
        rack.inventory.write_text(rack.inventory.read_text().replace(str(rack.identity), "keys/none"))
        monkeypatch.setenv("PATH", "/nonexistent")
        status, found = findings(kvgate, rack)
        key = found["here", "login key"]
        assert (status, key["good"]) == (1, False)
        assert "keys/none: no such file" in key["found"]
        assert str(rack.folder) in key["remedy"], "a relative path is explained"
        assert found["here", "ssh"]["good"] is False


def test_a_bad_inventory_is_refused(kvgate: Kvgate, tmp_path: Path) -> None:
    refused = kvgate("doctor", "--inventory", tmp_path / "none.yaml")
    assert refused.exit_code == 4
    assert "none.yaml" in refused.stderr
    assert kvgate("doctor").exit_code == 4


@pytest.mark.parametrize(
    "fault, good, said",
    [
        ("tool-summary-disagrees", True, "vllm bench serve 0.20.1"),
        ("tool-absent", False, "no vllm bench serve in /opt/bench"),
        ("tool-environment-absent", False, "/opt/bench/bin/python3 cannot be run"),
        ("tool-too-old", False, "0.6.1 is too old: known are 0.20"),
        ("tool-version-unknown", False, "0.99.0: how it counts is known of 0.20"),
        ("tool-version-unreadable", None, "no version can be read: None"),
    ],
)
def test_a_load_tool_that_the_inventory_orders_is_looked_at(
    kvgate: Kvgate, serve: Callable[..., Any], fault: str, good: bool | None, said: str
) -> None:
    with serve(fault, nodes=1) as rack:
        status, found = findings(kvgate, rack)
    one = found["node-01", "load tool"]
    assert (one["good"], status) == (good, 0 if good else 1)
    assert said in one["found"]
    assert bool(one["remedy"]) is not bool(good)


def test_a_load_tool_of_another_version_than_ordered_is_named() -> None:
    driver = Driver("aiperf", "0.13.0", "/opt/bench", "/models/tokenizer")
    other = driver_found("node-01", driver, Answer("", b"0.13.2\n", b"", 0, 0.1))
    assert (other.good, str(other.found)) == (False, "aiperf 0.13.2, the inventory orders 0.13.0")
    lost = driver_found("node-01", driver, TimedOut("the command gave no answer within 60 s"))
    assert lost.good is None
