"""Faults of loads on the local disk and on the array's volume: slow, unsteady, disturbed, cut short, or not what they seem."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.load.files import Upset
from lab.load.model import NFS, Trouble
from lab.machine import Edit

_REPEAT = frozenset({"G2.1.4", "G2.1.5", "G2.1.6"})
_RATES = frozenset({"G2.1.2", "G2.1.3"})
_WHOLE = frozenset({"G2.3.1", "G2.3.2"})
_SEEN = frozenset({"G2.1.9"})
_EVERY = frozenset(
    {
        "G2.1.2", "G2.1.3", "G2.1.4", "G2.1.5", "G2.1.6", "G2.1.7", "G2.1.8", "G2.1.9", "G2.1.10", "G2.1.12",
        "G2.1.14", "G2.1.15", "G2.4.1", "G2.5.1",
    }
)  # fmt: skip
_ARRAY = _EVERY | {"G2.2.9"}
#: What a device carries; the others hold a rate against another, or look at who made it.
_LOOKING = frozenset({"G2.1.9", "G2.1.10", "G2.1.12"})
_CARRIED = _EVERY - _LOOKING - {"G2.4.1", "G2.5.1"}
_IO_ERROR = (
    "fio: io_u error on file /mnt/fx100/.kvgate-load/file: Input/output error: read offset=49283072, buflen=1048576\n"
    "fio: pid=17095, err=5/file:io_u.c:1876, func=io_u error, error=Input/output error\n"
)
_MEDIUM = (
    _IO_ERROR.replace("Input/output error", "No data available").replace("err=5", "err=61").replace("fx100", "nvme0")
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "local-disk-slow", "the node's own disk gives two thirds of its data sheet: an x4 slot that trained to gen 3 under load",
        "node-01", stops=_RATES | {"G2.1.6"}, load=(Trouble("nvme0n1", factor=0.66),),
    ),
    Fault(
        "volume-link-25g", "the array's volume comes through a port at 25 Gb/s",
        "node-01", stops=_RATES | {"G2.1.5", "G2.1.6", "G2.1.14", "G2.2.9"}, load=(Trouble("nvme1n1", factor=0.245),),
    ),
    Fault(
        "volume-kv-slow", "the array's volume carries a few percent of what it should: nothing that keeps KV could live on it",
        "node-01", stops=_RATES | _REPEAT | {"G2.1.14", "G2.1.15", "G2.2.9"}, load=(Trouble("nvme1n1", factor=0.03),),
    ),
    Fault(
        "volume-mtu-1500", "the fabric carries RoCE packets of 1024 bytes: the port's share for payload is smaller",
        "node-01", stops=_RATES | {"G2.2.9"}, load=(Trouble("nvme1n1", factor=0.88),),
    ),
    Fault(
        "local-disk-throttles", "the local disk grows slower from round to round, as one does that throttles",
        "node-01", undecided=_EVERY - {"G2.1.9", "G2.1.10"}, load=(Trouble("nvme0n1", decay=0.08, warmer=3),),
    ),
    Fault(
        "node-throttles", "the node's processors are throttled for heat while the local disk is loaded, and everything on it slows down",
        "node-01", undecided=_EVERY - {"G2.1.9", "G2.1.10"},
        load=(Trouble("nvme0n1", decay=0.08, clock=0.8, throttled=3),),
    ),
    Fault(
        "volume-unsteady", "rates of the array's volume differ by a fifth from round to round",
        "node-01", undecided=_ARRAY - {"G2.1.9", "G2.1.10"},
        load=(Trouble("nvme1n1", noise=0.2),),
    ),
    Fault(
        "volume-link-flaps", "the node's storage link comes and goes while the array's volume is loaded, and its RoCE port loses packets",
        "node-01", undecided=_ARRAY - {"G2.1.9", "G2.1.10"},
        load=(Trouble("nvme1n1", noise=0.2, flaps=1, lost=40),),
    ),
    Fault(
        "local-reads-from-memory", "half of what fio reads on the local disk comes from memory",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", cached=0.5),),
    ),
    Fault(
        "volume-other-load", "somebody else reads 3 GB/s from the array's volume while it is measured",
        "node-01", stops=_SEEN, undecided=_ARRAY - _SEEN, load=(Trouble("nvme1n1", other=3e9),),
    ),
    Fault(
        "local-buffered", "fio on the node runs without direct I/O, whatever it was asked",
        "node-01", undecided=_ARRAY, load=(Trouble(buffered=True),),
    ),
    Fault(
        "fio-killed", "fio is killed in the middle of each run on the local disk and prints nothing",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", killed=True, status=137),),
    ),
    Fault(
        "fio-terminated", "somebody ends fio with SIGTERM after a twentieth of its time; it prints a fine-looking result and error 0",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", short=0.05, note="fio: terminating on signal 15\n"),),
    ),
    Fault(
        "fio-short", "fio runs nine tenths of its time and says nothing about it",
        "node-01", undecided=_ARRAY, load=(Trouble("nvme1n1", short=0.9),),
    ),
    Fault(
        "fio-io-error", "a request to the array's volume ends in an I/O error in the second round of each load, and in no other",
        "node-01", stops=_CARRIED, undecided=_ARRAY - _CARRIED,
        load=(Trouble("nvme1n1", runs=(2,), note=_IO_ERROR, error=5, status=1),),
    ),
    Fault(
        "local-medium-error", "the local disk cannot read one of its blocks: the kernel calls it no data",
        "node-01", stops=_CARRIED, undecided=_EVERY - _CARRIED,
        load=(Trouble("nvme0n1", runs=(1,), note=_MEDIUM, error=61, status=1),),
    ),
    Fault(
        "fio-verify-error-status-0", "fio counts a failed verify and ends with status 0",
        "node-01", undecided=_ARRAY, load=(Trouble("nvme1n1", error=84),),
    ),
    Fault(
        "local-disk-full", "the local filesystem has no space for the file",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", full=True),),
    ),
    Fault(
        "fio-missing", "fio is not installed on the node",
        "node-01", undecided=_ARRAY | {"G2.1.1", "G2.3.1", "G2.3.3"},
        edits=(Edit(ask="(env KVGATE_LOAD=\\S+ )?(fio .*|sh -c .* fio .*)", stdout="", stderr="sh: 1: fio: not found\n", status=127),),
    ),
    Fault(
        "fio-versions-differ", "the nodes have different versions of fio",
        "node-02", stops=frozenset({"G2.1.1"}), load=(Trouble(version="fio-3.42"),),
    ),
    Fault(
        "iostat-missing", "iostat is not installed on the node",
        "node-01", undecided=_SEEN, load=(Trouble(no_iostat=True),),
    ),
    Fault(
        "client-at-its-limit", "a single core is at its limit while fio runs on the array's volume",
        "node-01", stops=frozenset({"G2.1.10"}), load=(Trouble("nvme1n1", cpu=99.0),),
    ),
    Fault(
        "volume-latency", "a single read over the fabric takes ten times as long",
        "node-01", stops=frozenset({"G2.1.7", "G2.1.12"}), load=(Trouble("nvme1n1", latency=10.0),),
    ),
    Fault(
        "volume-lost-before-load", "the array's volume is no longer mounted when the load begins: the root disk lies below its path",
        "node-01", undecided=_ARRAY | {"G2.3.1", "G2.3.2", "G2.3.3"},
        edits=(Edit(ask="findmnt .*", replace=(('"/mnt/fx100"', '"/mnt/elsewhere"'),)),),
    ),
    Fault(
        "local-disk-hot", "the local disk reports that it is too hot whenever it is looked at",
        "node-01", undecided=_EVERY | {"G2.6.1", "G2.6.3"},
        edits=(Edit(ask="nvme smart-log .*", replace=(('"critical_warning":0', '"critical_warning":2'),)),),
    ),
    Fault(
        "nfs-unsteady", "reads over NFS differ by a fifth from round to round",
        "node-01", undecided=frozenset({"G2.1.11"}), load=(Trouble(NFS.device, noise=0.2),), nfs=True,
    ),
    Fault(
        "nfs-reader-unmounted", "the node that should read over NFS what another wrote has lost its mount",
        "node-02", undecided=_WHOLE, edits=(Edit(ask="findmnt .*", replace=(('"/mnt/nfs"', '"/mnt/elsewhere"'),)),), nfs=True,
    ),
    Fault(
        "nfs-reader-other-fio", "the node that verifies over NFS has another fio than the one that wrote",
        "node-02", stops=frozenset({"G2.1.1"}), undecided=frozenset({"G2.3.1"}), load=(Trouble(version="fio-3.42"),), nfs=True,
    ),
    Fault(
        "space-unknown", "df on the local disk's filesystem answers with an input/output error",
        "node-01", stops=_EVERY - _LOOKING, undecided=_LOOKING,
        edits=(Edit(ask="df -B1 .* /mnt/nvme0", stdout="", stderr="df: /mnt/nvme0: Input/output error\n", status=1),),
    ),
    # ---- numbers that nothing was held against before: small requests, what can be carried, who else was there
    Fault(
        "volume-random-writes-slow", "the array's volume takes 519 small random writes a second",
        "node-01", stops=frozenset({"G2.1.15"}), load=(Trouble("nvme1n1", small_writes=519 / 560_000),),
    ),
    Fault(
        "volume-random-reads-slow", "the array's volume gives a tenth of the small random reads that its disks promise",
        "node-01", stops=frozenset({"G2.1.14"}), load=(Trouble("nvme1n1", small_reads=0.1),),
    ),
    Fault(
        "local-random-writes-slow", "the local disk takes two thirds of the small random writes of its data sheet",
        "node-01", stops=frozenset({"G2.1.15"}), load=(Trouble("nvme0n1", small_writes=0.66),),
    ),
    Fault(
        "volume-beyond-its-port", "something answers for the array's volume faster than the port can carry",
        "node-01", undecided=_RATES | _REPEAT | {"G2.1.9", "G2.1.10", "G2.2.9", "G2.4.1", "G2.5.1"},
        load=(Trouble("nvme1n1", factor=1.3),),
    ),
    Fault(
        "local-beyond-its-slot", "something answers for the local disk faster than its four lanes can carry",
        "node-01", undecided=_REPEAT | {"G2.1.2", "G2.1.9", "G2.1.10", "G2.4.1"},
        stops=frozenset({"G2.5.1"}), load=(Trouble("nvme0n1", factor=1.3),),
    ),
    Fault(
        "nfs-beyond-its-port", "reads over NFS come faster than all ports of the node can carry",
        "node-01", undecided=frozenset({"G2.1.11", "G2.4.2"}),
        load=(Trouble(NFS.device, factor=15.0), Upset(NFS.device, load=15.0)), nfs=True,
    ),
    Fault(
        "volume-written-by-others", "somebody else writes 1 GB/s to the array's volume while it is read, and reads while it is written",
        "node-01", stops=_SEEN, undecided=_ARRAY - _SEEN, load=(Trouble("nvme1n1", across=1e9),),
    ),
    Fault(
        "nfs-written-by-others", "somebody else writes 200 MB/s over the NFS mount while it is read",
        "node-01", undecided=frozenset({"G2.1.11"}), load=(Trouble(NFS.device, across=2e8),), nfs=True,
    ),
    # ---- blocks of the engine's own size
    Fault(
        "volume-chunks-slow", "the array's volume gives a tenth of its rate in reads of more than 4 MiB, which blocks of 1 MiB never show",
        "node-01", stops=_REPEAT, load=(Trouble("nvme1n1", large_reads=0.1),),
    ),
    Fault(
        "model-config-gone", "the config.json of the served model cannot be read: nobody knows how large the engine's KV chunks are",
        "node-01", undecided=_REPEAT,
        edits=(
            Edit(
                ask="cat -- /models/.*/config.json", stdout="", status=1,
                stderr="cat: /models/Qwen3-Coder-480B-A35B-Instruct-FP8/config.json: No such file or directory\n",
            ),
        ),
    ),
    # ---- what the order leaves open
    Fault(
        "array-memory-untold", "the order tells nothing of the array's memory: its disks or its memory may have answered",
        "array", undecided=_ARRAY | {"G2.3.1", "G2.3.3"}, untold=True,
    ),
    # ---- files that are not there as a whole
    Fault(
        "local-laid-short", "laying a file out on the local disk ends after two fifths, with status 0",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", laid=0.4),),
    ),
    Fault(
        "local-holes", "half of the file on the local disk has no place on it: reads of holes are answered by nobody",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", holes=0.5),),
    ),
    Fault(
        "model-laid-short", "files that stand for a model are written by half, with status 0",
        "node-01", undecided=frozenset({"G2.4.1"}), load=(Upset("nvme1n1", laid=0.5),),
    ),
    # ---- rounds that repeat and go somewhere all the same
    Fault(
        "local-disk-fades", "the local disk gives 1 % less in each round: far below any limit on the variation",
        "node-01", undecided=_EVERY - {"G2.1.8", "G2.1.9", "G2.1.10", "G2.1.15"}, load=(Trouble("nvme0n1", decay=0.01, noise=0.001),),
    ),
    # ---- fio that ran otherwise than asked
    Fault(
        "fio-fewer-jobs", "fio runs other jobs than asked on the array's volume and says so in its options alone",
        "node-01", undecided=_ARRAY, load=(Trouble("nvme1n1", jobs=3),),
    ),
    Fault(
        "fio-changed-between-rounds", "fio is replaced by another version while the local disk is measured",
        "node-01", undecided=_EVERY, load=(Trouble("nvme0n1", runs=(2,), version="fio-3.42"),),
    ),
)  # fmt: skip
