"""An unfinished run is taken up on the same words only: a verdict belongs to the order it was judged by."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvgate import agreement as agreements
from kvgate.certificates.code import code_version
from kvgate.errors import NotAllowed
from kvgate.gate.options import Options
from kvgate.gate.start import Prepared, begin
from kvgate.inventory import reader
from kvgate.inventory.subjects import owed
from kvgate.ledger.repository import Ledger
from lab.inventory import text
from lab.rack import build, fingerprint, host_key


def written() -> str:
    hosts = enumerate(build(1, "rocm", ()))
    return text([(host.ordered, 42200 + n, fingerprint(host_key(host.name))) for n, host in hosts])


def prepared(folder: Path, words: str) -> Prepared:
    options = Options("G1", None, f"sqlite:///{folder}/kvgate.db", folder / "evidence", only_stale=True)
    inventory, agreement = reader.parse(words), agreements.read()
    return Prepared(options, inventory, agreement, tuple(owed(agreement.acceptance, inventory.rack, "G1")))


def test_a_changed_order_is_another_order_though_the_hardware_is_the_same(tmp_path: Path) -> None:
    first = prepared(tmp_path, written())
    Ledger.open(first.options.ledger).begin(
        gate="G1",
        campaign=first.inventory.rack.campaign,
        inventory=first.inventory.text,
        fingerprint=first.inventory.fingerprint,
        acceptance=first.agreement.canonical(),
        acceptance_digest=first.agreement.digest,
        owed=[item for item, _ in first.owed],
        evidence_root=first.options.evidence,
        code=code_version(),
        operator="test",
        simulated=True,
    )
    later = prepared(tmp_path, written().replace("queues: 32", "queues: 16"))
    assert later.inventory.fingerprint == first.inventory.fingerprint
    with pytest.raises(NotAllowed, match="another inventory"):
        begin(later)
