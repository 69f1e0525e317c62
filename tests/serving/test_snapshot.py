"""Two snapshots and what lies between them: counters that rose, and everything that must not be taken for 0."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.serving.kv import Layout
from checks.serving.snapshot import Snapshot, Window, interrupted, parse, silent, traffic
from checks.trial import Voided
from lab.serving import pages
from lab.serving.host import section
from lab.serving.pages import Counters
from tests.serving.experiment import site

LAYOUT = Layout(31_744, 8)
BOOT = "6b766761-7465-4c61-b000-000000000001"
SIDE = site().array
ENGINE, WORKERS = SIDE.servers[0].metrics[0], SIDE.servers[0].metrics[1:]


def disks(sectors: int, paths: tuple[str, ...] = ()) -> str:
    rows = ["259 0 nvme0n1 1 0 8 1 0 0 0 0 0 0 0", f"259 1 nvme1n1 1 0 {sectors} 1 0 0 0 0 0 0 0"]
    return "\n".join([*rows, *paths])


def taken(
    counters: Counters, sectors: int = 0, words: int = 0, downs: int = 0, boot: str = BOOT, without: str = ""
) -> Snapshot:
    base = "/sys/class/infiniband/mlx5_0/ports/1/counters"
    text = section("boot", boot) + section("diskstats", disks(sectors))
    text += section("rdma", f"{base}/port_rcv_data:{words}\n{base}/link_downed:{downs}")
    text += section(f"page {ENGINE}", pages.engine(counters))
    for rank, url in enumerate(WORKERS, 1):
        gone = url == without
        body = "curl: (7) refused" if gone else pages.worker(counters, rank, counters.store)
        text += section(f"page {url}", body, 7 if gone else 0)
    return parse(text + "== end\n")


BEFORE = taken(Counters(start=1), 1000, 50)
AFTER = taken(Counters(start=1, prompt=1000, computed=232, store=768), 5000, 950)


def window(before: Snapshot = BEFORE, after: Snapshot = AFTER) -> Window:
    return Window(before, after, "nvme1n1", "nvme0n1")


def test_what_rose_is_told() -> None:
    found = traffic(window(), SIDE, site(), LAYOUT, 9.0)
    assert (found.prompt, found.computed, found.device, found.store, found.store_own) == (1000, 232, 0, 768, 768)
    assert (found.host, found.store_failures, found.preemptions) == (0, 0, 0)
    assert (found.block, found.other_block, found.rdma, found.seconds) == (4000 * 512, 0, 900 * 4, 9.0)


def test_a_worker_that_is_silent_makes_its_counts_unknown_and_is_named() -> None:
    after = taken(Counters(start=1, prompt=1000, computed=232, store=768), 5000, 950, without=WORKERS[2])
    found = traffic(window(after=after), SIDE, site(), LAYOUT, 9.0)
    assert (found.store_own, found.store_failures, found.host) == (None, None, None)
    assert found.store == 768
    assert WORKERS[2] in str(silent(window(after=after))[0])


def test_an_engine_that_was_started_anew_tells_nothing() -> None:
    after = taken(Counters(start=2, prompt=1000, computed=232, store=768), 5000, 950)
    found = traffic(window(after=after), SIDE, site(), LAYOUT, 9.0)
    assert (found.prompt, found.computed, found.store) == (None, None, None)


def test_a_hot_cache_that_holds_anything_leaves_dram_untold() -> None:
    after = taken(Counters(start=1, prompt=1000, computed=232, store=700, dram=68), 5000, 950)
    assert traffic(window(after=after), SIDE, site(), LAYOUT, 9.0).host is None


def test_counters_that_went_back_are_not_told() -> None:
    after = taken(Counters(start=1, prompt=1000), 10, 3)
    found = traffic(window(after=after), SIDE, site(), LAYOUT, 9.0)
    assert (found.block, found.rdma) == (None, None)


def test_a_table_that_could_not_be_read_is_not_told() -> None:
    found = traffic(window(after=replace(AFTER, disks=None, ports=None)), SIDE, site(), LAYOUT, 9.0)
    assert (found.block, found.other_block, found.rdma) == (None, None, None)


def test_a_disk_with_several_paths_counts_on_them() -> None:
    def paths(sectors: int) -> Snapshot:
        row = f"259 2 nvme1c0n1 1 0 {sectors} 1 0 0 0 0 0 0 0"
        text = section("diskstats", disks(0, (row,)))
        return parse(text + "== end\n")

    assert traffic(window(paths(100), paths(300)), SIDE, site(), LAYOUT, 9.0).block == 200 * 512


@pytest.mark.parametrize("changes", [{"boot": BOOT.replace("1", "2")}, {"downs": 1}])
def test_what_no_arm_can_help_takes_the_round_out(changes: dict[str, object]) -> None:
    after = taken(Counters(start=1), 5000, 950, **changes)  # type: ignore[arg-type]
    with pytest.raises(Voided):
        interrupted(window(after=after))
    interrupted(window())


def soft(received: int, *rows: str, ports: str = "") -> Snapshot:
    """A host with soft RoCE: packets are counted at its port, bytes at the network port below."""
    base = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
    shown = section("rdma", ports or f"{base}/rcvd_pkts:7306")
    return parse(shown + section("soft", "\n".join([f"rxe0 eth1 {received}", *rows])) + "== end\n")


def test_bytes_of_soft_roce_are_those_of_the_network_port_below_it_once() -> None:
    more = "rxe1 eth1 {}"
    before, after = soft(1000, more.format(1000)), soft(6000, more.format(6000))
    assert traffic(window(before, after), SIDE, site(), LAYOUT, 9.0).rdma == 5000
    assert traffic(window(after, before), SIDE, site(), LAYOUT, 9.0).rdma is None, "it went back"


def test_soft_roce_beside_ports_of_hardware_adds_nothing() -> None:
    words = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data:{}"
    before, after = soft(1000, ports=words.format(10)), soft(6000, ports=words.format(110))
    assert traffic(window(before, after), SIDE, site(), LAYOUT, 9.0).rdma == 400


def test_soft_roce_that_tells_no_bytes_is_not_told() -> None:
    for broken in ("rxe1 eth1 ", "rxe1", "rxe1 eth2 many"):
        assert soft(1000, broken).soft == ()
        assert traffic(window(soft(500), soft(1000, broken)), SIDE, site(), LAYOUT, 9.0).rdma is None
