"""Tokens, store, device and port: what adds up is proof; each way it may not is named, and nothing missing passes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from checks.phrase import say
from checks.serving.kv import Layout
from checks.serving.reconciliation import (
    Expected,
    Tolerances,
    Traffic,
    proven,
    reconcile,
    unequal_hits,
    unproven,
)
from checks.verdict import Outcome

KV = Layout(rank_bytes=31744, ranks=8)
EXPECTED = Expected(
    prompts=80, tokens=32768, chunk=256, kv=KV, over_rdma=True,
    ceilings={say("the link"): 12.5e9, say("what fio measured"): 11.0e9},
)  # fmt: skip
PROMPT = 80 * 32768
STORE = 80 * (32768 - 1)
BYTES = PROMPT * KV.token_bytes
GOOD = Traffic(
    prompt=PROMPT, computed=80, device=0, host=0, store=STORE, store_own=PROMPT, store_failures=0, preemptions=0,
    block=BYTES, other_block=0, rdma=int(BYTES * 1.02), seconds=100.0,
)  # fmt: skip
SKEWED = int(STORE * 0.97)


def said(traffic: Traffic, expected: Expected = EXPECTED) -> list[str]:
    return [str(reason) for reason in unproven(reconcile(traffic, expected))]


def test_numbers_that_add_up_are_proof() -> None:
    assert said(GOOD) == []
    assert proven(reconcile(GOOD, EXPECTED)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "change, named",
    [
        ({"prompt": PROMPT + 40000}, ["prompt tokens", "tokens of all sources"]),
        ({"computed": 80 + 5000}, ["tokens of all sources"]),
        ({"device": int(PROMPT * 0.0101), "computed": 80 - int(PROMPT * 0.0101)}, ["tokens from HBM"]),
        ({"host": 1}, ["tokens from DRAM"]),
        (
            {
                "store": SKEWED,
                "computed": 80 + STORE - SKEWED,
                "store_own": SKEWED,
                "block": SKEWED * KV.token_bytes,
                "rdma": int(SKEWED * KV.token_bytes * 1.02),
            },
            ["tokens from the store"],
        ),
        ({"store_own": int(STORE * 1.006)}, ["as the store counts"]),
        ({"block": 0}, ["block device", "RDMA"]),
        ({"block": int(BYTES * 0.985)}, ["block device"]),
        ({"block": int(BYTES * 1.055), "rdma": int(BYTES * 1.06)}, ["block device"]),
        ({"other_block": int(BYTES * 0.011)}, ["other arm's device"]),
        ({"rdma": int(BYTES * 0.98)}, ["RDMA"]),
        ({"rdma": int(BYTES * 1.11)}, ["RDMA"]),
        ({"seconds": 50.0}, ["against the link", "against what fio"]),
        ({"seconds": 58.0}, ["against what fio"]),
        ({"store_failures": 1}, ["failed loads"]),
        ({"preemptions": 1}, ["preemptions"]),
    ],
)
def test_one_number_that_does_not_add_up_is_named(change: dict[str, Any], named: list[str]) -> None:
    found = said(replace(GOOD, **change))
    assert len(found) == len(named), found
    for reason, word in zip(found, named, strict=True):
        assert word in reason


@pytest.mark.parametrize("field", [field.name for field in fields(Traffic)])
def test_a_number_that_was_not_told_is_no_proof(field: str) -> None:
    found = said(replace(GOOD, **{field: None}))
    assert found
    assert all("not told" in reason for reason in found)
    assert proven(reconcile(replace(GOOD, **{field: None}), EXPECTED)).outcome is Outcome.UNDECIDED


def test_everything_zero_proves_nothing() -> None:
    zero = Traffic(*(0 for _ in fields(Traffic)))
    assert len(said(zero)) >= 6
    assert said(replace(GOOD, seconds=0.0))[0].endswith("not told")


def test_page_cache_shows_as_bytes_that_the_device_never_gave() -> None:
    found = said(replace(GOOD, block=int(BYTES * 0.4), rdma=int(BYTES * 0.41)))
    assert found == [
        "bytes read on the block device: 266.3 GB, expected 665.7 GB (-1 % to +5 %)",
    ]


def test_the_local_arm_has_no_port_to_tell_of() -> None:
    local = replace(EXPECTED, over_rdma=False)
    assert said(replace(GOOD, rdma=None), local) == []


def test_the_files_of_a_real_run_reconcile() -> None:
    # vLLM 0.32 on CPU: 93 blocks of 128 tokens and 1 MiB from the fs tier, 97,517,568 bytes by its counter, /proc/diskstats +97.8 MB.
    expected = Expected(prompts=3, tokens=4000, chunk=128, kv=Layout(8192, 1), over_rdma=False, ceilings={})
    traffic = Traffic(12000, 96, 0, 0, 11904, 11904, 0, 0, 97_800_000, 0, None, 5.7)
    assert 93 * 128 == 11904
    assert said(traffic, expected) == []


def test_chunk_headers_are_bytes_too() -> None:
    small = Expected(prompts=1, tokens=256, chunk=256, kv=Layout(1, 8), over_rdma=False, ceilings={}, chunk_header=28)
    rows = reconcile(replace(GOOD, store=256), small)
    assert next(row.expected for row in rows if "block" in str(row.what)) == 8 * (256 + 28)


def test_no_lines_are_no_proof() -> None:
    assert proven(()).outcome is Outcome.UNDECIDED
    assert unproven(()) != ()


@pytest.mark.parametrize(
    "array, equal",
    [
        (STORE, True),
        (int(STORE * 1.005), True),
        (int(STORE * 1.0051), False),
        (int(STORE * 0.9949), False),
        (0, False),
        (None, False),
    ],
)
def test_both_arms_loaded_the_same_tokens(array: int | None, equal: bool) -> None:
    percent = Tolerances().arms
    assert (unequal_hits(GOOD, replace(GOOD, store=array), percent) == ()) is equal
