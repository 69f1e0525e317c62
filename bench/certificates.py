"""Measures what verifying a certificate takes beside hashing: 2,000 clauses, 10,000 blobs, against sha256sum of the same files."""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.fan_out import conditions
from bench.table import put
from checks.verdict import Outcome
from kvgate.certificates import decision, ticket, trust
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.envelope import seal as sealed
from kvgate.certificates.examine import Asked, examine
from kvgate.certificates.keys import FileSigner
from kvgate.certificates.statement import STATEMENT
from kvgate.codec import Seal
from kvgate.evidence import AskedProbe, Evidence, check_folder
from kvgate.transport.base import Answer, Batch

WAYS = ("verify", "gzip -dc, sha256sum", "sha256sum")
_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Taken:
    """One sample: seconds of wall clock and of CPU, children included."""

    way: str
    wall: float
    cpu: float


@dataclass(frozen=True)
class Made:
    """A certificate, its evidence, and whose keys count."""

    folder: Path
    data: bytes
    seal: Seal
    known: trust.Trust
    bytes_kept: int


def make(root: Path, clauses: int, blobs: int, size: int) -> Made:
    """Keep ``blobs`` answers of about ``size`` bytes of text and certify them as ``clauses`` verdicts that passed."""
    dice, kept = random.Random(7), 0
    evidence = Evidence.create(root, "run-1", {"gate": "G1"})
    for first in range(0, blobs - 1, 500):  # stderr of all is one blob more: the empty one
        keys = [f"q{number}" for number in range(first, min(first + 500, blobs - 1))]
        answers = {key: Answer(key, _text(dice, key, size), b"", 0, 0.01) for key in keys}
        kept += sum(len(answer.stdout) for answer in answers.values())
        asked = {key: AskedProbe("bench", key, "passive") for key in keys}
        evidence.keep(Batch("node-01", dict(answers)), asked, 1)
        _say(f"{min(first + 500, blobs - 1)} of {blobs - 1} answers kept")
    evidence.sync()
    seal = evidence.seal()
    evidence.close()
    signers = {party: FileSigner(Ed25519PrivateKey.generate()) for party in trust.PARTIES}
    known = trust.read("\n".join(f"{party} {one.public.openssh()}" for party, one in signers.items()))
    envelope = _certificate(seal, clauses, signers[trust.VENDOR]).sealed()
    for one in signers.values():
        envelope = envelope.signed_by(one)
    return Made(root / "run-1", envelope.to_bytes(), seal, known, kept)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _text(dice: random.Random, key: str, size: int) -> bytes:
    lines, length = [key], len(key)
    while length < size:
        lines.append(f"{dice.randrange(10**6):>12} counter_{dice.randrange(400)}: {dice.random():.6f}")
        length += len(lines[-1])
    return "\n".join(lines).encode()


def _certificate(seal: Seal, clauses: int, signer: FileSigner) -> decision.Certificate:
    now = datetime.now(UTC)
    digest = {"sha256": hashlib.sha256(b"bench").hexdigest()}
    stamps = {
        name: (now + timedelta(minutes=minutes)).strftime(_STAMP)
        for name, minutes in (("started", -9), ("finished", -5), ("issued", -1), ("expires", 9000))
    }
    verdict = {
        "check": "disk.media_errors", "blocking": True, "outcome": "PASS", "measured": "0 media errors", "required": "0",
        "unit": "errors", "note": "", "basis": "measured", "evidence": ["E7", "E19"],
    }  # fmt: skip
    predicate = {
        "result": "PASSED", "configuration": [{"name": name, "digest": digest} for name in ("acceptance", "inventory", "code")],
        "simulated": False, "decision": "PASS", "gate": "G1", "campaign": "bench", "rack": "bench", "run": "run-1", "attempt": 1,
        "attempts": [], "clauses": [{**verdict, "clause": "G1.2.9", "subject": f"node-01:S{n:07d}"} for n in range(clauses)],
        "overlaid": [], "revision": 1, "waivers": [], "evidence": {"lines": seal.lines, "head": seal.head},
        "hosts": [{"host": "node-01", "pinned": "SHA256:x", "shown": ["SHA256:x"]}], "version": "0", "operator": "", "machine": "",
        **stamps, "elapsed": 1, "boots": 1, "ticket": digest["sha256"], "entry": {"seq": 1, "hash": digest["sha256"]},
        "log": {"seq": 1, "hash": digest["sha256"]}, "previous": None, "ticket_signed_by": trust.VENDOR,
        "start_ticket": ticket.carried(_ticket(digest["sha256"], stamps["started"]).signed_by(signer)),
    }  # fmt: skip
    subject = [
        {"name": "rack/bench", "digest": digest},
        {"name": "evidence/run-1", "digest": {"sha256": seal.root}},
    ]
    return decision.Certificate.model_validate({"subject": subject, "predicate": predicate})


