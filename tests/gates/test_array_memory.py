"""The array's memory in G2: working sets exceed what the inventory tells of it, and each verdict says how it stands to it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from checks.verdict import Outcome, Verdict
from lab.faults import every
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
    found, count = re.subn(r"\n    cache: \{size: 64 GB\}[^\n]*", cache and f"\n    cache: {{{cache}}}", written)
    assert count == 1
    return found


def of_the_array(cache: str, *clauses: str) -> dict[str, Verdict]:
    only = "|".join(re.escape(clause) for clause in clauses or CLAUSES)
    found = judge(gate="G2", only=only, inventory=inventory(cache)).verdicts
    return {item.clause: verdict for item, verdict in found.items() if item.subject.endswith("/mnt/fx100")}


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        ("size: 64 GB", "working set 128 GB, 2.0 times the array's memory of 64 GB"),
        ("size: 64 GB, flushed: true", "the vendor empties the array's memory of 64 GB between rounds, as declared"),
        ("flushed: true", "the vendor empties the array's memory between rounds, as declared"),
        ("size: 0 B", "the array has no memory of its own, as declared"),
    ],
)  # fmt: skip
def test_each_verdict_on_the_array_says_how_it_stands_to_its_memory(cache: str, said: str) -> None:
    found = of_the_array(cache)
    assert found.keys() == set(CLAUSES)
    for clause, verdict in found.items():
        assert verdict.outcome is Outcome.PASS, (clause, verdict)
        whole = said if clause != "G2.3.2" or "128" not in said else "the array's memory of 64 GB may have answered"
        assert whole in str(verdict.note), clause


def test_reads_at_random_say_how_much_of_them_memory_may_have_answered() -> None:
    """Half of a working set of twice the memory lies in it: such reads may be up to twice as fast as the disks."""
    said = "of reads at random up to 50 percent may have come from that memory"
    found = of_the_array("size: 64 GB", "G2.1.2", "G2.1.4", "G2.1.6", "G2.1.14")
    assert {clause for clause, verdict in found.items() if said in str(verdict.note)} == {"G2.1.4", "G2.1.6", "G2.1.14"}
    for cache in ("size: 0 B", "size: 64 GB, flushed: true"):
        assert "at random" not in str(of_the_array(cache, "G2.1.4")["G2.1.4"].note)


def test_where_the_order_tells_nothing_of_the_memory_nothing_that_was_met_passes() -> None:
    found = of_the_array("")
    assert found.keys() == set(CLAUSES)
    for clause, verdict in found.items():
        # Whole files prove no rate: blocks beside them (G2.3.1) are held to it.
        assert verdict.outcome is (Outcome.PASS if clause == "G2.3.2" else Outcome.UNDECIDED), (clause, verdict)
        assert "declare `cache` of the array's host" in str(verdict.note), clause


def test_what_is_too_slow_is_a_stop_whatever_the_memory() -> None:
    found = judge(["array-memory-untold", "volume-kv-slow"], gate="G2", only=r"G2\.1\.[2456]").verdicts
    array = {item.clause: verdict for item, verdict in found.items() if item.subject.endswith("/mnt/fx100")}
    assert {verdict.outcome for verdict in array.values()} == {Outcome.STOP}
    assert all("not proven that the array's disks answered" in str(verdict.note) for verdict in array.values())


def test_a_local_disk_is_no_matter_of_the_array_s_memory() -> None:
    found = judge(["array-memory-untold"], gate="G2", only=r"G2\.1\.2").verdicts
    assert {item.subject.partition(":")[2]: verdict.outcome for item, verdict in found.items()} == {
        "/mnt/nvme0": Outcome.PASS,
        "/mnt/fx100": Outcome.UNDECIDED,
    }


#: Clauses of G3 about what the array gave; what shows that KV came from it at all, and gave the same answers, is none.
COMPARED = {"G3.3.1", "G3.3.2", "G3.4.1", "G3.4.2", "G3.6.1", "G3.9.1", "G3.9.2"}


def test_no_comparison_of_g3_passes_where_nobody_tells_of_the_memory() -> None:
    result = judge(["array-memory-untold"], gate="G3", concurrencies=(8,))
    assert not result.clauses(Outcome.STOP)
    assert result.clauses(Outcome.UNDECIDED) == COMPARED
    assert not COMPARED & result.clauses(Outcome.PASS)
    for clause in COMPARED:
        assert all("declare `cache` of the array's host" in why for why in result.why(clause)), clause


def test_a_comparison_of_g3_that_is_lost_stays_lost() -> None:
    only = r"G3\.3\.1"
    lost = next(fault for fault in every().values() if "G3.3.1" in fault.stops and not (fault.engine or fault.driver))
    found = judge(["array-memory-untold", lost.name], gate="G3", concurrencies=(8,), only=only)
    assert found.clauses(Outcome.STOP) == {"G3.3.1"}


def test_a_memory_that_no_working_set_on_the_volume_can_exceed_lets_nothing_be_told() -> None:
    for clause, verdict in of_the_array("size: 40 TB").items():
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
