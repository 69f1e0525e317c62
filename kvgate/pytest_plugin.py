"""The pytest side of a gate: options, one test per clause and subject, exit statuses. Everything else lives in kvgate.gate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checks.acceptance import Subject
from checks.decision import Owed
from checks.verdict import Outcome
from kvgate.errors import KvgateError, Refused
from kvgate.gate import options as gate_options
from kvgate.gate.options import Options
from kvgate.gate.session import GateSession, GateTest
from kvgate.gate.start import Prepared, Preview, begin, prepare
from kvgate.inventory.subjects import Thing
from kvgate.reports import terminal

STATUS = {Outcome.PASS: 0, Outcome.STOP: 1, Outcome.UNDECIDED: 6}
_OURS = frozenset({"ask", "terms", "decide", "declared"})
PREVIEW = pytest.StashKey[Preview]()
_PREPARED = pytest.StashKey[Prepared]()
_SESSION = pytest.StashKey[GateSession]()
_TEST = pytest.StashKey[GateTest]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of interface.md; each also as KVGATE_* and as an ini value."""
    group = parser.getgroup("kvgate", "kvgate gates (pytest -m G1 --inventory FILE)")
    for name, metavar, text in (
        ("inventory", "FILE", "the rack to decide on; a gate is not collected without one"),
        ("ledger", "URL", f"results database (default {gate_options.DEFAULT_LEDGER})"),
        ("evidence", "DIR", f"where raw outputs are kept (default {gate_options.DEFAULT_EVIDENCE})"),
    ):
        group.addoption(f"--{name}", metavar=metavar, default=None, help=f"{text}; also KVGATE_{name.upper()}")
        parser.addini(f"kvgate_{name}", text)
    group.addoption("--replay", metavar="RUN", default=None, help="judge a stored run again; no host is contacted")
    group.addoption("--plan", action="store_true", help="print what is owed and every command; contact nothing")
    group.addoption("--allow-load", action="store_true", help="permit clauses that make load")
    group.addoption(
        "--allow-destructive", metavar="SERIAL", action="append", default=[], help="permit raw writes to this disk"
    )
    group.addoption(
        "--only-stale", action="store_true", help="ask again only what the last unfinished run of this gate still owes"
    )


