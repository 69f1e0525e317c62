"""Real faults of the virtual rack: done to its kernels, cables, disks and power, and undone. What must stop stands in expected.yaml."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.vm.machine import Machine, nvme
from lab.vm.order import ARRAY, NODE, NQN
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


def _pull(rack: Rack) -> None:
    rack.machine("array").ask("device_del", id="nvme3")
    time.sleep(15)  # a hot plug is confirmed by the guest after five seconds of blinking, more under emulation


def _plug(rack: Rack) -> None:
    """Plug the fourth disk in again and build anew what stood on it: the array's RAID0, then the node's connection and mount."""
    _run("node", f"umount -l /mnt/fx100\nnvme disconnect -n {NQN}")(rack)
    _run("array", f"echo 0 >{_TARGET}/subsystems/{NQN}/namespaces/1/enable\nmdadm --stop --quiet /dev/md0")(rack)
    words = dict(pair.partition("=")[::2] for pair in nvme(3, ARRAY.serials[3], ARRAY.lba).split(",")[1:])
    numbers = {name: int(value) for name, value in words.items() if value.isdecimal()}
    rack.machine("array").ask("device_add", driver="nvme", **{**words, **numbers})
    seen = f"until grep -q {ARRAY.serials[3]} /sys/class/nvme/nvme*/serial; do sleep 1; done; sleep 3"
    _run("array", f"timeout 120 sh -c '{seen}'\nsystemctl restart rack.service")(rack)
    _run("array", f"echo 1 >{_TARGET}/subsystems/{NQN}/namespaces/1/enable")(rack)
    _run("node", "systemctl restart rack.service", 600)(rack)
    _settled(rack.machine("node"))


@contextlib.contextmanager
def unreadable(rack: Rack, byte: int) -> Iterator[None]:
    """For as long as this lasts every read of one place of the array's fourth disk ends in an error."""
    _refuse(rack, byte // 512)
    try:
        yield
    finally:
        _answer(rack)


def _refuse(rack: Rack, sector: int) -> None:
    array = rack.machine("array")
    error = {"event": "none", "iotype": "read", "errno": 5, "sector": sector, "immediately": False, "once": False}
    array.ask(
        "blockdev-add", **{"driver": "blkdebug", "node-name": "broken", "image": "disk3", "inject-error": [error]}
    )
    array.ask("qom-set", path="/machine/peripheral/nvme3", property="drive", value="broken")


def _answer(rack: Rack) -> None:
    array = rack.machine("array")
    array.ask("qom-set", path="/machine/peripheral/nvme3", property="drive", value="disk3")
    array.ask("blockdev-del", **{"node-name": "broken"})


def _unreadable(rack: Rack) -> None:
    """Answer every read of one place of the fourth disk with an error, and let the node come there: 300 MiB to 500 MiB of the volume."""
    _refuse(rack, 204_800)
    read = "dd if=$(findmnt -no SOURCE /mnt/fx100) of=/dev/null bs=1M skip=300 count=200 iflag=direct conv=noerror 2>/run/read-error"
    rack.machine("node").ssh(f"{read}\ntrue", 600)


def _readable(rack: Rack) -> None:
    _answer(rack)
    _settled(rack.machine("node"))


def _frozen(rack: Rack) -> None:
    rack.machine("node").ask("stop")


def _thawed(rack: Rack) -> None:
    rack.machine("node").ask("cont")
    _settled(rack.machine("node"))


def _lost(name: str, script: str) -> Doing:
    """Do it on one machine and wait until the node has lost its connection over it."""
    return _each(_run(name, script), lambda rack: _noticed(rack.machine("node")))


def _on_word(name: str, script: str, back: str) -> Doing:
    """Do it on a machine that cannot be reached after it; ``back`` is done there once the word comes, or after a quarter of an hour."""
    wait = f"n=0; until ping -q -c 1 -W 1 {_WORD} >/dev/null || [ $n -ge 900 ]; do n=$((n+1)); sleep 1; done"
    return _run(name, f"systemd-run -q --collect sh -c '{wait}; {back}'\n{script}")


def _deaf(rack: Rack) -> None:
    """Stop sshd a second after the connection that says so, and see that it is gone: a timer is a minute late if nobody minds."""
    timer = "systemd-run -q --on-active=1 --timer-property=AccuracySec=100ms"
    _on_word("node", f"{timer} systemctl stop ssh.service", "systemctl start ssh.service")(rack)
    for _ in range(60):
        if rack.machine("node").ssh("true", 60).returncode == _NO_CONNECTION:
            return
        time.sleep(1)
    raise NoRack("node: sshd answers still, a minute after it was stopped")


def _word(rack: Rack) -> None:
    """Give the word: an address that answers on the storage network for as long as it takes."""
    _run("array", f"ip address add {_WORD}/32 dev eth1")(rack)
    try:
        rack.answering(rack.machine("node"))
    finally:
        _run("array", f"ip address del {_WORD}/32 dev eth1")(rack)


#: What ssh ends with where it comes to no connection.
_NO_CONNECTION = 255
#: Nobody's address on the storage network but while it is the word.
_WORD = "192.168.100.99"
_TARGET = "/sys/kernel/config/nvmet"
_ALLOWED = f"{_TARGET}/subsystems/{NQN}/allowed_hosts"
_OTHER = "192.168.100.77"
#: Something that travels while packets are lost: reads of what the node wrote just before, straight from the array.
_READER = (
    "dd if=/dev/urandom of=/mnt/fx100/.rack-read bs=1M count=32 conv=fsync 2>/dev/null\n"
    "systemd-run -q --unit=rack-reader sh -c 'while :; do dd if=/mnt/fx100/.rack-read of=/dev/null bs=128k iflag=direct; done'"
)
_KEY = "/etc/ssh/ssh_host_ed25519_key"
#: The node lets the volume go and takes its part again: connected anew, mounted anew.
_ANEW = _run("node", f"umount -l /mnt/fx100 || true\nnvme disconnect -n {NQN}\nsystemctl restart rack.service", 600)
_RESET = (
    f"for one in /sys/class/nvme/nvme*; do [ $(cat $one/subsysnqn) != {NQN} ] || echo 1 >$one/reset_controller; done"
)

FAULTS = {
    fault.name: fault
    for fault in (  # read errors first: they are told from the kernel's log, where others leave lines too; a lost disk leaves most
        Fault("read-error", "one place of one disk of the RAID0 cannot be read", _unreadable, _readable),
        Fault("link-down", "the cable of the storage network is pulled", _cable(False), _each(_cable(True), _back("node"))),
        Fault(
            "mtu-mismatch", "the array's storage port carries frames of 1500 bytes only",
            _run("array", "ip link set eth1 mtu 1500"),
            # Down and up: the kernel keeps the path's small MTU, and whoever sends again at that moment makes it learn it anew.
            _each(_run("array", "ip link set eth1 down\nip link set eth1 mtu 9000\nip link set eth1 up"), _back("node")),
        ),
        Fault(
            "clock-off", "the node's clock is a minute ahead and nothing corrects it",
            _run("node", "systemctl stop chrony\ndate -s '+60 seconds' >/dev/null"), _run("node", "systemctl start chrony\nsleep 20"),
        ),
        Fault(
            "subsystem-removed", "the array gives the subsystem out no more",
            _lost("array", f"rm {_TARGET}/ports/1/subsystems/{NQN}"),
            _each(_run("array", f"ln -s {_TARGET}/subsystems/{NQN} {_TARGET}/ports/1/subsystems/"), _ANEW, _back("node")),
        ),
        Fault(
            "xfs-shut-down", "the filesystem on the array's volume has shut itself down",
            _run("node", "xfs_io -x -c shutdown /mnt/fx100"), _each(_ANEW, _back("node")),
        ),
        Fault(
            "host-key-changed", "the node presents another host key",
            _on_word("node", f"rm -f /run/other*\nssh-keygen -q -t ed25519 -N '' -f /run/other\ncp -p {_KEY} /run/kept\n"
                     f"cat /run/other >{_KEY}\nsystemctl restart ssh", f"cat /run/kept >{_KEY}; systemctl restart ssh"),
            _word,
        ),
        Fault(
            "packets-lost", "one packet of twenty is lost on the storage network, in both directions",
            _each(_run("node", _READER), *(_run(name, "tc qdisc replace dev eth1 root netem loss 5%") for name in ("array", "node"))),
            _each(*(_run(name, "tc qdisc del dev eth1 root") for name in ("array", "node")),
                  _run("node", "systemctl stop rack-reader\nrm /mnt/fx100/.rack-read"), _back("node")),
        ),
        Fault(
            "wrong-hostnqn", "the array lets another host in, not the node",
            _each(_run("array", f"rm {_ALLOWED}/{NODE.hostnqn}"), _lost("node", f"{_RESET} || true")),
            _each(_run("array", f"ln -s {_TARGET}/hosts/{NODE.hostnqn} {_ALLOWED}/"), _back("node")),
        ),
        Fault(
            "wrong-gid", "the array's storage port has another address, and its GID with it",
            _lost("array", f"ip address del {ARRAY.address}/24 dev eth1\nip address add {_OTHER}/24 dev eth1"),
            _each(_run("array", f"ip address del {_OTHER}/24 dev eth1\nip address add {ARRAY.address}/24 dev eth1"), _back("node")),
        ),
        Fault(
            "sshd-killed", "nothing answers SSH on the node",
            _deaf, _word,
        ),
        Fault("frozen", "the node stands still in the middle of whatever it did", _frozen, _thawed),
        Fault("disk-pulled", "one of the four disks of the RAID0 is pulled", _pull, _plug),
    )
}  # fmt: skip
