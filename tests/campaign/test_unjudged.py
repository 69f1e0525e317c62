"""An attempt that ended early and that nobody judged to its end may have seen a STOP: no gate begins before somebody looked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from checks.verdict import Outcome
from kvgate.audit import evidence as audited
from kvgate.audit import stoploss
from kvgate.cli.soak_run import died as judging_died
from kvgate.errors import Damaged, NotAllowed, OutOfOrder, Refused, Unwritable
from kvgate.evidence.store import AskedProbe
from kvgate.gate.body import GateTest
from kvgate.gate.collect import replay
from kvgate.gate.judged import Judged
from kvgate.gate.session import GateSession
from kvgate.gate.start import begin
from kvgate.ledger.repository import Ledger
from kvgate.transport.base import Answer, Batch
from tests.campaign.sample import ABOVE, BAD, GOOD, HOST, UNTOLD, Site
from tests.invoking import invoked


def died(site: Site, gate: str = "G1") -> Path:
    """One attempt that ended without a seal, as older versions ended it; its evidence folder."""
    session = site.begin(gate)
    answered(session)
    assert session.evidence is not None
    session.evidence.close()
    site.ledger.interrupt(site.last(), "the laptop died")
    return session.evidence.path


def closed(site: Site, *words: str) -> str:
    done = invoked("close", site.last().id, "--reason", "it died", "--ledger", site.url, *words)
    return f"{done.exit_code} {' '.join(done.output.split())}"


def kinds(site: Site) -> list[str]:
    found = [*audited.look(site.ledger, site.last(), None).findings, *stoploss.look(site.ledger, site.trust)]
    return [one.kind for one in (*found, *site.ledger.findings())]


def test_it_holds_the_campaign_until_it_is_closed_with_its_evidence(site: Site) -> None:
    died(site)
    assert (site.why("G1"), kinds(site)) == (["unjudged"], ["unjudged"])
    with pytest.raises(OutOfOrder, match=r"nobody judged what it had seen.*kvgate close"):
        site.begin("G1")
    assert closed(site).endswith("is closed as UNDECIDED")
    assert (site.why("G1"), kinds(site)) == ([], [])
    assert "has its end already" in closed(site)
    assert site.run("G1").attempt == 2


def test_evidence_that_lies_elsewhere_is_found_below_the_folder_that_is_named(site: Site) -> None:
    folder = died(site)
    (site.folder / "moved").mkdir()
    shutil.move(folder, site.folder / "moved")
    assert closed(site).startswith("4 ")
    assert closed(site, "--evidence", str(site.folder / "moved")).startswith("0 ")
    assert site.why("G1") == []


def test_where_its_evidence_is_lost_both_parties_reopen(site: Site) -> None:
    shutil.rmtree(died(site))
    assert kinds(site) == ["unjudged"]
    told = closed(site)
    assert told.startswith("4 ")
    assert "both parties reopen the campaign" in told
    site.reopen("vendor")
    assert site.why("G1") == ["unjudged"]
    site.reopen("vendor", "customer")
    assert (site.why("G1"), kinds(site)) == ([], [])
    assert closed(site).startswith("4 "), "one more entry would void what both have signed"
    assert site.passed("G1").attempt == 2
    assert kinds(site) == []


def test_damaged_evidence_is_not_judged_and_both_parties_reopen_all_the_same(site: Site) -> None:
    journal = died(site) / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"gate":"G1"', b'"gate":"G2"'))
    assert "could not be judged" in closed(site)
    assert site.why("G1") == ["unjudged"]
    site.reopen("vendor", "customer")
    assert site.passed("G1").attempt == 2


def test_what_both_reopened_with_its_evidence_at_hand_is_open(site: Site) -> None:
    died(site)
    site.reopen("vendor", "customer")
    assert site.passed("G1").attempt == 2


def test_the_evidence_of_another_run_in_its_place_is_refused(site: Site) -> None:
    session = site.begin("G1")
    site.judge(session, {})
    session.finish()
    session.close()
    good = Path(site.last().evidence)
    folder = died(site)
    shutil.rmtree(folder)
    shutil.copytree(good, folder)
    assert "of another run" in closed(site)
    assert site.why("G1") == ["unjudged"]


@pytest.mark.parametrize("left", ["nothing", "half a line"])
def test_who_deletes_the_evidence_cannot_take_the_run_up_anew(site: Site, left: str) -> None:
    folder = died(site)
    if left == "nothing":
        shutil.rmtree(folder)
    else:
        (folder / "journal.jsonl").write_bytes((folder / "journal.jsonl").read_bytes()[:50])
    with pytest.raises((Refused, Damaged)):
        site.begin("G1", only_stale=True)
    assert site.why("G1") == ["unjudged"]


def test_an_attempt_that_nobody_was_asked_in_holds_nothing(site: Site) -> None:
    session = begin(site.prepared("G1")).session
    assert session.evidence is not None
    session.evidence.close()
    site.ledger.interrupt(site.last(), "it died before the first question")
    assert (site.why("G1"), kinds(site)) == ([], [])


def test_it_counts_under_another_name_of_the_campaign_too(site: Site) -> None:
    died(site)
    site.text = site.text.replace("campaign: demo", "campaign: other")
    assert site.why("G1") == ["unjudged"]


def test_a_stop_that_the_ledger_could_not_take_is_judged_by_whoever_closes(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: the verdict is not written, the run's end is, later, when there is room."""
    session = site.begin("G1")

    def full(*_: object, **__: object) -> None:
        raise Unwritable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record", full)
        site.judge(session, {HOST: BAD})
        assert session.finish().outcome is not Outcome.PASS
    session.close()
    assert site.ledger.recorded(site.last()) == {}
    assert site.why("G1") == ["unjudged"]


