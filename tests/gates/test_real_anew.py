"""A volume let go and taken again for real: XFS on a loop device, with the controllers of a fabric in a folder of files."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from checks.files import criteria
from checks.files.anew import Anew, anew, parse, taken
from checks.files.integrity import Place, by_blocks
from checks.load import ended, marked
from checks.probe import UnreadableOutput
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.transport.local import LocalTransport
from tests.gates.loops import loop_device, needs

MIB = 2**20
MARK = "kvgate:anew-1"


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=check, timeout=60)


@dataclass
class Volume:
    """A mounted loop device and the folder that stands for sysfs."""

    device: str
    path: Path
    root: Path

    @property
    def controller(self) -> Path:
        return self.root / "class/block" / self.device.removeprefix("/dev/") / "device/nvme9"

    def options(self) -> str:
        return run("findmnt", "-n", "-o", "SOURCE,FSTYPE,OPTIONS", "--mountpoint", str(self.path), check=False).stdout

    def anew(self, *users: str, path: str | None = None) -> Anew:
        probe = anew(str(self.path), users, str(self.root), wait=1)
        environment = dict(os.environ) | ({"PATH": path} if path else {})
        done = subprocess.run(
            ["sh", "-c", probe.command()], capture_output=True, text=True, timeout=60, check=True, env=environment
        )
        return probe.parse(done.stdout)


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Volume]:
    needs("losetup", "mkfs.xfs", "findmnt", "setsid", "unshare")
    path = tmp_path / "a volume"
    path.mkdir()
    with loop_device(tmp_path / "image", 400 * MIB) as device:
        made = Volume(device, path, tmp_path / "sys")
        run("mkfs.xfs", "-q", "-f", made.device)
        run("mount", "-o", "noatime", made.device, str(path))
        try:
            (path / "kept").write_text("as it was\n")
            made.controller.mkdir(parents=True)
            (made.controller.parent / "nvme9n1").mkdir()
            (made.controller.parent / "nvme9c9n1").mkdir()
            for name, text in (("transport", "rdma"), ("state", "live"), ("reset_controller", "")):
                (made.controller / name).write_text(f"{text}\n")
            yield made
        finally:
            run("umount", str(path), check=False)


@pytest.fixture
def untouched(volume: Volume) -> Iterator[None]:
    """Whatever a test tries: afterwards the volume is mounted as before, with its files."""
    before = volume.options()
    yield
    assert volume.options() == before
    assert "noatime" in before
    assert (volume.path / "kept").read_text() == "as it was\n"


@pytest.mark.usefixtures("untouched")
def test_a_volume_that_nobody_uses_is_taken_again_over_a_new_connection(volume: Volume) -> None:
    assert volume.anew() == Anew("done", 1)
    assert (volume.controller / "reset_controller").read_text() == "1\n"


@pytest.mark.usefixtures("untouched", "alone")
def test_blocks_come_back_after_that(volume: Volume, tmp_path: Path) -> None:
    place = Place("here", str(volume.path), "xfs")
    trial = by_blocks(place, place, 16 * MIB, 2, anew(str(volume.path), (), str(volume.root)))
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        tried = Trials([trial], LocalTransport(), Answers(evidence), MARK, watch=LocalTransport()).run()
        measured = tried.measured(trial)
    verdict = criteria.outlives_its_connection(measured, fabric=True)
    assert verdict.outcome is Outcome.PASS
    assert "connected anew (1 controllers)" in str(verdict.measured)


@pytest.mark.usefixtures("untouched")
def test_a_volume_with_an_open_file_is_left_alone(volume: Volume) -> None:
    with (volume.path / "kept").open():
        found = volume.anew()
    assert found.how == "kept"
    assert "busy" in found.why
    assert (volume.controller / "reset_controller").read_text() == "\n"


@pytest.mark.usefixtures("untouched")
def test_a_volume_that_a_container_still_stands_on_is_mounted_again_and_not_connected_anew(volume: Volume) -> None:
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", "echo there; read -r _")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as container:
        assert container.stdout is not None
        container.stdout.readline()
        found = volume.anew()
        container.communicate("\n")
    assert found.how == "back"
    assert "in use elsewhere" in found.why
    assert (volume.controller / "reset_controller").read_text() == "\n"


@pytest.mark.usefixtures("untouched")
def test_a_bind_mount_elsewhere_keeps_its_connection(volume: Volume, tmp_path: Path) -> None:
    (tmp_path / "bind").mkdir()
    run("mount", "--bind", str(volume.path), str(tmp_path / "bind"))
    try:
        assert volume.anew().how == "back"
        assert (volume.controller / "reset_controller").read_text() == "\n"
    finally:
        run("umount", str(tmp_path / "bind"))


def _second(volume: Volume) -> None:
    (volume.controller.parent / "nvme9n2").mkdir()


def _local(volume: Volume) -> None:
    (volume.controller / "transport").write_text("pcie\n")


def _silent(volume: Volume) -> None:
    (volume.controller / "state").write_text("connecting\n")


def _refusing(volume: Volume) -> None:
    (volume.controller / "reset_controller").unlink()
    (volume.controller / "reset_controller").mkdir()


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_second, "2 namespaces share its connections"), (_local, "which is no fabric"),
        (_silent, "a controller is connecting after its reset"), (_refusing, "the reset of nvme9 was refused"),
    ],
)  # fmt: skip
def test_whatever_keeps_it_from_a_new_connection_leaves_it_mounted(
    volume: Volume, change: Callable[[Volume], None], why: str
) -> None:
    change(volume)
    found = volume.anew()
    assert found.how == "back"
    assert why in found.why


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("user", "tool"), [("unit:vllm.service", "systemctl"), ("docker:vllm", "docker")])
def test_while_an_engine_runs_nothing_is_touched(volume: Volume, tmp_path: Path, user: str, tool: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / tool).write_text("#!/bin/sh\necho true\n")
    (tools / tool).chmod(0o755)
    found = volume.anew(user, path=f"{tools}:{os.environ['PATH']}")
    assert (found.how, found.why) == ("kept", f"{user.partition(':')[2]} is running")
    assert (volume.controller / "reset_controller").read_text() == "\n"


@pytest.mark.usefixtures("untouched")
def test_a_lost_link_and_the_sweep_of_load_do_not_stop_it_half_way(volume: Volume) -> None:
    reset = volume.controller / "reset_controller"
    reset.unlink()
    os.mkfifo(reset)  # the kernel takes its time
    probe = marked(anew(str(volume.path), (), str(volume.root)), MARK)
    with subprocess.Popen(
        ["timeout", "-k", "1", "60", "sh", "-c", probe.command()], stdout=subprocess.DEVNULL
    ) as asked:
        _until(lambda: not volume.options())
        assert ended(MARK).parse(run("sh", "-c", ended(MARK).command()).stdout).ours == 0
        asked.kill()
        assert not volume.options()
        assert reset.read_text() == "1\n"
        _until(lambda: bool(volume.options()))


def test_a_volume_that_cannot_be_mounted_again_is_told_with_the_command(volume: Volume) -> None:
    reset = volume.controller / "reset_controller"
    reset.unlink()
    os.mkfifo(reset)
    probe = anew(str(volume.path), (), str(volume.root))
    with subprocess.Popen(["sh", "-c", probe.command()], stdout=subprocess.PIPE, text=True) as asked:
        with (
            reset.open() as waiting
        ):  # opens when the script has come to it: nothing of the unmount is under way any more
            with Path(volume.device).open("r+b", buffering=0) as file:
                file.write(bytes(MIB))
                os.fsync(file.fileno())
            waiting.read()
        said, _ = asked.communicate(timeout=60)
    found = parse(said)
    assert found.how == "lost"
    assert found.why.endswith(f" {volume.device} {volume.path}")
    assert "NOT MOUNTED ANY MORE" in str(taken(found))


def test_what_is_not_mounted_is_not_touched(volume: Volume) -> None:
    run("umount", str(volume.path))
    assert volume.anew() == Anew("kept", 0, f"findmnt finds nothing mounted at {volume.path}")


@pytest.mark.parametrize(
    "text", ["", "anew: done\n", "anew: done many\n", "anew: done 1\nanew: done 1\n", "umount: busy\n"]
)
def test_anything_else_is_not_read(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        parse(text)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)
