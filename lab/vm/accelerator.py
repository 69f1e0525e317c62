"""Whether this machine can run a kernel on its own processor (KVM) or must emulate one (TCG): found out by starting one."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

TCG = "tcg,thread=multi,tb-size=256"
KVM = "kvm"
_WORD = "rack: a kernel runs"  # what the initrd says when it is asked only to show that it runs


def probe(image: Path, folder: Path, limit: float = 20) -> str:
    """Return the accelerator to use. The device node alone proves nothing: nested machines offer one that runs no kernel."""
    return KVM if Path("/dev/kvm").exists() and _runs(image, folder, limit) else TCG


def _runs(image: Path, folder: Path, limit: float) -> bool:
    console = folder / "probe.console"
    console.unlink(missing_ok=True)
    words = ["qemu-system-x86_64", "-machine", "q35", "-accel", KVM, "-cpu", "max", "-m", "512M", "-nodefaults"]
    words += ["-display", "none", "-no-reboot", "-serial", f"file:{console}"]
    words += ["-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.cpio")]
    words += ["-append", "console=ttyS0 rack.probe panic=-1"]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as machine:
        try:
            end = time.monotonic() + limit
            while time.monotonic() < end:
                if console.exists() and _WORD in console.read_text("utf-8", errors="replace"):
                    return True
                if machine.poll() is not None:
                    return False
                time.sleep(0.2)
            return False
        finally:
            machine.kill()
            console.unlink(missing_ok=True)
