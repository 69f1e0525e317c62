"""All counters of an arm's host at one moment, and what they rose by between two: tokens by source, bytes of devices and ports.

What was not told on one side of the window is None after it, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from checks.block.burst import is_path_of
from checks.lexing import integer
from checks.parsers import boot_id, diskstats, prometheus, sysfs_infiniband
from checks.parsers.diskstats import Moved
from checks.parsers.prometheus import Metrics
from checks.parsers.sysfs_infiniband import IbPort
from checks.phrase import Phrase, say
from checks.probe import Probe, UnreadableOutput
from checks.serving import sections, sources
from checks.serving.kv import Layout
from checks.serving.reconciliation import Traffic
from checks.serving.sections import SHOW, Section
from checks.serving.site import Server, Side, Site
from checks.trial import Voided

Fact = TypeVar("Fact")

# A device of soft RoCE counts packets only, and names the network port that carries all of its bytes.
_SNAPSHOT = (
    f": kvgate serving snapshot; {SHOW}"
    'soft() { for one in /sys/class/infiniband/*/parent; do [ -r "$one" ] || continue; net=$(cat "$one"); '
    """device=${one#/sys/class/infiniband/}; echo "${device%%/*} $net $(cat "/sys/class/net/$net/statistics/rx_bytes")"; done; }; """
    "show boot cat /proc/sys/kernel/random/boot_id; show meminfo cat /proc/meminfo; show diskstats cat /proc/diskstats; "
    "show rdma grep -Hs '' /sys/class/infiniband/*/ports/*/counters/port_rcv_data "
    "/sys/class/infiniband/*/ports/*/counters/link_downed; "
    "show soft soft; "
    'for url in "$@"; do show "page $url" curl -sS -f -m 30 --url "$url"; done; echo "== end"'
)


