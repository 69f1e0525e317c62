"""Samples as Parquet: the same facts as from the journal itself, readable by others, on one machine or many."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from checks.parsers import soak_journal
from checks.probe import UnreadableOutput
from kvgate.cli.soak_samples import samples as command
from kvgate.errors import Damaged, NotAllowed
from kvgate.soak import samples
from lab.soak.journal import segments
from lab.soak.plan import plan
from lab.soak.trouble import Away, Count, Record
from tests.gates.soaking import read
from tests.invoking import invoked_any

TROUBLES = (
    Count("rdma", "mlx5_0/1", "out_of_sequence", 9000, 5),
    Away("reboot", 7000, 300),
    Record(5000, "kernel: nothing"),
)
HOSTS = ("node-01", "node-02")


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    return {host: segments(plan(host, "node", 4, 960, 60), 3, TROUBLES) for host in HOSTS}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, list[str]]) -> Path:
    place = tmp_path_factory.mktemp("samples")
    for host, parts in texts.items():
        assert samples.write(place, "r1", host, parts) > 3000
    return place


def test_facts_from_parquet_are_those_from_the_journal(root: Path, texts: dict[str, list[str]]) -> None:
    for host in HOSTS:
        assert samples.read(root, "r1", host) == read(texts[host])


def test_writing_again_changes_nothing(root: Path, texts: dict[str, list[str]]) -> None:
    before = samples.read(root, "r1", "node-01")
    samples.write(root, "r1", "node-01", texts["node-01"])
    assert samples.read(root, "r1", "node-01") == before
    assert samples.hosts(root, "r1") == list(HOSTS)


def test_duckdb_reads_the_samples_and_sees_the_same_counter(root: Path, texts: dict[str, list[str]]) -> None:
    found = duckdb.sql(
        f"""select host, max(out_of_sequence) - min(out_of_sequence), count(distinct tick)
        from read_parquet('{root}/*/*/*/*.parquet', hive_partitioning = true, union_by_name = true)
        where stream = 'rdma' group by host order by host"""
    ).fetchall()
    (rise,) = samples.read(root, "r1", "node-01").counted["roce"].moved
    ticks = len(
        {line.tick for text in texts["node-01"] for line in soak_journal.parse(text).lines if line.stream == "rdma"}
    )
    assert found == [("node-01", rise.by, ticks), ("node-02", rise.by, ticks)]


def test_dask_gives_the_same_as_one_machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dask.distributed import Client, LocalCluster

    monkeypatch.setenv("PYTHONHASHSEED", "0")  # a local cluster sets it for its workers and leaves it there
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        many = samples.read_all(root, "r1", HOSTS, engine="dask")
    assert many == samples.read_all(root, "r1", HOSTS)


def test_the_command_writes_samples_of_what_was_collected_and_tells_every_minute(
    tmp_path: Path, texts: dict[str, list[str]]
) -> None:
    for host, parts in texts.items():
        (tmp_path / "soaks" / "soak-lab" / host).mkdir(parents=True)
        for number, text in enumerate(parts, start=1):
            (tmp_path / "soaks" / "soak-lab" / host / f"journal-{number:06d}.jsonl").write_text(text, "ascii")
    words = ["-o", str(tmp_path / "out"), "--soaks", str(tmp_path / "soaks")]
    done = invoked_any("soak-lab", *words, command=command)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["host"] for row in rows] == list(HOSTS)
    assert all(sum(row["minutes"].values()) == 240 and row["minutes"]["INTERRUPTED"] for row in rows)
    assert list((tmp_path / "out").rglob("stream=disk/*.parquet"))
    missing = invoked_any("soak-other", *words, command=command)
    assert isinstance(missing.exception, NotAllowed)


def test_an_engine_that_there_is_not_is_refused(root: Path) -> None:
    with pytest.raises(ValueError, match="wanted here or dask"):
        samples.read_all(root, "r1", HOSTS, engine="spark")


def test_a_part_that_was_cut_is_damage_and_no_fact(tmp_path: Path, texts: dict[str, list[str]]) -> None:
    samples.write(tmp_path, "r1", "node-01", texts["node-01"])
    part = next(tmp_path.rglob("stream=disk/*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(Damaged):
        samples.read(tmp_path, "r1", "node-01")


def test_a_segment_that_is_missing_is_refused(tmp_path: Path, texts: dict[str, list[str]]) -> None:
    assert len(texts["node-01"]) == 2  # the reboot began a second one
    with pytest.raises(UnreadableOutput, match="begins with line"):
        samples.write(tmp_path, "r1", "node-01", texts["node-01"][1:])
