"""G3 on the virtual rack: arms whose KV is read from real block devices, one of them over NVMe-oF; engines and their times are modelled."""

from __future__ import annotations

from lab.vm.rack import Rack
from tests.rack.conftest import NEEDS_RACK
from tests.rack.expected import EXPECTED, differing, told
from tests.rack.site import RackSite

pytestmark = NEEDS_RACK

#: Prompts of a round, whole chunks of each in tokens, and bytes of KV a token.
PROMPTS, WHOLE, TOKEN = 20, 1024, 512


def test_g3_opens_on_the_certified_g2_and_proves_where_the_kv_came_from(
    rack: Rack, campaign: RackSite, note: list[str]
) -> None:
    ended = campaign.until_told("G3", "--allow-load", but=EXPECTED.unsteady)
    assert campaign.last()["gate"] == "G3", ended.stdout + ended.stderr
    rows = campaign.rows()
    note.append(f"{len(rows)} verdicts, exit {ended.returncode}")
    note += [f"{key[0]} {row['outcome']}: {told(row)}" for key, row in rows.items() if row["outcome"] != "PASS"]
    assert not differing(rows, EXPECTED.of("G3"))
    assert ended.returncode == 0, ended.stdout
    proof = {one["name"]: one["value"] for one in rows["G3.2.2", "tp2/c2"]["quantities"]}
    read = PROMPTS * WHOLE * TOKEN
    for arm in ("local", "array"):
        assert proof[f"{arm}: tokens from the store"] == PROMPTS * WHOLE
        assert 0.99 * read <= proof[f"{arm}: bytes read on the block device"] <= 1.05 * read
        note.append(f"{arm}: {proof[f'{arm}: bytes read on the block device']:.0f} of {read} bytes")
    assert proof["array: bytes received on the RDMA port"] >= read
    left = (
        rack.machine("node")
        .ssh("find /mnt/fx100/kv /mnt/nvme0/kv -type f; systemctl is-active 'engine-*' || true")
        .stdout
    )
    assert not left.strip() or "inactive" in left
