"""What a PASS does not cover is said before the run and after it; a host that owes nothing is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kvgate import agreement as agreements
from kvgate.errors import BadInput
from kvgate.inventory import reader
from kvgate.inventory.coverage import gaps
from kvgate.inventory.model import Rack
from tests.inventory.test_reader import written
from tests.inventory.test_serving import EXAMPLES


def rack(**changes: Any) -> Rack:
    """The embedded rack with one host's or the whole rack's keys changed; None takes a key away."""
    data = YAML(typ="safe").load(written(nodes=1))
    profile = data["profiles"].popitem()[1]
    data["profiles"] = {}
    hosts = {"fx100-a": data["hosts"]["fx100-a"], "node-01": {**profile, **data["hosts"]["node-01"]}}
    hosts["node-01"].pop("profile")
    for place, value in changes.items():
        table = {"array": hosts["fx100-a"], "node": hosts["node-01"]}.get(place.split("_")[0], data)
        key = place.partition("_")[2]
        if value is None:
            table.pop(key)
        else:
            table[key] = value
    data["hosts"] = hosts
    return Rack.model_validate(data, strict=False)


def said(found: Rack) -> dict[str, tuple[str, ...]]:
    return {str(gap.what): gap.hosts for gap in gaps(found)}


def test_what_the_embedded_rack_leaves_open_is_little() -> None:
    assert said(rack()) == {
        "how models are served, and so G3 and G4: no 'serving'": (),
        "nothing is agreed on 'sysctl'": ("fx100-a",),
    }


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"node_system": None}, "processors"),
        ({"node_disks": None}, "local disks"),
        ({"node_nics": None}, "storage ports"),
        ({"node_nvmeof": None}, "connections"),
        ({"node_mounts": None}, "filesystems"),
        ({"node_accelerators": None}, "accelerators"),
        ({"array_raid": None}, "RAID"),
        ({"array_access": "none"}, "access: none"),
        ({"rack_fabric": None}, "switches"),
    ],
)
def test_whatever_is_not_ordered_is_named_with_its_hosts(change: dict[str, Any], word: str) -> None:
    before, after = said(rack()), said(rack(**change))
    new = {what: hosts for what, hosts in after.items() if before.get(what) != hosts}
    assert any(word in what for what in new), new


@pytest.mark.parametrize(
    ("platform", "key"),
    [("nvidia", "nvswitch"), ("nvidia", "gds"), ("rocm", "firmware"), ("rocm", "compute_partition")],
)
def test_what_is_not_ordered_of_the_cards_is_named(platform: str, key: str) -> None:
    """An order that forgets the NVSwitch fabric would pass a node on which every CUDA program ends with error 802."""
    found = reader.parse(written(platform, nodes=1)).rack
    node = found.hosts["node-01"]
    assert node.accelerators is not None
    bare = node.accelerators.model_copy(update={key: None})
    hosts = {**found.hosts, "node-01": node.model_copy(update={"accelerators": bare})}
    new = said(found.model_copy(update={"hosts": hosts})).keys() - said(found).keys()
    assert [key in what for what in new] == [True], new


def test_a_rack_without_array_or_nodes_says_so() -> None:
    found = rack()
    alone = found.model_copy(update={"hosts": {"node-01": found.hosts["node-01"]}})
    assert any("role array" in what for what in said(alone))
    array = found.model_copy(update={"hosts": {"fx100-a": found.hosts["fx100-a"]}})
    assert any("role node" in what for what in said(array))


def test_a_host_of_which_nothing_is_asked_is_refused() -> None:
    """Else the gate passes for a rack with a machine in it that nobody looked at or answered for."""
    found = rack(array_access="none", array_system=None, array_disks=None, array_raid=None, array_nics=None)
    with pytest.raises(BadInput) as caught:
        agreements.what_is_owed(agreements.read(), found, "x.yaml", "G1")
    assert "fx100-a" in str(caught.value)


def test_a_rack_of_an_array_alone_owes_no_comparison_of_nodes() -> None:
    """It arrives first; without a node there is nothing to compare, and the gate must be able to pass."""
    found = rack()
    array = found.model_copy(update={"hosts": {"fx100-a": found.hosts["fx100-a"]}})
    clauses = {item.clause for item, _ in agreements.what_is_owed(agreements.read(), array, "x.yaml", "G1")}
    assert not clauses & {"G1.1.26", "G1.1.27", "G1.1.28"}
    assert "G1.1.2" in clauses


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_racks_leave_nothing_open(path: Path) -> None:
    assert gaps(reader.read(path).rack) == []


def test_workers_of_the_store_whose_pages_are_missing_are_named() -> None:
    text = next(path for path in EXAMPLES if "mi308x" in path.name).read_text("utf-8")
    (gap,) = gaps(reader.parse(text.replace(', "http://127.0.0.1:7007/metrics"', "", 1)).rack)
    assert "hits of every worker" in str(gap.what)