def _ticket(digest: str, started: str) -> Envelope:
    said = ticket.StartTicket(
        campaign="bench", run="run-1", gate="G1", attempt=1, sequence=1, nonce="n", inventory=digest, acceptance=digest,
        code=digest, version="0", ticket=digest, started=started,
    )  # fmt: skip
    return sealed({"_type": STATEMENT, "predicateType": ticket.TYPE, "predicate": said.model_dump(), "subject": []})


def verify(made: Made) -> None:
    """Everything but judging again, which is the gate's own work."""
    found = examine(made.data, Asked(datetime.now(UTC), made.known))
    checked = check_folder(made.folder, made.seal)
    if found.outcome is not Outcome.PASS or checked.problems:
        raise RuntimeError(f"{found.checks} {checked.problems}")


def _shell(made: Made, line: str) -> None:
    subprocess.run(["sh", "-c", line], cwd=made.folder / "blobs", stdout=subprocess.DEVNULL, check=True)


def measure(made: Made, samples: int) -> list[Taken]:
    """Take samples of all ways, interleaved."""
    ways: dict[str, Callable[[], None]] = {
        "verify": lambda: verify(made),
        "gzip -dc, sha256sum": lambda: _shell(made, "find . -name '*.gz' -print0 | xargs -0 gzip -dc | sha256sum"),
        "sha256sum": lambda: _shell(made, "find . -name '*.gz' -print0 | xargs -0 sha256sum"),
    }
    for name, way in ways.items():  # once, so that all read from the cache
        _say(f"once before: {name}")
        way()
    taken = []
    for number in range(1, samples + 1):
        _say(f"sample {number} of {samples}")
        for name in random.sample(WAYS, len(WAYS)):
            before, begun = _cpu(), time.monotonic()
            ways[name]()
            taken.append(Taken(name, time.monotonic() - begun, _cpu() - before))
    return taken


def _cpu() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def table(made: Made, clauses: int, taken: Sequence[Taken]) -> str:
    """Medians, and ratios to plain sha256sum."""
    blobs = sum(1 for _ in (made.folder / "blobs").glob("*/*.gz"))
    load = f"load of other work {os.getloadavg()[0]:.1f}"
    lines = [
        f"{conditions()}; {clauses} clauses, {blobs} blobs, {made.bytes_kept / 1e6:.0f} MB of raw output; {load}; medians.",
        "",
        "| way | wall s | ÷ sha256sum | CPU s | ÷ sha256sum | n |",
        "|---|---|---|---|---|---|",
    ]
    medians = {
        way: [median(getattr(one, name) for one in taken if one.way == way) for name in ("wall", "cpu")] for way in WAYS
    }
    wall, cpu = medians["sha256sum"]
    for way, (mine, spent) in medians.items():
        count = sum(one.way == way for one in taken)
        lines.append(f"| {way} | {mine:.2f} | {mine / wall:.2f} | {spent:.2f} | {spent / cpu:.2f} | {count} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.certificates", description=__doc__)
    parser.add_argument("--clauses", type=int, default=2000)
    parser.add_argument("--blobs", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=8192, help="bytes of one answer")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="kvgate-bench-") as folder:
        made = make(Path(folder), given.clauses, given.blobs, given.size)
        text = table(made, given.clauses, measure(made, given.samples))
    print(text)
    if given.write:
        put("certificates", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
