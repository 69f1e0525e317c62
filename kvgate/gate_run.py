"""One gate as one pytest run: a test per clause and subject of the inventory, judged on kept answers; exit status = decision."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from checks.acceptance import Subject
from checks.decision import Owed
from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict
from kvgate.certificates.code import code_version
from kvgate.errors import KvgateError, Refused, Unwritable
from kvgate.gate import options as gate_options
from kvgate.gate import selection, signals
from kvgate.gate.body import GateTest
from kvgate.gate.judged import Judged
from kvgate.gate.preview import Preview
from kvgate.gate.session import GateSession
from kvgate.gate.start import Prepared, begin
from kvgate.inventory.subjects import Thing
from kvgate.reports import lines
from kvgate.reports.loading import Load
from kvgate.reports.messages import Reader, language

STATUS = {Outcome.PASS: 0, Outcome.STOP: 1, Outcome.UNDECIDED: 6}
_KNOWN = frozenset({"ask", "measure", "baseline", "soak", "starts", "arrival", "terms", "decide", "declared"})

#: Plugins that only cost time in a gate run, and the options that ask for them: hypothesis is loaded whole for a summary of
#: nothing, and what the others remember would be written beside whatever inventory was named.
_IN_THE_WAY = {
    "hypothesispytest": (),
    "lfplugin": ("lf", "failedfirst"),
    "nfplugin": ("newfirst",),
    "stepwiseplugin": ("stepwise",),
    "stepwise": ("stepwise",),
}


class GateItem(pytest.Item):
    """One gate test on one subject."""

    def __init__(self, *, test: GateTest, line: int, marks: Sequence[pytest.Mark], **more: Any) -> None:
        super().__init__(**more)
        self.test = test
        self.own_markers.extend(marks)
        self._place = (self.nodeid.split("::")[0], line, self.name)

    @property
    def location(self) -> tuple[str, int | None, str]:
        """File, line and name, the same wherever pytest was started."""
        return self._place

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the test stands."""
        return self.path, self._place[1], self.name

    def runtest(self) -> None:
        """Gate tests are judged by GateRun, never by themselves."""
        raise RuntimeError("a gate test runs within its gate only")


