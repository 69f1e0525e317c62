"""When a filesystem is the one ordered, mounted where it belongs, made for its array, alive and roomy enough."""

from __future__ import annotations

from collections.abc import Collection

from checks.bounds import at_least, same_text
from checks.fabric.facts import same_address
from checks.parsers.df import Space
from checks.parsers.findmnt import Mounted
from checks.parsers.stat_f import FileSystem
from checks.parsers.sysfs_nvme import NvmeTree
from checks.parsers.xfs_info import XfsGeometry
from checks.phrase import Phrase, joined, say
from checks.raid.facts import Source, at, names, stands_on
from checks.units import show_bytes
from checks.verdict import Quantity, Verdict

_NOT_MOUNTED = say("nothing is mounted at the path: a look at it would show the disk below")
_NETWORK = ("nfs", "nfs4")
_DEVICE_MAPPER = ("/dev/mapper/", "/dev/dm-")


def mounted(mounts: Collection[Mounted], tree: NvmeTree, path: str, source: Source) -> Verdict:
    """Exactly one filesystem stands at the path, and it comes from what was ordered for it."""
    ordered = names(source, tree)
    required: Phrase = say("one filesystem from the ordered device")
    if not isinstance(ordered, Phrase):
        required = say("one filesystem from {names}", names=", ".join(ordered))
        if not ordered:
            required = say("one filesystem from the ordered device, which is not there today")
    here = at(mounts, path)
    if not here:
        return Verdict.of(False, say("nothing is mounted at {path}", path=path), required)
    measured = say("{source}", source=", ".join(one.source for one in here))
    if len(here) > 1:
        return Verdict.of(False, measured, required, note=say("filesystems are stacked at one path"))
    if isinstance(ordered, Phrase):
        return Verdict.undecided(ordered, required, measured)
    if here[0].source.startswith(_DEVICE_MAPPER) and not source.device:
        why = say("a mapped device hides what it stands on: name the device in the inventory")
        return Verdict.undecided(why, required, measured)
    return Verdict.of(stands_on(here[0].source, ordered), measured, required)


def served(mounts: Collection[Mounted], path: str, servers: Collection[str]) -> Verdict:
    """Exactly one network filesystem stands at the path, and it comes from an address of the array.

    The kernel writes the address in use as ``addr=``; the source may be a name that leads anywhere.
    """
    required = say(
        "one network filesystem from {servers}", servers=", ".join(servers) or "(no array port has an address)"
    )
    here = at(mounts, path)
    if not here:
        return Verdict.of(False, say("nothing is mounted at {path}", path=path), required)
    measured = say("{source}", source=", ".join(one.source for one in here))
    if len(here) > 1:
        return Verdict.of(False, measured, required, note=say("filesystems are stacked at one path"))
    address = next((word.removeprefix("addr=") for word in here[0].options if word.startswith("addr=")), None)
    if address is None:
        if here[0].filesystem not in _NETWORK:
            return Verdict.of(False, measured, required, note=say("it is no network filesystem"))
        return Verdict.undecided(say("the kernel names no server address (addr=)"), required, measured)
    shown = say("{source} at {address}", source=here[0].source, address=address)
    return Verdict.of(any(same_address(address, one) for one in servers), shown, required)


def filesystem(mounts: Collection[Mounted], path: str, ordered: str) -> Verdict:
    """The filesystem is of the type ordered."""
    here = at(mounts, path)
    return (
        same_text(say("filesystem"), here[-1].filesystem, ordered) if here else Verdict.undecided(_NOT_MOUNTED, ordered)
    )


def options(mounts: Collection[Mounted], path: str, wanted: Collection[str], forbidden: Collection[str]) -> Verdict:
    """All agreed options are set, none of the forbidden, and the mount can be written unless agreed otherwise."""
    wanted = [*wanted] if "ro" in wanted else ["rw", *wanted]
    required = say("{wanted}; not {forbidden}", wanted=",".join(wanted), forbidden=",".join(forbidden) or "-")
    here = at(mounts, path)
    if not here:
        return Verdict.undecided(_NOT_MOUNTED, required)
    there = set(here[-1].options)
    absent = [word for word in wanted if word not in there]
    banned = [word for word in forbidden if word in there or any(one.startswith(f"{word}=") for one in there)]
    note = None
    if absent or banned:
        parts = [say("missing: {words}", words=",".join(absent))] if absent else []
        parts += [say("not allowed: {words}", words=",".join(banned))] if banned else []
        note = joined(parts)
    return Verdict.of(not absent and not banned, ",".join(here[-1].options), required, note=note)


