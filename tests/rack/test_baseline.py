"""G2 on the virtual rack: real fio and perftest over real NVMe, NVMe-oF and soft RoCE. No speed means anything; what is read back does."""

from __future__ import annotations

import shlex
import time
from typing import Any

from checks.files import integrity
from checks.files.integrity import Place, by_blocks
from checks.probe import Probe, Streams
from lab.vm.order import NQN
from lab.vm.rack import Rack
from tests.rack.conftest import NEEDS_RACK
from tests.rack.expected import EXPECTED, differing, told, undecided
from tests.rack.site import RackSite

pytestmark = NEEDS_RACK

MOUNT = "/mnt/fx100"
SIZE = 8 * 2**20
_PAGE = 4096


def test_g2_opens_on_the_certified_g1_and_every_load_runs_and_is_read(
    rack: Rack, campaign: RackSite, note: list[str]
) -> None:
    ended = campaign.until_told("G2", "--allow-load", but=EXPECTED.unsteady)
    assert campaign.last()["gate"] == "G2", ended.stdout + ended.stderr
    rows = campaign.rows()
    note.append(f"{len(rows)} verdicts, exit {ended.returncode}")
    wrong = differing(rows, EXPECTED.of("G2"))
    broken_off = {key: told(rows[key]) for key in wrong if key[0] in EXPECTED.unsteady and undecided(rows.get(key))}
    assert all(broken_off.values())
    note += [f"{clause} UNDECIDED: {why}" for (clause, _), why in broken_off.items()]
    assert not {key: why for key, why in wrong.items() if key not in broken_off}
    assert ended.returncode == 0, ended.stdout
    left = rack.machine("node").ssh("ls -A /mnt/fx100 /mnt/nvme0; pgrep -l 'fio|ib_' || true").stdout
    assert ".kvgate" not in left
    assert "fio" not in left
    campaign.certify("G2")


def test_power_cut_in_the_middle_of_a_write_is_undecided_and_the_rest_is_asked_again(
    rack: Rack, campaign: RackSite, note: list[str]
) -> None:
    node = rack.machine("node")
    gate = campaign.begin("G2", "--allow-load", "-k", "G2.3.1")
    _until(lambda: "--rw=write" in node.ssh("pgrep -af '^fio .*integrity' || true").stdout)
    node.cut_power()
    said, _ = gate.communicate(timeout=1200)
    assert gate.returncode == 6, said
    (row,) = [row for (clause, _), row in campaign.rows().items() if clause == "G2.3.1"]
    assert row["outcome"] == "UNDECIDED"
    note.append(told(row))
    rack.start(node)
    ended = campaign.run("G2", "--allow-load", "-k", "G2.3.1")
    (row,) = [row for (clause, _), row in campaign.rows().items() if clause == "G2.3.1"]
    assert row["outcome"] == "PASS", ended.stdout
    note.append(f"after the next start: {told(row)}")


def test_what_was_written_is_verified_over_a_new_connection_and_a_block_changed_meanwhile_is_found(
    rack: Rack, note: list[str]
) -> None:
    node, array = rack.machine("node"), rack.machine("array")
    place = Place("node", MOUNT, "xfs")
    steps = {step.name: step.probe for stage in by_blocks(place, place, SIZE, 1).stages for step in stage}
    node.ssh(f"mkdir -p {place.folder}")
    try:
        assert integrity.written(_ask(rack, steps["write"]), SIZE) == SIZE
        _connect_anew(rack)
        assert integrity.verified(_ask(rack, steps["verify"]), SIZE) == (SIZE, "")
        where = _first_byte(rack, f"{place.folder}/integrity") + 5 * _PAGE
        node.ssh(f"umount {MOUNT}\nnvme disconnect -n {NQN}")
        place_of_it = f"bs={_PAGE} seek={where // _PAGE} count=1 oflag=direct conv=notrunc"
        assert array.ssh(f"dd if=/dev/urandom of=/dev/md0 {place_of_it}").returncode == 0
        _taken(rack)
        _, wrong = integrity.verified(_ask(rack, steps["verify"]), SIZE)
        assert wrong
        note.append(f"verified after the volume was connected anew; one page changed on the array: {wrong}")
    finally:
        node.ssh(f"rm -rf {place.folder}")


def _connect_anew(rack: Rack) -> None:
    node = rack.machine("node")
    gone = node.ssh(
        f"umount {MOUNT} && echo 3 >/proc/sys/vm/drop_caches && nvme disconnect -n {NQN} && ls /sys/class/nvme"
    )
    assert gone.stdout.split()[-1] == "nvme0", gone
    _taken(rack)


def _taken(rack: Rack) -> None:
    """Let the node take its part again: connect and mount."""
    done = rack.machine("node").ssh("systemctl restart rack.service", 600)
    assert done.returncode == 0, done.stderr


def _first_byte(rack: Rack, file: str) -> int:
    """Where on the volume the file begins, in bytes."""
    shown = rack.machine("node").ssh(f"xfs_io -r -c 'bmap -v' {file}").stdout.splitlines()
    return int(shown[2].split()[2].partition("..")[0]) * 512


def _ask(rack: Rack, probe: Probe[Any]) -> Any:
    """Run a probe's own words on the node and read the answer with its own parser."""
    done = rack.machine("node").ssh(shlex.join(map(str, probe.argv)), 900)
    assert done.returncode in probe.accepted, done.stderr
    return probe.parse(done.stdout + (done.stderr if probe.streams is Streams.BOTH else ""))


def _until(holds: Any, limit: float = 900) -> None:
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(1)
