"""Identity, kernel, processors and firmware of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.host import criteria
from checks.parsers.cmdline import CommandLine
from checks.parsers.dmidecode import Firmware, Module
from checks.parsers.lscpu import Processors
from checks.phrase import say
from checks.verdict import Outcome, Verdict

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
CPU = Processors("AMD EPYC 9654 96-Core Processor", 2, 96, 2, 384, "0-383", 2)
DIMM = Module("A1", 64 * 2**20, 4800, 4800)
FIRMWARE = Firmware("Dell Inc.", "2.3.7", None, 2, (DIMM, replace(DIMM, locator="A2")))


@pytest.mark.parametrize(
    ("presented", "outcome"), [("SHA256:a", PASS), ("SHA256:b", STOP), ("", UNDECIDED), (None, UNDECIDED)]
)
def test_the_host_key_is_the_pinned_one(presented: str | None, outcome: Outcome) -> None:
    assert criteria.host_key_pinned(presented, "SHA256:a").outcome is outcome


@pytest.mark.parametrize("release", ["6.8.0-60-generic", "6.8.0-61-generic", "6.8.0-60", ""])
def test_the_kernel_is_the_one_ordered_to_its_last_word(release: str) -> None:
    outcome = PASS if release == "6.8.0-60-generic" else STOP if release else UNDECIDED
    assert criteria.kernel_ordered(release, "6.8.0-60-generic").outcome is outcome


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (CPU, PASS),
        (replace(CPU, cores_per_socket=95), STOP),
        (replace(CPU, cores_per_socket=97), STOP),
        (replace(CPU, sockets=1, cores_per_socket=192), STOP),
        (replace(CPU, model="AMD EPYC 9554 64-Core Processor"), STOP),
        (replace(CPU, online="0-381"), STOP),  # one core of the second socket is dead: lscpu still says 96 per socket
        (replace(CPU, threads_per_core=1, online="0-191"), PASS),  # SMT off
        (replace(CPU, online=None), UNDECIDED),
        (replace(CPU, threads_per_core=None), UNDECIDED),
        (replace(CPU, sockets=None), UNDECIDED),
        (replace(CPU, model=None), UNDECIDED),
    ],
)
def test_processors_are_those_ordered(found: Processors, outcome: Outcome) -> None:
    assert criteria.processors_ordered(found, CPU.model or "", 2, 192).outcome is outcome


def test_the_firmware_version_is_the_one_ordered() -> None:
    assert criteria.firmware_ordered(FIRMWARE, "2.3.7").outcome is PASS
    assert criteria.firmware_ordered(FIRMWARE, "2.3.70").outcome is STOP
    assert criteria.firmware_ordered(replace(FIRMWARE, version=None), "2.3.7").outcome is UNDECIDED


@pytest.mark.parametrize(
    ("words", "outcome"),
    [(("ro", "iommu=pt"), PASS), (("ro", "iommu=ptx"), STOP), (("ro", "amd_iommu=pt"), STOP), ((), STOP)],
)
def test_agreed_words_are_whole_words(words: tuple[str, ...], outcome: Outcome) -> None:
    assert criteria.booted_with(CommandLine(words), ("iommu=pt",)).outcome is outcome
    assert criteria.booted_with(CommandLine(words), ()).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("found", "kinds", "outcome"),
    [
        ({"a": "1", "b": "1"}, {"a": "x", "b": "x"}, PASS),
        ({"a": "1", "b": "2"}, {"a": "x", "b": "x"}, STOP),
        ({"a": "1", "b": "2"}, {"a": "x", "b": "y"}, PASS),
        ({"a": "1", "b": None}, {"a": "x", "b": "x"}, UNDECIDED),
        ({"a": "1"}, {"a": "x", "b": "x"}, UNDECIDED),
        ({}, {}, UNDECIDED),
    ],
)
def test_like_hosts_are_alike(found: dict[str, str | None], kinds: dict[str, str], outcome: Outcome) -> None:
    verdict: Verdict = criteria.alike(say("kernel"), found, kinds)
    assert verdict.outcome is outcome