def _options(config: pytest.Config, gate: str) -> Options:
    def value(name: str) -> str | None:
        return config.getoption(name) or gate_options.from_environment(name) or config.getini(f"kvgate_{name}") or None

    inventory = value("inventory")
    return Options(
        gate=gate,
        inventory=Path(inventory) if inventory else None,
        ledger=value("ledger") or gate_options.DEFAULT_LEDGER,
        evidence=Path(value("evidence") or gate_options.DEFAULT_EVIDENCE),
        replay=config.getoption("replay"),
        plan=config.getoption("plan"),
        allow_load=config.getoption("allow_load"),
        allow_destructive=tuple(config.getoption("allow_destructive")),
        only_stale=config.getoption("only_stale"),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Decide whether this is a gate run at all, and refuse (exit 4) what is wrong before any host is contacted."""
    for mark in ("G1", "G2", "G3", "G4"):
        config.addinivalue_line("markers", f"{mark}: gate {mark} (needs --inventory)")
    config.addinivalue_line("markers", "clause(id): the clause of gates/acceptance.yaml that a gate test decides")
    gates_root = gate_options.gates_root()
    try:
        gate = gate_options.gate_of(config.getoption("markexpr") or "")
        named = [Path(str(arg).split("::", 1)[0]).absolute() for arg in config.args]
        inside = [path for path in named if path == gates_root or gates_root in path.parents]
        if gate is None:
            if inside and config.args_source is pytest.Config.ArgsSource.ARGS:
                raise Refused(f"{inside[0]} is a gate: run it as pytest -m G1 --inventory FILE")
            return
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args[:] = [str(gate_options.folder(gate))]
        elif len(inside) < len(named):
            outside = next(path for path in named if path not in inside)
            raise Refused(f"{outside} is no part of gate {gate}; leave the path away to run the whole gate")
        if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
            raise Refused(
                "a gate runs in one process (one connection a host, one journal) and asks all hosts at once by itself: "
                "leave -n away"
            )
        config.stash[_PREPARED] = prepare(_options(config, gate))
    except Refused as error:
        raise pytest.UsageError(terminal.refusal(error)) from None
    if config.getoption("tbstyle") == "auto":
        config.option.tbstyle = "no"
    config.option.reportchars = ""
    if (plugin := config.pluginmanager.get_plugin("hypothesispytest")) is not None:
        config.pluginmanager.unregister(plugin)  # it loads all of hypothesis for its summary: two seconds for nothing


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep gates out of every run that is not a gate run."""
    root = gate_options.gates_root()
    if _PREPARED not in config.stash and (collection_path == root or root in collection_path.parents):
        return True
    return None


@pytest.fixture(scope="session")
def ask() -> None:
    """``ask(host, probe)``: the fact a host gave. Filled in when the gate is judged (kvgate.gate.ask.Asker)."""


@pytest.fixture(scope="session")
def terms() -> None:
    """Limits of the clause: ``terms["lanes"]``."""


@pytest.fixture(scope="session")
def decide() -> None:
    """``decide(verdict)``: the verdict of this clause on this subject, exactly once."""


@pytest.fixture(scope="session")
def declared() -> None:
    """``declared()``: the verdict that the inventory's declaration gives; raises where nobody answered."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per subject that the inventory owes for the clause."""
    prepared = metafunc.config.stash.get(_PREPARED, None)
    marker = metafunc.definition.get_closest_marker("clause")
    if prepared is None or marker is None:
        return
    clause_id = str(marker.args[0])
    clause = prepared.agreement.acceptance.clauses.get(clause_id)
    where = f"{metafunc.definition.nodeid}"
    if clause is None:
        raise pytest.UsageError(f"{where} decides {clause_id}, which is no clause of gates/acceptance.yaml")
    subjects = [name for name in metafunc.fixturenames if name in set(Subject)]
    if subjects != [clause.subject.value]:
        raise pytest.UsageError(f"{where} takes {subjects}, but {clause_id} is about one {clause.subject.value}")
    things = [thing for owed, thing in prepared.owed if owed.clause == clause_id]
    metafunc.parametrize(subjects[0], things, ids=[thing.id for thing in things])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bind every gate test to what it owes; a clause without subjects owes nothing and is no test."""
    prepared = config.stash.get(_PREPARED, None)
    if prepared is None:
        return
    owed = {(item.clause, item.subject): item for item, _ in prepared.owed}
    for item in items:
        item.add_marker(prepared.options.gate)
    kept = [item for item in items if isinstance(item, pytest.Function) and _bind(item, owed)]
    items[:] = kept


def _bind(item: pytest.Function, owed: dict[tuple[str, str], Owed]) -> bool:
    marker = item.get_closest_marker("clause")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid} names no clause: @pytest.mark.clause(...)")
    callspec = getattr(item, "callspec", None)
    thing = next((value for value in callspec.params.values() if isinstance(value, Thing)), None) if callspec else None
    if thing is None:
        return False
    names = tuple(name for name in item._fixtureinfo.argnames)
    item.stash[_TEST] = GateTest(owed[str(marker.args[0]), thing.id], thing, item.obj, names)
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Before the tests: write down what is owed, ask every host, keep every answer."""
    config = session.config
    prepared = config.stash.get(_PREPARED, None)
    if prepared is None or config.getoption("collectonly"):
        return (yield)
    tests = [item.stash[_TEST] for item in session.items if _TEST in item.stash]
    if prepared.options.plan:
        config.stash[PREVIEW] = prepared.preview(tests)
        terminal.plan(config.stash[PREVIEW], sys.stdout)
        session.items.clear()
        return (yield)
    try:
        run = begin(prepared, tests, terminal.Progress(sys.stderr))
    except Refused as error:
        raise pytest.UsageError(terminal.refusal(error)) from None
    config.stash[_SESSION] = run.session
    still = run.still_owed
    session.items[:] = [item for item in session.items if item.stash[_TEST].owed in still]
    with run:
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Judge one gate test on the kept answers."""
    session = pyfuncitem.config.stash.get(_SESSION, None)
    if session is None or _TEST not in pyfuncitem.stash:
        return None
    judged = session.judge(pyfuncitem.stash[_TEST])
    verdict = judged.verdict
    pyfuncitem.user_properties += [
        ("outcome", verdict.outcome.value),
        ("measured", str(verdict.measured)),
        ("required", str(verdict.required)),
        ("basis", judged.basis),
        ("evidence", " ".join(f"E{number}" for number in judged.evidence)),
    ]
    if verdict.outcome is not Outcome.PASS:
        pytest.fail(terminal.one_line(session.clause(pyfuncitem.stash[_TEST].owed), judged), pytrace=False)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Decide; the exit status is the decision's, whatever pytest counted."""
    config = session.config
    run = config.stash.get(_SESSION, None)
    if run is None:
        return
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        run.interrupt("interrupted by the operator")
        return
    try:
        decision = run.finish()
    except KvgateError as error:
        run.trouble.append(str(error))
        session.exitstatus = STATUS[Outcome.UNDECIDED]
        return
    session.exitstatus = STATUS[decision.outcome]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The last lines: decision, what stopped it or stayed undecided, worst first."""
    run = config.stash.get(_SESSION, None)
    if run is not None:
        terminal.summary(run, terminalreporter._tw._file)
