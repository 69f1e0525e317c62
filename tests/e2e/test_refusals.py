"""What is refused, with exit status 4, before any host is contacted: every server of the rack counts who connects."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvgate.ledger.repository import Ledger
from tests.e2e.site import Site, served


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("site")) as site:
        yield site


def refused(site: Site, ended: subprocess.CompletedProcess[str], *said: str) -> None:
    text = ended.stdout + ended.stderr
    assert ended.returncode == 4, text
    for words in said:
        assert words in text, text
    assert "Traceback" not in text
    assert site.connections == 0
    assert not site.evidence.exists() or not list(site.evidence.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "G1 or G2"), "one gate alone"),
        (("-m", "G1 and not slow"), "one gate alone"),
        (("-m", "G7"), "found gate G7, wanted one of G1, G2, G3, G4"),
        (("-m", "G4"), "G3 was never run"),
        (("-n", "2"), "leave -n away"),
        (("--maxfail", "many"), "invalid int value"),
        (("--no-such-option",), "unrecognized arguments"),
        (("--only-stale",), "no unfinished run of G1"),
        (("--replay", "20260101T000000-00000000"), "wanted a run below"),
        (("tests",), "is no part of gate G1"),
        (("--allow-destructive", "S-NONE"), "'S-NONE', which no disk of"),
        (("--plan", "--allow-destructive", "S-NONE"), "'S-NONE', which no disk of"),
        (("--allow-destructive", "PHLN00000001"), "does not mark 'scratch: true'"),
        (("--ledger", "mysql://host/name"), "wanted sqlite:///FILE or postgresql://"),
        (("--ledger", "sqlite:///{folder}/inventory.yaml/kvgate.db"), "could not be created"),
        (("--ledger", "sqlite:///{folder}/inventory.yaml"), "not a database"),
        (("--ledger", "postgresql://nobody@127.0.0.1:9/none"), "see that the server runs"),
        (("--evidence", "{folder}/inventory.yaml"), "evidence (folder) could not be written"),
        (("--evidence", "/proc/none"), "evidence (folder) could not be written"),
    ],
)
def test_what_cannot_be_run_is_refused(site: Site, arguments: tuple[str, ...], said: str) -> None:
    refused(site, site.gate(*(word.format(folder=site.folder) for word in arguments)), said)


def test_a_gate_that_nobody_signs_says_how_to_make_a_key(site: Site) -> None:
    place = ("--inventory", str(site.inventory), "--ledger", site.ledger, "--evidence", str(site.evidence))
    refused(site, site.pytest("-m", "G2", "--allow-load", *place), "ssh-keygen -t ed25519 -f ~/.ssh/kvgate-customer")


def test_a_gate_without_an_inventory_is_refused_and_not_skipped(site: Site) -> None:
    refused(site, site.pytest("-m", "G1"), "--inventory FILE", "KVGATE_INVENTORY")


def test_an_inventory_that_is_not_there_is_named(site: Site) -> None:
    refused(
        site, site.pytest("-m", "G1", "--inventory", "inventories/none.yaml"), "inventories/none.yaml", "No such file"
    )


def test_all_faults_of_an_inventory_are_named_at_once_with_their_places(site: Site, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    text = site.inventory.read_text("utf-8")
    for old, new in (("mtu: 9000", "mtu: 9000 B"), ("role: array", "role: arry"), ("campaign: demo", "campain: demo")):
        assert old in text
        text = text.replace(old, new, 1)
    bad.write_text(text, "utf-8")
    ended = site.pytest("-m", "G1", "--inventory", str(bad))
    refused(site, ended, "9000 B", "'arry'", "campain", "faults:")
    assert (ended.stdout + ended.stderr).count(f"{bad}:") >= 4  # the wrong key, the missing one, and two wrong values


def test_an_overlay_that_is_not_there_or_changes_what_does_not_exist_is_refused(site: Site, tmp_path: Path) -> None:
    copy = tmp_path / "inventory.yaml"
    copy.write_text(site.inventory.read_text("utf-8") + "acceptance: ours.yaml\n", "utf-8")
    refused(site, site.pytest("-m", "G1", "--inventory", str(copy)), "ours.yaml", "No such file")
    limits = "limits: {media_errors: {value: 1, unit: errors, origin: contract}}"
    (tmp_path / "ours.yaml").write_text(f"overlay:\n  G1.9.99: {{{limits}}}\n  G1.2.9: {{limitz: 1}}\n", "utf-8")
    ended = site.pytest("-m", "G1", "--inventory", str(copy))
    refused(site, ended, "ours.yaml")


def test_a_declaration_that_nobody_asked_for_is_refused(site: Site, tmp_path: Path) -> None:
    copy = tmp_path / "inventory.yaml"
    line = "  - {clause: G1.1.2, subject: node-99, value: x, conforms: true, by: me, on: 2026-11-28}\n"
    copy.write_text(site.inventory.read_text("utf-8") + line, "utf-8")
    refused(site, site.pytest("-m", "G1", "--inventory", str(copy)), "node-99", "of this inventory")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own that can be made read-only."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")

    def remount(how: str) -> Path:
        subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)
        return place

    try:
        yield remount
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_read_only_ledger_or_evidence_folder_is_refused(site: Site, small: Callable[[str], Path]) -> None:
    ledger = f"sqlite:///{small('rw')}/kvgate.db"
    Ledger.open(ledger).close()
    place = small("ro")
    refused(site, site.gate("--ledger", ledger), "kvgate.db", "may be written to")
    assert site.kvgate("runs", KVGATE_LEDGER=ledger).returncode == 0
    refused(site, site.gate("--evidence", str(place / "evidence")), "read-only")


def test_a_refused_start_counts_as_no_attempt(site: Site) -> None:
    refused(site, site.gate("--evidence", "/proc/none"))
    assert site.runs() == []
