"""A whole honest campaign, its files in their default folders, is no finding: STOP, reopening, waiver, PASS, certificates, time stamp."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from kvgate.certificates import envelope as envelopes
from kvgate.certificates.keys import FileSigner
from lab.machine import Edit
from tests.audit.conftest import kvgate
from tests.certificates.test_stamp import Authority
from tests.e2e.site import ROOT, Site, served
from tests.ledger.conftest import _database

CLAUSE = "G1.2.9"


class Honest:
    """Both parties in one folder, where they type the commands of the runbooks without naming a place."""

    def __init__(self, site: Site, ledger: str | None) -> None:
        self.site = site
        self.folder = site.folder
        self._ledger = {"KVGATE_LEDGER": ledger} if ledger else {}
        site.trust()

    def __call__(self, *words: str, status: int = 0) -> str:
        with contextlib.chdir(self.folder):
            return kvgate(*words, status=status, **self.site.extra, **self._ledger).strip()

    def gate(self, status: int) -> str:
        words = ("-q", "-p", "kvgate.pytest_plugin", "-m", "G1", "--inventory", str(self.site.inventory))
        command = [sys.executable, "-m", "pytest", *words, *self.site.by("vendor")]
        done = self.site.call(command, cwd=self.folder, limit=600, PYTHONPATH=str(ROOT), **self._ledger)
        assert done.returncode == status, done.stdout + done.stderr
        return str(json.loads(self("runs", "--json"))[-1]["run"])

    def both(self, *words: str) -> Path:
        """One party writes a document, the other signs it too."""
        made = self(*words, *self.site.by("vendor"))
        assert self("cosign", made, *self.site.by("customer"), "--yes") == made
        return self.folder / made

    def audit(self, *words: str, status: int = 0) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(self("audit", "--json", *words, status=status))["found"]
        return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Honest]:
    folder = tmp_path_factory.mktemp(f"honest-{request.param}")
    with served(folder, "disk-media-errors") as site:
        if request.param == "sqlite":
            yield Honest(site, None)
            return
        with _database(request.getfixturevalue("postgresql")) as url:
            yield Honest(site, url)


def test_a_whole_campaign_in_its_default_folders_is_no_finding(campaign: Honest, tmp_path: Path) -> None:
    stopped = campaign.gate(1)
    stop = campaign.both("certify", stopped)
    campaign.both("reopen", "--reason", "the disk is ordered")
    campaign.both("waive", stopped, CLAUSE, "--reason", "replaced in week 3", "--until", "2099-12-31")
    waived = campaign.both("certify", stopped, "-o", "var/certificates/waived.json")
    for host in campaign.site.hosts:
        host.machine.edits = ()
    passed = campaign.both("certify", campaign.gate(0))
    authority = Authority(tmp_path / "authority")
    request = campaign.folder / campaign("stamp", str(passed))
    (campaign.folder / "answer").write_bytes(authority.answer(request.read_bytes()))
    campaign("stamp", str(passed), "--answer", "answer", "--tsa", str(authority.root))
    lying = sorted(path.name for path in (campaign.folder / "var" / "certificates").iterdir())
    assert {name.partition("-")[0] for name in lying} == {"G1", "reopening", "waiver", "waived.json"}
    assert campaign.audit("--anchor", str(passed), "--anchor", str(stop)) == []
    assert waived.exists()


def test_what_is_wrong_with_a_file_names_the_file(campaign: Honest, tmp_path: Path) -> None:
    place = campaign.folder / "var" / "certificates"
    reopening = next(place.glob("reopening-*.json"))
    waiver = next(place.glob("waiver-*.json"))

    def forged(kept: Path, **changes: object) -> Path:
        statement = envelopes.load(kept).statement()
        predicate = statement["predicate"]
        assert isinstance(predicate, dict)
        predicate.update(changes)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}-{kept.name}"
        sealed = envelopes.seal(statement)
        for party in ("vendor", "customer"):  # both parties, so that only what it says is wrong
            key = load_ssh_private_key((campaign.site.keys / party).read_bytes(), None)
            assert isinstance(key, Ed25519PrivateKey)
            sealed = sealed.signed_by(FileSigner(key))
        path.write_bytes(sealed.to_bytes())
        return path

    strange = tmp_path / "strange.json"
    strange.write_bytes(envelopes.seal({"_type": "x", "predicateType": "urn:other:v1"}).to_bytes())
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    another = "is another one"
    expected = {
        forged(waiver, run="another"): {"run-missing": "is about run another, which is not in the ledger"},
        forged(waiver, ticket="0" * 64): {"row": "its start ticket is not what the ledger has"},
        forged(waiver, decision="0" * 64): {"anchor": f"came to decision {'0' * 16}, which is not in the log"},
        forged(waiver, attempt=7): {"certificate": another},
        forged(waiver, more=1): {"certificate": "the waiver says more, which this version does not know"},
        forged(reopening, campaign="another"): {"certificate": another},
        forged(reopening, stops=[]): {"certificate": "the reopening says [] as its stops: not of that kind"},
        strange: {"certificate": "found a document of type 'x'"},
        broken: {"certificate": "it is no JSON"},
    }
    waived = campaign.folder / "var" / "certificates" / "waived.json"
    predicate: Any = envelopes.load(waived).statement()["predicate"]
    other = forged(waived, waivers=[{**predicate["waivers"][0], "document": "0" * 64}])
    expected[other] = {"certificate": "its waivers are not those of its waived clauses"}
    for path, wanted in expected.items():
        found = campaign.audit("--anchor", str(path), status=1)
        assert {one["kind"] for one in found} == wanted.keys(), found
        assert all(str(path) in one["text"] for one in found), found
        for kind, words in wanted.items():
            assert any(one["kind"] == kind and words in one["text"] for one in found), (words, found)


def test_two_operators_at_once_on_postgresql_leave_a_ledger_without_a_finding(tmp_path: Path, postgresql: str) -> None:
    """Two campaigns on one rack, two processes, one log: each decision follows the one before it."""
    slow = {"node-01": (Edit(ask="lscpu.*", delay=9.0),)}  # both have begun before either knows whom it asks
    with served(tmp_path / "site", edits=slow) as site, _database(postgresql) as url:
        other = site.inventory.with_name("other.yaml")
        other.write_text(site.inventory.read_text("utf-8").replace("campaign: demo", "campaign: second", 1), "utf-8")
        place = ("--ledger", url)
        running = [site.start(*place), site.start(*place, "--inventory", str(other))]
        outputs = [one.communicate(timeout=600)[0] for one in running]
        assert [one.returncode for one in running] == [0, 0], outputs
        words = ("audit", "--json", *place, "--evidence", str(site.evidence), "--trust", str(site.trust()))
        found = json.loads(kvgate(*words, "--certificates", str(tmp_path / "none")))
        assert (found["found"], found["runs"], found["decisions"], found["certificates"]) == ([], 2, 2, 2)
