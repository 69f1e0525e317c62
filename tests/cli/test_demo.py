"""``kvgate demo`` and ``kvgate rack serve``: what is broken is named, what is started ends, the shipped inventory fits."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.cli.demo_signing import make_pairs
from kvgate.inventory import reader
from lab.faults import every
from lab.inventory import text
from lab.order import rack
from lab.rack import ADDRESS, break_until, build, fingerprint, host_key
from lab.soak.faults import EMBEDDED
from tests.cli.conftest import ROOT, Kvgate, started

SHIPPED = ROOT / "inventories" / "demo.yaml"
PORT = 42200


def test_the_shipped_inventory_is_what_the_lab_writes_for_that_port() -> None:
    hosts = [(one, PORT + number, fingerprint(host_key(one.name))) for number, one in enumerate(rack(2, "rocm"))]
    shipped = SHIPPED.read_text("utf-8")
    assert shipped.endswith(text(hosts, Path("var/demo/id_ed25519")))
    head = shipped.removesuffix(text(hosts, Path("var/demo/id_ed25519")))
    assert all(line.startswith("# ") for line in head.splitlines())
    assert f"kvgate rack serve --nodes 2 --port {PORT}" in head


def free_ports(count: int) -> int:
    """Find a port with so many free ones after it."""
    for first in range(43000 + os.getpid() % 1000, 60000, 10):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, one in enumerate(sockets):
                one.bind((ADDRESS, first + number))
        except OSError:
            continue
        else:
            return first
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no free ports")


@contextmanager
def served(*words: str, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start ``kvgate rack serve`` in a process of its own and wait for its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kvgate", "rack", "serve", *words],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def test_a_served_rack_fits_the_shipped_inventory_and_ends_cleanly(tmp_path: Path) -> None:
    port = free_ports(3)
    shipped = tmp_path / "demo.yaml"
    shipped.write_text(moved(port))
    with served("--nodes", "2", "--port", str(port), cwd=tmp_path) as (process, line):
        assert "3 hosts up" in line
        written = reader.read(tmp_path / "var" / "demo" / "inventory.yaml").rack
        assert {name: host.host_key for name, host in written.hosts.items()} == {
            name: host.host_key for name, host in reader.read(shipped).rack.hosts.items()
        }
        assert stat.S_IMODE((tmp_path / "var" / "demo" / "id_ed25519").stat().st_mode) == 0o600
        looked = started("doctor", "--inventory", "demo.yaml", "--json", cwd=tmp_path)
        assert looked.returncode == 0, looked.stdout + looked.stderr
        again = started("rack", "serve", "--port", str(port), "--var", "other", cwd=tmp_path)
        assert (again.returncode, "cannot listen" in again.stderr) == (4, True), again.stderr
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - began < 10
    assert (process.returncode, out, err) == (0, "", "")
    with socket.socket() as probe:
        assert probe.connect_ex((ADDRESS, port)) != 0


def moved(port: int) -> str:
    """Return the shipped inventory with its ports moved to where the test may listen."""
    content = SHIPPED.read_text("utf-8")
    for number in range(3):
        content = content.replace(f"port: {PORT + number}\n", f"port: {port + number}\n")
    return content


def test_ctrl_c_ends_a_served_rack_cleanly_too(tmp_path: Path) -> None:
    with served("--nodes", "1", "--inventory-out", "rack.yaml", "--fault", "disk-media-errors", cwd=tmp_path) as (
        process,
        _,
    ):
        assert (tmp_path / "keys" / "id_ed25519").is_file()
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=20)[1], process.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fault", "no-such-fault"], "found fault 'no-such-fault'"),
        (["--port", "65534"], "found port 65534"),
        (["--nodes", "0"], "0"),
        (["--inventory-out", "mine.yaml"], "no inventory of an embedded rack"),
        (["--inventory-out", "folder"], "no inventory of an embedded rack"),
        (["--var", "mine.yaml"], "is a file"),
    ],
)
def test_what_cannot_be_served_is_refused(
    kvgate: Kvgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.yaml").write_text("rack: real\n")
    refused = kvgate("rack", "serve", *words)
    assert refused.exit_code == 4
    assert said in refused.stderr
    assert (tmp_path / "mine.yaml").read_text() == "rack: real\n"


def test_every_fault_is_listed_with_who_must_notice(kvgate: Kvgate) -> None:
    shown = kvgate("demo", "--list-faults").stdout
    listed = json.loads(kvgate("demo", "--list-faults", "--json").stdout)
    names = [one["fault"] for one in listed]
    assert names == [*every(), *(one.name for one in EMBEDDED)]
    assert len(set(names)) == len(names), "two faults share a name: one of them is never made"
    clauses = agreements.read().acceptance.clauses
    for one in listed:
        assert one["fault"] in shown
        assert {*one["stops"], *one["undecided"]} <= set(clauses)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["G9"], "found gate 'G9'"), (["--fault", "x"], "found fault 'x'"), (["--platform", "x"], "rocm")],
)
def test_a_demo_of_what_there_is_not_is_refused(kvgate: Kvgate, words: list[str], said: str, tmp_path: Path) -> None:
    refused = kvgate("demo", *words, "--var", tmp_path / "v")
    assert refused.exit_code == 4
    assert said in refused.stderr


def test_a_rack_can_be_ordered_with_another_engine_and_driver(tmp_path: Path) -> None:
    with served("--engine", "sglang", "--driver", "sglang-bench", "--var", "var", cwd=tmp_path):
        rack = reader.read(tmp_path / "var" / "demo" / "inventory.yaml").rack
    assert rack.serving is not None
    assert (rack.serving.engine.kind, rack.serving.store.kind) == ("sglang", "sglang-hicache")
    assert rack.serving.driver.tool == "sglang-bench"


def test_a_driver_that_does_not_fit_the_engine_is_refused(kvgate: Kvgate) -> None:
    refused = kvgate("rack", "serve", "--driver", "sglang-bench")
    assert refused.exit_code == 4
    assert "order engine sglang" in refused.stderr


def test_a_demo_that_cannot_certify_what_passed_says_what_to_do_and_ends_otherwise(tmp_path: Path) -> None:
    keys = tmp_path / "v" / "demo" / "keys"
    make_pairs(keys)
    (keys / "customer").write_text("no key\n")
    words = ("demo", "G1", "--nodes", "1", "--var", str(tmp_path / "v"))
    ended = subprocess.run(
        [sys.executable, "-m", "kvgate", *words], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT), "KVGATE_LANG": "en"},
    )  # fmt: skip
    assert ended.returncode == 6, ended.stderr
    assert "no certificate of G1: " in ended.stderr
    assert "begin anew in another folder: kvgate demo --var DIR" in ended.stderr


def test_a_fault_breaks_the_rack_at_the_gate_that_is_to_notice_it() -> None:
    """Else the demo of it ends at an arrival check, which sees some of them too: a filesystem that answers with an error."""
    names = ("space-unknown", "disk-media-errors")
    hosts = build(1, "rocm", names)
    edits = {
        gate: {edit for host in hosts for edit in host.machine.edits}
        for gate in ("G1", "G2", "G3")
        if break_until(hosts, names, gate) is None
    }
    assert edits["G1"] == set(every()["disk-media-errors"].edits)
    assert edits["G2"] == edits["G3"] == edits["G1"] | set(every()["space-unknown"].edits)
    assert set(every()["space-unknown"].edits)


def test_what_follows_a_gate_that_did_not_pass_is_named_and_not_tried(tmp_path: Path) -> None:
    words = ("demo", "G1", "G2", "--nodes", "1", "--fault", "disk-media-errors", "--var", str(tmp_path / "v"))
    ended = subprocess.run(
        [sys.executable, "-m", "kvgate", *words], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT), "KVGATE_LANG": "en"},
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.splitlines()[-1] == "G1 did not pass; not run: G2"
    assert "both parties reopen the campaign" in ended.stdout
    assert "--only-stale" not in ended.stdout


def test_a_second_demo_in_the_same_folder_is_refused_and_changes_nothing(kvgate: Kvgate, tmp_path: Path) -> None:
    folder = tmp_path / "var" / "demo"
    folder.mkdir(parents=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = kvgate("demo", "G1", "--var", tmp_path / "var")
    assert refused.exit_code == 4
    assert "another demo runs in" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["lock"]
