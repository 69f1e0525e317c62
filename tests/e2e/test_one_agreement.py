"""A run goes by one inventory and one agreement from its first to its last verdict, and says by which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvgate import agreement as agreements
from kvgate.evidence.store import AskedProbe, Evidence, StoredFailure
from kvgate.transport.base import Answer, Batch


@pytest.fixture
def interrupted(serve: Callable[..., Any]) -> Any:
    """A run that came to UNDECIDED, because one tool was missing."""
    site = serve("host-dmidecode-missing")
    first = site.gate()
    assert first.returncode == 6, first.stdout + first.stderr
    return site


def test_a_run_is_not_gone_on_with_by_another_inventory(interrupted: Any) -> None:
    text = interrupted.inventory.read_text("utf-8")
    assert "ctrl_loss: 600" in text
    interrupted.inventory.write_text(text.replace("ctrl_loss: 600", "ctrl_loss: 60"), "utf-8")
    again = interrupted.gate("--only-stale")
    assert again.returncode == 4, again.stdout + again.stderr
    assert "another inventory" in again.stdout + again.stderr


def test_a_run_is_not_gone_on_with_by_a_declaration_that_came_later(interrupted: Any) -> None:
    late = '  - {clause: G1.1.9, subject: "*", value: "2.3.7", conforms: true, by: someone, on: 2026-11-28}\n'
    with interrupted.inventory.open("a", encoding="utf-8") as stream:
        stream.write(late)
    assert interrupted.gate("--only-stale").returncode == 4


def test_a_pass_says_by_which_numbers_and_by_whose_word(serve: Callable[..., Any]) -> None:
    """An overlay or a declaration that weakens a clause must be seen by whoever reads the result, live or stored."""
    weaker = "overlay: {G1.1.25: {weight: blocking}, G1.2.9: {limits: {media_errors: {value: 7, unit: errors, origin: contract}}}}\n"
    site = serve()
    (site.folder / "weaker.yaml").write_text(weaker, "utf-8")
    text = site.inventory.read_text("utf-8")
    site.inventory.write_text(text.replace("campaign: demo", "campaign: demo\nacceptance: weaker.yaml"), "utf-8")
    seen = site.gate()
    run = str(site.runs()[0]["run"])
    told = {
        "gate": seen,
        "check": site.kvgate("inventory", "check", str(site.inventory)),
        "explain": site.kvgate("explain", "G1.2.9", "--inventory", str(site.inventory)),
        "show": site.kvgate("show", run),
        "judge": site.kvgate("judge", run),
    }
    assert seen.returncode == 0, seen.stdout + seen.stderr
    digest = agreements.read(site.folder / "weaker.yaml").digest[:16]
    for name, command in told.items():
        assert command.returncode == 0, (name, command.stdout + command.stderr)
        assert "0 errors -> 7 errors" in command.stdout, (name, command.stdout)
        if name != "explain":
            assert "advisory -> blocking" in command.stdout, name
            assert f"by the agreement {digest}" in command.stdout, name  # a document edited in place is no overlay
    for name in ("gate", "judge"):
        assert "network team: G1.4.20 rack" in told[name].stdout, name
    for name in ("gate", "judge", "check"):
        assert "nothing is agreed on 'sysctl': fx100-a" in told[name].stdout, name
    assert "declared by people" in told["show"].stdout


def test_evidence_other_than_the_ledger_sealed_is_not_judged(serve: Callable[..., Any], tmp_path: Path) -> None:
    """A folder written anew, chain and all, is whole in itself: only the seal in the ledger tells it from the real one."""
    site = serve("host-dmidecode-missing")
    assert site.gate().returncode == 6
    run = str(site.runs()[0]["run"])
    assert site.kvgate("judge", run).returncode == 6
    alone = site.kvgate("judge", run, "--ledger", f"sqlite:///{tmp_path}/none.db")
    assert alone.returncode == 6
    assert "no ledger" in alone.stderr
    _forge(site.evidence / run)
    again = site.kvgate("judge", run)
    assert again.returncode == 4, again.stdout + again.stderr
    assert "sealed" in again.stdout + again.stderr


def _forge(folder: Path) -> None:
    old = Evidence.open(folder.rename(folder.with_name("aside")))
    start = {**old.start.fields, "inventory": old.start.inventory.replace("ctrl_loss: 600", "ctrl_loss: 60")}
    reserved = {"run", "seq", "kind", "utc", "monotonic", "boot", "prev", "surroundings"}
    new = Evidence.create(folder.parent, folder.name, {k: v for k, v in start.items() if k not in reserved})
    for batch in old.batches():
        mine = [kept for kept in old.answers() if (kept.host, kept.sample) == (batch.host, batch.sample)]
        answers = {
            kept.key: kept.error()
            if isinstance(kept, StoredFailure)
            else Answer(kept.key, kept.stdout, kept.stderr, kept.status, kept.seconds)
            for kept in mine
        }
        lines = {kept.key: AskedProbe(kept.probe, kept.line, kept.level) for kept in mine}
        again = Batch(
            batch.host, answers, batch.host_key, batch.boot_id, batch.clock, batch.started_utc, batch.monotonic
        )
        new.keep(again, lines, batch.sample)
    new.close()
