"""A campaign's rows as pandas tables: the documented columns, values that come back the same, CSV and Parquet that read back."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from checks.phrase import say
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.errors import NotAllowed, Unwritable
from kvgate.ledger.repository import Ledger
from kvgate.reports import tables
from tests.ledger.sample import BAD, GOOD, OPEN, begin, complete, decision, rows

ODD = Verdict.of(
    True, say("{x}", x='a "quoted", line\n第二'), "x4",
    quantities=(Quantity("p99", 0.1 + 0.2, "ms"), Quantity("rate", float("nan"), "GB/s")),
)  # fmt: skip


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    run, _ = complete(ledger, BAD, GOOD, GOOD, GOOD)
    ledger.record(run, rows(GOOD, GOOD, GOOD, GOOD), judgement=2)
    ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD), judgement=2)
    left = begin(ledger, campaign="other")
    ledger.record(left, rows(OPEN, ODD))
    ledger.record(left, rows(ODD))
    ledger.interrupt(left, "power cut")
    begin(ledger, campaign="other", gate="G2", simulated=False)
    return ledger


def test_runs_are_rows(filled: Ledger, url: str) -> None:
    frame = tables.runs(url)
    assert frame[["campaign", "gate", "attempt", "outcome", "decided", "state", "simulated"]].values.tolist() == [
        ["fx100", "G1", 1, "STOP", True, "decided", True],
        ["other", "G1", 1, "UNDECIDED", False, "interrupted", True],
        ["other", "G2", 1, "UNDECIDED", False, "started", False],
    ]
    assert frame["run"].tolist() == [run.id for run in filled.runs()]
    assert frame["started"].dt.tz is not None
    assert frame["ended"].isna().tolist() == [False, False, True]
    assert len(tables.runs(url, "fx100")) == 1


def test_of_verdicts_given_again_the_newest_stands_and_all_on_request(filled: Ledger, url: str) -> None:
    frame = tables.verdicts(url, "other")
    assert frame["outcome"].tolist() == [Outcome.PASS, Outcome.PASS]
    assert frame["newest"].all()
    every = tables.verdicts(url, "other", every=True)
    assert [(row.outcome, row.newest) for row in every.itertuples()] == [
        ("UNDECIDED", False), ("PASS", True), ("PASS", True),
    ]  # fmt: skip
    again = tables.verdicts(url, "fx100", every=True)
    assert again.groupby("judgement")["outcome"].apply(list).to_dict() == {
        1: ["STOP", "PASS", "PASS", "PASS"], 2: ["PASS"] * 4,
    }  # fmt: skip
    assert tables.verdicts(url, "fx100")["blocking"].tolist() == [True, True, True, False]


def test_measurements_keep_every_digit_and_what_is_not_finite_is_missing(filled: Ledger, url: str) -> None:
    frame = tables.measurements(url, "other")
    assert frame["name"].tolist() == ["p99", "rate"] * 2
    assert frame["value"].tolist()[0] == 0.1 + 0.2
    assert frame["value"].isna().tolist() == [False, True] * 2
    assert set(frame["unit"]) == {"ms", "GB/s"}
    assert tables.measurements(url)["value"].tolist()[:3] == [4.0, 4.0, 4.0]


@pytest.mark.parametrize("table", tables.TABLES)
def test_a_written_table_reads_back_the_same(filled: Ledger, url: str, table: str, tmp_path: Path) -> None:
    frame = tables.TABLES[table](url)
    for suffix in (".csv", ".parquet"):
        tables.write(frame, tmp_path / f"t{suffix}")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), frame, check_dtype=False)
    found = pd.read_csv(tmp_path / "t.csv", keep_default_na=False, dtype=str)
    assert list(found.columns) == list(frame.columns)
    assert len(found) == len(frame)
    for name in frame.columns:
        if frame[name].dtype == "Float64":
            assert [float(x) for x in found[name] if x] == frame[name].dropna().tolist()
        elif name in ("started", "ended", "at"):
            assert pd.to_datetime(found[name], utc=True).tolist() == frame[name].tolist()
        else:
            assert found[name].tolist() == ["" if pd.isna(x) else str(x) for x in frame[name]]


@pytest.mark.parametrize("table", tables.TABLES)
def test_an_empty_ledger_gives_an_empty_table_of_the_same_columns(ledger: Ledger, url: str, table: str) -> None:
    frame = tables.TABLES[table](url)
    wanted = {"runs": tables.RUNS, "verdicts": tables.VERDICTS, "measurements": tables.MEASUREMENTS}[table]
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(wanted)


def test_another_suffix_and_a_place_that_takes_no_file_are_refused(filled: Ledger, url: str, tmp_path: Path) -> None:
    frame = tables.runs(url)
    with pytest.raises(NotAllowed, match=r"\.csv or \.parquet"):
        tables.write(frame, tmp_path / "t.xlsx")
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(Unwritable, match="could not be written"):
            tables.write(frame, tmp_path / "no such folder" / name)


def test_the_page_names_every_column_with_its_type() -> None:
    page = (Path(__file__).parents[2] / "runbooks" / "tables.md").read_text("utf-8")
    for name, columns in (("runs", tables.RUNS), ("verdicts", tables.VERDICTS), ("measurements", tables.MEASUREMENTS)):
        (section,) = re.findall(rf"^## {name}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        told = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE))
        own = columns if name == "runs" else {key: kind for key, kind in columns.items() if key not in tables._RUN}
        assert told == {key: "time" if kind == tables.TIME else kind for key, kind in own.items()}