#: Counters of vLLM's tiers that are printed from their first failure on.
_FAILURES = frozenset(
    f"vllm:kv_offload_{name}_total"
    for name in (
        "tiering_promotion_job_failures", "tiering_cascade_job_failures", "tiering_promotion_allocation_failures",
        "allocation_failure",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters at one moment. A page or a table that could not be read is a phrase that says why."""

    boot: str | None
    disks: tuple[Moved, ...] | None
    ports: tuple[IbPort, ...] | None
    pages: tuple[tuple[str, Metrics | None, str], ...]
    soft: tuple[
        tuple[str, str, int], ...
    ] = ()  # device of soft RoCE, the network port below it, bytes that that received

    def page(self, url: str) -> Metrics | None:
        """Metrics of one page; None where it did not answer with metrics."""
        return next((metrics for found, metrics, _ in self.pages if found == url), None)


def snapshot(servers: Sequence[Server]) -> Probe[Snapshot]:
    """Every page of these servers, and the counters of the host it is asked on."""
    urls = tuple(url for server in servers for url in server.metrics)
    return Probe("serving-snapshot", ("sh", "-c", _SNAPSHOT, "sh", *urls), parse, 30.0 + 35.0 * len(urls))


def parse(text: str) -> Snapshot:
    """Read the sections; a tool that failed leaves None in its place."""
    found = sections.parse(text)
    pages = []
    for name, section in found.items():
        if name.startswith("page "):
            pages.append((name[5:], *_page(section)))
    boot = _maybe(found, "boot", boot_id.parse)
    return Snapshot(
        boot=None if boot is None else boot.id,
        disks=_maybe(found, "diskstats", diskstats.parse),
        ports=_maybe(found, "rdma", sysfs_infiniband.parse),
        pages=tuple(pages),
        soft=_maybe(found, "soft", _soft) or (),
    )


def _soft(text: str) -> tuple[tuple[str, str, int], ...]:
    rows = [row.split(" ") for row in text.splitlines()]
    if any(len(row) != 3 for row in rows):
        raise UnreadableOutput(f"found {text[:80]!r}, wanted lines of a device, its network port and bytes")
    return tuple((device, net, integer(count, "bytes received")) for device, net, count in rows)


def _page(section: Section) -> tuple[Metrics | None, str]:
    if not section.good:
        return None, section.text.strip()[-160:]
    try:
        return prometheus.parse(section.text), ""
    except UnreadableOutput as error:
        return None, str(error)[:160]


def _maybe(found: dict[str, Section], name: str, parse: Callable[[str], Fact]) -> Fact | None:
    if name not in found or not found[name].good:
        return None
    try:
        return parse(found[name].text)
    except UnreadableOutput:
        return None


@dataclass(frozen=True, slots=True)
class Window:
    """Two snapshots around something, and the device of each arm on this host (None: it is not mounted here)."""

    before: Snapshot
    after: Snapshot
    device: str | None
    other: str | None


def interrupted(window: Window) -> None:
    """Raise Voided for what no arm can help: a reboot, or a link of the fabric that went down, between two snapshots."""
    before, after = window.before, window.after
    if before.boot is not None and after.boot is not None and before.boot != after.boot:
        raise Voided(say("the host was rebooted while it was measured"))
    first = {(one.device, one.port): one.counters.get("link_downed") for one in before.ports or ()}
    for one in after.ports or ():
        old, new = first.get((one.device, one.port)), one.counters.get("link_downed")
        if old is not None and new is not None and new > old:
            raise Voided(say("the link of {port} went down while it was measured", port=f"{one.device}/{one.port}"))


def traffic(window: Window, side: Side, site: Site, layout: Layout | None, seconds: float | None) -> Traffic:
    """What the counters of all servers of one arm rose by. ``layout`` is None for an arm that keeps no KV."""
    told = [_server(window, server, site, layout) for server in side.servers]
    return Traffic(
        prompt=_sum([one.prompt for one in told]),
        computed=_sum([one.computed for one in told]),
        device=_sum([one.device for one in told]),
        host=_sum([one.host for one in told]),
        store=_sum([one.store for one in told]),
        store_own=_sum([one.store_own for one in told]),
        store_failures=_sum([one.store_failures for one in told]),
        preemptions=_sum([one.preemptions for one in told]),
        block=_read(window, window.device),
        other_block=0 if window.other is None else _read(window, window.other),
        rdma=_received(window),
        seconds=seconds,
    )


def _sum(parts: Sequence[int | None]) -> int | None:
    return None if not parts or None in parts else sum(part for part in parts if part is not None)


def _server(window: Window, server: Server, site: Site, layout: Layout | None) -> Traffic:
    pages = [(window.before.page(url), window.after.page(url)) for url in server.metrics]
    whole = [(before, after) for before, after in pages if before is not None and after is not None]
    if not whole or pages[0][0] is None or pages[0][1] is None:
        return Traffic(*[None] * 12)
    before, after = pages[0][0], pages[0][1]
    found = sources.sglang(before, after) if site.engine == "sglang" else sources.vllm(before, after)
    workers = whole if len(pages) == 1 else whole[1:]
    expected = len(pages) if len(pages) == 1 else len(pages) - 1
    own, failures, host = None, None, found.host
    if site.kind.startswith("lmcache"):
        own, failures = sources.lmcache_hits(workers, expected), sources.lmcache_failures(workers, expected)
        host = _hot(workers, expected) if host is None else host
    elif site.kind == "vllm-fs" and layout is not None:
        own, failures = _tiering(before, after, layout)
    elif site.kind == "sglang-hicache":
        own, failures = sources.hicache(before, after)
    return Traffic(
        found.prompt,
        found.computed,
        found.device,
        host,
        found.store,
        own,
        failures,
        found.preemptions,
        None,
        None,
        None,
        None,
    )


def _hot(workers: Sequence[tuple[Metrics, Metrics]], expected: int) -> int | None:
    """0 tokens from DRAM where every worker's hot cache was empty before and after; what a filled one gave is not told."""
    gauges = [
        [one.value for one in metrics.samples if one.name == "lmcache:local_cpu_hot_cache_count"]
        for pair in workers
        for metrics in pair
    ]
    empty = len(workers) == expected and all(gauge and not any(gauge) for gauge in gauges)
    return 0 if empty and gauges else None


def _tiering(before: Metrics, after: Metrics, layout: Layout) -> tuple[int | None, int | None]:
    """Tokens and failures by vLLM's own tiers; a failure counter that was never raised is not printed at all."""
    labels = {dict(one.labels).get("tier", "") for one in after.samples}
    disk = next((label for label in sorted(labels) if label.endswith(":fs")), "")
    size = sources.rise(before, after, "vllm:kv_offload_tiering_read_bytes_total", tier=disk)
    if size is None:
        return None, None
    raised = {one.name for one in after.samples if one.name in _FAILURES}
    failures = _sum([0, *(sources.rise(before, after, name) for name in sorted(raised))])
    return round(size / layout.token_bytes), failures


def _read(window: Window, device: str | None) -> int | None:
    values = []
    for moment in (window.before, window.after):
        sizes = {one.device: one.read_bytes for one in moment.disks or ()}
        if device is None or device not in sizes:
            return None
        paths = sum(size for name, size in sizes.items() if is_path_of(name, device))
        values.append(max(sizes[device], paths))  # a multipath device may count on its paths alone
    return values[1] - values[0] if values[1] >= values[0] else None


def _received(window: Window) -> int | None:
    """Bytes that all RDMA ports of the host received; the counter counts words of four bytes.

    Devices of soft RoCE have no such counter. Where there are no others, their bytes are those of the network ports below them; what
    else came in there is counted too, and shows as too many bytes, never as too few.
    """

    def total(moment: Snapshot) -> dict[tuple[str, int | str], int]:
        words: dict[tuple[str, int | str], int] = {
            (one.device, one.port): one.counters["port_rcv_data"] * 4
            for one in moment.ports or ()
            if "port_rcv_data" in one.counters
        }
        return words or {("", net): count for _, net, count in moment.soft}

    before, after = total(window.before), total(window.after)
    if not before or before.keys() != after.keys() or any(after[port] < before[port] for port in before):
        return None
    return sum(after[port] - before[port] for port in before)


def silent(window: Window) -> tuple[Phrase, ...]:
    """Pages that did not answer, as faults of the cell with their reason."""
    found = []
    for moment in (window.before, window.after):
        for url, metrics, why in moment.pages:
            if metrics is None:
                found.append(say("{url} gave no metrics: {why}", url=url, why=why or say("no answer")))
    return tuple(dict.fromkeys(found))
