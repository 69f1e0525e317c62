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
    mounted = mounted.replace("stripe: 4, chunk: 512 KiB, ", "")
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


def test_a_stripe_is_that_of_the_array() -> None:
    text = written(nodes=1)
    for wrong, found in (("stripe: 3, chunk: 512 KiB", "3 x 512 KiB"), ("stripe: 4, chunk: 64 KiB", "4 x 64 KiB")):
        fault = only(text.replace("stripe: 4, chunk: 512 KiB", wrong))
        assert (str(fault.found), str(fault.wanted)) == (found, "4 x 512 KiB, as raid says (data disks x chunk)")
        assert fault.where.endswith("mounts[0].stripe")
        assert wrong in text.replace("stripe: 4, chunk: 512 KiB", wrong).splitlines()[fault.line - 1]
    mirrored = text.replace("level: raid0, members: 4", "level: raid10, members: 4")
    assert str(only(mirrored).wanted).startswith("2 x 512 KiB")
    reader.parse(mirrored.replace("stripe: 4", "stripe: 2"))


def test_a_stripe_has_its_chunk_and_a_network_filesystem_has_none() -> None:
    text = written(nodes=1)
    assert str(only(text.replace("stripe: 4, chunk: 512 KiB", "stripe: 4")).found) == "a stripe without its chunk"
    assert str(only(text.replace("stripe: 4, chunk: 512 KiB", "chunk: 512 KiB")).found) == "a chunk without a stripe"
    served = text.replace("filesystem: xfs, options: [noatime]", "filesystem: nfs4, options: [noatime]", 1)
    assert str(only(served).found) == "a stripe on nfs4"


def test_a_filesystem_is_not_larger_than_its_disks() -> None:
    text = written(nodes=1)
    assert "more than the members" in str(only(text.replace("capacity: 15.36 TB", "capacity: 15.9 TB")).found)
    reader.parse(text.replace("capacity: 15.36 TB", "capacity: 15.4 TB"))
    reader.parse(text.replace("capacity: 15.36 TB", "capacity: 1 TB"))


def test_a_member_disk_of_a_node_has_its_raid() -> None:
    text = written(nodes=1).replace("role: baseline, ", "")
    assert str(only(text).wanted).startswith("role: baseline")


@pytest.mark.parametrize(
    ("old", "new", "where", "found"),
    [
        ('bdf: "0000:42:00.0"', 'bdf: "0000:41:00.0"', "disks[1].bdf", "first at disks[0]"),
        ('bdf: "0000:42:00.0"', 'bdf: "0000:c1:00.0"', "nics[0].bdf", "first at disks[1]"),
        ("arm: local", "arm: fx100", "mounts[1].arm", "fx100 a second time"),
        (
            "forbidden: [discard], capacity: 3.84",
            "forbidden: [noatime], capacity: 3.84",
            "forbidden",
            "options asks for",
        ),
        ("    host_key:", "    commands: [nvme]\n    host_key:", "commands", "access: shell"),
    ],
)
def test_parts_of_one_host_do_not_contradict_each_other(old: str, new: str, where: str, found: str) -> None:
    text = written(nodes=1)
    assert old in text
    fault = only(text.replace(old, new, 1))
    assert fault.where.endswith(where)
    assert found in str(fault.found)
    assert fault.line > 0


def test_one_rdma_device_is_named_once_and_its_second_port_may_be() -> None:
    port = next(line for line in written(nodes=1).splitlines() if "192.168.100.11" in line)
    more = port.replace("ens1f0np0", "ens1f1np1").replace("20:00:01", "20:00:02").replace("100.11", "100.12")
    more = more.replace("c1:00.0", "c1:00.1")
    assert str(only(written(nodes=1).replace(port, f"{port}\n{more}")).found) == "mlx5_0/1 a second time"
    reader.parse(written(nodes=1).replace(port, f"{port}\n{more.replace('mlx5_0', 'mlx5_0, rdma_port: 2')}"))


def test_a_port_without_rdma_may_have_a_smaller_mtu_and_no_larger_one() -> None:
    def other(mtu: int) -> str:
        port = next(line for line in written(nodes=1).splitlines() if "192.168.100.11" in line)
        more = port.replace("ens1f0np0", "ens2").replace("20:00:01", "20:00:02").replace("100.11", "100.12")
        more = more.replace("c1:00.0", "c2:00.0").replace("rdma: mlx5_0, ", "").replace("mtu: 9000", f"mtu: {mtu}")
        return written(nodes=1).replace(port, f"{port}\n{more}")

    reader.parse(other(1500))
    assert str(only(other(9100)).wanted) == "at most 9000, as fabric says"
