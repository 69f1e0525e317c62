"""When an md array is the one ordered and whole. RAID0 hides a lost member well: three sources must agree."""

from __future__ import annotations

import re
from collections.abc import Collection

from checks.bounds import exactly, one_of, same_text
from checks.nvme.facts import disk
from checks.parsers.mdadm_detail import MdDetail
from checks.parsers.mdstat import MdstatArray
from checks.parsers.sysfs_md import MdArray, MdArrays
from checks.parsers.sysfs_nvme import NvmeTree
from checks.phrase import Phrase, joined, say
from checks.verdict import Verdict

#: Words of md/array_state, Documentation/admin-guide/md.rst of the kernel.
_RUNNING = ("clean", "active", "active-idle", "write-pending", "read-auto")
_NOT_RUNNING = ("clear", "inactive", "suspended", "readonly", "broken")
#: Words behind State of mdadm that mean an array which is not whole; a check (checking) is no fault.
_NOT_WELL = frozenset(
    {"degraded", "FAILED", "broken", "inactive", "Not Started", "recovering", "resyncing", "reshaping"}
)
_ABSENT = say("there is no such md array today, so there is nothing to look at: mend G1.5.1 first")


def running(arrays: MdArrays, name: str) -> Verdict:
    """The kernel runs the array."""
    array = arrays.array(name)
    if array is None:
        there = ", ".join(one.name for one in arrays.arrays) or say("none")
        return Verdict.of(False, say("no array {name}; there: {there}", name=name, there=there), " / ".join(_RUNNING))
    return one_of(say("array_state"), array.state, _RUNNING, _NOT_RUNNING)


def level(arrays: MdArrays, name: str, ordered: str) -> Verdict:
    """The array has the level ordered."""
    array = arrays.array(name)
    return Verdict.undecided(_ABSENT, ordered) if array is None else same_text(say("RAID level"), array.level, ordered)


def whole(arrays: MdArrays, name: str, ordered: int) -> Verdict:
    """The array was made of the ordered number of members and each of them is in sync."""
    array = arrays.array(name)
    required = say("{ordered} members, each in_sync, none degraded", ordered=ordered)
    if array is None:
        return Verdict.undecided(_ABSENT, required)
    if array.raid_disks is None:
        return Verdict.undecided(say("the kernel gives no number of members"), required)
    bad = [f"{one.device}: {','.join(one.states)}" for one in array.members if not _in_sync(one.states)]
    measured = say("made of {made}, present {present}", made=array.raid_disks, present=len(array.members))
    if bad:
        measured = joined([measured, say("not in sync: {bad}", bad="; ".join(bad))])
    slots = {one.slot for one in array.members}
    holds = (
        array.raid_disks == ordered
        and len(array.members) == ordered
        and slots == set(range(ordered))
        and not bad
        and not array.degraded
    )
    if holds and array.state in ("broken", "inactive", "clear"):
        # RAID0 keeps its members in_sync in sysfs when they are gone: what they say is of before.
        note = say(
            "the array is {state}: what its members say is of before; see the clause on its state", state=array.state
        )
        return Verdict.undecided(note, required, measured)
    return Verdict.of(holds, measured, required)


def _in_sync(states: Collection[str]) -> bool:
    return "in_sync" in states and "faulty" not in states


def chunk(arrays: MdArrays, name: str, ordered: int) -> Verdict:
    """The chunk has the size ordered, in bytes."""
    array = arrays.array(name)
    if array is None:
        return Verdict.undecided(_ABSENT)
    return exactly(say("chunk"), array.chunk_bytes, ordered, "B")


