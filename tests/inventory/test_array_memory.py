"""The array's memory is declared where the array is ordered; what stood elsewhere once is read in stored inventories alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.block.memory import ArrayMemory
from kvgate.errors import BadInput, Fault
from kvgate.inventory import reader
from kvgate.inventory.coverage import gaps
from kvgate.inventory.experiment import site
from kvgate.inventory.model import Cache, Rack
from kvgate.inventory.references import memory
from tests.inventory.test_reader import only, written

INVENTORIES = Path(__file__).parents[2] / "inventories"
EXAMPLE = (INVENTORIES / "example-fx100-mi308x.yaml").read_text("utf-8")
GB = 10**9


def declared(text: str, cache: str) -> str:
    """The inventory with another word about the array's memory, on the same line; none where it is empty."""
    found, count = re.subn(r"\n    cache: \{.*", f"\n    cache: {cache}" if cache else "", text)
    assert count == 1
    return found


def told(size: str = "", *, flushed: bool = False) -> Cache:
    """What an inventory declares."""
    return Cache.model_validate({"flushed": flushed, **({"size": size} if size else {})})


def old(text: str, *lines: str, cache: str = "") -> str:
    """The inventory as it was written before: the array's memory in ``serving``."""
    found = declared(text, cache)
    assert "\nserving:\n" in found
    return found.replace("\nserving:\n", "\nserving:\n" + "".join(f"  {line}\n" for line in lines), 1)


def below(rack: Rack, path: str = "/mnt/fx100") -> ArrayMemory | None:
    return memory(rack, next(one for one in rack.hosts["node-01"].mounts if one.path == path))


def with_caches(*caches: Cache | None) -> Rack:
    """A rack with as many arrays."""
    rack = reader.parse(EXAMPLE).rack
    array = rack.hosts["fx100-a"]
    arrays = {f"fx100-{number}": array.model_copy(update={"cache": one}) for number, one in enumerate(caches)}
    nodes = {name: host for name, host in rack.hosts.items() if host.role == "node"}
    return rack.model_copy(update={"hosts": {**arrays, **nodes}})


@pytest.mark.parametrize("path", sorted(INVENTORIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_inventory_declares_it_and_says_where_it_comes_from(path: Path) -> None:
    text = path.read_text("utf-8")
    assert below(reader.parse(text).rack) == ArrayMemory(64 * GB)
    assert re.search(r"cache: \{size: 64 GB\} +# (invented|declared by the lab)", text)


def test_a_rack_that_serves_nothing_declares_it_too() -> None:
    rack = reader.parse(written()).rack
    assert rack.serving is None
    assert below(rack) == ArrayMemory(64 * GB)
    assert below(rack, "/mnt/nvme0") is None


@pytest.mark.parametrize(
    ("cache", "found"),
    [
        ("", ArrayMemory(None)), ("{size: 0 B}", ArrayMemory(0)), ("{flushed: true}", ArrayMemory(None, flushed=True)),
        ("{size: 1.5 TB, flushed: true}", ArrayMemory(1500 * GB, flushed=True)), ("{size: 16 GiB}", ArrayMemory(2**34)),
    ],
)  # fmt: skip
def test_what_is_declared_is_what_g2_and_g3_measure_beyond(cache: str, found: ArrayMemory) -> None:
    rack = reader.parse(declared(EXAMPLE, cache)).rack
    assert below(rack) == found
    assert site(rack, "tp8").memory == found


@pytest.mark.parametrize(
    ("caches", "found"),
    [
        ((told("64 GB"), told("32 GB")), ArrayMemory(96 * GB)),
        ((told("64 GB"), None), ArrayMemory(None)),
        ((told("64 GB"), told(flushed=True)), ArrayMemory(64 * GB)),
        ((told(flushed=True), None), ArrayMemory(None)),
        ((told("64 GB", flushed=True), told("1 GB", flushed=True)), ArrayMemory(65 * GB, flushed=True)),
        ((told("64 GB", flushed=True), told(flushed=True)), ArrayMemory(None, flushed=True)),
    ],
)
def test_arrays_below_one_volume_hold_together_and_one_that_is_not_told_of_leaves_all_open(
    caches: tuple[Cache | None, ...], found: ArrayMemory
) -> None:
    assert below(with_caches(*caches)) == found


@pytest.mark.parametrize(
    ("cache", "found"),
    [
        ("{}", "neither its size"), ("{flushed: false}", "neither its size"), ("{size: 64}", "64"), ("{size: 64 Gb}", "Gb"),
        ("{size: 64 MB}", "64 MB"), ("{size: 900 TB}", "900 TB"), ("{size: <ask the vendor>}", "placeholder"),
        ("{flushed: yes}", "'yes'"), ("64 GB", "64 GB"), ("{size: 64 GB, flush: true}", "unknown key 'flush'"),
    ],
)  # fmt: skip
def test_what_tells_nothing_or_cannot_be_is_refused_at_its_place(cache: str, found: str) -> None:
    fault = only(declared(EXAMPLE, cache))
    assert fault.where.startswith("hosts.fx100-a.cache")
    assert found in str(fault.found)


def test_a_node_has_no_memory_of_an_array() -> None:
    text = written(nodes=1).replace("    role: node\n", "    role: node\n    cache: {size: 64 GB}\n", 1)
    fault = only(text)
    assert (fault.where, "the memory of an array at a node" in str(fault.found)) == ("hosts.node-01.cache", True)


def test_an_array_that_nobody_tells_of_is_named_before_the_run() -> None:
    silent = {str(gap.what): gap.hosts for gap in gaps(reader.parse(declared(EXAMPLE, "")).rack)}
    assert silent == {"that the array's disks answer and not its memory (G2, G3): no 'cache'": ("fx100-a",)}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("array_cache: 64 GB",), told("64 GB")),
        (("array_cache: 64 GB", "array_cache_flushed: true"), told("64 GB", flushed=True)),
        (("array_cache_flushed: true",), told(flushed=True)),
        ((), None),
    ],
)
def test_an_older_run_is_judged_by_what_its_inventory_told(lines: tuple[str, ...], found: Cache | None) -> None:
    rack = reader.stored(old(EXAMPLE, *lines), "run/inventory").rack
    assert rack.hosts["fx100-a"].cache == found
    assert [host.cache for host in rack.hosts.values() if host.role == "node"] == [None] * 8


def faults(text: str) -> list[Fault]:
    with pytest.raises(BadInput) as caught:
        reader.parse(text)
    return list(caught.value.faults)


def test_a_new_inventory_is_told_the_line_to_write_and_where() -> None:
    both = faults(old(EXAMPLE, "array_cache: 16 GB", "array_cache_flushed: true"))
    assert [(fault.where, str(fault.wanted)) for fault in both] == [
        ("serving.array_cache", "cache: {size: 16 GB} at fx100-a, where the array is ordered"),
        ("serving.array_cache_flushed", "cache: {flushed: true} at fx100-a, where the array is ordered"),
    ]
    assert all("stands here no more" in str(fault.found) and fault.line for fault in both)


def test_a_new_inventory_that_tells_it_twice_is_told_both_places() -> None:
    fault = only(old(EXAMPLE, "array_cache: 64 GB", cache="{size: 64 GB}"))
    assert fault.where == "serving.array_cache"
    assert "beside 'cache' of fx100-a" in str(fault.found)
    assert "'cache' of the array alone" in str(fault.wanted)
