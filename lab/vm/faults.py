"""Real faults of the virtual rack: done to its kernels, cables, disks and power, and undone. What must stop stands in expected.yaml."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.vm.machine import Machine
from lab.vm.rack import NoRack, Rack

Doing = Callable[[Rack], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to break the rack, and the way back."""

    name: str
    text: str
    make: Doing
    mend: Doing


def _run(name: str, script: str, limit: float = 300) -> Doing:
    def run(rack: Rack) -> None:
        done = rack.machine(name).ssh(f"set -e\n{script}", limit)
        if done.returncode:
            raise NoRack(f"{name}: {done.stderr.strip() or done.returncode}")

    return run


def _each(*doings: Doing) -> Doing:
    def run(rack: Rack) -> None:
        for doing in doings:
            doing(rack)

    return run


def _cable(up: bool) -> Doing:
    def run(rack: Rack) -> None:
        for machine in rack.machines():
            machine.ask("set_link", name="nic", up=up)
        if not up:
            _noticed(rack.machine("node"))

    return run


def _settled(machine: Machine, limit: float = 600) -> None:
    """Wait until every connection is live again and the mounts answer."""
    script = (
        "for state in /sys/class/nvme/nvme*/state; do [ $(cat $state) = live ] || exit 1; done\n"
        "[ $(hostname) = array ] || mountpoint -q /mnt/fx100\n"
    )
    end = time.monotonic() + limit
    while machine.ssh(script).returncode:
        if time.monotonic() > end:
            raise NoRack(f"{machine.name} did not come back within {limit:.0f} s: make rack-down rack")
        time.sleep(3)


def _noticed(machine: Machine, limit: float = 300) -> None:
    """Wait until the kernel has noticed that a connection is lost; keep-alive takes its time."""
    end = time.monotonic() + limit
    while not machine.ssh(
        "for state in /sys/class/nvme/nvme*/state; do [ $(cat $state) = live ] || exit 1; done"
    ).returncode:
        if time.monotonic() > end:
            raise NoRack(f"{machine.name} did not notice within {limit:.0f} s that its connection was lost")
        time.sleep(3)


def _back(*names: str) -> Doing:
    def run(rack: Rack) -> None:
        for name in names:
            _settled(rack.machine(name))

    return run


def _frozen(rack: Rack) -> None:
    rack.machine("node").ask("stop")


def _thawed(rack: Rack) -> None:
    rack.machine("node").ask("cont")
    _settled(rack.machine("node"))


FAULTS = {
    fault.name: fault
    for fault in (
        Fault("link-down", "the cable of the storage network is pulled", _cable(False), _each(_cable(True), _back("node"))),
        Fault(
            "mtu-mismatch", "the array's storage port carries frames of 1500 bytes only",
            _run("array", "ip link set eth1 mtu 1500"),
            _each(_run("array", "ip link set eth1 mtu 9000\nip route flush cache"), _back("node")),
        ),
        Fault(
            "clock-off", "the node's clock is a minute ahead and nothing corrects it",
            _run("node", "systemctl stop chrony\ndate -s '+60 seconds' >/dev/null"), _run("node", "systemctl start chrony\nsleep 20"),
        ),
        Fault("frozen", "the node stands still in the middle of whatever it did", _frozen, _thawed),
    )
}  # fmt: skip
