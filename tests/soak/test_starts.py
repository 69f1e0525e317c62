"""A start of a soak is an attempt: it is in the ledger before a host hears of it, and whoever is killed goes on where he was."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.soak.attempts import Start, Starts, fate
from checks.soak.starts import written_down
from checks.verdict import Outcome
from kvgate.certificates import trust
from kvgate.certificates.soak_book import SoakBook, written
from kvgate.errors import NotAllowed
from kvgate.gate import starts as kept
from kvgate.gate.soaks import gather
from kvgate.inventory import reader
from kvgate.ledger.repository import Ledger
from kvgate.soak.control import Control
from kvgate.soak.store import Store
from kvgate.transport.local import LocalTransport
from tests.certificates.conftest import Keys
from tests.gates.soaking import array, node, started
from tests.invoking import invoked
from tests.soak.conftest import SIGNER
from tests.soak.hosted import ask
from tests.soak.rack import KEYS

HOSTS = ("array-a", "node-01")


def events(book: SoakBook) -> list[tuple[str, str]]:
    found, problems = written(book._ledger)
    assert problems == []
    return [(one.said.event, one.said.soak) for one in found]


def test_started_looked_at_stopped_removed_and_started_again_leaves_the_first_in_the_ledger(
    control: Control, book: SoakBook, hosts: Path
) -> None:
    store, new = control.attach(60)
    assert new
    assert events(book) == [("start", store.soak)], "written before a host hears of it"
    assert not hosts.exists()
    control.start(store)
    control.stop(store)
    told = control.collect(store)
    assert [one.found["did"] for one in control.remove(store, told)] == ["removed", "removed"]
    assert list(hosts.glob("*/*")) == []
    another, new = control.attach(60)
    assert new
    control.start(another)
    control.start(another)  # attached: nothing is written twice
    assert events(book) == [
        ("start", store.soak), ("begun", store.soak), ("stop", store.soak), ("remove", store.soak), ("start", another.soak),
        ("begun", another.soak),
    ]  # fmt: skip
    [left] = book.starts().abandoned(another.soak)
    assert left.soak == store.soak
    assert all((left.started, left.begun, left.stopped, left.removed))
    assert "judged by no run of G4" in str(fate(left))
    control.stop(another)


@pytest.mark.parametrize("here", [True, False])
def test_killed_between_record_and_hosts_the_same_command_begins_that_soak(
    control: Control, book: SoakBook, tmp_path: Path, here: bool
) -> None:
    store, _ = control.attach(60)
    if not here:  # killed before this machine's own folder was written, or the next command comes from another one
        shutil.rmtree(control.root)
    again, _ = control.attach(60)
    assert again.soak == store.soak
    assert [one.state for one in control.start(again)] == ["running", "running"]
    assert events(book)[-1] == ("begun", store.soak)
    assert len(book.starts().soaks) == 1
    control.stop(again)


def test_killed_between_hosts_and_the_word_that_they_run_the_next_command_writes_it(
    control: Control, book: SoakBook
) -> None:
    store, _ = control.attach(60)
    Control(control.inventory, LocalTransport(), control.root).start(store)  # what was killed came so far
    assert events(book) == [("start", store.soak)]
    again, new = control.attach(60)
    assert (again.soak, new) == (store.soak, False)
    control.start(again)
    assert events(book) == [("start", store.soak), ("begun", store.soak)]
    control.stop(again)


def test_killed_between_the_record_of_a_stop_and_the_stop_is_said_and_goes_on_or_ends(
    control: Control, book: SoakBook
) -> None:
    store, _ = control.attach(60)
    control.start(store)
    book.write("stop", store.soak, {})
    control.status(store)
    said = control.unwritten(store)
    assert "`kvgate soak stop` ends it, `kvgate soak start` goes on with it" in str(said)
    control.attach(60)
    assert control.unwritten(store) is None
    assert [one.times for one in book.starts().soaks] == [2]
    control.stop(store)
    control.stop(store)
    assert [name for name, _ in events(book)].count("stop") == 2, "one a stop, however often it is given"


def test_what_was_started_and_never_ran_is_given_up_and_stays_counted(control: Control, book: SoakBook) -> None:
    store, _ = control.attach(60)
    shutil.rmtree(control.root)
    found = control.named(store.soak)
    assert [one.state for one in control.stop(found)] == ["absent", "absent"]
    another, new = control.attach(60)
    assert new
    assert another.soak != store.soak
    assert [one.soak for one in book.starts().abandoned(another.soak)] == [store.soak]


def test_another_plan_under_a_start_that_never_ran_is_refused(control: Control, book: SoakBook, tmp_path: Path) -> None:
    store, _ = control.attach(60)
    shutil.rmtree(control.root)
    with pytest.raises(NotAllowed, match=rf"{store.soak} was written down as started.*gives it up"):
        control.attach(120)
    assert len(events(book)) == 1


def test_what_ran_and_was_removed_by_hand_is_not_begun_again_in_silence(
    control: Control, book: SoakBook, hosts: Path
) -> None:
    store, _ = control.attach(60)
    control.start(store)
    for host in HOSTS:
        ask(hosts / store.soak / host, "stop")
    shutil.rmtree(hosts)
    shutil.rmtree(control.root)
    with pytest.raises(NotAllowed, match=rf"{store.soak} ran .* removed by hand"):
        control.attach(60)
    assert control.attach(60, anew=True)[1]


def test_of_two_starts_at_once_one_is_written_and_one_refused(control: Control, book: SoakBook, tmp_path: Path) -> None:
    other = Control(control.inventory, LocalTransport(), tmp_path / "other", book)
    seen: list[Store] = []

    class Meanwhile(LocalTransport):
        """Somebody starts while hosts are asked."""

        def each(self, commands):  # type: ignore[no-untyped-def]
            if not seen:
                seen.append(other.attach(60)[0])
            return super().each(commands)

    late = Control(control.inventory, Meanwhile(), control.root, book)
    with pytest.raises(NotAllowed, match="another process wrote down a soak of this campaign meanwhile"):
        late.attach(60)
    assert events(book) == [("start", seen[0].soak)]
    assert Store.all(control.root) == []


def test_without_a_book_nothing_is_started(control: Control, hosts: Path) -> None:
    with pytest.raises(NotAllowed, match="ledger"):
        Control(control.inventory, LocalTransport(), control.root).attach(60)
    assert not hosts.exists()


def test_records_are_signed_and_a_removed_one_is_noticed(control: Control, tmp_path: Path) -> None:
    keys = Keys(Ed25519PrivateKey.generate()), Keys(Ed25519PrivateKey.generate())
    trusts = trust.read("".join(f"{key.line(party)}\n" for key, party in zip(keys, trust.PARTIES, strict=True)))
    url = tmp_path / "signed.db"
    with contextlib.closing(Ledger.open(f"sqlite:///{url}")) as ledger:
        book = SoakBook(ledger, control.inventory, "tester", "0", signer=keys[1].signer, trust=trusts)
        for name in ("soak-1", "soak-2"):
            book.write("start", name, {"node-01": "a" * 64})
            book.write("stop", name, {})
        assert [one.signed for one in book.starts().soaks] == [("customer",), ("customer",)]
        unsigned = SoakBook(ledger, control.inventory, "tester", "0", trust=trusts)
        with pytest.raises(NotAllowed, match="nobody would sign the start of this soak"):
            unsigned.write("start", "soak-3", {"node-01": "a" * 64})
        assert [one.soak for one in unsigned.starts().soaks] == ["soak-1", "soak-2"]
    with contextlib.closing(sqlite3.connect(url)) as bare:
        for (name,) in bare.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            bare.execute(f"DROP TRIGGER {name}")
        bare.execute("DELETE FROM envelope WHERE id = 2")
        bare.commit()
    with contextlib.closing(Ledger.open(f"sqlite:///{url}", write=False)) as ledger:
        _, problems = written(ledger)
    assert len(problems) == 1
    assert "one was taken out or changed" in problems[0]


@pytest.mark.parametrize(
    ("part", "simulated", "known"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_soak_under_another_campaign_and_inventory_is_known_by_one_part(
    control: Control, book: SoakBook, part: bool, simulated: bool, known: bool
) -> None:
    text = control.inventory.text.replace("campaign: soak-test", "campaign: trial")
    text = text.replace("simulated: true", f"simulated: {str(simulated).lower()}")
    for number in range(1 if part else 2):
        text = text.replace(KEYS[number], f"SHA256:{'C' * 42}{number}").replace(f"00:0{number}", f"07:0{number}")
    other = SoakBook(book._ledger, reader.parse(text), "tester", "0", signer=SIGNER)
    other.write("start", "soak-hidden", {"node-01": "a" * 64})
    other.write("begun", "soak-hidden", {})
    store, new = control.attach(60)  # it is no soak that this rack's hosts would have lost
    assert new
    other.write("stop", "soak-hidden", {})
    found = book.starts().abandoned(store.soak)
    assert [one.soak for one in found] == (["soak-hidden"] if known else [])
    if known:
        assert "in the name of campaign trial, by another inventory, on parts of this rack" in str(fate(found[0]))
        assert found[0].stopped


def test_a_gate_that_starts_a_soak_writes_it_down(control: Control, book: SoakBook) -> None:
    journals, trouble = gather(control.inventory, LocalTransport(), control.root, book, allow_load=True)
    assert trouble == []
    assert journals is not None
    assert events(book) == [("start", journals.store.soak), ("begun", journals.store.soak)]
    control.stop(journals.store)


LIST = started({"fx100-a": array(), "node-01": node()})


def judged(starts: Starts | None) -> tuple[Outcome, str]:
    verdict = written_down(starts, {"fx100-a": array(), "node-01": node()}, 300)
    return verdict.outcome, f"{verdict.measured} {verdict.note}"


def test_a_soak_that_was_written_down_passes_and_names_those_that_were_abandoned() -> None:
    assert judged(LIST)[0] is Outcome.PASS
    before = tuple(Start(f"soak-{at}", "2026-01-01T00:00:00.000000Z", stopped="2026-01-01T01:00:00Z") for at in (1, 2))
    stopped = Start("soak-3", "2026-01-02T00:00:00.000000Z", runs=(("run-1", "STOP"),))
    outcome, said = judged(Starts((*before, stopped, *LIST.soaks)))
    assert outcome is Outcome.PASS
    assert "soaks begun before without a verdict: 2" in said
    assert "soak-1" in said
    assert "soak-2" in said
    assert "soak-3" not in said, "a run of G4 judged it: it is among the attempts"


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        (None, "does not hold what the ledger has"),
        (Starts(), "the ledger has no start of"),
        (replace(LIST, soaks=tuple(replace(one, started="") for one in LIST.soaks)), "the ledger has no start of"),
        (replace(LIST, soaks=tuple(replace(one, plans={}) for one in LIST.soaks)), "names no plan of it"),
        (replace(LIST, problems=("record 2 ...",)), "cannot be believed"),
        (
            replace(LIST, soaks=tuple(replace(one, started="2199-01-01T00:00:00.000000Z") for one in LIST.soaks)),
            "before its start was written down",
        ),
    ],
)
def test_whatever_was_not_written_down_is_undecided_and_says_what_to_do(starts: Starts | None, said: str) -> None:
    outcome, told = judged(starts)
    assert outcome is Outcome.UNDECIDED
    assert said in told


def test_another_plan_than_was_written_down_is_a_stop_that_names_the_host() -> None:
    outcome, told = judged(
        replace(LIST, soaks=tuple(replace(one, plans={**one.plans, "node-01": "0" * 64}) for one in LIST.soaks))
    )
    assert outcome is Outcome.STOP
    assert "node-01: the plan that ran there is not the one that was written down" in told


def test_the_evidence_gives_the_list_back(tmp_path: Path) -> None:
    from kvgate.evidence.store import Evidence

    evidence = Evidence.create(tmp_path, "run", {"gate": "G4"})
    assert kept.kept(evidence) is None
    found = Starts(
        (*LIST.soaks, Start("soak-3", "x", 2, {"a": "b"}, "y", "z", "r", (("run-1", "STOP"),), ("vendor",))), ("bad",)
    )
    kept.keep(evidence, found)
    assert kept.kept(evidence) == found


@pytest.mark.parametrize("command", ["start", "stop"])
def test_a_ledger_out_of_reach_is_said_before_any_host_is_touched(
    control: Control, tmp_path: Path, command: str
) -> None:
    place = tmp_path / "no-folder"
    place.write_text("a file")  # so that no folder can be made there
    words = ["--inventory", str(tmp_path / "rack.yaml"), "--soaks", str(tmp_path / "soaks")]
    load = ["--allow-load"] if command == "start" else []
    done = invoked("soak", command, *words, *load, "--ledger", f"sqlite:///{place}/kvgate.db", env={"LC_ALL": "C"})
    assert done.exit_code in (4, 6)
    assert "ledger" in done.output
    assert "array-a" not in done.output, "no host was asked: none of them answers here"
    assert not (tmp_path / "soaks").exists()
