"""Brings the virtual rack up and takes it down. What runs lies in one folder; nothing of it is left afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.vm import accelerator, inventory, order
from lab.vm.machine import Machine, pack, part
from lab.vm.qmp import Refused

Say = Callable[[str], None]
_PANIC = "end Kernel panic"


class NoRack(Exception):
    """The rack could not be brought up, or is not there; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Rack:
    """Both machines, in ``folder``, from ``image``; the gates read ``inventory``."""

    folder: Path
    image: Path
    inventory: Path

    @classmethod
    def of(cls, checkout: Path) -> Rack:
        """Return the rack of a checkout."""
        return cls(checkout / "var" / "rack", checkout / "build" / "rack", checkout / "inventories" / "vm.yaml")

    def ports(self) -> tuple[int, int, int]:
        """SSH of array and node, and the port of the time server. Raises NoRack when there is no rack."""
        try:
            array, node, clock = (int(word) for word in (self.folder / "ports").read_text().split())
        except (OSError, ValueError):
            raise NoRack("no virtual rack here: make rack") from None
        return array, node, clock

    def machine(self, name: str) -> Machine:
        """Return one machine. Raises NoRack when there is none of that name."""
        for ordered, port in zip(order.MACHINES, self.ports(), strict=False):
            if ordered.name == name:
                return Machine(ordered, self.folder, self.image, port)
        raise NoRack(f"found {name!r}, wanted array or node")

    def machines(self) -> tuple[Machine, ...]:
        """Return both machines."""
        return tuple(self.machine(ordered.name) for ordered in order.MACHINES)

    def up(self, say: Say, processors: int = 2) -> None:
        """Start whatever of the rack does not run, wait until both play their part, write the inventory."""
        missing = [
            name for name in ("vmlinuz", "initrd.cpio", "root.qcow2", "kernel") if not (self.image / name).exists()
        ]
        if missing:
            raise NoRack(f"no image in {self.image} ({', '.join(missing)} missing): make rack builds it")
        self._prepare()
        self._clock()
        began = time.monotonic()
        if any(machine.pid() is None for machine in self.machines()):
            chosen = self._accelerator()
            say(f"starting array and node ({chosen.split(',')[0]}, {processors} processors each)")
            for machine in self.machines():
                if machine.pid() is None:
                    self._start(machine, chosen, processors)
        for machine in self.machines():
            self.answering(machine)
            say(f"{machine.name}: answers SSH after {time.monotonic() - began:.0f} s")
        for machine in self.machines():
            self.ready(machine)
            say(f"{machine.name}: has its part after {time.monotonic() - began:.0f} s")
        array, node, _ = self.ports()
        keys = {name: _fingerprint(self.folder / f"{name}.host-key.pub") for name in ("array", "node")}
        kernel = (self.image / "kernel").read_text().strip()
        ports = {"array": array, "node": node}
        written = inventory.text(ports, keys, kernel, processors, _emulator(), self.folder)
        self.inventory.write_text(written, "utf-8")

    def answering(self, machine: Machine, limit: float = 1200) -> None:
        """Wait until SSH answers. Raises NoRack with the end of the console."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if machine.pid() is None:
                raise NoRack(f"{machine.name} ended while it started:\n{_tail(machine.console)}")
            if _PANIC in _tail(machine.console):
                raise NoRack(f"{machine.name} does not start, its kernel gave up:\n{_tail(machine.console)}")
            try:
                if machine.ssh("true", limit=120).returncode == 0:
                    return
            except subprocess.TimeoutExpired:
                pass
            time.sleep(2)
        raise NoRack(f"{machine.name} answers no SSH after {limit:.0f} s:\n{_tail(machine.console)}")

    def ready(self, machine: Machine, limit: float = 1800) -> None:
        """Wait until the machine has taken its part. Raises NoRack with its journal."""
        done = machine.ssh(
            "systemctl start rack.service chrony.service || { journalctl -b -u rack -n 40 >&2; exit 1; }", limit
        )
        if done.returncode:
            raise NoRack(f"{machine.name} could not take its part:\n{done.stderr}")

    def start(self, machine: Machine) -> None:
        """Start one machine again from the disks it has, and wait until it plays its part."""
        self._start(machine, self._accelerator(), int((self.folder / "processors").read_text()))
        self.answering(machine)
        self.ready(machine)

    def down(self) -> None:
        """End every process of the rack and remove all it left. Safe when there is none."""
        try:
            machines = self.machines()
            clock = self.ports()[2]
        except NoRack:
            machines, clock = (), 0
        for machine in machines:
            machine.cut_power()
        _end_clock(self.folder, clock)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inventory.unlink(missing_ok=True)

    def _prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / inventory.PARTIES).mkdir(exist_ok=True)
        for name in (inventory.IDENTITY, *(f"{inventory.PARTIES}/{party}" for party in ("vendor", "customer"))):
            if not (self.folder / name).exists():
                _keygen(self.folder / name)
        if not (self.folder / "ports").exists():
            (self.folder / "ports").write_text(" ".join(str(port) for port in _free_ports(3)))
        known = []
        for machine in self.machines():
            name, key = machine.name, self.folder / f"{machine.name}.host-key"
            if not key.exists():
                _keygen(key)
            kind, body = key.with_name(key.name + ".pub").read_text().split()[:2]
            known.append(f"{name} {kind} {body}\n")
            (self.folder / f"{name}.settings").write_text(order.settings(machine.ordered, self.ports()[2]))
            shutil.copyfile(part(name), self.folder / f"{name}.part")
            shutil.copyfile(part("engine"), self.folder / f"{name}.engine")
            pack(self.folder / f"{name}.program")
            shutil.copyfile(self.folder / "id_ed25519.pub", self.folder / f"{name}.authorized-key")
            _overlay(self.folder / f"{name}.root.qcow2", self.image / "root.qcow2")
            for index in range(len(machine.ordered.serials)):
                _empty(self.folder / f"{name}.disk{index}.qcow2", machine.ordered.disk)
        (self.folder / "known_hosts").write_text("".join(known))

    def _accelerator(self) -> str:
        kept = self.folder / "accelerator"
        if not kept.exists():
            kept.write_text(accelerator.probe(self.image, self.folder))
        return kept.read_text()

    def _start(self, machine: Machine, chosen: str, processors: int) -> None:
        (self.folder / "processors").write_text(str(processors))
        try:
            machine.start(chosen, processors)
        except Refused as error:
            raise NoRack(f"{machine.name} does not start: {error}") from None

    def _clock(self) -> None:
        port = self.ports()[2]
        if _clock_pid(self.folder, port) is None:
            words = [sys.executable, "-m", "lab.vm.timeserver", str(port)]
            checkout = Path(__file__).parents[2]
            with (self.folder / "timeserver.log").open("ab") as log:
                process = subprocess.Popen(
                    words, cwd=checkout, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            (self.folder / "timeserver.pid").write_text(str(process.pid))


def _clock_pid(folder: Path, port: int) -> int | None:
    try:
        pid = int((folder / "timeserver.pid").read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if b"lab.vm.timeserver" in words and str(port).encode() in words else None


def _end_clock(folder: Path, port: int) -> None:
    if (pid := _clock_pid(folder, port)) is not None:
        os.kill(pid, signal.SIGTERM)


def _keygen(path: Path) -> None:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def _fingerprint(public: Path) -> str:
    words = ["ssh-keygen", "-l", "-f", str(public)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


def _emulator() -> str:
    """Return QEMU's version, which its NVMe disks call their firmware."""
    shown = subprocess.run(["qemu-system-x86_64", "--version"], check=True, capture_output=True, text=True).stdout  # noqa: S607
    return shown.split()[3]


def _overlay(path: Path, base: Path) -> None:
    if not path.exists():
        words = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(base), "-F", "qcow2", str(path)]
        subprocess.run(words, check=True)


def _empty(path: Path, size: int) -> None:
    if not path.exists():
        words = ["qemu-img", "create", "-q", "-f", "qcow2", str(path), str(size)]
        subprocess.run(words, check=True)


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]
    finally:
        for one in taken:
            one.close()


def _tail(path: Path, size: int = 2000) -> str:
    try:
        return path.read_text("utf-8", errors="replace")[-size:]
    except OSError:
        return "(nothing on the console)"
