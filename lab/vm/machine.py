"""One virtual machine: its QEMU command line, its files, and the SSH that its keys were made for."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.vm import qmp
from lab.vm.order import ARRAY, BIOS, CPU, MEMORY, NODE, Ordered

_HERE = Path(__file__).parent

#: What a machine is handed by fw_cfg at each start, by the end of the file's name in the rack's folder.
FILES = ("settings", "part", "engine", "program", "host-key", "authorized-key")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the rack in ``folder``, booted from the files in ``image``."""

    ordered: Ordered
    folder: Path
    image: Path
    port: int  # of SSH, on loopback

    @property
    def name(self) -> str:
        """Inventory name."""
        return self.ordered.name

    @property
    def control(self) -> Path:
        """QEMU's control socket."""
        return self.folder / f"{self.name}.qmp"

    @property
    def console(self) -> Path:
        """What the machine wrote to its serial port."""
        return self.folder / f"{self.name}.console"

    def pid(self) -> int | None:
        """Process of the machine while it is one of ours, else None."""
        try:
            pid = int((self.folder / f"{self.name}.pid").read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if f"{self.name}.pid".encode() in words and b"opt/rack/part" in b" ".join(words) else None

    def command(self, accelerator: str, processors: int) -> list[str]:
        """Return the QEMU command; relative names are in ``folder``, where it is started."""
        mine = self.ordered
        other = NODE if mine is ARRAY else ARRAY
        words = ["nice", "-n", "10", "qemu-system-x86_64", "-name", f"rack-{self.name}", "-machine", "q35"]
        words += [
            "-accel",
            accelerator,
            "-cpu",
            f"max,model-id={CPU}",
            "-smp",
            str(processors),
            "-m",
            f"{MEMORY >> 20}M",
        ]
        words += ["-nodefaults", "-display", "none", "-pidfile", f"{self.name}.pid"]
        words += ["-serial", f"file:{self.name}.console", "-qmp", f"unix:{self.name}.qmp,server=on,wait=off"]
        words += ["-kernel", str(self.image / "vmlinuz"), "-initrd", str(self.image / "initrd.cpio")]
        words += ["-append", _boot_words(self.name)]
        for file in FILES:
            words += ["-fw_cfg", f"name=opt/rack/{file},file={self.name}.{file}"]
        words += ["-smbios", f"type=0,vendor=kvgate,version={BIOS}"]
        words += ["-smbios", f"type=1,manufacturer=kvgate,product=virtual-{self.name},uuid={mine.uuid}"]
        words += ["-smbios", f"type=17,manufacturer=kvgate,part=VIRTUAL,serial=VDIMM{mine.number:04},speed=3200"]
        words += ["-drive", f"file={self.name}.root.qcow2,if=none,id=root,format=qcow2,cache=unsafe"]
        words += ["-device", "virtio-blk-pci,drive=root", "-device", "virtio-rng-pci"]
        words += ["-netdev", f"user,id=management,hostfwd=tcp:127.0.0.1:{self.port}-:22"]
        words += ["-device", f"virtio-net-pci,netdev=management,mac={mine.management_mac},romfile="]
        local, remote = f"{mine.name}.port", f"{other.name}.port"
        words += [
            "-netdev",
            f"dgram,id=storage,local.type=unix,local.path={local},remote.type=unix,remote.path={remote}",
        ]
        for index, serial in enumerate(mine.serials):
            words += _disk(index, serial, f"{self.name}.disk{index}.qcow2", mine.lba)
        words += ["-device", "pcie-root-port,id=port-nic,chassis=20,slot=20,addr=0x10"]
        fast = "speed=100000,duplex=full,host_mtu=9000,aer=on"
        words += ["-device", f"virtio-net-pci,id=nic,bus=port-nic,netdev=storage,mac={mine.mac},romfile=,{fast}"]
        return words

    def start(self, accelerator: str, processors: int) -> None:
        """Start the machine from the disks it has. Raises Refused with QEMU's reason."""
        for stale in (f"{self.name}.qmp", f"{self.name}.port"):
            (self.folder / stale).unlink(missing_ok=True)
        words = self.command(accelerator, processors)
        log = self.folder / f"{self.name}.log"
        with log.open("w") as said:  # not by -daemonize: that leaves the folder, and a socket's long path is refused
            process = subprocess.Popen(
                words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
        while not self.control.exists() or self.pid() is None:
            if process.poll() is not None:
                raise qmp.Refused(
                    log.read_text("utf-8", errors="replace").strip() or f"ended with {process.returncode}"
                )
            time.sleep(0.05)

    def cut_power(self) -> None:
        """End the machine at once, as a lost power supply does. Safe when it does not run."""
        if (pid := self.pid()) is None:
            return
        os.kill(pid, signal.SIGKILL)
        while self.pid() is not None:
            time.sleep(0.05)

    def ask(self, command: str, /, **arguments: Any) -> Any:
        """Ask QEMU. Raises Refused or OSError."""
        return qmp.ask(self.control, command, **arguments)

    def ssh(self, script: str, limit: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a shell script as root, the host key pinned. Ends after ``limit`` seconds with TimeoutExpired."""
        become = "" if self.ordered.user == "root" else "sudo -n "
        words = ["ssh", "-F", "none", "-p", str(self.port), "-i", str(self.folder / "id_ed25519")]
        for option in (
            "IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=yes", "LogLevel=ERROR", "ConnectTimeout=60",
            f"UserKnownHostsFile={self.folder / 'known_hosts'}", f"HostKeyAlias={self.name}",
        ):  # fmt: skip
            words += ["-o", option]
        words += [f"{self.ordered.user}@127.0.0.1", f"{become}sh -s"]
        return subprocess.run(words, input=script, capture_output=True, text=True, timeout=limit, check=False)


#: Bytes a second that a disk gives and takes: QEMU shows every disk in a slot of one lane of the first generation, which carries 250 MB/s,
#: and would move as much as the host's memory does.
_SLOT = 200_000_000


def _boot_words(name: str) -> str:
    # Not audit=0: a kernel without audit starts modprobe for each sudo and each login, which ask for it; that takes them four seconds.
    fast = "mitigations=off cryptomgr.notests rcupdate.rcu_expedited=1 nokaslr quiet loglevel=4"
    return f"console=ttyS0 net.ifnames=0 systemd.hostname={name} systemd.show_status=error {fast}"


def _disk(index: int, serial: str, file: str, lba: int) -> list[str]:
    image = f"file.driver=qcow2,file.discard=unmap,file.file.driver=file,file.file.filename={file}"
    drive = f"driver=throttle,node-name=disk{index},throttle-group=slot{index},discard=unmap,{image}"
    slot = f"throttle-group,id=slot{index},x-bps-total={_SLOT}"
    root_port = f"pcie-root-port,id=port{index},chassis={index + 1},slot={index + 1},addr=0x{index + 8:x}"
    return ["-object", slot, "-blockdev", drive, "-device", root_port, "-device", nvme(index, serial, lba)]


def nvme(index: int, serial: str, lba: int) -> str:
    """Return the device that a disk is to its machine; what plugs it in again, too."""
    sizes = f"logical_block_size={lba},physical_block_size={lba}"
    return f"nvme,id=nvme{index},bus=port{index},serial={serial},drive=disk{index},max_ioqpairs=4,mdts=7,{sizes}"


def part(name: str) -> Path:
    """Return a script that makes a machine what it is in the rack."""
    return _HERE / "parts" / f"{name}.sh"


def pack(path: Path) -> None:
    """Write the engine's program as one file."""
    top = _HERE.parents[1]
    with tarfile.open(path, "w") as kept:
        for file in (top / "lab" / "__init__.py", *sorted((top / "lab" / "engine").glob("*.py"))):
            entry = tarfile.TarInfo(str(file.relative_to(top)))
            content = file.read_bytes()
            entry.size, entry.mtime = len(content), int(file.stat().st_mtime)
            kept.addfile(entry, io.BytesIO(content))
