"""Faults that stand in the kernel log only: the machine looks healthy again by the time it is asked."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

_JOURNAL, _RING = r"journalctl -k .*", r"dmesg .*"
_HERE = "AMD64 EDAC driver v3.5.0\n"  # the last line that every machine's log has
_ON_LOG = frozenset(f"G1.1.{number}" for number in range(41, 52))
_KERN = "kern  :warn  : 2026-11-28T09:14:07,213345+00:00 "
_STAMP = "2026-11-28T09:14:07.213345+0000 host kernel: "


def _logged(
    name: str, text: str, stops: str, *messages: str, on: str = "node-01", platform: str = "", after: str = _HERE
) -> Fault:
    found = "".join(f"{_STAMP}{message}\n" for message in messages)
    edit = Edit(ask=_JOURNAL, replace=((after, after + found),))
    return Fault(name, text, on, frozenset(stops.split()), frozenset(), (edit,), platform)


_CONNECTED = "XFS (nvme1n1): Ending clean mount\n"

FAULTS: tuple[Fault, ...] = (
    _logged(
        "log-disk-reset",
        "a disk was reset after a timeout",
        "G1.1.41",
        "nvme nvme0: I/O 864 QID 1 timeout, reset controller",
        "nvme nvme0: 128/0/0 default/read/poll queues",
    ),
    _logged(
        "log-disk-error",
        "a disk of the array returned an error",
        "G1.1.41",
        "I/O error, dev nvme2n1, sector 32545872 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
        on="fx100-a",
    ),
    _logged(
        "log-xfs-metadata-error",
        "XFS could not read its metadata",
        "G1.1.42",
        'XFS (nvme1n1): metadata I/O error in "xfs_imap_to_bp+0x58/0x80 [xfs]" at daddr 0x100 len 32 error 5',
    ),
    _logged(
        "log-xfs-shutdown-old-wording",
        "XFS shut down, in the words of older kernels",
        "G1.1.42",
        "XFS (nvme0n1): I/O Error Detected. Shutting down filesystem",
    ),
    _logged(
        "log-reconnected",
        "a connection was lost for 83 s and came back",
        "G1.1.43",
        "nvme nvme1: starting error recovery",
        "nvme nvme1: Reconnecting in 10 seconds...",
        "nvme nvme1: Successfully reconnected (8 attempts)",
        after=_CONNECTED,
    ),
    _logged(
        "log-refused-for-good",
        "the array refused to reconnect and the controller was removed",
        "G1.1.43",
        'nvme nvme1: Connect Invalid Data Parameter, subsysnqn "nqn"',
        "nvme nvme1: failed to connect queue: 0 ret=16770",
        "nvme nvme1: Removing controller (16770)...",
        after=_CONNECTED,
    ),
    _logged(
        "log-keep-alive-expired",
        "the array missed a node's keep-alive",
        "G1.1.43",
        "nvmet: ctrl 1 keep-alive timer (5 seconds) expired!",
        on="fx100-a",
    ),
    _logged(
        "log-xid",
        "a card fell off the bus",
        "G1.1.44",
        "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        platform="nvidia",
    ),
    _logged(
        "log-ras-uncorrectable",
        "a card reported an uncorrectable error",
        "G1.1.44",
        "amdgpu 0000:83:00.0: amdgpu: socket: 0 2 uncorrectable hardware errors detected in gfx block",
        platform="rocm",
    ),
    _logged(
        "log-machine-check",
        "a processor reported a machine check",
        "G1.1.45",
        "mce: [Hardware Error]: Machine check events logged",
        "[Hardware Error]: CPU:2 (19:11:1) MC2_STATUS[-|UE|MiscV|AddrV|-|-|SyndV|-|-|-]: 0xbea0000001000108",
    ),
    _logged(
        "log-pcie-uncorrected",
        "a port lost transactions",
        "G1.1.46",
        "pcieport 0000:00:01.1: AER: Uncorrected (Non-Fatal) error received: 0000:01:00.0",
        "nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
    ),
    _logged(
        "log-pcie-corrects-often",
        "a link corrects all the time",
        "G1.1.47",
        *(
            f"nvme 0000:42:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID) {number}"
            for number in range(11)
        ),
        on="fx100-a",
    ),
    _logged(
        "log-nfs-silent",
        "the NFS server hung and came back",
        "G1.1.48",
        "nfs: server 192.168.100.20 not responding, still trying",
        "nfs: server 192.168.100.20 OK",
    ),
    _logged(
        "log-out-of-memory",
        "the engine was killed for memory",
        "G1.1.49",
        "Out of memory: Killed process 19284 (python3) total-vm:1892000000kB, anon-rss:1490000000kB",
    ),
    _logged(
        "log-task-hung",
        "a task waited two minutes for storage",
        "G1.1.50",
        "INFO: task kworker/u768:2:4812 blocked for more than 122 seconds.",
    ),
    _logged(
        "log-throttled",
        "a processor was too hot",
        "G1.1.51",
        "CPU12: Core temperature is above threshold, cpu clock is throttled (total events = 1)",
        on="fx100-a",
    ),
    Fault(
        "log-cut-and-no-journal",
        "the ring buffer wrapped and no journal is kept",
        "fx100-a",
        frozenset({"G1.1.40"}),
        _ON_LOG - {"G1.1.44"},
        (
            Edit(ask=_JOURNAL, stdout="", stderr="No journal files were found.\n", status=1),
            Edit(
                ask=_RING,
                stdout=_KERN + "perf: interrupt took too long\n",
            ),
        ),
    ),
    Fault(
        "log-cut-with-a-reset-in-it",
        "what is left of the log shows a reset",
        "fx100-a",
        frozenset({"G1.1.40", "G1.1.41"}),
        _ON_LOG - {"G1.1.41", "G1.1.44"},
        (
            Edit(
                ask=_JOURNAL,
                stdout="2026-11-28T09:14:07.213345+0000 fx100-a kernel: md0: detected capacity change from 0 to 30005841920\n",
            ),
            Edit(
                ask=_RING,
                stdout=_KERN + "nvme nvme2: I/O 864 QID 1 timeout, reset controller\n",
            ),
        ),
    ),
    Fault(
        "log-not-readable",
        "neither journal nor ring buffer may be read",
        "fx100-a",
        frozenset(),
        (_ON_LOG | {"G1.1.40"}) - {"G1.1.44"},
        (
            Edit(ask=_JOURNAL, stdout="", stderr="sh: 1: journalctl: not found\n", status=127),
            Edit(ask=_RING, stdout="", stderr="dmesg: read kernel buffer failed: Operation not permitted\n", status=1),
        ),
    ),
    Fault(
        "log-journal-missing-ring-whole",
        "no journal is kept, and the ring buffer holds a reset",
        "node-01",
        frozenset({"G1.1.41"}),
        frozenset(),
        (
            Edit(ask=_JOURNAL, stdout="", stderr="sh: 1: journalctl: not found\n", status=127),
            Edit(
                ask=_RING,
                replace=(
                    (
                        _HERE,
                        _HERE + _KERN + "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10\n",
                    ),
                ),
            ),
        ),
    ),
)
