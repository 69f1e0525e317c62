"""Hosts that are down, refuse, keep silent, break off or talk nonsense: exactly what they would have told is undecided."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.faults import trouble
from lab.machine import Edit
from tests.e2e.site import Verdicts, clauses, outcomes, served

FAULTS = {fault.name: fault for fault in trouble.FAULTS}
#: Longest first: a silent host is waited for as long as its longest command may take. Most of the time goes by waiting.
ORDER = sorted(FAULTS, key=lambda name: (name != "node-silent", "hangs" not in name and "slow" not in name))

Told = tuple[int, str, Verdicts]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Told]]]:
    """Exit status, output and verdicts of a run on every troubled rack, three at a time."""
    folder = tmp_path_factory.mktemp("trouble")

    def run(name: str, place: Path) -> Told:
        with served(place, name) as site:
            ended = site.gate()
            return ended.returncode, ended.stdout + ended.stderr, outcomes(site.last())

    with ThreadPoolExecutor(3) as pool:
        yield {name: pool.submit(run, name, folder / name) for name in ORDER}


def short(found: set[str]) -> str:
    """Clauses as lab/faults/trouble.py writes them."""
    sections: dict[str, list[int]] = {}
    for clause in found:
        _, section, number = clause.split(".")
        sections.setdefault(section, []).append(int(number))
    return "; ".join(f"{name}: {' '.join(map(str, sorted(numbers)))}" for name, numbers in sorted(sections.items()))


@pytest.mark.parametrize("name", sorted(FAULTS, key=ORDER.index, reverse=True))
def test_trouble_is_noticed_by_exactly_its_clauses(told: dict[str, Future[Told]], name: str) -> None:
    fault = FAULTS[name]
    status, text, verdicts = told[name].result(200)
    assert "Traceback" not in text
    assert "missing" not in verdicts.values()
    assert short(clauses(verdicts, "STOP")) == short(set(fault.stops))
    assert short(clauses(verdicts, "UNDECIDED") - fault.stops) == short(set(fault.undecided - fault.stops))
    assert status == (1 if fault.stops else 6 if fault.undecided else 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("host-key-changed", "another machine answers there, or it was installed anew"),
        ("login-refused", "put the right public key into its authorized_keys"),
        ("node-down", "is sshd running, is the port right?"),
        ("node-hangs-up", "MaxStartups"),
        ("node-silent", "log in by hand and look"),
        ("node-talks-garbage", "wanted a POSIX shell"),
        ("link-cut-in-batch", "look at the link, run again"),
        ("node-command-hangs", "lscpu did not end within 10 s"),
        ("node-clock-ahead", "ahead of"),
    ],
)
def test_the_reason_says_what_to_do_next(told: dict[str, Future[Told]], name: str, words: str) -> None:
    text = " ".join(told[name].result(200)[1].split())
    assert words in text


def test_other_hosts_are_decided_as_ever(told: dict[str, Future[Told]]) -> None:
    for name in ("node-down", "node-silent", "node-talks-garbage", "login-refused"):
        verdicts = told[name].result(200)[2]
        others = {outcome for (_, subject), outcome in verdicts.items() if subject.startswith("fx100-a")}
        assert others == {"PASS"}


def test_a_command_that_takes_its_time_but_ends_changes_nothing(tmp_path: Path) -> None:
    with served(tmp_path, edits={"node-01": (Edit(ask="lscpu.*", delay=1.5),)}) as site:
        assert site.gate().returncode == 0


def test_a_connection_that_breaks_in_the_middle_leaves_what_had_arrived(tmp_path: Path) -> None:
    with served(tmp_path, edits={"node-01": (Edit(ask="dmidecode.*", delay=0.2, cut=True),)}) as site:
        assert site.gate().returncode == 6
        verdicts = outcomes(site.last())
        node = {clause: outcome for (clause, subject), outcome in verdicts.items() if subject == "node-01"}
        assert node["G1.1.1"] == node["G1.1.2"] == node["G1.1.3"] == "PASS"  # answered before the break
        assert node["G1.1.5"] == "UNDECIDED"
        assert set(verdicts.values()) == {"PASS", "UNDECIDED"}
