"""A stored run judged again within this process, without a word: what certificates are compared with."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.phrase import say
from checks.verdict import Outcome
from kvgate.certificates.code import code_digest, code_version
from kvgate.certificates.proven import Again, Judgement
from kvgate.errors import Refused
from kvgate.evidence.store import Evidence
from kvgate.gate.session import GateSession
from kvgate.gate_run import GateRun


class Witness:
    """Takes hold of the gate run of one pytest run."""

    run: GateRun | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember it."""
        found = session.config.pluginmanager.get_plugin(GateRun.NAME)
        self.run = found if isinstance(found, GateRun) else None


def session_again(folder: Path, ledger: str | None = None) -> GateSession:
    """Judge a folder of evidence by this version of the code and return the whole run. Raises Refused, Damaged.

    Without ``ledger`` no ledger is asked whether it sealed this evidence.
    """
    gate = Evidence.open(folder).start.gate
    asked = ledger or f"sqlite:///{folder / 'no-ledger-is-asked.db'}"
    words = ["-p", "kvgate.pytest_plugin", "-m", gate, "--replay", str(folder), "--ledger", asked, "-q"]
    witness, said = Witness(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), _nothing_added():
        status = pytest.main(
            [*words, "-p", "no:cacheprovider", "-p", "no:timeout", "-o", "addopts="], plugins=[witness]
        )
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    session = witness.run.session if witness.run is not None else None
    if session is None:
        why = next((line for line in reversed(said.getvalue().splitlines()) if line.strip()), "it did not start")
        raise Refused(say("{folder} cannot be judged again: {why:.300}", folder=str(folder), why=why))
    return session


@contextlib.contextmanager
def _nothing_added() -> Iterator[None]:
    """Options that somebody gives every pytest by the environment (``-x``, ``-k``) would judge a part and look like the whole."""
    kept = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def judged_again(folder: Path) -> Judgement:
    """Judge a folder of evidence by this version of the code, whatever any ledger says. Raises Refused, Damaged."""
    session = session_again(folder)
    decision = session.decision()
    trouble = (*session.trouble, *session.remarks)
    outcome = Outcome.UNDECIDED if trouble and decision.outcome is Outcome.PASS else decision.outcome
    judged, verdicts = session.judged, dict(decision.verdicts)
    found = {
        item: Again(verdicts[item], judged[item].evidence, judged[item].basis)
        if item in judged
        else Again(verdicts[item])
        for item, _ in session.owed
    }
    return Judgement(found, outcome, trouble, code_version(), code_digest())
