"""What a rate is held against follows from the order: sheets, arrays by themselves, mirrors, ports, and what nobody declared."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from checks.block.references import Reference
from checks.ceiling import Ceiling
from checks.phrase import Phrase
from kvgate.inventory import reader
from kvgate.inventory.model import Host, Mount, Rack
from kvgate.inventory.references import Kind, by_itself, ceiling, disks, promised, reference
from lab.inventory import text
from lab.rack import build, fingerprint, host_key

G = 10**9


def rack(change: Callable[[str], str] = lambda one: one, **more: bool) -> Rack:
    hosts = [
        (host.ordered, 42200 + n, fingerprint(host_key(host.name)))
        for n, host in enumerate(build(2, "rocm", (), **more))
    ]
    return reader.parse(change(text(hosts))).rack


def mount(found: Rack, path: str) -> tuple[Rack, Host, Mount]:
    host = found.hosts["node-01"]
    return found, host, next(one for one in host.mounts if one.path == path)


def rate(found: Rack, path: str, kind: Kind) -> float:
    told = reference(*mount(found, path), kind)
    assert isinstance(told, Reference), str(told)
    return told.rate


def asked(found: Rack, path: str, kind: Kind) -> str:
    told = reference(*mount(found, path), kind)
    assert isinstance(told, Phrase)
    return str(told)


def test_the_local_disk_is_held_to_its_sheet() -> None:
    found = rack()
    assert rate(found, "/mnt/nvme0", "read") == 6.8 * G
    assert rate(found, "/mnt/nvme0", "random_write") == 180_000 * 4096


def test_the_array_is_held_to_its_port_where_that_is_less() -> None:
    found = rack()
    assert rate(found, "/mnt/fx100", "read") == pytest.approx(12.25 * G, rel=0.001)
    assert rate(found, "/mnt/fx100", "random_read") == pytest.approx(12.5 * G * 4096 / (4096 + 82 + 98))
    assert rate(found, "/mnt/fx100", "random_write") == 4 * 180_000 * 4096
    whatever = disks(*mount(found, "/mnt/fx100"))
    assert isinstance(whatever, Reference)
    assert whatever.rate == 4 * 6.8 * G


def test_a_smaller_agreed_packet_lowers_what_is_wanted_and_not_what_is_possible() -> None:
    small = rack(lambda one: re.sub(r"roce_mtu: 4096", "roce_mtu: 1024", one))
    assert rate(small, "/mnt/fx100", "read") == pytest.approx(12.5 * G * 1024 / 1106, rel=0.001)
    most = ceiling(*mount(small, "/mnt/fx100"))
    assert isinstance(most, Ceiling)
    assert most.payload() == pytest.approx(12.5 * G * 4096 / 4178)


def test_what_the_array_gave_by_itself_counts_beside_the_sheets() -> None:
    local = "local: {read: 9 GB/s, write: 3 GB/s, random_read: 900 kIOPS}}]"
    found = rack(lambda one: one.replace("chunk: 512 KiB}]", f"chunk: 512 KiB, {local}"))
    assert rate(found, "/mnt/fx100", "read") == 9 * G
    assert rate(found, "/mnt/fx100", "random_read") == 900_000 * 4096
    assert rate(found, "/mnt/fx100", "random_write") == 4 * 180_000 * 4096
    assert by_itself(found, mount(found, "/mnt/nvme0")[2]) is None
    bare = rack(
        lambda one: re.sub(r"sheet: \{[^}]*\}, ", "", one).replace("chunk: 512 KiB}]", f"chunk: 512 KiB, {local}")
    )
    assert rate(bare, "/mnt/fx100", "write") == 3 * G


def test_mirrors_write_everything_twice() -> None:
    found = rack(lambda one: one.replace("level: raid0", "level: raid10").replace("stripe: 4", "stripe: 2"))
    sheet = promised(*mount(found, "/mnt/fx100"))
    assert sheet is not None
    assert (sheet.read, sheet.write, sheet.random_write) == (27.2 * G, 8 * G, 360_000)


def test_what_nobody_declared_is_asked_for_by_its_key() -> None:
    bare = rack(lambda one: re.sub(r"sheet: \{[^}]*\}, ", "", one))
    assert "declare 'read' in the 'sheet' of every disk below /mnt/nvme0" in asked(bare, "/mnt/nvme0", "read")
    half = rack(lambda one: one.replace(", random_write: 180000 IOPS", ""))
    assert "declare 'random_write'" in asked(half, "/mnt/fx100", "random_write")
    assert rate(half, "/mnt/fx100", "random_read") > 0
    assert isinstance(disks(*mount(bare, "/mnt/fx100")), Phrase)


def test_no_port_no_ceiling() -> None:
    found = rack()
    host = found.hosts["node-01"].model_copy(update={"nics": ()})
    hollow = found.model_copy(update={"hosts": {**found.hosts, "node-01": host}})
    for told in (ceiling(*mount(hollow, "/mnt/fx100")), reference(*mount(hollow, "/mnt/fx100"), "read")):
        assert isinstance(told, Phrase)
        assert "'nics' of role storage" in str(told)
    slot = ceiling(*mount(hollow, "/mnt/nvme0"))
    assert isinstance(slot, Ceiling)
    assert slot.payload() / G == pytest.approx(7.877, abs=0.001)


def test_network_filesystems_come_over_any_port_of_the_host() -> None:
    found = rack(nfs=True)
    most = ceiling(*mount(found, "/mnt/nfs"))
    assert isinstance(most, Ceiling)
    assert most.payload() >= 12.39 * G
    assert "declare 'read'" in asked(found, "/mnt/nfs", "read")
