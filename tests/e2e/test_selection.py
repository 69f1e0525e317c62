"""Part of a gate never passes; and whatever else is typed, a bare pytest never reaches a rack."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Run
from tests.e2e.site import ROOT, Site, outcomes, served

KERNEL = "gates/g1_arrival/test_hosts.py::test_runs_the_kernel_ordered"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A rack that no test of its users may meet."""
    with served(tmp_path_factory.mktemp("site")) as site:
        yield site
        assert site.connections == 0


@pytest.mark.parametrize(
    ("selection", "judged"),
    [
        (("-k", "kernel_ordered"), 2),
        ((KERNEL,), 2),
        ((f"{KERNEL}[node-01]",), 1),
        (("-k", "no_such_name"), 0),
        (("gates/g1_arrival/test_array.py",), None),
    ],
)
def test_a_part_of_a_gate_is_undecided_however_it_was_chosen(
    serve: object, selection: tuple[str, ...], judged: int | None
) -> None:
    site: Site = serve()  # type: ignore[operator]
    ended = site.gate(*selection)
    assert ended.returncode == 6, ended.stdout
    told = outcomes(site.last())
    passed = [outcome for outcome in told.values() if outcome == "PASS"]
    assert len(passed) == judged or judged is None
    assert set(told.values()) <= {"PASS", "missing"}
    assert site.runs()[0]["outcome"] == "UNDECIDED"


def test_one_test_left_out_keeps_the_gate_undecided(serve: object) -> None:
    site: Site = serve()  # type: ignore[operator]
    assert site.gate("--deselect", f"{KERNEL}[node-01]").returncode == 6
    told = outcomes(site.last())
    assert [place for place, outcome in told.items() if outcome != "PASS"] == [("G1.1.2", "node-01")]
    assert site.last()["why"] == "not asked: left out by --deselect; run the gate without it"


@pytest.mark.parametrize("arguments", [("-x",), ("--maxfail=1",)])
def test_a_run_that_stops_at_the_first_stop_is_a_stop_and_the_rest_is_not_decided(
    serve: object, arguments: tuple[str, ...]
) -> None:
    site: Site = serve("disk-media-errors")  # type: ignore[operator]
    assert site.gate(*arguments).returncode == 1
    told = list(outcomes(site.last()).values())
    assert told.count("STOP") == 1
    assert "missing" in told
    assert site.last()["why"] == "the run was stopped before this clause: stopping after 1 failures"


BARE: list[tuple[str, ...]] = [
    ("gates",),
    ("gates/g1_arrival/test_disks.py",),
    (f"{KERNEL}[node-01]",),
    ("--pyargs", "gates.g1_arrival"),
    ("tests/house", "gates"),
]


@pytest.mark.parametrize("arguments", BARE)
def test_a_gate_named_by_its_path_alone_is_refused(site: Site, arguments: tuple[str, ...]) -> None:
    ended = site.pytest(*arguments, KVGATE_INVENTORY=str(site.inventory))
    assert ended.returncode == 4, ended.stdout
    assert "pytest -m G1 --inventory FILE" in ended.stderr


def test_pytest_started_within_the_gates_is_refused(site: Site) -> None:
    ended = site.pytest(cwd=ROOT / "gates" / "g1_arrival", KVGATE_INVENTORY=str(site.inventory))
    assert ended.returncode == 4, ended.stdout


@pytest.mark.parametrize("arguments", [(), ("-m", "not G1"), ("-k", "kernel or disk"), (".",), ("-k", "G1")])
def test_a_bare_pytest_collects_the_projects_own_tests_only(site: Site, arguments: tuple[str, ...]) -> None:
    fewer = ["-o", "testpaths=tests/inventory", "--ignore=tests/parsers", "--ignore=tests/gates"]
    ended = site.pytest("--collect-only", *fewer, *arguments, KVGATE_INVENTORY=str(site.inventory))
    assert ended.returncode in (0, 5), ended.stdout
    assert "tests/inventory" in ended.stdout or ended.returncode == 5
    assert "gates/g1_arrival" not in ended.stdout


def test_a_bare_pytest_runs_no_gate_even_when_everything_is_configured(site: Site, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    ini = f"[tool.pytest.ini_options]\nkvgate_inventory = '{site.inventory}'\n"
    (tmp_path / "pyproject.toml").write_text(ini)
    for arguments in ((), ("-m", "not G1"), (".",)):
        ended = site.pytest(*arguments, cwd=tmp_path, KVGATE_INVENTORY=str(site.inventory))
        assert ended.returncode == 0, ended.stdout
        assert "1 passed" in ended.stdout


@pytest.mark.parametrize(
    "arguments", [("--inventory", "{inventory}"), ("--plan",), ("--only-stale",), ("-m", "not G1", "--replay", "x")]
)
def test_an_option_of_a_gate_without_a_gate_is_refused_with_the_command_that_was_meant(
    site: Site, arguments: tuple[str, ...]
) -> None:
    ended = site.pytest(*(word.format(inventory=site.inventory) for word in arguments))
    assert ended.returncode == 4, ended.stdout
    assert "pytest -m G1 --inventory FILE" in ended.stderr


def contacted_nothing(site: Site, ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert site.connections == 0
    assert not site.evidence.exists()
    assert not (site.folder / "kvgate.db").exists()
    return ended.stdout


def test_collect_only_names_every_test_and_contacts_nothing(site: Site, passed: Run) -> None:
    text = contacted_nothing(site, site.gate("--collect-only"))
    named = [line for line in text.splitlines() if line.startswith("gates/g1_arrival/test_")]
    assert len(named) == len(outcomes(passed.site.show(passed.id)))
    assert f"{KERNEL}[node-01]" in named


def test_the_plan_names_every_command_with_host_and_level_and_contacts_nothing(site: Site, passed: Run) -> None:
    text = contacted_nothing(site, site.gate("--plan"))
    lines = text.splitlines()
    assert any(line.startswith("node-01") and " passive" in line and "uname -srm" in line for line in lines)
    assert any(line.startswith("fx100-a") and " passive x2" in line for line in lines)
    journal = passed.site.journal()
    assert journal is not None
    assert f"{len(outcomes(passed.site.show(passed.id)))} verdicts owed" in text
    assert "on 2 hosts" in text


def test_the_plan_of_load_tells_each_program_once_and_every_order_of_it(site: Site) -> None:
    """One line a command that people can compare, not the packed client before every one of them."""
    text = contacted_nothing(site, site.call(site.command("--plan", gate="G3")))
    orders = [line for line in text.splitlines() if '"concurrency":' in line]
    assert len(orders) > 20
    assert max(map(len, orders)) < 2000
    clients = [line for line in text.splitlines() if "base64" in line]
    assert len(clients) == 1
    label = clients[0].split()[0]
    assert all(f" {label} " in line for line in orders)
