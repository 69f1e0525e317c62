"""Proof of the tier: where the prompt tokens came from, and that tokens, store, block device and RDMA port tell the same bytes.

A cell whose counters do not add up is invalid, whatever its ratio: tokens from HBM or the page cache are no storage, and bytes
beyond what a link can carry were never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checks.phrase import Phrase, joined, say
from checks.serving.kv import Layout, stored_tokens
from checks.units import show_bytes
from checks.verdict import Verdict, number


@dataclass(frozen=True, slots=True)
class Traffic:
    """What counters of one cell rose by, from before its first request to after its last. None: not told.

    Tokens by source as the engine counts them: ``computed``, ``device`` (its own prefix cache in HBM), ``host`` (a cache in
    DRAM, of engine or store), ``store`` (loaded from files). ``store_own`` is the store's own count of the last, all workers
    added. ``block`` are bytes read on this arm's block device, ``other_block`` on the other arm's; ``rdma`` bytes received on
    the RDMA port.
    """

    prompt: int | None
    computed: int | None
    device: int | None
    host: int | None
    store: int | None
    store_own: int | None
    store_failures: int | None
    preemptions: int | None
    block: int | None
    other_block: int | None
    rdma: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How far each pair of numbers may lie apart, in percent of the expected one.

    Block bytes: metadata and readahead add, memory takes away. RDMA bytes: 82 bytes of headers on a payload of 4096 are 2 %,
    on one of 1024 8 %.
    """

    sources: float = 0.1
    device: float = 1.0
    host: float = 0.0
    stored: float = 98.0
    store: float = 0.5
    block_less: float = 1.0
    block_more: float = 5.0
    other_block: float = 1.0
    rdma_less: float = 1.0
    rdma_more: float = 10.0
    arms: float = 0.5


@dataclass(frozen=True, slots=True)
class Expected:
    """What the cell must have read: prompts of one length, in whole chunks, each token of ``kv`` bytes.

    ``over_rdma``: the arm lies behind the network. ``ceilings`` are rates in bytes a second that nothing can exceed, by name:
    the link, the data sheets, and what was measured on the device; None where that was to be measured and is not there.
    """

    prompts: int
    tokens: int
    chunk: int
    kv: Layout
    over_rdma: bool
    ceilings: Mapping[Phrase, float | None]
    chunk_header: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the reconciliation. ``holds`` None: a number is missing. Unit ``tokens`` or ``B`` or ``B/s``.

    ``near``: found must lie near what is expected; else that is the most or the least it may be.
    """

    what: Phrase
    found: float | None
    expected: float | None
    unit: str
    allowed: Phrase
    holds: bool | None
    near: bool = False


def reconcile(traffic: Traffic, expected: Expected, tolerances: Tolerances | None = None) -> tuple[Row, ...]:
    """Return every line of the reconciliation in the order of the data's way. Lines that do not apply are left out."""
    t = tolerances or Tolerances()
    kept = expected.prompts * stored_tokens(expected.tokens, expected.chunk)
    asked = expected.prompts * expected.tokens
    parts = (traffic.computed, traffic.device, traffic.host, traffic.store)
    added = None if None in parts else sum(part for part in parts if part is not None)
    read = _bytes(traffic.store, expected)
    rows = [
        _row(say("prompt tokens"), traffic.prompt, asked, "tokens", t.sources, t.sources),
        _row(say("tokens of all sources"), added, traffic.prompt, "tokens", t.sources, t.sources),
        _most(say("tokens from HBM"), traffic.device, traffic.prompt, "tokens", t.device),
        _most(say("tokens from DRAM"), traffic.host, traffic.prompt, "tokens", t.host),
        _least(say("tokens from the store"), traffic.store, kept, "tokens", t.stored),
        _row(say("tokens as the store counts them"), traffic.store_own, traffic.store, "tokens", t.store, t.store),
        _row(say("bytes read on the block device"), traffic.block, read, "B", t.block_less, t.block_more),
        _most(say("bytes read on the other arm's device"), traffic.other_block, read, "B", t.other_block),
    ]
    if expected.over_rdma:
        rows.append(
            _row(say("bytes received on the RDMA port"), traffic.rdma, traffic.block, "B", t.rdma_less, t.rdma_more)
        )  # fmt: skip
    rows += [_ceiling(name, limit, traffic) for name, limit in expected.ceilings.items()]
    rows += [
        _most(say("failed loads and stores"), traffic.store_failures, 0, "", 0),
        _most(say("preemptions"), traffic.preemptions, 0, "", 0),
    ]
    return tuple(rows)


