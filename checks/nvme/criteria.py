"""When a disk is the one that was ordered, is healthy and holds nothing unexpected. PCI Express is judged in checks.pcie."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from checks import physical
from checks.bounds import at_least, at_most, exactly, same_text
from checks.nvme.facts import disk, size_bytes
from checks.nvme.health import KELVIN, Health
from checks.parsers.findmnt import Mounted
from checks.parsers.lsblk import Block
from checks.parsers.nvme_id_ctrl import IdCtrl
from checks.parsers.nvme_id_ns import IdNs
from checks.parsers.nvme_self_test_log import SelfTestLog
from checks.parsers.sysfs_nvme import NvmeTree
from checks.parsers.wipefs import Signature
from checks.phrase import Phrase, joined, listed, say
from checks.units import show_bytes
from checks.verdict import Quantity, Verdict, worst

#: Bits of the critical warning byte, NVMe base specification.
_WARNINGS = (
    say("spare below its threshold"), say("temperature out of range"), say("reliability degraded"),
    say("media read-only"), say("volatile memory backup failed"), say("persistent memory region unreliable"),
)  # fmt: skip
_TABLES = frozenset({"gpt", "PMBR", "dos"})


def present(tree: NvmeTree, serial: str) -> Verdict:
    """A local controller carries the serial and is live."""
    required = say("a live PCI Express controller with serial {serial}", serial=serial)
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        carriers = sum(one.serial == serial.strip() for one in tree.local)
        if carriers > 1:
            return Verdict.undecided(found, required)
        there = ", ".join(sorted(one.serial or "?" for one in tree.local)) or say("none")
        return Verdict.of(False, say("not there; local serials: {there}", there=there), required, note=found)
    if found.state not in ("live", "dead", "new", "resetting", "connecting", "deleting", "deleting (no IO)"):
        return Verdict.undecided(
            say("controller state {state} is not known", state=found.state), required, measured=found.state
        )
    measured = say("{name} at {address}, {state}", name=found.name, address=found.address or "?", state=found.state)
    return Verdict.of(found.state == "live", measured, required)


def nothing_unordered(tree: NvmeTree, ordered: Collection[str]) -> Verdict:
    """The host has exactly the local disks that were ordered."""
    required = say("no local disk but the {count} ordered", count=len(ordered))
    if any(one.serial is None for one in tree.local):
        return Verdict.undecided(say("a local controller gives no serial"), required)
    if not ordered and not tree.controllers and tree.multipath is None:
        return Verdict.undecided(say("the NVMe driver is not loaded: nobody looked for local disks"), required)
    there = [one.serial for one in tree.local if one.serial is not None]
    extra = sorted(set(there) - set(ordered))
    missing = sorted(set(ordered) - set(there))
    parts = [say("local disks: {count}", count=len(there))]
    parts += [say("not ordered: {serials}", serials=", ".join(extra))] if extra else []
    parts += [say("missing: {words}", words=", ".join(missing))] if missing else []
    measured = joined(parts)
    return Verdict.of(not extra and not missing and len(there) == len(ordered), measured, required)


def model(tree: NvmeTree, serial: str, ordered: str) -> Verdict:
    """The disk is of the model ordered."""
    found = disk(tree, serial)
    return (
        Verdict.undecided(found, ordered)
        if isinstance(found, Phrase)
        else same_text(say("model"), found.model, ordered)
    )


def firmware(tree: NvmeTree, serial: str, ordered: str) -> Verdict:
    """The disk runs the firmware agreed."""
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        return Verdict.undecided(found, ordered)
    return same_text(say("firmware"), found.firmware, ordered)


def slot(tree: NvmeTree, serial: str, ordered: str) -> Verdict:
    """The disk sits at the PCI address ordered."""
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        return Verdict.undecided(found, ordered)
    return same_text(say("PCI address"), found.address, ordered)


def capacity(tree: NvmeTree, serial: str, ordered: int, tolerance: float) -> Verdict:
    """All namespaces together have the size ordered, in bytes, within ``tolerance`` percent."""
    required = say("{size} within {tolerance} %", size=show_bytes(ordered), tolerance=tolerance)
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        return Verdict.undecided(found, required)
    if not tree.namespaces(found):
        return Verdict.of(False, say("the disk has no namespace"), required)
    size = size_bytes(tree, found)
    if size is None:
        return Verdict.undecided(say("the kernel gives no size for a namespace of {name}", name=found.name), required)
    measured = say("{size} ({bytes} bytes)", size=show_bytes(size), bytes=size)
    holds = abs(size - ordered) * 100 <= tolerance * ordered
    return Verdict.of(holds, measured, required, "B", quantities=(Quantity("capacity", size, "B"),))


def wholly_allocated(identity: IdCtrl, allowed: int) -> Verdict:
    """At most ``allowed`` bytes belong to no namespace; without namespace management nothing can."""
    required = say("at most {allowed} unallocated", allowed=show_bytes(allowed))
    if identity.total_bytes == 0:
        if not identity.manages_namespaces:
            return Verdict.of(True, say("the disk has no namespace management, all of it is one namespace"), required)
        return Verdict.undecided(
            say("the disk manages namespaces and gives no total capacity; see nvme list-ns --all"), required
        )
    return at_most(say("unallocated capacity"), identity.unallocated_bytes, allowed, "B")


def block_size(tree: NvmeTree, serial: str, form: IdNs, ordered: int) -> Verdict:
    """Logical blocks have the size ordered, in bytes, and carry no metadata. ``form`` is that of the first namespace.

    A disk is one namespace here: others beside it were not asked, and one of them may be formatted otherwise.
    """
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        return Verdict.undecided(found, str(ordered))
    if len(tree.namespaces(found)) > 1:
        names = ", ".join(one.name for one in tree.namespaces(found))
        return Verdict.undecided(
            say("the disk is cut into {names}: only the first was asked", names=names), str(ordered)
        )
    if form.metadata_bytes:
        measured = say("{bytes} B with {extra} B of metadata", bytes=form.block_bytes, extra=form.metadata_bytes)
        return Verdict.of(False, measured, say("{bytes} B without metadata", bytes=ordered), "B")
    return exactly(say("logical block"), form.block_bytes, ordered, "B")


def no_warning(health: Health) -> Verdict:
    """No critical warning bit is set."""
    bits = [name for bit, name in enumerate(_WARNINGS) if health.critical_warning >> bit & 1]
    words = listed(bits) if bits else say("none") if health.critical_warning == 0 else say("reserved bits")
    measured = say("0x{value:02x} ({words})", value=health.critical_warning, words=words)
    return Verdict.of(health.critical_warning == 0, measured, "0x00")


def no_media_errors(health: Health, allowed: int) -> Verdict:
    """The disk has lost no data; what the drive calls PASSED does not count."""
    return at_most(say("media errors"), physical.count(health.media_errors), allowed, "errors")


def spare_whole(health: Health, least: float) -> Verdict:
    """Spare blocks are (nearly) all there, in percent."""
    return at_least(say("available spare"), physical.percent(health.available_spare), least, "%")


def spare_above_threshold(health: Health) -> Verdict:
    """Spare is above the threshold that the disk itself gives, in percent."""
    if None in (physical.percent(health.available_spare), physical.percent(health.spare_threshold)):
        why = say(
            "spare {spare} %, threshold {threshold} %: no shares of a whole",
            spare=health.available_spare,
            threshold=health.spare_threshold,
        )
        return Verdict.undecided(why)
    measured = say("{spare} %", spare=health.available_spare)
    required = say("above the disk's own threshold of {threshold} %", threshold=health.spare_threshold)
    return Verdict.of(health.available_spare > health.spare_threshold, measured, required, "%")


def new(health: Health, capacity: int, used: float, hours: float, writes: float) -> Verdict:
    """The disk is unused: wear in percent, hours powered, bytes written as multiples of its capacity."""
    if capacity <= 0:
        return Verdict.undecided(say("the ordered capacity is not given"))
    powered = physical.hours(health.power_on_hours)
    told = (
        (physical.wear(health.percent_used), used),
        (powered, hours),
        (physical.written(health.written_bytes, powered), writes * capacity),
    )
    measured = say(
        "{used} % worn, {hours} h powered, {written} written",
        used=health.percent_used, hours=health.power_on_hours, written=show_bytes(health.written_bytes),
    )  # fmt: skip
    required = say(
        "at most {used} % worn, {hours} h, {writes} x capacity written", used=used, hours=hours, writes=writes
    )
    quantities = (
        Quantity("percent used", health.percent_used, "%"),
        Quantity("power on hours", health.power_on_hours, "h"),
        Quantity("written", health.written_bytes, "B"),
    )
    holds = all(value is not None and value <= most for value, most in told)
    if not any(value is not None and value > most for value, most in told) and not holds:
        why = say("wear, hours or bytes written are more than can be: the firmware counts in other units")
        return Verdict.undecided(why, required, measured)
    return Verdict.of(holds, measured, required, quantities=quantities)


def cool(health: Health, identity: IdCtrl, margin: float, assumed: float) -> Verdict:
    """At idle the disk is more than ``margin`` K below its own warning limit; ``assumed`` Celsius if it gives none."""
    warning = assumed if identity.warning_kelvin is None else identity.warning_kelvin - KELVIN
    limit = warning - margin
    required = say("below {limit} °C ({margin} K under {warning} °C)", limit=limit, margin=margin, warning=warning)
    if health.celsius is None:
        return Verdict.undecided(say("the disk gives no temperature"), required)
    measured = say("{celsius} °C", celsius=health.celsius)
    if physical.celsius(health.celsius) is None or physical.celsius(warning) is None:
        why = say(
            "{celsius} °C, warning at {warning} °C: no temperatures of a disk", celsius=health.celsius, warning=warning
        )
        return Verdict.undecided(why, required, measured)
    return Verdict.of(
        health.celsius < limit, measured, required, "°C", quantities=(Quantity("temperature", health.celsius, "°C"),)
    )


def few_unsafe_shutdowns(health: Health, most: float) -> Verdict:
    """Power was rarely cut while the disk was in use."""
    return at_most(say("unsafe shutdowns"), physical.count(health.unsafe_shutdowns), most, "shutdowns")


def self_test_passed(log: SelfTestLog) -> Verdict:
    """The newest of the disk's own tests ended without error."""
    required = say("newest self-test completed without error")
    if log.running:
        return Verdict.undecided(say("a self-test is running ({done} %)", done=log.percent_done), required)
    if not log.results:
        return Verdict.undecided(say("no self-test was ever run: nvme device-self-test -s 1"), required)
    newest = log.results[0]
    measured = say(
        "result {result} of test {code} at {hours} h",
        result=newest.result,
        code=newest.code,
        hours=newest.power_on_hours,
    )
    if newest.result in (1, 2, 3, 4, 8, 9):
        return Verdict.undecided(
            say("the newest self-test was aborted (result {result}): run it again", result=newest.result),
            required,
            measured,
        )
    return Verdict.of(newest.result == 0, measured, required)


