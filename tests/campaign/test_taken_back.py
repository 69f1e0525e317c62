"""A later STOP of a gate takes back its PASS and what stood on it; a later PASS takes nothing back."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest

from kvgate.campaign import overview
from kvgate.campaign.overview import Overview
from kvgate.campaign.standing import Attempt
from kvgate.errors import OutOfOrder
from kvgate.reports import status
from kvgate.reports.messages import Reader
from tests.campaign.sample import BAD, DISK, UNTOLD, Site
from tests.invoking import invoked

GATES = ("G1", "G2", "G3", "G4")


def view(site: Site) -> Overview:
    return overview.overview(
        site.campaign(), site.inventory.rack, site.agreement.digest, site.now, trusted=True, problems=()
    )


def shown(site: Site) -> str:
    out = io.StringIO()
    status.show(view(site), out)
    return " ".join(out.getvalue().split())


def counting(site: Site) -> list[str]:
    return [gate for gate in GATES if site.campaign().passes(gate)]


def stopped(site: Site, gate: str) -> None:
    for one in GATES:
        site.passed(one)
    assert counting(site) == list(GATES)
    assert view(site).next is None
    site.run(gate, {DISK: BAD})


def test_a_stop_of_the_first_gate_takes_back_all_that_stood_on_it(site: Site) -> None:
    stopped(site, "G1")
    assert counting(site) == []
    assert "counts until" not in shown(site)
    site.reopen("vendor", "customer")
    for done, gate in enumerate(GATES):
        found = view(site).next
        assert found is not None
        assert (found.gate, found.obstacles) == (gate, ())
        assert "all gates are passed" not in shown(site)
        for later in GATES[max(done, 1) :]:
            why = (
                f"the PASS of {later} (attempt 1) no longer counts: it stands on G1, and attempt 2 at G1 came to STOP after "
                f"it: {later} is to be run again"
            )
            assert why in shown(site)
        if done + 2 < len(GATES):
            with pytest.raises(OutOfOrder, match=f"{GATES[done + 2]} may not start; the PASS of {GATES[done + 1]}"):
                site.begin(GATES[done + 2])
        site.passed(gate)
    assert view(site).next is None
    assert "all gates are passed" in shown(site)


def test_a_stop_takes_back_its_own_gate_and_those_behind_it_only(site: Site) -> None:
    stopped(site, "G3")
    assert counting(site) == ["G1", "G2"]
    assert "the PASS of G3 (attempt 1) no longer counts: attempt 2 came to STOP" in shown(site)
    told = {
        row["gate"]: (row["taken_back"], row["taken_back_by"])
        for row in status.as_json(view(site), Reader("en"))["gates"]
    }
    passed, by = site.campaign().of("G3")
    assert told["G2"] == (None, None)
    assert told["G3"] == (passed.run.id, by.run.id)
    assert told["G4"][1] == by.run.id


def test_an_interrupted_attempt_that_had_come_to_stop_takes_back_too(site: Site) -> None:
    site.passed("G1")
    site.passed("G2")
    site.interrupted("G1", {DISK: BAD})
    site.reopen("vendor", "customer")
    assert counting(site) == []
    assert site.why("G2") == ["missing"]
    assert "no longer counts: attempt 2 came to STOP" in str(site.opening("G2").obstacles[0].why)


def test_a_later_pass_or_an_untold_attempt_takes_nothing_back(site: Site) -> None:
    for gate in GATES:
        site.passed(gate)
    site.passed("G1")
    site.run("G2", {DISK: UNTOLD})
    assert counting(site) == list(GATES)
    assert view(site).next is None


def test_a_stop_that_both_accept_takes_nothing_back(site: Site) -> None:
    site.passed("G1")
    site.passed("G2")
    run = site.run("G1", {DISK: BAD})
    assert counting(site) == []
    site.waive(run, f"G1.{DISK}")
    assert counting(site) == ["G1", "G2"]


def test_a_stop_before_does_not_revive_the_stop_of_the_gate_behind_it(site: Site) -> None:
    site.passed("G1")
    run = site.run("G2", {DISK: BAD})
    site.waive(run, f"G2.{DISK}", days=1)
    site.passed("G2")
    site.run("G1", {DISK: BAD})

    def stopping() -> list[tuple[str, int]]:
        found: list[Attempt] = site.campaign().stopping()
        return [(one.run.gate, one.run.attempt) for one in found]

    site.at = site.now + timedelta(days=3)
    assert stopping() == [("G1", 2)]


def test_a_pass_that_was_taken_back_is_not_certified_any_more(site: Site) -> None:
    site.passed("G1")
    late = site.run("G2")
    site.run("G1", {DISK: BAD})
    site.reopen("vendor", "customer")
    site.passed("G1")
    key = site.key()
    done = invoked(
        "certify", late.id, "--key", str(key["key"]), "--party", "vendor", "--trust", site.trust_file, "--ledger", site.url,
        "--evidence", site.folder / "evidence",
    )  # fmt: skip
    assert done.exit_code == 4, done.output
    assert "it stands on G1, and attempt 2 at G1 came to STOP after it" in done.stderr
