"""Where a filesystem may come from, and which mount stands at a path."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from checks.nvme.criteria import same_disk
from checks.nvme.facts import disk
from checks.parsers.findmnt import Mounted
from checks.parsers.sysfs_nvme import NvmeTree
from checks.phrase import Phrase, say
from checks.probe import UnreadableOutput


@dataclass(frozen=True, slots=True)
class Source:
    """What was ordered below a mount: a device by its names, else disks by serial, subsystems by NQN, md arrays by name.

    ``device`` holds the agreed name and the kernel's: a mapped device is mounted by the former, a by-id link by the latter.
    """

    device: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    nqns: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()


def names(source: Source, tree: NvmeTree) -> tuple[str, ...] | Phrase:
    """Kernel names that the ordered source has today, or why that cannot be told."""
    if source.device:
        return source.device
    found = [name.rsplit("/", 1)[-1] for name in source.arrays]
    for serial in source.serials:
        controller = disk(tree, serial)
        if isinstance(controller, Phrase):
            return controller
        found += [one.name for one in tree.namespaces(controller)]
    for nqn in source.nqns:
        try:
            subsystem = tree.subsystem(nqn)
        except UnreadableOutput as error:
            return say("{why}", why=str(error))
        if subsystem is not None:
            found += [one.name for one in subsystem.namespaces]
            found += [
                one.name
                for controller in tree.controllers
                if controller.subsysnqn == nqn
                for one in tree.namespaces(controller)
            ]
    return tuple(dict.fromkeys(found))


def stands_on(device: str, ordered: Collection[str]) -> bool:
    """Whether a mount source is one of the ordered devices or a partition of one."""
    return any(device == name or same_disk(name.removeprefix("/dev/"), device) for name in ordered)


def at(mounts: Collection[Mounted], path: str) -> tuple[Mounted, ...]:
    """Mounts whose target is exactly ``path``, the visible one last; automount triggers do not count."""
    return tuple(one for one in mounts if one.target == path and one.filesystem != "autofs")
