"""A full disk, a ledger or evidence that cannot be written any more: never a PASS, and a message that says what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lab.machine import Edit
from tests.e2e.site import Site, until

SLOW = {"node-01": (Edit(ask="lscpu.*", delay=4.0),)}


@contextmanager
def small(place: Path, size: str) -> Iterator[Path]:
    """A file system of that size, gone again afterwards."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def read_only(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


@pytest.mark.parametrize("size", ["40k", "200k", "400k", "600k", "660k", "700k", "740k"])
def test_a_full_disk_never_passes(serve: Callable[..., Site], tmp_path: Path, size: str) -> None:
    site = serve()
    with small(tmp_path / "var", size) as var:
        places = ("--ledger", f"sqlite:///{var}/kvgate.db", "--evidence", str(var / "evidence"))
        ended = site.gate(*places)
        text, connections = ended.stdout + ended.stderr, site.connections
        subprocess.run(["mount", "-o", "remount,size=50m", str(var)], check=True)
        again = site.gate(*places, *(("--only-stale",) if "--only-stale" in text else ()))  # as it says
        assert again.returncode == 0, text + again.stdout + again.stderr
    assert ended.returncode in (4, 6), text
    assert "Traceback" not in text
    assert "full" in text or "No space left" in text
    assert "free space there" in text
    if ended.returncode == 4:
        assert connections == 0


def test_a_full_disk_of_evidence_leaves_a_run_that_can_be_taken_up(serve: Callable[..., Site], tmp_path: Path) -> None:
    site = serve()
    with small(tmp_path / "var", "100k") as var:
        ended = site.gate("--evidence", str(var / "evidence"))
        assert ended.returncode == 6, ended.stdout + ended.stderr
        assert ended.stdout.rstrip().splitlines()[-1].startswith("G1: UNDECIDED")
        assert "No space left" in ended.stdout
        (run,) = site.runs()
        assert (run["outcome"], run["state"]) == ("UNDECIDED", "interrupted")
        subprocess.run(["mount", "-o", "remount,size=50m", str(var)], check=True)
        again = site.gate("--only-stale", "--evidence", str(var / "evidence"))
        assert again.returncode == 0, again.stdout + again.stderr
        assert site.runs()[0]["outcome"] == "PASS"


def test_a_ledger_that_takes_no_more_writes_in_the_middle_of_a_run(serve: Callable[..., Site], tmp_path: Path) -> None:
    site = serve(edits=SLOW)
    with small(tmp_path / "var", "20m") as var:
        ledger = f"sqlite:///{var}/kvgate.db"
        running = site.start("--ledger", ledger)
        until(lambda: site.journal() is not None and site.connections > 0)
        read_only(var)
        output, _ = running.communicate(timeout=60)
        assert running.returncode == 6, output
        assert "Traceback" not in output
        assert output.rstrip().splitlines()[-1].startswith("G1: UNDECIDED")
        assert "kvgate.db" in output
        listed = site.kvgate("runs", KVGATE_LEDGER=ledger)
        assert listed.returncode == 0, listed.stderr
        assert "UNDECIDED (unfinished)" in " ".join(listed.stdout.split())


def test_evidence_that_takes_no_more_writes_in_the_middle_of_a_run(serve: Callable[..., Site], tmp_path: Path) -> None:
    site = serve(edits=SLOW)
    with small(tmp_path / "var", "20m") as var:
        running = site.start("--evidence", str(var / "evidence"))
        until(lambda: site.connections > 0)
        with suppress(OSError):
            (var / "filler").write_bytes(bytes(20 * 2**20))
        output, _ = running.communicate(timeout=60)
    assert running.returncode == 6, output
    assert "Traceback" not in output
    assert "No space left" in output
    assert site.runs()[0]["outcome"] == "UNDECIDED"