def no_leftover(
    tree: NvmeTree,
    serial: str,
    signatures: Collection[Signature],
    blocks: Collection[Block],
    mounted: Collection[Mounted],
    expected: Collection[str],
    mounts: Collection[str],
) -> Verdict:
    """On the disk stands nothing but the ``expected`` signature types, mounted nowhere but at the ordered ``mounts``."""
    required = say(
        "only {types}, mounted only at {mounts}",
        types=", ".join(sorted(expected)) or say("nothing"),
        mounts=", ".join(sorted(mounts)),
    )
    if not mounts:
        required = say("only {types}, mounted nowhere", types=", ".join(sorted(expected)) or say("nothing"))
    found = disk(tree, serial)
    if isinstance(found, Phrase):
        return Verdict.undecided(found, required)
    names = [one.name for one in tree.namespaces(found)]
    table = {one.name: one for one in blocks}
    if not names or any(name not in table for name in names):
        return Verdict.undecided(say("lsblk does not list the namespaces of {name}", name=found.name), required)
    points: dict[str, set[str]] = {one.name: set(one.mountpoints) for one in blocks}
    for one in mounted:
        points.setdefault(one.source.rsplit("/", 1)[-1], set()).add(one.target)
    return worst([_clean(name, table, points, signatures, expected, mounts, required) for name in names])


