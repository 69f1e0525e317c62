"""Who answers is told apart by serials, MACs and host keys; what cannot be told is never taken for the same as before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from checks.accelerator.serials import serials
from checks.probe import NotOffered, Probe, UnreadableOutput
from kvgate.campaign import seen
from kvgate.campaign.scopes import Place, Scope
from kvgate.campaign.seen import Seen
from kvgate.inventory import reader
from kvgate.inventory.calendar import GATES
from lab.machine import Edit
from lab.order import PLATFORMS
from lab.rack import build
from tests.gates.harness import Direct
from tests.inventory.test_reader import written


@dataclass
class Kept:
    """The answers of virtual hosts as a run would have kept them."""

    direct: Direct

    def fact(self, host: str, probe: Probe[Any], sample: int = 1) -> Any:
        return self.direct(host, probe)

    def host_key(self, host: str) -> str:
        return self.direct.host_key(host)


def look(*edits: Edit, platform: str = "rocm", host: str = "node-01") -> Mapping[Place, Seen]:
    hosts = {one.name: one for one in build(1, platform)}
    hosts[host].machine.edits += edits
    rack = reader.parse(written(platform, 1)).rack
    found = seen.look(rack, Kept(Direct(hosts)))
    return {one.place: one for one in found}


def told(found: Mapping[Place, Seen]) -> list[str]:
    return [f"{one.host} {one.scope}" for one in found.values() if one.untold]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_part_that_was_ordered_is_told(platform: str) -> None:
    found = look(platform=platform)
    assert told(found) == []
    assert len(found["node-01", Scope.ACCELERATORS].values) == 8
    assert len(found["fx100-a", Scope.ARRAY_DISKS].values) == 4
    assert len(found["node-01", Scope.STORAGE_PORTS].values) == 1
    assert found["node-01", Scope.HOST].values[0].startswith("SHA256:")
    assert [str(phrase) for gate in GATES for phrase in seen.another(gate, found, look(platform=platform))] == []


SERIAL = reader.parse(written("rocm", 1)).rack.hosts["node-01"].disks[0].serial

CARDS = {
    "rocm": ("amd-smi static.*", "0x5E7A"),
    "ascend": (".*board", "10239"),
    "nvidia": ("nvidia-smi -q -x", "<serial>16520"),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_card_that_was_replaced_is_another_rack(platform: str) -> None:
    ask, serial = CARDS[platform]
    other = serial[:-1] + ("B" if platform == "rocm" else "7")
    found = seen.another("G2", look(platform=platform), look(Edit(ask, ((serial, other),)), platform=platform))
    assert len(found) == 1
    assert "node-01, accelerators: " in str(found[0])


def test_a_disk_that_is_gone_is_another_rack_but_for_the_gate_that_does_not_need_it() -> None:
    gone = Edit(
        "grep -Hs '' /sys/module/nvme.*|grep -Hs '' /proc/sys/kernel/osrelease.*",
        ((SERIAL, "S9LOST"),),
        every=True,
    )
    before, after = look(), look(gone)
    assert after["node-01", Scope.LOCAL_DISKS].values == ()
    told = str(seen.another("G3", before, after)[0])
    assert told.startswith(f"this is not the rack that passed G3, run G3 again: node-01, local disks: {SERIAL}")
    assert seen.another("G4", before, after) == []


def test_who_cannot_be_told_now_is_not_taken_for_the_same() -> None:
    silent = Edit("amd-smi static.*", stdout="", stderr="not found", status=127)
    (why,) = seen.another("G1", look(), look(silent))
    assert str(why).startswith("whether node-01 is the one that passed G1 cannot be told now: accelerators (")
    assert "amd-smi" in str(why)
    assert "run G1 again" not in str(why)


def test_who_could_not_be_told_before_cannot_be_another_now() -> None:
    silent = Edit("amd-smi static.*", stdout="", stderr="not found", status=127)
    assert seen.another("G1", look(silent), look()) == []


def test_a_host_that_was_not_asked_is_not_the_same() -> None:
    before = look()
    after = {place: one for place, one in before.items() if place[0] != "node-01"}
    (why,) = seen.another("G1", before, after)  # one sentence a host, whatever is not told of it
    for scope in ("host key", "accelerators", "local disks"):
        assert scope in str(why)
    assert str(why).endswith("(not asked)")


def test_rows_of_the_ledger_are_read_back_and_unknown_scopes_are_passed_over() -> None:
    found = look()
    rows = [one.row() for one in found.values()]
    assert seen.stored([*rows, seen.SeenRow("node-01", "quantum link", ("x",))]) == found


@pytest.mark.parametrize(
    "platform, text, why",
    [
        ("rocm", '[{"gpu": 0, "asic": {"asic_serial": "N/A"}}]', NotOffered),
        (
            "rocm",
            '[{"gpu": 0, "asic": {"asic_serial": "0x1"}}, {"gpu": 1, "asic": {"asic_serial": "0x1"}}]',
            UnreadableOutput,
        ),
        ("rocm", "", UnreadableOutput),
        ("ascend", "", UnreadableOutput),
        ("nvidia", "<nvidia_smi_log><gpu><serial>N/A</serial></gpu></nvidia_smi_log>", NotOffered),
        ("nvidia", "<nvidia_smi_log/>", UnreadableOutput),
        ("nvidia", "no devices", UnreadableOutput),
    ],
)
def test_cards_without_an_identity_are_not_identified(platform: str, text: str, why: type[Exception]) -> None:
    with pytest.raises(why):
        serials(platform).parse(text)


def test_partitions_of_one_card_are_one_card() -> None:
    text = (
        '[{"gpu": 0, "asic": {"asic_serial": "0x1"}, "partition": {"partition_id": 0}},'
        ' {"gpu": 1, "asic": {"asic_serial": "0x1"}, "partition": {"partition_id": 1}}]'
    )
    assert serials("rocm").parse(text) == ("0x1",)


def test_a_card_with_a_uuid_is_known_by_it() -> None:
    text = "<nvidia_smi_log><gpu><uuid>GPU-1</uuid><serial>N/A</serial></gpu></nvidia_smi_log>"
    assert serials("nvidia").parse(text) == ("GPU-1",)
