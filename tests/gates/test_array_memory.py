"""The array's memory in G2: working sets exceed what the inventory tells of it, and each verdict says how it stands to it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from checks.verdict import Outcome, Verdict
from lab.inventory import text
from lab.rack import build, fingerprint, host_key
from tests.gates.harness import agreement, judge

#: Every clause of G2 that reads back from the array, or writes to it.
CLAUSES = ("G2.1.4", "G2.1.8", "G2.2.9", "G2.3.1", "G2.3.2", "G2.4.1", "G2.5.1")


def inventory(cache: str) -> str:

    hosts = build(2, "rocm", ())
    written = text(
        [(one.ordered, 42200 + index, fingerprint(host_key(one.name))) for index, one in enumerate(hosts)],
        concurrencies=(8,),
    )
    assert "  array_cache: 64 GB\n" in written
    return written.replace("  array_cache: 64 GB\n", cache)


def of_the_array(cache: str, *clauses: str) -> dict[str, Verdict]:
    only = "|".join(re.escape(clause) for clause in clauses or CLAUSES)
    found = judge(gate="G2", only=only, inventory=inventory(cache)).verdicts
    return {item.clause: verdict for item, verdict in found.items() if item.subject.endswith("/mnt/fx100")}


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        ("  array_cache: 64 GB\n", "working set 128 GB, 2.0 times the array's memory of 64 GB"),
        ("", "not proven that the array's disks answered and not its memory"),
        ("  array_cache: 64 GB\n  array_cache_flushed: true\n", "as declared"),
        ("  array_cache: 0 B\n", "the array has no memory of its own, as declared"),
    ],
)  # fmt: skip
def test_each_verdict_on_the_array_says_how_it_stands_to_its_memory(cache: str, said: str) -> None:
    found = of_the_array(cache)
    assert found.keys() == set(CLAUSES)
    for clause, verdict in found.items():
        assert verdict.outcome is Outcome.PASS, (clause, verdict)
        whole = said if clause != "G2.3.2" or "128" not in said else "the array's memory of 64 GB may have answered"
        assert whole in str(verdict.note), clause


def test_a_memory_that_no_working_set_on_the_volume_can_exceed_lets_nothing_be_told() -> None:
    for clause, verdict in of_the_array("  array_cache: 40 TB\n").items():
        if clause != "G2.3.2":
            assert verdict.outcome is Outcome.UNDECIDED, (clause, verdict)
            assert "free, wanted" in str(verdict.note), clause


def test_what_was_measured_within_the_memory_is_undecided() -> None:
    """A campaign may agree on less than the memory holds: then nothing of it passes."""
    agreed = agreement()
    small = {
        name: clause.model_copy(
            update={"limits": {**clause.limits, "beyond": clause.limits["beyond"].model_copy(update={"value": 0.1})}}
        )
        for name, clause in agreed.acceptance.clauses.items()
        if "beyond" in clause.limits
    }
    assert small.keys() >= set(CLAUSES) - {"G2.3.2"}
    smaller = replace(
        agreed, acceptance=agreed.acceptance.model_copy(update={"clauses": {**agreed.acceptance.clauses, **small}})
    )
    only = "|".join(re.escape(clause) for clause in CLAUSES)
    found = judge(gate="G2", only=only, clauses=smaller).verdicts
    for item, verdict in found.items():
        array = item.subject.endswith("/mnt/fx100") and item.clause != "G2.3.2"
        assert verdict.outcome is (Outcome.UNDECIDED if array else Outcome.PASS), (item, verdict)
        assert ("measured the array's memory" in str(verdict.note)) is array
