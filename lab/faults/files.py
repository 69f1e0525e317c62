"""Faults of whole files: what comes back is not what was written, or is not told by the disk; models and checkpoints too slow."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.load.files import Upset
from lab.load.model import NFS

_BLOCKS, _SUMS, _ANEW = frozenset({"G2.3.1", "G2.3.3"}), frozenset({"G2.3.2"}), frozenset({"G2.3.3"})
_LOAD, _SAVE = frozenset({"G2.4.1"}), frozenset({"G2.5.1"})
_VOLUME = "nvme1n1"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "blocks-corrupt", "one block of the array's volume comes back with another checksum",
        "node-01", stops=_BLOCKS, load=(Upset(_VOLUME, corrupt=True),),
    ),
    Fault(
        "files-corrupt", "one file on the array's volume comes back with other contents",
        "node-01", stops=_SUMS, load=(Upset(_VOLUME, sums=True),),
    ),
    Fault(
        "verify-io-error", "the array's volume gives input/output errors where data was written",
        "node-01", stops=_BLOCKS | _SAVE, load=(Upset(_VOLUME, io=True),),
    ),
    Fault(
        "verify-other-version", "data was written by another version of fio than verifies it",
        "node-01", undecided=_BLOCKS | _SAVE, load=(Upset(_VOLUME, across=True),),
    ),
    Fault(
        "verify-stops-early", "fio verifies nine tenths of what was written and reports no error",
        "node-01", undecided=_BLOCKS | _SAVE, load=(Upset(_VOLUME, short=0.9),),
    ),
    Fault(
        "verify-killed", "fio is killed while it verifies on the array's volume",
        "node-01", undecided=_BLOCKS | _SAVE, load=(Upset(_VOLUME, killed=True),),
    ),
    Fault(
        "file-short", "a file on the array's volume is half as long as it was written",
        "node-01", undecided=_SUMS, load=(Upset(_VOLUME, torn=True),),
    ),
    Fault(
        "files-from-memory", "what was written to the array's volume is read back from the node's memory",
        "node-01", undecided=_BLOCKS | _SUMS | _LOAD | _SAVE, load=(Upset(_VOLUME, kept=True),),
    ),
    Fault(
        "caches-kept", "the node does not let its caches be dropped",
        "node-01", undecided=_BLOCKS | _SUMS | _LOAD | _SAVE, load=(Upset(no_drop=True),),
    ),
    Fault(
        "volume-full", "the array's volume takes no more data while files are laid out",
        "node-01", undecided=_BLOCKS | _SUMS | _LOAD | _SAVE, load=(Upset(_VOLUME, full=True),),
    ),
    Fault(
        "model-load-slow", "files of the array's volume are read at a third of what fio reads",
        "node-01", stops=_LOAD, load=(Upset(_VOLUME, load=0.33),),
    ),
    Fault(
        "model-read-error", "one file of the model on the array's volume cannot be read: an input/output error",
        "node-01", stops=_LOAD, load=(Upset(_VOLUME, broken=True),),
    ),
    Fault(
        "model-load-unsteady", "cold loads from the local disk differ by a quarter from round to round",
        "node-01", undecided=_LOAD, load=(Upset("nvme0n1", unsteady=0.25),),
    ),
    Fault(
        "model-folder-empty", "nothing lies in the model's folder on the local disk when it is read",
        "node-01", undecided=_LOAD, load=(Upset("nvme0n1", empty=True),),
    ),
    Fault(
        "checkpoint-flush-slow", "the array's volume needs three times as long until a checkpoint is durable",
        "node-01", stops=_SAVE, load=(Upset(_VOLUME, save=0.3),),
    ),
    Fault(
        "checkpoint-corrupt", "a shard of a checkpoint on the local disk comes back with another checksum",
        "node-01", stops=_SAVE, load=(Upset("nvme0n1", torn_save=True),),
    ),
    Fault(
        "volume-forgets", "what the array held in a cache alone is gone when the node connects anew",
        "node-01", stops=_ANEW, load=(Upset(_VOLUME, forgets=True),),
    ),
    Fault(
        "volume-in-use", "somebody has a file open on the array's volume when it should be unmounted",
        "node-01", undecided=_ANEW, load=(Upset(_VOLUME, anew="kept umount: /mnt/fx100: target is busy."),),
    ),
    Fault(
        "volume-in-container", "a container still stands on the array's volume after it was unmounted",
        "node-01", undecided=_ANEW,
        load=(Upset(_VOLUME, anew="back /dev/nvme1n1 is in use elsewhere: a container, a bind mount, a stack above it"),),
    ),
    Fault(
        "volume-does-not-return", "the array's volume does not let itself be mounted again after a new connection",
        "node-01", undecided=_ANEW,
        load=(Upset(_VOLUME, anew="lost mount: wrong fs type: mount -t xfs -o rw,noatime /dev/nvme1n1 /mnt/fx100"),),
    ),
    Fault(
        "nfs-blocks-corrupt", "a block that one node wrote over NFS comes back to another with another checksum",
        "node-02", stops=frozenset({"G2.3.1"}), load=(Upset(NFS.device, corrupt=True),), nfs=True,
    ),
    Fault(
        "nfs-files-corrupt", "a file that one node wrote over NFS comes back to another with other contents",
        "node-02", stops=_SUMS, load=(Upset(NFS.device, sums=True),), nfs=True,
    ),
    Fault(
        "nfs-from-memory", "what is verified over NFS comes from the reader's memory and not from the server",
        "node-02", undecided=frozenset({"G2.3.1"}) | _SUMS, load=(Upset(NFS.device, kept=True),), nfs=True,
    ),
    Fault(
        "nfs-faster", "models load faster over NFS than from the array's volume",
        "node-01", stops=frozenset({"G2.4.2"}), load=(Upset(NFS.device, load=8.0),), nfs=True,
    ),
)  # fmt: skip
