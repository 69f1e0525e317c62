"""Real faults of the virtual rack: done to its kernels, cables, disks and power, and undone. What must stop stands in expected.yaml."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.vm.machine import Machine, nvme
from lab.vm.order import ARRAY, NODE, NQN
from lab.vm.rack import NoRack, Rack

Doing = Callable[[Rack], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to break the rack, and the way back; ``needs_reboot`` where only a fresh start leads back."""

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

    return run


def _again(*names: str) -> Doing:
    """Cut the power and start from the disks as they are."""

    def run(rack: Rack) -> None:
        machines = [rack.machine(name) for name in names]
        for machine in machines:
            machine.cut_power()
        for machine in machines:
            rack.start(machine)
        for name in ("array", "node"):
            _settled(rack.machine(name))

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


def _back(*names: str) -> Doing:
    def run(rack: Rack) -> None:
        for name in names:
            _settled(rack.machine(name))

    return run


def _pull(rack: Rack) -> None:
    rack.machine("array").ask("device_del", id="nvme3")
    time.sleep(15)  # a hot plug is confirmed by the guest after five seconds of blinking, more under emulation


def _frozen(rack: Rack) -> None:
    rack.machine("node").ask("stop")


def _thawed(rack: Rack) -> None:
    rack.machine("node").ask("cont")
    _settled(rack.machine("node"))


def _unreadable(rack: Rack) -> None:
    """Put the fourth disk behind a layer that answers every read of its first 512 MiB above 64 MiB with an error."""
    array = rack.machine("array")
    _pull(rack)
    array.ask(
        "blockdev-add", **{
            "driver": "blkdebug", "node-name": "broken3", "image": "disk3",
            "inject-error": [{"event": "none", "iotype": "read", "errno": 5, "sector": 204800, "once": False}],
        },
    )  # fmt: skip
    driver, *options = nvme(3, ARRAY.serials[3], ARRAY.lba).replace("drive=disk3", "drive=broken3").split(",")
    array.ask("device_add", driver=driver, **dict(option.split("=") for option in options))
    time.sleep(15)


_TARGET = "/sys/kernel/config/nvmet"

FAULTS = {
    fault.name: fault
    for fault in (
        Fault("link-down", "the cable of the storage network is pulled", _cable(False), _each(_cable(True), _back("node"))),
        Fault(
            "mtu-mismatch", "the array's storage port carries frames of 1500 bytes only",
            _run("array", "ip link set eth1 mtu 1500"), _each(_run("array", "ip link set eth1 mtu 9000"), _back("node")),
        ),
        Fault(
            "subsystem-removed", "the array gives the subsystem out no more",
            _run("array", f"rm {_TARGET}/ports/1/subsystems/{NQN}\nsleep 15"),
            _each(_run("array", f"ln -s {_TARGET}/subsystems/{NQN} {_TARGET}/ports/1/subsystems/"), _again("node")),
        ),
        Fault("disk-pulled", "one of the four disks of the RAID0 is pulled", _pull, _again("array", "node")),
        Fault(
            "xfs-shut-down", "the filesystem on the array's volume has shut itself down",
            _run("node", "xfs_io -x -c shutdown /mnt/fx100"), _again("node"),
        ),
        Fault(
            "clock-off", "the node's clock is a minute ahead and nothing corrects it",
            _run("node", "systemctl stop chrony\ndate -s '+60 seconds' >/dev/null"), _run("node", "systemctl start chrony\nsleep 20"),
        ),
        Fault(
            "host-key-changed", "the node presents another host key",
            _run("node", "ssh-keygen -q -t ed25519 -N '' -f /run/other\ncp /etc/ssh/ssh_host_ed25519_key /run/right\n"
                 "cat /run/other >/etc/ssh/ssh_host_ed25519_key\nsystemctl restart ssh"),
            _again("node"),
        ),
        Fault("sshd-killed", "nothing answers SSH on the node", _run("node", "systemd-run --on-active=1 systemctl stop ssh.service"),
              _again("node")),
        Fault("frozen", "the node stands still in the middle of whatever it did", _frozen, _thawed),
        Fault(
            "wrong-hostnqn", "the array allows another host than the node, and the node's connection was lost",
            _run("array", f"rm {_TARGET}/subsystems/{NQN}/allowed_hosts/{NODE.hostnqn}\n"
                 f"rm {_TARGET}/ports/1/subsystems/{NQN}\nln -s {_TARGET}/subsystems/{NQN} {_TARGET}/ports/1/subsystems/\nsleep 30"),
            _again("array", "node"),
        ),
        Fault("read-error", "a region of one disk cannot be read", _unreadable, _again("array", "node")),
    )
}  # fmt: skip
