"""A campaign as the two parties live it: a STOP ends it, both sign to go on, both accept a deviation, a dead run is closed."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvgate.ledger.repository import Ledger
from lab.machine import Edit
from tests.e2e.site import Site, until

CLAUSE, DISK = "G1.2.9", "fx100-a:S7Y0NX0W100003"


@pytest.fixture
def signing(serve: Callable[..., Site]) -> Callable[..., Site]:
    """Serve a rack and lay a trust file of the keys that its inventory names."""

    def start(*faults: str, **more: Any) -> Site:
        site = serve(*faults, **more)
        site.trust()
        return site

    return start


def status(site: Site) -> dict[str, Any]:
    shown = site.kvgate("status", "--inventory", str(site.inventory), "--json")
    assert shown.returncode == 0, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def cosigned(site: Site, document: str) -> str:
    signed = site.kvgate("cosign", document, *site.by("customer"), "--yes")
    assert signed.returncode == 0, signed.stderr
    return signed.stderr


def test_a_stop_ends_the_campaign_until_both_parties_sign(signing: Callable[..., Site]) -> None:
    site = signing("disk-media-errors")
    assert site.gate().returncode == 1
    run = site.last()["run"]
    connections = site.connections
    refused = site.gate()
    assert refused.returncode == 4
    assert "the campaign ended with the STOP of G1" in refused.stderr + refused.stdout
    assert "kvgate reopen" in refused.stderr + refused.stdout
    assert site.connections == connections
    assert len(site.runs()) == 1
    found = status(site)
    assert (found["ended"], found["next"], found["may_start"]) == (True, "G1", False)
    assert [one["kind"] for one in found["obstacles"]] == ["stopped"]

    draft = site.kvgate(
        "reopen", "--reason", "disk replaced", *site.by("vendor"), "-o", str(site.folder / "reopen.json")
    )
    assert draft.returncode == 0, draft.stderr
    assert site.gate("--plan").returncode == 0
    assert status(site)["may_start"] is False
    assert f"after STOP of G1, attempt 1, run {run}" in cosigned(site, draft.stdout.strip())
    found = status(site)
    assert (found["ended"], found["may_start"]) == (False, True)
    assert found["attempts"][0]["reopened"]
    again = site.gate()
    assert again.returncode == 1
    assert "attempt 2" in again.stdout


def test_both_accept_a_deviation_and_it_is_shown_as_waived_never_as_passed(signing: Callable[..., Site]) -> None:
    site = signing("disk-media-errors")
    site.gate()
    run = site.last()["run"]
    words = ("--reason", "replaced in week 3", "--until", "2099-12-31", "-o", str(site.folder / "waiver.json"))
    draft = site.kvgate("waive", run, CLAUSE, *words, *site.by("vendor"))
    assert draft.returncode == 0, draft.stderr
    assert status(site)["attempts"][0]["outcome"] == "STOP"
    assert "comes to PASS with what is waived" in cosigned(site, draft.stdout.strip())
    (attempt,) = status(site)["attempts"]
    assert (attempt["outcome"], attempt["decision"], attempt["stopped"]) == ("PASS", "STOP", False)
    assert [one["counts"] for one in attempt["waivers"]] == [True]

    shown = json.loads(site.kvgate("show", run, "--json").stdout)
    assert (shown["outcome"], shown["with_waivers"]) == ("STOP", "PASS")
    (row,) = [row for row in shown["verdicts"] if row["clause"] == CLAUSE and row["outcome"] != "PASS"]
    assert row["outcome"] == "STOP"
    assert [one["until"] for one in row["waived"]] == ["2099-12-31"]
    text = " ".join(site.kvgate("show", run).stdout.split())
    assert "STOP; PASS with waivers" in text
    assert "waived until" in text
    assert "2099-12-31: replaced in week 3" in text
    assert "PASS with waivers" in site.kvgate("runs").stdout
    assert "PASS with waivers" in site.kvgate("status", "--inventory", str(site.inventory)).stdout

    made = site.kvgate("certify", run, *site.by("vendor"), "-o", str(site.folder / "G1.json"))
    assert made.returncode == 0, made.stderr
    cosigned(site, made.stdout.strip())
    verified = site.kvgate("verify", str(site.folder / "G1.json"), "--simulated", "--json")
    assert verified.returncode == 0, verified.stdout
    assert status(site)["next"] == "G2"
    assert status(site)["may_start"] is True


def test_a_run_that_was_killed_is_closed_before_the_next_one_starts(signing: Callable[..., Site]) -> None:
    site = signing(edits={"node-01": (Edit(ask="lscpu.*", delay=30.0),)})
    process = site.start()
    until(lambda: site.journal() is not None)
    refused = site.kvgate("close", site.runs()[0]["run"], "--reason", "impatience")
    assert refused.returncode == 4
    assert "still runs" in refused.stderr
    process.send_signal(signal.SIGKILL)
    process.communicate()
    blocked = site.gate()
    assert blocked.returncode == 4
    assert "has no end yet" in blocked.stderr + blocked.stdout
    closed = site.kvgate("close", site.runs()[0]["run"], "--reason", "the laptop died")
    assert closed.returncode == 0, closed.stderr
    (run,) = site.runs()
    assert (run["outcome"], run["state"], run["why"]) == ("UNDECIDED", "interrupted", "closed: the laptop died")
    assert status(site)["may_start"] is True
    shown = " ".join(site.kvgate("status", "--inventory", str(site.inventory)).stdout.split())
    assert f"or go on with attempt 1 (run {run['run']})" in shown
    assert "pytest -m G1 --inventory FILE --key FILE --party NAME --only-stale" in shown
    assert site.kvgate("close", run["run"], "--reason", "once more").returncode == 4


def test_the_start_ticket_is_signed_where_a_key_is_configured(signing: Callable[..., Site]) -> None:
    site = signing()
    assert site.gate(*site.by("customer")).returncode == 0
    assert status(site)["attempts"][0]["ticket_signed_by"] == "customer"
    wrong = site.gate("--key", str(site.folder / "keys" / "vendor"), "--party", "customer")
    assert wrong.returncode == 4
    assert "is vendor's" in wrong.stderr + wrong.stdout
    assert len(site.runs()) == 1


def test_a_ticket_is_written_out_while_the_gate_runs_and_shows_that_the_attempt_was_deleted(
    signing: Callable[..., Site],
) -> None:
    site = signing(edits={"node-01": (Edit(ask="lscpu.*", delay=30.0),)})
    process = site.start()
    until(lambda: site.journal() is not None)
    path = site.folder / "ticket.json"
    written = site.kvgate("ticket", site.runs()[0]["run"], "-o", str(path))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (written.returncode, written.stdout.strip()) == (0, str(path)), written.stderr
    asked = ("audit", "--json", "--anchor", str(path), "--certificates", str(site.folder / "none"))
    assert json.loads(site.kvgate(*asked).stdout)["found"] == []
    for name in ("kvgate.db", "kvgate.db-wal", "kvgate.db-shm"):
        (site.folder / name).unlink(missing_ok=True)
    Ledger.open(site.ledger).close()
    found = json.loads(site.kvgate(*asked).stdout)["found"]
    assert any(one["kind"] == "run-missing" and str(path) in one["text"] for one in found), found
    assert site.kvgate("ticket", "20260101").returncode == 4


def test_an_unsigned_g1_says_at_once_that_its_pass_cannot_be_certified_and_it_is_not(
    signing: Callable[..., Site],
) -> None:
    site = signing()
    site.signs = False
    ended = site.gate()
    assert ended.returncode == 0
    (line,) = [line for line in ended.stderr.splitlines() if "not signed" in line]
    assert "a PASS of it cannot be certified" in line
    assert "KVGATE_KEY" in line
    run = site.last()["run"]
    refused = site.kvgate("certify", run, *site.by("vendor"), "-o", str(site.folder / "G1.json"))
    assert refused.returncode == 4
    assert "no party signed its start ticket" in refused.stderr
    assert "pytest -m G1 --inventory FILE --key FILE --party NAME" in refused.stderr
    assert not (site.folder / "G1.json").exists()
    connections = site.connections
    later = site.call(site.command("--allow-load", gate="G2"))
    assert later.returncode == 4
    assert "nobody would sign its start ticket" in later.stderr + later.stdout
    assert site.connections == connections

    environment = {"KVGATE_KEY": str(site.keys / "customer"), "KVGATE_PARTY": "customer"}
    signed = site.gate(**environment)
    assert signed.returncode == 0
    assert "not signed" not in signed.stderr
    made = site.kvgate("certify", site.runs()[-1]["run"], *site.by("vendor"), "-o", str(site.folder / "G1.json"))
    assert made.returncode == 0, made.stderr
    found = json.loads(site.kvgate("verify", str(site.folder / "G1.json"), "--simulated", "--draft", "--json").stdout)
    (check,) = [check for check in found["checks"] if check["check"] == "ticket"]
    assert check["outcome"] == "PASS"
    assert "signed by customer" in check["found"]


def test_a_key_given_to_a_run_begun_unsigned_is_said_at_once_to_be_of_no_use(signing: Callable[..., Site]) -> None:
    slow = Edit(ask="lscpu.*", delay=30.0)
    site = signing(edits={"node-01": (slow,)})
    site.signs = False
    process = site.start()
    until(lambda: site.journal() is not None)
    process.kill()
    process.communicate()
    (run,) = [row["run"] for row in site.runs()]
    for host in site.hosts:
        host.machine.edits = tuple(edit for edit in host.machine.edits if edit != slow)
    ended = site.gate("--only-stale", *site.by("customer"))
    assert ended.returncode == 0, ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if "not signed" in line]
    assert "no key can sign it afterwards" in line
    assert f"run {run} was begun" in line
    assert "begin anew, without --only-stale: pytest -m G1 --inventory FILE --key FILE --party NAME" in line
    assert "to sign its start ticket" not in line


def test_status_speaks_both_languages_and_fits_the_terminal(signing: Callable[..., Site]) -> None:
    site = signing("disk-media-errors")
    site.gate()
    for columns in ("80", "120"):
        for lang, word in (("en", "may not start"), ("zh", "还不能开始")):
            shown = site.kvgate("--lang", lang, "status", "--inventory", str(site.inventory), COLUMNS=columns)
            assert word in shown.stdout
            assert "G1.2.9" not in shown.stdout
            assert "Traceback" not in shown.stderr


def test_a_ledger_without_runs_and_a_campaign_that_is_not_there_are_said(
    signing: Callable[..., Site], tmp_path: Path
) -> None:
    site = signing()
    none = site.kvgate("status", "--inventory", str(site.inventory))
    assert none.returncode == 4
    assert "no ledger" in none.stderr
