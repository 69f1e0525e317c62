"""The house stays as it was drawn: directions, sizes, and clauses, tests, faults and runbook held together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from checks.verdict import Outcome
from kvgate import agreement as agreements
from kvgate.gate.options import GATES
from kvgate.inventory.model import Rack
from kvgate.ledger.findings import KINDS
from kvgate.runbook import sections
from lab.faults import every
from lab.soak import faults as soak_faults
from tests.gates.harness import bodies

ROOT = Path(__file__).parents[2]
PACKAGES = ("gates", "checks", "kvgate", "lab")
#: Top level as the design card fixes it, and what may stand beside.
TOP = {
    *PACKAGES, "inventories", "runbooks", "tests", "bench", "conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md",
    "CHANGELOG.md", "LICENSE", "Makefile", "requirements.lock",
}  # fmt: skip

CLAUSES = agreements.read().acceptance.clauses


def files(pattern: str = "*.py") -> list[Path]:
    found = [path for name in (*PACKAGES, "tests", "bench") for path in sorted((ROOT / name).rglob(pattern))]
    aside = {"__pycache__", ".venv"}  # bench/.venv holds what kvgate is measured against
    return [path for path in found if aside.isdisjoint(path.parts)]


def test_nothing_else_stands_at_the_top() -> None:
    shown = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {line.split("/")[0] for line in shown.splitlines()}
    assert {name for name in top if not name.startswith(".")} <= TOP


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in files()
        if (count := len(path.read_text("utf-8").splitlines())) > 400
    }
    assert not long


def test_the_median_file_is_under_a_hundred_lines() -> None:
    ours = [path for path in files() if path.relative_to(ROOT).parts[0] in PACKAGES]
    sizes = sorted(len(path.read_text("utf-8").splitlines()) for path in ours)
    assert sizes[len(sizes) // 2] < 100


def test_no_module_is_named_for_nothing() -> None:
    vague = re.compile(r"\b(utils?|helpers?|common|lib|manager|misc)\b")
    assert not [path for path in files() if vague.search(path.stem)]


def _lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([tool, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)


def test_the_directions_hold() -> None:
    run = _lint_imports(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("checks/verdict.py", "import gates.g1_arrival", "gates -> kvgate -> checks"),
        ("kvgate/errors.py", "import kvgate.cli.parse", "inside kvgate"),
        ("checks/nic/criteria.py", "import socket", "checks are pure"),
        ("checks/parsers/ping.py", "import checks.parsers.ethtool", "parsers are independent"),
        ("kvgate/gate/collect.py", "import lab.rack", "only the demo knows the lab"),
        ("lab/order.py", "import checks.verdict", "lab knows nothing"),
    ],
)
def test_each_direction_broken_on_purpose_is_caught(tmp_path: Path, file: str, line: str, contract: str) -> None:
    for name in PACKAGES:
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "machines", "*.txt", "*.json")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    target = tmp_path / file
    target.write_text(target.read_text("utf-8") + f"\n{line}\n", "utf-8")
    run = _lint_imports(tmp_path)
    broken = [row for row in run.stdout.splitlines() if "BROKEN" in row]
    assert run.returncode != 0
    assert any(contract in row for row in broken), run.stdout


def test_every_clause_has_exactly_one_gate_test() -> None:
    for gate, folder in GATES.items():
        wanted = {name for name in CLAUSES if name.startswith(f"{gate}.")}
        assert not wanted or set(bodies(folder)) == wanted


def test_every_clause_has_one_section_in_the_runbook_and_none_is_left_over() -> None:
    assert set(sections()) == set(CLAUSES)
    for name, section in sections().items():
        assert len(section.split()) >= 25, f"{name}: what it means, how to confirm, how to mend"


def test_the_schema_that_editors_read_is_the_one_that_the_code_has() -> None:
    shipped = ROOT / "inventories" / "schema.json"
    assert json.loads(shipped.read_text("utf-8")) == Rack.model_json_schema(), "make schema"
    for file in shipped.parent.glob("*.yaml"):
        assert file.read_text("utf-8").startswith("# yaml-language-server: $schema=schema.json\n"), file


def test_no_clause_says_a_number_that_a_campaign_may_change() -> None:
    for name, clause in CLAUSES.items():
        numbers = {float(limit.value) for limit in clause.limits.values() if isinstance(limit.value, (int, float))}
        for text in (clause.text.en, clause.text.zh):
            said = {float(word) for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)}
            assert not said & numbers, f"{name}: {text}"


def test_every_blocking_measured_clause_is_stopped_by_a_fault() -> None:
    stopped = {clause for fault in every().values() for clause in fault.stops}
    stopped |= {clause for fault in soak_faults.FAULTS for clause in fault.stops}
    wanted = {name for name, clause in CLAUSES.items() if clause.blocking and clause.answer == "measured"}
    assert wanted - stopped == set(NEVER_WRONG)
    undecided = {clause for fault in every().values() for clause in fault.undecided}
    undecided |= {clause for fault in soak_faults.FAULTS for clause in fault.undecided}
    assert set(NEVER_WRONG) <= undecided


#: Clauses that nothing can stop: what they say is not wrong where it does not hold, it is not known.
NEVER_WRONG = {
    "G4.1.3": "a gap is a defect of the evidence: what was in it is not known",
    "G2.6.1": "rounds without proof, or that do not repeat, are no baseline",
    "G2.6.2": "an arm that does not compute everything is no measure of computing",
    "G3.1.1": "arms that are not alike were not compared",
    "G3.2.1": "a load that was not made as planned measured nothing",
    "G3.2.2": "KV whose way was not proven may have come from anywhere",
    "G3.2.3": "rounds that do not repeat say nothing about the next",
    "G3.2.4": "a local arm that is another one than in G2 is no baseline to compare with",
}


def test_there_are_at_least_forty_faults_and_each_says_what_is_wrong() -> None:
    faults = every()
    assert len(faults) >= 40
    for fault in faults.values():
        assert len(fault.text.split()) >= 3, fault.name
        assert fault.stops | fault.undecided or fault.behaviour, fault.name


def test_every_clause_is_written_in_both_languages() -> None:
    chinese = re.compile(r"[\u4e00-\u9fff]")
    for name, clause in CLAUSES.items():
        for text in (clause.text, clause.remedy):
            assert chinese.search(text.zh), name
            assert not chinese.search(text.en), name


def test_no_check_name_is_used_twice_in_a_gate() -> None:
    names = Counter((name.split(".")[0], clause.check) for name, clause in CLAUSES.items())
    assert max(names.values()) == 1


def test_the_threat_model_names_tests_and_kinds_that_there_are() -> None:
    page = (ROOT / "runbooks" / "threat-model.md").read_text("utf-8")
    found, _, blind = page.partition("## What no audit finds")
    rows = [line.strip("|").split("|") for line in found.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20
    kinds: set[str] = set()
    for threat, _, kind, named in rows:
        tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", named)
        assert tests, threat
        for file, name in tests:
            assert not name or f"def {name}(" in (ROOT / file).read_text("utf-8"), f"{file}::{name}"
            assert (ROOT / file).is_file(), file
        kinds |= set(re.findall(r"`([a-z-]+)`", kind))
    assert kinds == set(KINDS)
    for word in ("collude", "hardware that lies"):
        assert word in blind


def test_there_are_three_outcomes() -> None:
    assert [outcome.value for outcome in Outcome] == ["PASS", "STOP", "UNDECIDED"]
