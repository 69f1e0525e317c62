"""What of the virtual rack can be told without starting it: its inventory, its time, its words to QEMU, its lists."""

from __future__ import annotations

import inspect
import struct
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.gate.options import GATES
from kvgate.inventory import reader
from kvgate.inventory.subjects import owed
from lab.vm import inventory, order
from lab.vm.faults import FAULTS
from lab.vm.machine import Machine
from lab.vm.qmp import ask
from lab.vm.rack import NoRack, Rack
from lab.vm.timeserver import reply
from tests.gates.harness import bodies
from tests.rack.expected import EXPECTED
from tests.rack.soaked import ASKED

LAB = Path(__file__).parents[2] / "lab" / "vm"
KEYS = {name: f"SHA256:{letter * 43}" for name, letter in (("array", "a"), ("node", "b"))}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The inventory as `make rack` writes it, two folders below the checkout's top as there."""
    (tmp_path / "lab").symlink_to(LAB.parent)
    (tmp_path / "inventories").mkdir()
    path = tmp_path / "inventories" / "vm.yaml"
    text = inventory.text({"array": 42300, "node": 42301}, KEYS, "6.1.0-57-amd64", 2, "7.2.22", tmp_path)
    path.write_text(text, "utf-8")
    return path


def test_the_inventory_is_one_that_the_gates_take_and_certifies_nothing(written: Path) -> None:
    rack = reader.read(written).rack
    assert rack.simulated
    assert {disk.serial for disk in rack.hosts["array"].disks} == set(order.ARRAY.serials)
    assert rack.hosts["node"].nvmeof[0].nqn == order.NQN


def test_every_expectation_is_about_something_that_the_rack_owes(written: Path) -> None:
    rack = reader.read(written).rack
    overlay = written.parent / (rack.acceptance or "")
    agreed = agreements.read(overlay).acceptance
    due = {(one.clause, one.subject) for gate in ("G1", "G2", "G3", "G4") for one, _ in owed(agreed, rack, gate)}
    assert EXPECTED.healthy.keys() | EXPECTED.soaked.keys() <= due
    assert EXPECTED.unsteady.keys() | EXPECTED.starved.keys() <= {clause for clause, _ in due}
    assert all(len(why.split()) >= 2 for why in (*EXPECTED.unsteady.values(), *EXPECTED.starved.values()))


def test_every_clause_of_g4_asks_for_nothing_that_the_rack_does_not_give() -> None:
    clauses = agreements.read().acceptance.clauses
    for name, body in bodies(GATES["G4"]).items():
        assert set(inspect.signature(body).parameters) <= {*ASKED, clauses[name].subject.value}, name


def test_every_fault_says_what_must_come_of_it(written: Path) -> None:
    due = {one.clause for one, _ in owed(agreements.read().acceptance, reader.read(written).rack, "G1")}
    assert EXPECTED.faults.keys() == FAULTS.keys()
    for name, clauses in EXPECTED.faults.items():
        assert clauses.keys() <= due, name
        assert set(clauses.values()) <= {"STOP", "UNDECIDED"}, name


def test_every_overlaid_number_says_why_and_what_is_made_advisory_is_expected_not_to_pass() -> None:
    agreed = agreements.read(LAB / "acceptance.yaml")
    untold = {clause for clause, _ in EXPECTED.healthy} | EXPECTED.unsteady.keys()
    for change in agreed.overlaid:
        if change.what == "weight":
            assert (change.after, change.clause in untold) == ("advisory", True), change
        else:
            limit = agreed.acceptance.clauses[change.clause].limits[change.what]
            assert len(limit.source.split()) >= 4, change


def test_of_the_healthy_rack_nothing_that_does_not_pass_keeps_its_gate_shut() -> None:
    clauses = agreements.read(LAB / "acceptance.yaml").acceptance.clauses
    assert not {clause for clause, _ in EXPECTED.healthy if clauses[clause].blocking}
    assert not {clause for clause in EXPECTED.unsteady if clauses[clause].blocking}


def test_time_is_answered_to_clients_alone() -> None:
    question = bytes([4 << 3 | 3, 0, 3, 0]) + bytes(36) + b"cookie!!"
    answer = reply(question, 1000.25, 1000.5)
    assert answer is not None
    assert answer[0] & 7 == 4
    assert answer[24:32] == b"cookie!!"
    assert struct.unpack("!II", answer[32:40]) == (2_208_988_800 + 1000, 2**30)
    assert reply(answer, 1.0, 1.0) is None
    assert reply(b"", 1.0, 1.0) is None


def test_each_disk_carries_its_serial_and_each_machine_its_own_name(tmp_path: Path) -> None:
    for ordered in order.MACHINES:
        words = " ".join(Machine(ordered, tmp_path, tmp_path, 1).command("tcg", 2))
        assert all(f"serial={serial}," in words for serial in ordered.serials)
        assert f"mac={ordered.mac}," in words
    assert order.ARRAY.hostnqn != order.NODE.hostnqn


def test_no_machine_is_started_in_a_way_that_makes_each_login_wait_for_a_module(tmp_path: Path) -> None:
    for ordered in order.MACHINES:
        words = Machine(ordered, tmp_path, tmp_path, 1).command("tcg", 2)
        assert "audit=0" not in words[words.index("-append") + 1].split()


def test_without_a_rack_it_is_said_what_makes_one(tmp_path: Path) -> None:
    rack = Rack.of(tmp_path)
    with pytest.raises(NoRack, match="make rack"):
        rack.machine("array")
    with pytest.raises(NoRack, match="make rack"):
        rack.up(print)
    rack.down()
    assert not (tmp_path / "var" / "rack").exists()


def test_nobody_at_the_control_socket_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ask(tmp_path / "none.qmp", "query-status")