def _clean(
    name: str,
    table: dict[str, Block],
    points: Mapping[str, Collection[str]],
    signatures: Collection[Signature],
    expected: Collection[str],
    mounts: Collection[str],
    required: Phrase,
) -> Verdict:
    parts = [table[child] for child in table[name].children if table[child].type == "part"]
    standing = {one.type for one in signatures if one.device.removeprefix("/dev/") == name}
    standing |= {one.filesystem for one in (table[name], *parts) if one.filesystem}
    strange = standing - set(expected) - (_TABLES if parts else set())
    elsewhere = {point for one in _below(name, table) for point in points[one.name]} - set(mounts)
    mounted = [say("mounted at {path}", path=point) for point in sorted(elsewhere)]
    seen: list[Phrase | str] = [*sorted(standing), *mounted]
    wrong: list[Phrase | str] = [*sorted(strange), *mounted]
    measured = say("{name}: {standing}", name=name, standing=listed(seen) if seen else say("nothing"))
    note = say("not expected: {words}", words=listed(wrong)) if wrong else None
    return Verdict.of(not wrong, measured, required, note=note)


def _below(name: str, table: dict[str, Block]) -> list[Block]:
    seen: dict[str, Block] = {}
    todo = [name]
    while todo:
        one = todo.pop()
        if one in table and one not in seen:
            seen[one] = table[one]
            todo.extend(table[one].children)
    return list(seen.values())


def same_disk(name: str, device: str) -> bool:
    """Whether ``device`` (``/dev/nvme0n1p1``) is the namespace ``name`` or a partition of it."""
    return re.fullmatch(rf"(?:/dev/)?{re.escape(name)}(?:p\d+)?", device, re.ASCII) is not None