class GateRun:
    """The pytest plugin that is one run of one gate."""

    NAME = "kvgate-gate-run"

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.session: GateSession | None = None
        self.preview: Preview | None = None
        self._left_out: dict[Owed, Phrase] = {}
        self._things: dict[str, list[tuple[Owed, Thing]]] = {}
        for owed, thing in prepared.owed:
            self._things.setdefault(owed.clause, []).append((owed, thing))
        self._bodies: dict[str, Callable[..., None]] = {}
        self._unfit: dict[str, Phrase] = {}  # clauses of a stored run that this version's tests do not decide

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember by what each test was left out: a report says the true reason."""
        for item in items:
            if isinstance(item, GateItem):
                self._left_out[item.test.owed] = selection.deselected(item)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Send away the plugins that have no part in a gate run."""
        config = session.config
        if (reporter := config.pluginmanager.get_plugin("terminalreporter")) is not None:
            reporter.startpath = config.rootpath  # gates/... stays gates/..., from whatever folder
        for name, wanted in _IN_THE_WAY.items():
            plugin = config.pluginmanager.get_plugin(name)
            if plugin is not None and not any(config.getoption(option, None) for option in wanted):
                config.pluginmanager.unregister(plugin)
        if self.prepared.then is not None:
            warning = lines.unvouched(self.prepared.then, self.prepared.options.ledger, Reader(language()))
            if warning:
                sys.stderr.write(f"{warning}\n")

    # ---- what is collected

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: pytest.Module, name: str, obj: object) -> list[pytest.Item] | None:
        """One test per subject that the inventory owes for the clause; a clause without subjects owes nothing."""
        if not name.startswith("test") or not inspect.isfunction(obj):
            return None
        marks = [mark for mark in getattr(obj, "pytestmark", []) if isinstance(mark, pytest.Mark)]
        clause = next((str(mark.args[0]) for mark in marks if mark.name == "clause"), None)
        parameters = tuple(inspect.signature(obj).parameters)
        if not self._fits(f"{collector.path}::{name}", clause, parameters):
            return []
        self._bodies[clause or ""] = obj
        marks.append(getattr(pytest.mark, self.prepared.options.gate).mark)
        place = f"gates/{collector.path.relative_to(collector.path.parents[1]).as_posix()}"
        items: list[pytest.Item] = [
            GateItem.from_parent(
                collector,
                name=f"{name}[{thing.id}]",
                nodeid=f"{place}::{name}[{thing.id}]",
                test=GateTest(owed, thing, obj, parameters),
                line=obj.__code__.co_firstlineno - 1,
                marks=marks,
            )
            for owed, thing in self._things.get(clause or "", ())
        ]
        for item in items:
            item.extra_keyword_matches.update(selection.keywords(clause or ""))
        return items

    def _fits(self, where: str, clause: str | None, parameters: Sequence[str]) -> bool:
        """Whether a test decides its clause. A stored run may have gone by an agreement that has it not, or otherwise."""
        if clause is None:
            raise pytest.UsageError(f"{where} names no clause: @pytest.mark.clause(...)")
        known = self.prepared.agreement.acceptance.clauses.get(clause)
        if known is None and self.prepared.stored is not None:
            return False
        if known is None:
            raise pytest.UsageError(f"{where} decides {clause}, which is no clause of gates/acceptance.yaml")
        about = [name for name in parameters if name not in _KNOWN]
        if about != [known.subject.value] and self.prepared.stored is not None:
            self._unfit[clause] = say(
                "this version decides it about one {now}, the run's agreement about one {then}",
                now=", ".join(about),
                then=known.subject.value,
            )
            return False
        if about != [known.subject.value]:
            kinds = ", ".join(Subject)
            raise pytest.UsageError(f"{where} takes {about}, but {clause} is about one {known.subject} (of {kinds})")
        return True

    # ---- the run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Write down what is owed, ask every host, judge on what was kept."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection: no host was contacted")
        if session.config.option.collectonly:
            return True
        items = [item for item in session.items if isinstance(item, GateItem)]
        tests = [item.test for item in items]
        if self.prepared.options.plan:
            self.preview = self.prepared.preview(tests)
            self._terminal().plan(self.preview, sys.stdout)
            return True
        signals.hold(lines.interrupting())
        try:
            started = begin(self.prepared)
        except Refused as error:
            raise pytest.UsageError(lines.refusal(error)) from None
        self.session = started.session
        self.session.bodies = self._bodies
        for line in lines.earlier(started.earlier, self.prepared.options.only_stale):
            print(line, file=sys.stderr, flush=True)
        for line in lines.loud(self.session.loud):
            print(line, file=sys.stderr, flush=True)
        if started.unsigned:
            print(lines.unsigned(started.resumed), file=sys.stderr, flush=True)
        collected = {test.owed for test in tests}
        for owed, _ in self.prepared.owed:
            if owed not in collected:
                self.session.unasked[owed] = self._left_out.get(owed) or selection.never_collected(session.config)
        items = session.items[:] = [item for item in items if item.test.owed in started.still_owed]  # type: ignore[assignment]
        load = Load(sys.stderr, simulated=self.prepared.inventory.rack.simulated)
        with started:
            try:
                started.look([item.test for item in items], lines.Progress(sys.stderr), load)
                late = self.session.late
                self._terminal()  # loaded while the counters run
                self._judge(session, [item for item in items if item.test.owed not in late])
                self.session.look_again()
                self._judge(session, [item for item in items if item.test.owed in late])
            except KvgateError as error:
                self.session.trouble.append(str(error))
                return True
            except pytest.exit.Exception as error:
                self.session.ended = say("the run was ended by a plugin of pytest: {why}", why=str(error.msg))
                raise error.with_traceback(None) from None
            except signals.Interrupted as error:
                self.session.ended = say("the run was ended by {signal}", signal=str(error))
                # pytest writes out the arguments of every frame it came through: of a large rack, for minutes.
                raise error.with_traceback(None) from None
        if self.prepared.stored is not None and session.config.args == [str(gate_options.folder(self.session.gate))]:
            self._leave_open(self.session)
        return True

    def _leave_open(self, session: GateSession) -> None:
        """Say why clauses of a stored run are not decided: this version has no test that does."""
        version = code_version()
        for owed, _ in session.owed:
            if owed.clause not in self._bodies:
                none = say("kvgate {version} has no gate test that decides it", version=version)
                verdict = Verdict.undecided(self._unfit.get(owed.clause, none))
                session.record(owed, Judged(verdict, reason="NotDecidable"))

    def _judge(self, session: pytest.Session, items: Sequence[GateItem]) -> None:
        assert self.session is not None  # noqa: S101 - there is one when something is judged
        protocol = session.config.hook.pytest_runtest_protocol
        for index, item in enumerate(items):
            protocol(item=item, nextitem=items[index + 1] if index + 1 < len(items) else None)
            if session.shouldfail:
                self.session.ended = say("the run was stopped before this clause: {why}", why=str(session.shouldfail))
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                self.session.ended = say("the run was stopped before this clause: {why}", why=str(session.shouldstop))
                raise session.Interrupted(session.shouldstop)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Judge one gate test: no set-up, no capture, one report."""
        if not isinstance(item, GateItem) or self.session is None:
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in _reports(item, self.session):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> bool | None:
        """Replace the timer of ``timeout_method = thread``: it would end the process with status 1, which means STOP here."""
        if settings.method != "thread":
            return None
        timer = threading.Timer(settings.timeout, _give_up, (item.nodeid, settings.timeout))
        timer.daemon = True
        item.cancel_timeout = timer.cancel  # type: ignore[attr-defined]  # where pytest-timeout looks for it
        timer.start()
        return True

    # ---- the decision

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Iterator[None]:
        """Decide; the exit status is the decision's, whatever pytest counted. Its last lines are the decision's, too."""
        if self.session is None:
            if session.testsfailed:  # a gate that cannot be collected was not run
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return (yield)
        self._conclude(session, self.session, exitstatus)
        status = session.exitstatus
        gc.freeze()  # pytest collects garbage ten times at its end; nothing here needs to be looked through for it
        try:
            yield
        except Exception as error:  # of a report or a plugin: what it makes of a decision does not change the decision
            self.session.remarks.append(
                f"a report or plugin of pytest failed at the end: {type(error).__name__}: {error}"
            )
        session.exitstatus = status
        try:
            self._terminal().summary(self.session, sys.stdout, self.prepared.options)
        except Exception as error:  # what cannot be shown was decided and stored all the same
            self._untold(self.session, error)

    @staticmethod
    def _untold(run: GateSession, error: Exception) -> None:
        """Say the decision in one line where its summary fails, and where the rest can be read."""
        read = Reader(language())
        outcome = (run.decided or run.decision()).outcome.value
        where = "-" if run.run is None else run.run.id
        told = read(
            "{gate}: {outcome}; its summary cannot be shown ({error}), what was decided is stored: kvgate show {run}",
            gate=run.gate, outcome=outcome, error=f"{type(error).__name__}: {error}", run=where,
        )  # fmt: skip
        with contextlib.suppress(OSError):
            print(f"! {told}", file=sys.stderr, flush=True)

    def _conclude(self, session: pytest.Session, run: GateSession, exitstatus: int) -> None:
        """Store what the run came to. From here on no signal changes that."""
        signal = signals.told()
        signals.conclude()
        if signal and run.ended is None:
            run.ended = say("the run was ended by {signal}", signal=signal)
        if signal or exitstatus == pytest.ExitCode.INTERRUPTED:
            run.ended = run.ended or say("the run was interrupted")
            run.interrupt(str(run.ended))
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        elif exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            run.trouble.append("pytest or kvgate failed, see above")
            run.interrupt("pytest or kvgate failed")
            stopped = run.decision().outcome is Outcome.STOP
            session.exitstatus = STATUS[Outcome.STOP if stopped else Outcome.UNDECIDED]
        else:
            session.exitstatus = STATUS[run.finish().outcome]
        run.close()

    @staticmethod
    def _terminal() -> Any:
        from kvgate.reports import terminal

        return terminal


def _reports(item: GateItem, session: GateSession) -> Iterator[pytest.TestReport]:
    """Judge the test and report it as pytest does: call, then teardown (JUnit XML closes a test there)."""
    given: list[Judged] = []
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(
        lambda: given.append(session.judge(item.test)), "call", (pytest.exit.Exception, KeyboardInterrupt, Unwritable)
    )
    failure: str | None = None
    if given:
        verdict = given[0].verdict
        item.user_properties += [
            ("clause", item.test.owed.clause),
            ("subject", item.test.owed.subject),
            ("outcome", verdict.outcome.value),
            ("measured", str(verdict.measured)),
            ("required", str(verdict.required)),
            ("basis", given[0].basis),
            ("evidence", " ".join(f"E{number}" for number in given[0].evidence)),
        ]
        if verdict.outcome is not Outcome.PASS:
            failure = lines.one_line(session.clause(item.test.owed), given[0])
    elif call.excinfo is not None:  # the judging itself was cut short: nothing is recorded, so it is UNDECIDED
        why = call.excinfo.exconly()
        session.unasked[item.test.owed] = say("the judging of it was cut short: {why}", why=why)
        failure = f"{Outcome.UNDECIDED}: {why}"

    def report(when: Any, longrepr: str | None, seconds: float) -> pytest.TestReport:
        keywords: dict[str, Any] = {item.name: 1, **{mark.name: 1 for mark in item.own_markers}}
        outcome: Any = "passed" if longrepr is None else "failed"
        return pytest.TestReport(
            item.nodeid, item.location, keywords, outcome, longrepr, when, (), seconds, call.start, call.stop,
            item.user_properties,
        )  # fmt: skip

    yield report("call", failure, call.duration)
    yield report("teardown", None, 0.0)


def _give_up(test: str, seconds: float) -> None:
    """End a gate whose judging hangs where no signal reaches it. What is not recorded is UNDECIDED."""
    os.write(2, f"\nkvgate: {test} did not end within {seconds:g} s; the gate stays UNDECIDED\n".encode())
    faulthandler.dump_traceback(2)
    os._exit(STATUS[Outcome.UNDECIDED])