def ordered_disks(arrays: MdArrays, name: str, tree: NvmeTree, serials: Collection[str]) -> Verdict:
    """The members are the ordered disks, whole or by one partition each, and no other."""
    array = arrays.array(name)
    required = say("members are {serials}", serials=", ".join(sorted(serials)))
    if array is None:
        return Verdict.undecided(_ABSENT, required)
    if not serials:
        return Verdict.undecided(say("the inventory orders no disk of role member"), required)
    owner: dict[str, str] = {}
    for serial in serials:
        controller = disk(tree, serial)
        if not isinstance(controller, Phrase):
            owner |= {one.name: serial for one in tree.namespaces(controller)}
    there = [_owner(one.device, owner) for one in array.members]
    strange = [one.device for one, serial in zip(array.members, there, strict=True) if serial is None]
    known = sorted(serial for serial in there if serial is not None)
    missing = sorted(set(serials) - set(known))
    parts = [say("of the ordered disks: {serials}", serials=", ".join(known) or "-")]
    parts += [say("other members: {names}", names=", ".join(strange))] if strange else []
    parts += [say("missing: {words}", words=", ".join(missing))] if missing else []
    measured = joined(parts)
    return Verdict.of(not strange and not missing and len(known) == len(set(known)), measured, required)


def _owner(device: str, owner: dict[str, str]) -> str | None:
    return owner.get(device) or owner.get(re.sub(r"p\d+$", "", device))


def sources_agree(arrays: MdArrays, name: str, stat: Collection[MdstatArray], detail: MdDetail) -> Verdict:
    """sysfs, /proc/mdstat and mdadm say the same of the array, and none of them says that it is not well."""
    array = arrays.array(name)
    line = next((one for one in stat if one.name == name), None)
    required = say("sysfs, mdstat and mdadm agree that the array runs with all members")
    if array is None and line is None and not detail.present:
        return Verdict.of(False, say("all three: no array {name}", name=name), required)
    complaints = _complaints(array, line, detail)
    measured = say(
        "sysfs {sysfs}, mdstat {mdstat}, mdadm {mdadm}",
        sysfs=array.state if array else say("absent"),
        mdstat=line.state if line else say("absent"),
        mdadm=", ".join(detail.states) if detail.present else say("absent"),
    )
    note = joined(complaints) if complaints else None
    return Verdict.of(not complaints, measured, required, note=note)


def _complaints(array: MdArray | None, line: MdstatArray | None, detail: MdDetail) -> list[Phrase]:
    if array is None or line is None or not detail.present:
        return [say("one of the three does not know the array")]
    found: list[Phrase] = []
    if line.state != "active":
        found.append(say("mdstat says {state}", state=line.state))
    found += [
        say("mdstat marks {device} {flags}", device=one.device, flags="".join(one.flags))
        for one in line.members
        if {"F", "S"} & set(one.flags)
    ]
    if line.wanted is not None and line.working is not None and line.wanted != line.working:
        found.append(say("mdstat counts {working} of {wanted} members", working=line.working, wanted=line.wanted))
    # a state may carry a remark: resyncing (DELAYED)
    if bad := sorted(state for state in detail.states if state.partition(" (")[0] in _NOT_WELL):
        found.append(say("mdadm says {states}", states=", ".join(bad)))
    if detail.failed_devices:
        found.append(say("mdadm counts {count} failed devices", count=detail.failed_devices))
    if None in (detail.raid_devices, detail.active_devices) or detail.raid_devices != detail.active_devices:
        counts = {"active": str(detail.active_devices or "?"), "all": str(detail.raid_devices or "?")}
        found.append(say("mdadm counts {active} active of {all}", **counts))
    rows = {one.device.rsplit("/", 1)[-1] for one in detail.members if one.device}
    if not {one.device for one in array.members} == {one.device for one in line.members} == rows:
        found.append(say("they list different members"))
    if len({array.level, line.level, detail.level}) != 1:
        found.append(
            say(
                "levels differ: sysfs {sysfs}, mdstat {mdstat}, mdadm {mdadm}",
                sysfs=array.level or "?",
                mdstat=line.level or "?",
                mdadm=detail.level or "?",
            )
        )
    return found


def risk_named(arrays: MdArrays, name: str) -> Verdict:
    """Say what the loss of one disk means for this level; a sentence for the report, not a measurement."""
    array = arrays.array(name)
    required = say("the report names what one disk fault costs")
    if array is None or array.level is None:
        return Verdict.undecided(_ABSENT, required)
    if array.level == "raid0":
        note = say(
            "RAID0 has no redundancy: the fault of one disk loses the whole array. It may hold nothing but cache."
        )
    else:
        note = say("{level} survives the fault of one disk.", level=array.level)
    return Verdict.of(True, array.level, required, note=note)