def anew(traffic: Traffic, prompts: int, tokens: int, tolerances: Tolerances | None = None) -> tuple[Row, ...]:
    """The lines of an arm that keeps no KV: it computed every token of its prompts, but what its own prefix cache may give."""
    t = tolerances or Tolerances()
    return (
        _row(say("prompt tokens"), traffic.prompt, prompts * tokens, "tokens", t.sources, t.sources),
        _row(say("tokens computed"), traffic.computed, traffic.prompt, "tokens", t.device + t.sources, t.sources),
        _most(say("preemptions"), traffic.preemptions, 0, "", 0),
    )


def _bytes(tokens: int | None, expected: Expected) -> float | None:
    if tokens is None:
        return None
    header = expected.chunk_header * expected.kv.ranks / expected.chunk
    return tokens * (expected.kv.token_bytes + header)


def _row(what: Phrase, found: float | None, wanted: float | None, unit: str, less: float, more: float) -> Row:
    allowed = say("-{less} % to +{more} %", less=f"{less:g}", more=f"{more:g}")
    holds = None
    if number(found) is not None and number(wanted) is not None and found is not None and wanted is not None:
        holds = wanted > 0 and wanted * (1 - less / 100) <= found <= wanted * (1 + more / 100)
    return Row(what, found, wanted, unit, allowed, holds, near=True)


def _most(what: Phrase, found: float | None, of: float | None, unit: str, percent: float) -> Row:
    limit = None if of is None else of * percent / 100
    allowed = say("at most {percent} %", percent=f"{percent:g}") if of else say("none")
    holds = None if found is None or limit is None else 0 <= found <= limit
    return Row(what, found, limit, unit, allowed, holds)


def _least(what: Phrase, found: float | None, of: float, unit: str, percent: float) -> Row:
    allowed = say("not more than there are, and at least {percent} %", percent=f"{percent:g}")
    holds = None if found is None else of > 0 and of * percent / 100 <= found <= of
    return Row(what, found, of, unit, allowed, holds)


def _ceiling(name: Phrase, limit: float | None, traffic: Traffic) -> Row:
    rate = None
    if traffic.block is not None and traffic.seconds is not None and traffic.seconds > 0:
        rate = traffic.block / traffic.seconds
    what = say("read rate against {name}", name=name)
    return Row(what, rate, limit, "B/s", say("not above"), None if rate is None or limit is None else rate <= limit)


def unproven(rows: tuple[Row, ...]) -> tuple[Phrase, ...]:
    """The lines that do not hold or could not be told, as faults of the cell. No lines are no proof."""
    if not rows:
        return (say("nothing proves where the data came from"),)
    found = []
    for row in rows:
        if row.holds is None:
            found.append(say("{what}: not told", what=row.what))
        elif not row.holds:
            found.append(
                say(
                    "{what}: {found}, expected {expected} ({allowed})",
                    what=row.what, found=_show(row.found, row.unit), expected=_show(row.expected, row.unit),
                    allowed=row.allowed,
                )
            )  # fmt: skip
    return tuple(found)


def _show(value: float | None, unit: str) -> Phrase | str:
    if value is None:
        return say("not told")
    if unit in ("B", "B/s"):
        return show_bytes(int(value)) + unit.removeprefix("B")
    return say("{count} tokens", count=f"{value:,.0f}") if unit == "tokens" else f"{value:,.0f}"


def unequal_hits(local: Traffic, array: Traffic, percent: float) -> tuple[Phrase, ...]:
    """Both arms loaded the same tokens, or one of them did less work; a fault of the pair."""
    if local.store is None or array.store is None:
        return (say("tokens from the store were not told on both arms"),)
    if local.store <= 0 or array.store <= 0 or abs(array.store / local.store - 1) * 100 > percent:
        return (
            say(
                "tokens from the store: local {local}, array {array}; they may differ by {percent} %",
                local=f"{local.store:,}", array=f"{array.store:,}", percent=f"{percent:g}",
            ),
        )  # fmt: skip
    return ()


def proven(rows: tuple[Row, ...]) -> Verdict:
    """The clause on one cell: the proof holds, or the cell is invalid. It never stops: it says that nothing was measured."""
    required = say("tokens, store, device and port tell the same bytes")
    if reasons := unproven(rows):
        return Verdict.undecided(joined(reasons), required)
    return Verdict.of(True, say("{count} lines of the reconciliation hold", count=len(rows)), required)
