"""What to ask about md arrays, filesystems and mounts. Nothing here writes; write liveness belongs to G2."""

from __future__ import annotations

from checks.parsers import df, findmnt, mdadm_detail, mdstat, readlink, stat_f, sysfs_md, xfs_info
from checks.probe import Glob, Probe, Streams

_ARRAY = ("md/array_state", "md/level", "md/raid_disks", "md/chunk_size", "md/degraded", "size")
_MEMBER = ("state", "slot", "errors")


def arrays() -> Probe[sysfs_md.MdArrays]:
    """All md arrays of a host as the kernel keeps them."""
    return Probe(
        "sysfs-md",
        (
            "grep",
            "-Hs",
            "",
            sysfs_md.RELEASE,
            *(Glob(f"/sys/block/md*/{name}") for name in _ARRAY),
            *(Glob(f"/sys/block/md*/md/dev-*/{name}") for name in _MEMBER),
        ),
        sysfs_md.parse,
        accepted=frozenset({0, 1, 2}),
    )


def mdstat_arrays() -> Probe[tuple[mdstat.MdstatArray, ...]]:
    """All md arrays as /proc/mdstat shows them."""
    return Probe("mdstat", ("cat", "/proc/mdstat"), mdstat.parse)


def detail(device: str) -> Probe[mdadm_detail.MdDetail]:
    """One array as mdadm sees it; status 1 with "cannot open" is the answer that there is none."""
    return Probe(
        "mdadm-detail",
        ("mdadm", "--detail", device),
        mdadm_detail.parse,
        accepted=frozenset({0, 1}),
        streams=Streams.BOTH,
    )


def resolved(device: str) -> Probe[str]:
    """Kernel name behind a stable name; ``-m`` also answers for a name whose folder is not there, such as ``/dev/md`` without arrays."""
    return Probe("readlink", ("readlink", "-m", device), readlink.parse)


def mounts() -> Probe[tuple[findmnt.Mounted, ...]]:
    """Every mount of a host; reads the kernel's table and touches no filesystem."""
    return Probe("findmnt", ("findmnt", "-J", "-o", "TARGET,SOURCE,FSTYPE,OPTIONS"), findmnt.parse)


def geometry(path: str) -> Probe[xfs_info.XfsGeometry]:
    """How the XFS mounted at ``path`` was made."""
    return Probe("xfs_info", ("xfs_info", path), xfs_info.parse)


def space(path: str) -> Probe[tuple[df.Space, ...]]:
    """Space and inodes at ``path``; an input/output error is an answer."""
    return Probe(
        "df",
        ("df", "-B1", "--output=source,fstype,size,used,avail,itotal,iavail,target", path),
        df.parse,
        accepted=frozenset({0, 1}),
        streams=Streams.BOTH,
    )


def statistics(path: str) -> Probe[tuple[stat_f.FileSystem, ...]]:
    """The filesystem's own answer at ``path``; an input/output error is an answer."""
    return Probe("stat-f", ("stat", "-f", path), stat_f.parse, accepted=frozenset({0, 1}), streams=Streams.BOTH)