def checksummed(geometry: XfsGeometry) -> Verdict:
    """The metadata carries checksums (crc=1); reflink and the like are recorded."""
    measured = say(
        "crc={crc} ftype={ftype} reflink={reflink} bigtime={bigtime} bsize={bsize} sectsz={sectsz} agcount={groups}",
        crc=_bit(geometry.crc), ftype=_bit(geometry.ftype), reflink=_bit(geometry.reflink), bigtime=_bit(geometry.bigtime),
        bsize=geometry.block_bytes, sectsz=geometry.sector_bytes, groups=geometry.allocation_groups,
    )  # fmt: skip
    return Verdict.of(geometry.crc, measured, say("crc=1"))


def _bit(feature: bool | None) -> str:
    return "?" if feature is None else str(int(feature))


def striped(geometry: XfsGeometry, stripe: int, chunk: int | None) -> Verdict:
    """XFS knows the array below it: width over ``stripe`` members, unit of one ``chunk`` in bytes."""
    unit = geometry.stripe_unit_blocks * geometry.block_bytes
    required = say(
        "stripe unit {chunk}, width of {stripe} units",
        chunk=say("of any size") if chunk is None else f"{chunk} B",
        stripe=stripe,
    )
    measured = say(
        "sunit {unit} B, swidth {width} B", unit=unit, width=geometry.stripe_width_blocks * geometry.block_bytes
    )
    if geometry.stripe_unit_blocks == 0:
        return Verdict.of(False, measured, required, note=say("XFS was made without the geometry of the array"))
    holds = geometry.stripe_width_blocks == stripe * geometry.stripe_unit_blocks and chunk in (None, unit)
    return Verdict.of(holds, measured, required)


def alive(statistics: Collection[FileSystem], spaces: Collection[Space], path: str) -> Verdict:
    """The filesystem answers; a dead one says so. Options still read rw after a shutdown and prove nothing."""
    required = say("stat -f and df answer without error")
    errors = [error for error in (*(one.error for one in statistics), *(one.error for one in spaces)) if error]
    if errors:
        return Verdict.of(False, errors[0], required, note=say("the filesystem has shut down or lost its device"))
    if _row(spaces, path) is None:
        return Verdict.undecided(_NOT_MOUNTED, required)
    return Verdict.of(True, say("{type} answers", type=_type(statistics, path) or say("the filesystem")), required)


def _type(statistics: Collection[FileSystem], path: str) -> str | None:
    return next((one.type for one in statistics if one.path == path), None)


def _row(spaces: Collection[Space], path: str) -> Space | None:
    found = [one for one in spaces if one.target == path]
    return found[0] if len(found) == 1 else None


def _share(what: Phrase, part: int | None, total: int | None, least: float) -> Verdict:
    if part is None or not total or not 0 <= part <= total:
        return Verdict.undecided(say("{what} is not given", what=what), say("at least {least} %", least=least))
    return at_least(what, round(part * 100 / total, 1), least, "%")


def large_enough(spaces: Collection[Space], path: str, ordered: int, share: float) -> Verdict:
    """The filesystem has at least ``share`` percent of the ordered bytes."""
    required = say("at least {share} % (ordered: {size})", share=share, size=show_bytes(ordered))
    row = _row(spaces, path)
    if row is None or row.size is None:
        return Verdict.undecided(
            _NOT_MOUNTED if row is None and not _dead(spaces) else say("df got no answer"), required
        )
    quantities = (Quantity("size", row.size, "B"),)
    return Verdict.of(row.size * 100 >= ordered * share, show_bytes(row.size), required, "B", quantities=quantities)


def _dead(spaces: Collection[Space]) -> bool:
    return any(one.error for one in spaces)


def space_free(spaces: Collection[Space], path: str, least: float) -> Verdict:
    """At least ``least`` percent of the bytes are free."""
    row = _row(spaces, path)
    if row is None:
        return Verdict.undecided(say("df got no answer") if _dead(spaces) else _NOT_MOUNTED)
    return _share(say("free space"), row.available, row.size, least)


def inodes_free(spaces: Collection[Space], path: str, least: float) -> Verdict:
    """At least ``least`` percent of the inodes are free."""
    row = _row(spaces, path)
    if row is None:
        return Verdict.undecided(say("df got no answer") if _dead(spaces) else _NOT_MOUNTED)
    return _share(say("free inodes"), row.inodes_free, row.inodes, least)
