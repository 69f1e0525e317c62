"""One disk found in the tree of NVMe controllers: by its serial, and what it is there."""

from __future__ import annotations

from checks.parsers.sysfs_nvme import Controller, Endpoint, NvmeTree
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput


def disk(tree: NvmeTree, serial: str) -> Controller | Phrase:
    """The one local controller with this serial, or why there is not exactly one."""
    try:
        found = tree.controller(serial)
    except UnreadableOutput as error:
        return say("{why}", why=str(error))
    return (
        found
        if found is not None
        else say("no local NVMe controller carries serial {serial}: see G1.2.1", serial=serial)
    )


def size_bytes(tree: NvmeTree, controller: Controller) -> int | None:
    """Bytes of all namespaces of a disk together; None when one does not tell, or there is none."""
    sizes = [one.sectors for one in tree.namespaces(controller)]
    known = [size for size in sizes if size is not None]
    return sum(known) * 512 if known and len(known) == len(sizes) else None


def endpoint(tree: NvmeTree, serial: str) -> Endpoint | None:
    """The PCI Express side of a disk; None when the disk is not (unmistakably) there."""
    found = disk(tree, serial)
    return None if isinstance(found, Phrase) else found.endpoint


def address(tree: NvmeTree, serial: str) -> str | None:
    """PCI address of a disk today; None when the disk is not (unmistakably) there."""
    found = disk(tree, serial)
    return None if isinstance(found, Phrase) else found.address