def taken_up(site: Site, gate: str = "G1") -> GateSession:
    """An attempt that was decided UNDECIDED, sealed, is taken up again; something is answered, and its process dies."""
    session = site.begin(gate)
    site.judge(session, {HOST: UNTOLD})
    session.finish()
    session.close()
    again = site.begin(gate, only_stale=True)
    answered(again)
    return again


def die(session: GateSession) -> None:
    assert session.evidence is not None
    session.evidence.close()


@pytest.mark.parametrize("evidence", ["there", "moved away"])
def test_one_that_died_when_it_was_taken_up_again_is_judged_first(site: Site, evidence: str) -> None:
    die(taken_up(site))
    folder = Path(site.last().evidence)
    if evidence == "moved away":
        shutil.move(folder, site.folder / "hidden")
    with pytest.raises(OutOfOrder, match=r"has no end yet.*kvgate close"):
        site.begin("G1")
    assert site.why("G1") == ["open"]
    if evidence == "moved away":
        assert "could not be judged" in closed(site)
        assert site.why("G1") == ["unjudged"]
        shutil.move(site.folder / "hidden", folder)
    assert closed(site).endswith("is closed as UNDECIDED")
    assert (site.why("G1"), kinds(site)) == ([], [])
    assert site.run("G1").attempt == 2


def test_a_stop_seen_before_such_a_death_is_no_tampering_and_the_run_can_be_closed(site: Site) -> None:
    again = taken_up(site)
    (owed,) = [item for item, _ in again.owed if item.clause == f"G1.{HOST}" and item.subject == "node-01"]
    again.record(owed, Judged(BAD))
    again.write()
    die(again)
    assert (site.why("G1"), kinds(site)) == (["open", "stopped"], [])
    assert "1 verdict of it is STOP" in closed(site)
    assert (site.why("G1"), kinds(site)) == (["stopped"], [])
    assert "has its end already" in closed(site)


def test_a_run_that_is_under_way_again_lets_nobody_begin_beside_it(site: Site) -> None:
    again = taken_up(site)
    with pytest.raises(OutOfOrder):
        site.begin("G1")
    site.judge(again, {})
    assert again.finish().outcome is Outcome.PASS
    assert site.why("G1") == []


def test_a_run_that_is_under_way_again_is_not_reopened_before_it_has_its_end(site: Site) -> None:
    """Both would sign that the campaign goes on after what nobody has seen yet."""
    again = taken_up(site)
    with pytest.raises(NotAllowed, match="has no end yet: close it first"):
        site.reopen("vendor", "customer")
    die(again)
    shutil.rmtree(site.last().evidence)
    assert "could not be judged" in closed(site)
    site.reopen("vendor", "customer")
    assert site.passed("G1").attempt == 2


