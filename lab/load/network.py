"""What a node counts of its NFS mounts: options, transport and bytes by operation, as the kernel shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.load.model import Volume

_HEAD = """\
device {device} mounted on {path} with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,acregmax=60,acdirmin=30,acdirmax=60,hard,proto=rdma
\tage:\t13968
\tcaps:\tcaps=0xfff7,wtmult=512,dtsize=32768,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t52 226 0 0 1 13 398 0 0 331 0 47 0 0 77 0 0 77 0 0 0 0 0 0 0 0 0
\tbytes:\t{read} {written} 0 0 {read} {written} 295483 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\trdma 0 1 1 0 11 6428 6428 0 12154 0 24 26 5726
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0 0
\t        READ: {reads} {reads} 0 {asked} {read} 6 79386 79407 0
\t       WRITE: {writes} {writes} 0 {written} {answered} 6 79386 79407 0
"""


def mountstats(volumes: Sequence[Volume], moved: Mapping[str, Sequence[float]]) -> str:
    """Text of /proc/self/mountstats: every mount, the network ones with their counters."""
    rows = ["device sysfs mounted on /sys with fstype sysfs\n"]
    for volume in volumes:
        if not volume.network:
            rows.append(f"device /dev/{volume.device} mounted on {volume.path} with fstype xfs\n")
            continue
        read, written = (int(size) for size in moved.get(volume.device, (0, 0)))
        reads, writes = read // 2**20, written // 2**20
        rows.append(
            _HEAD.format(
                device=volume.device, path=volume.path, read=read, written=written, reads=reads, writes=writes,
                asked=160 * reads, answered=136 * writes,
            )
        )  # fmt: skip
    return "".join(rows)
