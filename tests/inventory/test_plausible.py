"""What no rack can have is refused with its place, and what a rack may well have is not."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader, strict_yaml
from kvgate.inventory.plausible import impossible
from tests.inventory.test_reader import faults, only, written

TODAY = date(2026, 11, 30)


def real(text: str) -> list[Fault]:
    """Faults of values alone, on a rack that is not simulated and has no key files."""
    document = strict_yaml.parse(text.replace("simulated: true", "simulated: false"), "x")
    return list(impossible(document, reader.parse(text.replace("simulated: true", "simulated: false")).rack, TODAY))


def refused(old: str, new: str, where: str) -> Fault:
    text = written(nodes=1)
    assert old in text
    text = text.replace("simulated: true", "simulated: false").replace(old, new, 1)
    (fault,) = [one for one in faults(text) if one.where.endswith(where)]
    assert new in text.splitlines()[fault.line - 1]
    return fault


def accepted(old: str, new: str) -> None:
    text = written(nodes=1)
    assert old in text
    reader.parse(text.replace("simulated: true", "simulated: false").replace(old, new, 1))


@pytest.mark.parametrize(
    ("on", "good"),
    [
        (TODAY, True),
        (TODAY + timedelta(days=1), True),  # it is tomorrow east of here
        (TODAY + timedelta(days=2), False),
        (date(2016, 6, 5), True),
        (date(2016, 6, 4), False),
    ],
)
def test_a_declaration_is_of_a_day_that_has_come(on: date, good: bool) -> None:
    text = written(nodes=1).replace("on: 2026-11-28", f"on: {date(2020, 1, 1)}")
    text = text.replace("on: 2020-01-01", f"on: {on}", 1)
    document = strict_yaml.parse(text, "x")
    rack = reader.parse(text.replace(f"on: {on}", "on: 2020-01-01")).rack
    first = rack.declared[0].model_copy(update={"on": on})
    found = list(impossible(document, rack.model_copy(update={"declared": (first, *rack.declared[1:])}), TODAY))
    assert [fault.where for fault in found] == ([] if good else ["declared[0].on"])
    if not good:
        assert str(on) in text.splitlines()[found[0].line - 1]
        assert "2026-11-30 (clock of this machine)" in str(found[0].wanted)


def test_the_reader_looks_at_today_s_date() -> None:
    tomorrow = datetime.now(UTC).date() + timedelta(days=3)
    assert str(tomorrow) in refused("on: 2026-11-28", f"on: {tomorrow}", "declared[0].on").found
    accepted("on: 2026-11-28", f"on: {datetime.now(UTC).date()}")


@pytest.mark.parametrize(
    ("value", "good"), [(104, True), (105, True), (106, True), (107, False), (103, False), (108, False), (26, False)]
)
def test_a_traffic_class_carries_the_dscp_agreed(value: int, good: bool) -> None:
    new = f"traffic_class: {value}"
    if good:
        return accepted("traffic_class: 106", new)
    fault = refused("traffic_class: 106", new, "fabric.traffic_class")
    assert "104, 105, 106" in str(fault.wanted)
    return None


@pytest.mark.parametrize(
    ("old", "new", "where", "found"),
    [
        ("capacity: 3840755982336 B", "capacity: 3.84 GB", "disks[0].capacity", "3.84 GB"),
        ("capacity: 3840755982336 B", "capacity: 3840 TB", "disks[0].capacity", "3.84 PB"),
        ("memory: 192 GB", "memory: 192 MB", "accelerators.memory", "192 MB"),
        ("sheet: {read: 6.8 GB/s", "sheet: {read: 0 GB/s", "sheet.read", "0 GB/s"),
        ("sheet: {read: 6.8 GB/s", "sheet: {read: 6.8 MB/s", "sheet.read", "0.0068 GB/s"),
        ("sheet: {read: 6.8 GB/s", "sheet: {read: 68 GB/s", "sheet.read", "68 GB/s"),
        ("random_read: 1000000 IOPS", "random_read: 0 IOPS", "sheet.random_read", "0 IOPS"),
        ("random_write: 180000 IOPS", "random_write: 180 IOPS", "sheet.random_write", "180 IOPS"),
        ("chunk: 512 KiB}]", "chunk: 512 KiB, local: {read: 0 GB/s, write: 1 GB/s}}]", "raid[0].local.read", "0"),
        ("size: 256 GiB", "size: 256 MiB", "memory.size", "268.4 MB"),
        ("chunk: 512 KiB}]", "chunk: 512 B}]", "raid[0].chunk", "512 bytes"),
        ("chunk: 512 KiB}]", "chunk: 513 KiB}]", "raid[0].chunk", "525312 bytes"),
        ("speed: 100 Gb/s", "speed: 100 Mb/s", "speed", "100 Mb/s"),
        ("speed: 100 Gb/s", "speed: 110 Gb/s", "speed", "110 Gb/s"),
        ('mac: "b8:3f:d2:10:00:0a"', 'mac: "01:00:5e:00:00:01"', "mac", "no port carries"),
        ('mac: "b8:3f:d2:10:00:0a"', 'mac: "00:00:00:00:00:00"', "mac", "no port carries"),
        ("numa: 0", "numa: -1", "numa", "-1"),
        ("address: 192.168.100.11", "address: 192.168.100.300", "nics[0].address", "192.168.100.300"),
        ("address: 192.168.100.11", "address: 192.168.100.0/24", "nics[0].address", "network itself"),
        ("address: 192.168.100.11", "address: 192.168.100.255/24", "nics[0].address", "network itself"),
        ("address: 192.168.100.11", "address: 224.0.0.1", "nics[0].address", "no port carries"),
        ("roce_mtu: 4096", "roce_mtu: 4000", "fabric.roce_mtu", "4000"),
        ("pcie: {gen: 4, lanes: 4}", "pcie: {gen: 4, lanes: 3}", "pcie.lanes", "3"),
        ("pcie: {gen: 4, lanes: 16}", "pcie: {gen: 4, lanes: 15}", "nics[0].pcie.lanes", "15"),
        ("pcie: {gen: 5, lanes: 16}", "pcie: {gen: 5, lanes: 10}", "accelerators.pcie.lanes", "10"),
        (
            'sysctl: {net.core.rmem_max: "268435456", net.core.wmem_max: "268435456", vm.swappiness: "10"}',
            "sysctl: {}",
            "sysctl",
            "an empty list",
        ),
        ("cmdline: [iommu=pt]", "cmdline: []", "cmdline", "an empty list"),
        ("modules: {nvme_rdma: any, nvme_fabrics: any, mlx5_ib: any}", "modules: {}", "modules", "an empty list"),
        ("cores: 192", "cores: 191", "cpu.cores", "191 in 2 sockets"),
        ("platform: rocm", "platform: nvidia", "accelerators.platform", "nvidia with a MI308X"),
        ("nqn: nqn.2024-03.", "nqn: nqn.2024-3.", "nqn", "nqn.2024-3."),
        ("fast_io_fail: 15", "fast_io_fail: 601", "fast_io_fail", "after the controller is given up"),
        ("reconnect_delay: 10", "reconnect_delay: 601", "reconnect_delay", "after the controller is given up"),
        ("role: baseline,", "role: system, scratch: true,", "scratch", "the system stands on"),
        ('serial: "PHLN00000001"', "serial: TBD", "serial", "placeholder"),
        ('bios: "1.4.2"', "bios: n/a", "bios", "placeholder"),
        ('serial: "PHLN00000001"', 'serial: "PHLN00000001 "', "serial", "PHLN00000001 "),
        ("by: network team", 'by: "  "', "by", "'  '"),
        ("address: 127.0.0.1", "address: -oProxyCommand=x", "address", "ProxyCommand"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(old: str, new: str, where: str, found: str) -> None:
    fault = refused(old, new, where)
    assert found in str(fault.found)
    assert fault.column > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("capacity: 3840755982336 B, role: baseline", "capacity: 64 GB, role: baseline"),
        ("capacity: 3840755982336 B, role: baseline", "capacity: 1 PB, role: baseline"),
        ("memory: 192 GB", "memory: 288 GB"),
        ("size: 256 GiB", "size: 2 GiB"),
        ("speed: 100 Gb/s", "speed: 400 Gb/s"),
        ("speed: 100 Gb/s", "speed: 10 Gb/s"),
        ("address: 192.168.100.11", "address: 192.168.100.11/24"),
        ("address: 192.168.100.11", "address: 192.168.100.10/31"),
        ("address: 192.168.100.11", "address: fd00::11/64"),
        ("nqn: nqn.2024-03.example.kvarray:fx100-a", "nqn: nqn.2014-08.org.nvmexpress:uuid:4c4c4544-0044-4a10"),
        ("ctrl_loss: 600", "ctrl_loss: -1"),
        ("fast_io_fail: 15", "fast_io_fail: 600"),
        ("fast_io_fail: 15", "fast_io_fail: -1"),
        ("reconnect_delay: 10", "reconnect_delay: 600"),
        ("role: baseline,", "role: baseline, scratch: true,"),
        ("model: MI308X", "model: AMD Instinct MI308X OAM"),
        ("by: network team", "by: Müller，网络组"),
        ("value: PFC on priority 3 alone on Ethernet0 to Ethernet8", 'value: "line one\\nline two\\n"'),
        ("address: 127.0.0.1", "address: fx100-a.example"),
    ],
)
def test_what_may_well_be_is_accepted(old: str, new: str) -> None:
    accepted(old, new.replace("192.168.100.10/31", "192.168.101.0/31"))


def test_a_simulated_rack_may_have_tiny_disks_and_memory() -> None:
    text = written(nodes=1).replace("size: 256 GiB", "size: 512 MiB").replace("memory: 192 GB", "memory: 1 GB")
    reader.parse(text.replace("capacity: 3840755982336 B, role: baseline", "capacity: 1 GB, role: baseline"))
    assert {fault.where.rsplit(".", 1)[-1] for fault in real(written(nodes=1))} == set()


def test_the_agreed_networks_bound_the_storage_ports_alone() -> None:
    def within(networks: str) -> str:
        return written(nodes=1).replace("fabric: {", f"fabric: {{networks: [{networks}], ")

    reader.parse(within("192.168.100.0/24"))
    reader.parse(within("10.0.0.0/8, 192.168.100.0/28"))
    fault = only(within("192.168.100.0/29").replace("address: 192.168.100.10", "address: 192.168.100.5"))
    assert str(fault.found) == "192.168.100.11, outside the storage network"
    assert "192.168.100.0/29" in str(fault.wanted)
    assert only(within("192.168.100.1/24")).where == "fabric.networks[0]"
    aside = next(line for line in written(nodes=1).splitlines() if "192.168.100.11" in line)
    more = aside.replace("ens1f0np0", "eno1").replace("20:00:01", "20:00:02").replace("192.168.100.11", "10.1.1.1")
    more = more.replace("c1:00.0", "c2:00.0").replace("rdma: mlx5_0", "role: management")
    reader.parse(within("192.168.100.0/24").replace(aside, f"{aside}\n{more}"))


def test_a_stored_inventory_is_held_to_no_rule_that_came_later() -> None:
    text = written(nodes=1).replace("stripe: 4, chunk: 512 KiB", "stripe: 4, chunk: 256 KiB")
    assert faults(text)
    assert reader.stored(text, "run/inventory").rack.hosts
    with pytest.raises(BadInput):
        reader.stored(text.replace("role: array", "role: arrray"), "run/inventory")


@pytest.mark.parametrize("platform", ["mi308x", "h200", "ascend910b"])
def test_a_stored_inventory_may_hold_a_key_that_is_gone_since_and_a_new_one_may_not(platform: str) -> None:
    text = (Path(__file__).parents[2] / "inventories" / f"example-fx100-{platform}.yaml").read_text("utf-8")
    old = text.replace("  workload:\n", "  workload:\n    client: kvgate\n", 1)
    assert old != text
    assert reader.stored(old, "x").rack == reader.stored(text, "x").rack
    with pytest.raises(BadInput, match=r"serving\.workload\.client"):
        reader.parse(old)


@pytest.mark.parametrize(
    ("size", "gib"), [("256 GB", "238.4185791016"), ("1.5 TB", "1396.983861923"), ("1649267441665 B", "1536.000000001")]
)  # fmt: skip
def test_main_memory_is_sized_in_whole_gib(size: str, gib: str) -> None:
    """256 GB for 256 GiB is 7 % less: a module that is missing would go unseen, or a sound host be stopped."""
    for simulated in ("true", "false"):
        text = written(nodes=1).replace("simulated: true", f"simulated: {simulated}")
        (fault,) = faults(text.replace("size: 1536 GiB", f"size: {size}", 1))
        assert fault.where.endswith("memory.size")
        assert str(fault.found) == f"{size}, which is {gib} GiB"
        assert "a whole number of GiB" in str(fault.wanted)
        assert size in text.replace("size: 1536 GiB", f"size: {size}", 1).splitlines()[fault.line - 1]


@pytest.mark.parametrize("size", ["1536 GiB", "1.5 TiB", "1649267441664 B", "1572864 MiB", "768 GiB"])
def test_whole_gib_may_be_written_in_any_unit(size: str) -> None:
    accepted("size: 1536 GiB", f"size: {size}")


@pytest.mark.parametrize("user", ["-oProxyCommand=touch /tmp/x", "a b", "a;b", "$(id)", "-l"])
def test_a_user_that_looks_like_an_option_or_a_command_is_refused(user: str) -> None:
    assert faults(written(nodes=1).replace("user: ops", f'user: "{user}"'))


@pytest.mark.parametrize("user", ["ops", "svc_kv-gate.1", "CORP\\\\ops", "ops@corp.example"])
def test_a_user_may_have_a_domain(user: str) -> None:
    assert reader.parse(written(nodes=1).replace("user: ops", f'user: "{user}"')).rack.defaults.user