def test_it_is_shown_as_one_without_an_end_and_why_it_ended_before_is_kept(site: Site) -> None:
    first = site.begin("G1")
    first.interrupt("the laptop was closed")
    die(first)
    die(site.begin("G1", only_stale=True))
    (run,) = json.loads(invoked("runs", "--ledger", site.url, "--json").stdout)
    assert (run["state"], run["interruptions"]) == ("unfinished", 1)
    assert "the laptop was closed" in run["why"]
    shown = " ".join(invoked("show", run["run"], "--ledger", site.url).stdout.split())
    assert "UNDECIDED (unfinished)" in shown
    assert "--only-stale; or close it: kvgate close" in shown


def test_what_passed_with_its_waivers_is_not_taken_up(site: Site) -> None:
    """Its certificate would open nothing from then on, and what is waived need not be asked again."""
    session = site.begin("G1")
    site.judge(session, {HOST: ABOVE})
    session.finish()
    session.close()
    run = site.last()
    site.waive(run, f"G1.{HOST}")
    site.certify(run)
    with pytest.raises(NotAllowed, match="passed with its waivers"):
        site.begin("G1", only_stale=True)
    assert site.why("G2") == []


class CutOff(BaseException):
    """As pytest fails a test at its time limit."""


@pytest.mark.parametrize("error", [Unwritable("the disk is full"), CutOff()])
def test_a_judging_that_was_cut_short_leaves_no_seal(site: Site, error: BaseException) -> None:
    """It is owed still, and whoever closes the run judges it: skipped and sealed, its STOP would be forgotten."""
    session = site.begin("G1")
    assert session.evidence is not None
    session.answers = replay(session.evidence)
    owed, thing = session.owed[0]

    def body() -> None:
        raise error

    with pytest.raises(type(error)):
        session.judge(GateTest(owed, thing, body, ()))
    for item, _ in session.owed[1:]:
        session.record(item, Judged(GOOD))
    assert session.finish().outcome is Outcome.UNDECIDED
    session.close()
    assert any("was cut short" in one for one in session.trouble)
    assert site.why("G1") == ["unjudged"]
    assert closed(site).startswith("0 ")
    assert site.why("G1") == []


def test_another_name_of_the_campaign_does_not_get_around_a_run_without_an_end(site: Site) -> None:
    session = site.begin("G1")
    answered(session)
    die(session)
    site.text = site.text.replace("campaign: demo", "campaign: other")
    (obstacle,) = site.opening("G1").obstacles
    assert obstacle.kind == "open"
    assert "on this very rack, in campaign demo: attempt 1 at G1" in str(obstacle.why)
    assert closed(site).startswith("0 ")
    assert site.why("G1") == []


def answered(session: GateSession) -> None:
    """Keep an answer, as a host gave it."""
    assert session.evidence is not None
    session.evidence.keep(
        Batch("node-01", {"uname -r": Answer("uname -r", b"6.1.0\n", b"", 0, 0.1)}),
        {"uname -r": AskedProbe("uname", "uname -r", "passive")},
        1,
    )


def test_a_timer_goes_on_with_the_judging_that_died_and_with_no_other(site: Site) -> None:
    """`kvgate soak run` may be killed anywhere and run again: the attempt without an end would refuse a new one."""
    for gate in ("G1", "G2", "G3"):
        site.passed(gate)
    inventory = site.folder / "rack.yaml"
    inventory.write_text(site.text)
    assert not judging_died(inventory, site.url)
    session = site.begin("G4")
    assert not judging_died(inventory, site.url), "it is under way"
    assert session.evidence is not None
    session.evidence.close()
    assert judging_died(inventory, site.url)
    site.ledger.interrupt(site.last(), "the disk was full")  # an end without a seal: nobody judged what it saw
    assert judging_died(inventory, site.url)
    again = site.begin("G4", only_stale=True)
    site.judge(again, {})
    assert again.finish().outcome is Outcome.PASS
    assert not judging_died(inventory, site.url)
    assert not judging_died(site.folder / "no-such-file.yaml", site.url)
