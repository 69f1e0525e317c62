"""An inventory that would let a gate pass by asking nothing is refused; what it leaves out is said."""

from __future__ import annotations

import pytest

from kvgate.inventory import reader
from tests.inventory.test_reader import faults, only, written


@pytest.mark.parametrize("role, other", [("array", "node"), ("node", "array")])
def test_a_rack_has_an_array_and_a_node(role: str, other: str) -> None:
    text = written(nodes=1).replace(f"role: {role}", f"role: {other}")
    assert any(f"no host of role {role}" in str(fault.found) for fault in faults(text))


def test_a_node_that_is_connected_to_nothing_is_refused() -> None:
    text = written()
    start, end = text.index("    nvmeof:\n"), text.index("    mounts:\n")
    assert {str(fault.found) for fault in faults(text[:start] + text[end:])} == {"a node without storage"}
    mounted = (text[:start] + text[end:]).replace("filesystem: xfs", "filesystem: nfs4", 1)
    assert reader.parse(mounted).rack.hosts


def test_every_host_has_a_storage_port() -> None:
    text = written(nodes=1).replace("- {name: ens1f0np0,", "- {role: management, name: ens1f0np0,", 1)
    assert {str(fault.found) for fault in faults(text)} == {"no port of role storage"}


def test_rdma_needs_an_rdma_port_at_both_ends() -> None:
    text = written(nodes=1)
    first, last = text.index("rdma: mlx5_0, "), text.rindex("rdma: mlx5_0, ")
    assert first != last
    size = len("rdma: mlx5_0, ")
    found = {str(only(text[:at] + text[at + size :]).found) for at in (first, last)}
    assert found == {"rdma, but no storage port with rdma here", "rdma, but the array's port orders no rdma"}


def test_an_rdma_port_has_the_mtu_of_the_fabric() -> None:
    fault = only(written().replace("mtu: 9000, address: 192.168.100.10", "mtu: 1500, address: 192.168.100.10"))
    assert (str(fault.found), str(fault.wanted)) == ("1500", "9000, as fabric says")


@pytest.mark.parametrize("device", ["/dev/nvme1n1", "/dev/nvme1n1p1", "/dev/sdb", "/dev/vda1", "/dev/dm-3"])
def test_a_name_that_changes_at_boot_is_no_mount_device(device: str) -> None:
    fault = only(written(nodes=1).replace("{path: /mnt/fx100,", f"{{path: /mnt/fx100, device: {device},", 1))
    assert "changes at boot" in str(fault.found)


@pytest.mark.parametrize("device", ["/dev/md0", "/dev/disk/by-id/nvme-uuid.8c9f", "/dev/mapper/kv", "/dev/md/kv"])
def test_a_name_that_lasts_is_one(device: str) -> None:
    reader.parse(written().replace("{path: /mnt/fx100,", f"{{path: /mnt/fx100, device: {device},", 1))


def test_a_prefix_length_does_not_hide_the_port_of_the_array() -> None:
    reader.parse(written().replace("mtu: 9000, address: 192.168.100.10", "mtu: 9000, address: 192.168.100.10/16"))


@pytest.mark.parametrize("path", ["/mnt/fx100/", "/mnt//fx100"])
def test_a_mount_path_is_written_as_the_kernel_writes_it(path: str) -> None:
    fault = only(written(nodes=1).replace("{path: /mnt/fx100,", f"{{path: {path},", 1))
    assert str(fault.wanted) == "/mnt/fx100, as the kernel writes it"
