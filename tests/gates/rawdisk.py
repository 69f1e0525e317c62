"""A loop device that seems to be a disk with a serial, and the guard tried on it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from checks.block import guard
from checks.block.guard import Guarded
from checks.parsers import fio
from checks.parsers.fio import FioRun
from checks.probe import Level, Probe

MIB = 2**20
SERIAL = "SCRATCH0001"
FILL = ("fio", "--name=w", "--size=16m", "--rw=write", "--bs=1m", "--direct=1", "--output-format=json")


def run(*words: str, **more: bool) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, **{"check": True, **more})


@dataclass
class Disk:
    """A loop device that seems to carry a serial: its own folder of sysfs with one more file."""

    node: str
    root: Path

    @property
    def name(self) -> str:
        return self.node.removeprefix("/dev/")

    @property
    def folder(self) -> Path:
        return self.root / "class/block" / self.name

    def known(self, serial: str = SERIAL) -> Disk:
        """Show it as the kernel does now."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.folder / "device").mkdir(parents=True)
        for entry in Path("/sys/class/block", self.name).iterdir():
            if entry.name != "device":
                (self.folder / entry.name).symlink_to(entry.resolve())
        (self.folder / "device/serial").write_text(f"{serial}  \n")
        return self

    def look(self, node: str | None = None, path: str | None = None) -> Guarded[str]:
        return tried(guard.look(SERIAL, node or self.node, str(self.root)), path)

    def write(self, *words: str, node: str | None = None, path: str | None = None) -> Guarded[FioRun]:
        return tried(guard.write(SERIAL, words or FILL, fio.parse, 60, node or self.node, str(self.root)), path)

    def head(self) -> bytes:
        with Path(self.node).open("rb", buffering=0) as file:
            return file.read(MIB)


def tried(probe: Probe[Guarded[fio.FioRun]] | Probe[Guarded[str]], path: str | None = None) -> Guarded[object]:
    assert probe.level is Level.DESTRUCTIVE
    environment = dict(os.environ) | ({"PATH": path} if path else {})
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, "-c", probe.command({})], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode in probe.accepted, done
    return probe.parse(done.stdout)


def refused(found: Guarded[object], condition: str, disk: Disk | None = None, before: bytes = b"") -> None:
    assert found.said is None
    assert found.refused is not None
    assert f"condition: {condition}" in str(found.refused)
    if disk is not None:
        assert disk.head() == before


def mounted(disk: Disk, place: Path) -> subprocess.CompletedProcess[str]:
    return run("mount", disk.node, str(place), check=False)
