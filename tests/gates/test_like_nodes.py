"""Which nodes are compared with one another: those that were ordered alike."""

from __future__ import annotations

from gates.g1_arrival.test_hosts import _like_nodes
from kvgate.inventory import reader
from tests.inventory.test_reader import written


def test_nodes_with_other_processors_are_other_machines() -> None:
    """Two server models have two firmwares, each as ordered: that is no fault of the rack."""
    rack = reader.parse(written(nodes=3)).rack
    kinds = _like_nodes(rack)
    assert set(kinds) == {"node-01", "node-02", "node-03"}
    assert len(set(kinds.values())) == 1
    system = rack.hosts["node-03"].system
    assert system is not None
    other = system.model_copy(
        update={"cpu": system.cpu.model_copy(update={"model": "Intel(R) Xeon(R) Platinum 8592+"})}
    )
    hosts = {**rack.hosts, "node-03": rack.hosts["node-03"].model_copy(update={"system": other})}
    kinds = _like_nodes(rack.model_copy(update={"hosts": hosts}))
    assert kinds["node-01"] == kinds["node-02"] != kinds["node-03"]
