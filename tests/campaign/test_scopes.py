"""Replaced hardware invalidates exactly the gates that depend on it."""

from __future__ import annotations

import pytest

from kvgate.campaign.scopes import Scope, changes, fingerprint, ordered, touching
from kvgate.inventory import reader
from kvgate.inventory.calendar import GATES
from tests.inventory.test_reader import written

TEXT = written(nodes=2)


def changed(old: str, new: str) -> dict[str, set[Scope]]:
    """Gate -> scopes that it depends on and that are others now."""
    assert old in TEXT, old
    before, after = (ordered(reader.parse(text).rack) for text in (TEXT, TEXT.replace(old, new, 1)))
    found = changes(before, after)
    return {gate: {change.scope for change in touching(gate, found)} for gate in GATES}


def only(scope: Scope, *gates: str) -> dict[str, set[Scope]]:
    return {gate: {scope} if gate in gates else set() for gate in GATES}


NODE = TEXT.index("  node-01:")


@pytest.mark.parametrize(
    "old, new, scope, gates",
    [
        ("S7Y0NX0W100001", "S7Y0NX0W199999", Scope.ARRAY_DISKS, GATES),
        ("firmware: GDC5602Q", "firmware: GDC5702Q", Scope.ARRAY_DISKS, GATES),
        ("firmware: 22.39.2048", "firmware: 22.41.1000", Scope.STORAGE_PORTS, GATES),
        ("kernel: 6.8.0-60-generic", "kernel: 6.8.0-71-generic", Scope.SYSTEM, GATES),
        ("count: 8, memory", "count: 4, memory", Scope.ACCELERATORS, GATES),
        ("driver: 6.12.12", "driver: 6.13.0", Scope.ACCELERATORS, GATES),
        ("queues: 32", "queues: 16", Scope.STORAGE_PATH, GATES),
        ("pfc_priority: 3", "pfc_priority: 4", Scope.FABRIC, GATES),
        ("role: baseline", "role: system", Scope.LOCAL_DISKS, ("G1", "G2", "G3")),
    ],
)
def test_the_gates_that_depend_on_it_and_no_others(old: str, new: str, scope: Scope, gates: tuple[str, ...]) -> None:
    found = changed(old, new)
    assert {gate for gate, touched in found.items() if scope in touched} == set(gates)
    assert {one for touched in found.values() for one in touched} <= {scope, Scope.SYSTEM_DISKS}


def test_a_local_disk_keeps_the_soak_and_a_management_port_keeps_all_but_arrival() -> None:
    local = TEXT.index("serial:", NODE) + len('serial: "')
    serial = TEXT[local : TEXT.index('"', local)]
    assert {gate for gate, touched in changed(serial, "OTHER").items() if touched} == {"G1", "G2", "G3"}
    port = '      - {name: eno1, mac: "02:00:00:00:00:99", role: management, driver: igb, firmware: "1", speed: 1 Gb/s, mtu: 1500}'
    found = changed("    nics:\n", f"    nics:\n{port}\n")
    assert {gate: touched for gate, touched in found.items() if touched} == {"G1": {Scope.MANAGEMENT_PORTS}}


def test_a_host_key_is_every_gate_s() -> None:
    rack = reader.parse(TEXT).rack
    key = rack.hosts["node-01"].host_key
    assert set(map(frozenset, changed(key, "SHA256:" + "A" * 43).values())) == {frozenset({Scope.HOST})}


@pytest.mark.parametrize(
    "old, new",
    [
        ("address: 127.0.0.1", "address: 10.0.0.10"),
        ("port: 42200", "port: 22"),
        ("user: ops", "user: root"),
        ("rack: embedded", "rack: renamed"),
    ],
)
def test_how_a_host_is_reached_is_no_part_of_it(old: str, new: str) -> None:
    assert not any(changed(old, new).values())


def test_a_change_names_what_went_and_what_came() -> None:
    before, after = (ordered(reader.parse(text).rack) for text in (TEXT, TEXT.replace("S7Y0NX0W100001", "S9", 1)))
    (change,) = changes(before, after)
    told = str(change.phrase())
    assert told.startswith("fx100-a, array disks: S7Y0NX0W100001 (")
    assert "-> S9 (" in told
    assert "S7Y0NX0W100002" not in told


def test_the_fingerprint_of_a_gate_covers_what_it_depends_on() -> None:
    local = TEXT.index("serial:", NODE) + len('serial: "')
    serial = TEXT[local : TEXT.index('"', local)]
    before, after = (ordered(reader.parse(text).rack) for text in (TEXT, TEXT.replace(serial, "OTHER", 1)))
    assert {gate for gate in GATES if fingerprint(before, gate) != fingerprint(after, gate)} == {"G1", "G2", "G3"}
    assert fingerprint(before) != fingerprint(after)


def test_what_one_side_does_not_tell_is_a_difference_only_where_both_were_ordered() -> None:
    one, other = {("a", Scope.HOST): frozenset({"k"})}, {("b", Scope.HOST): frozenset({"k"})}
    assert len(changes(one, other)) == 2
    assert changes(one, other, told=True) == []
