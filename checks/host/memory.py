"""When the memory of a host is as ordered: size, modules, speed, errors, huge pages."""

from __future__ import annotations

from checks import bounds
from checks.parsers.dmidecode import Firmware
from checks.parsers.meminfo import Memory
from checks.parsers.sysfs_edac import MemoryErrors
from checks.phrase import Phrase, say
from checks.probe import Interval
from checks.verdict import Quantity, Verdict


def memory_ordered(memory: Memory, firmware: Firmware, ordered: int, usable: float) -> Verdict:
    """The modules add up to the bytes ordered and the kernel can use at least the share ``usable`` of them."""
    required = say("{size} in modules, usable at least {share:g} %", size=_gib(ordered), share=usable * 100)
    sizes = [module.size_kib for module in firmware.modules]
    if not sizes or None in sizes:
        return Verdict.undecided(say("the firmware's tables do not give the size of every memory module"), required)
    plugged = sum(size for size in sizes if size is not None) * 1024
    seen = memory.total_kib * 1024
    measured = say("{size} in modules, {seen} usable", size=_gib(plugged), seen=_gib(seen))
    quantities = (Quantity("memory in modules", plugged, "B"), Quantity("memory usable", seen, "B"))
    return Verdict.of(plugged == ordered and seen >= usable * ordered, measured, required, "B", quantities=quantities)


def modules_ordered(firmware: Firmware, ordered: int) -> Verdict:
    """As many memory modules are plugged in as were ordered."""
    if firmware.slots == 0:
        return Verdict.not_offered(say("the firmware's tables list no memory slots"), required=str(ordered))
    return bounds.exactly(say("memory modules"), len(firmware.modules), ordered)


def modules_at_speed(firmware: Firmware, ordered: int) -> Verdict:
    """Every memory module runs at the speed ordered, which it is rated for; MT/s."""
    required = say("every module at {speed} MT/s", speed=ordered)
    if not firmware.modules:
        return Verdict.not_offered(say("the firmware's tables list no memory module"), required)
    known = [module for module in firmware.modules if module.configured is not None and module.rated is not None]
    if not known:
        return Verdict.not_offered(say("the firmware tells the speed of no memory module"), required)
    slow = [module for module in known if module.configured != ordered or (module.rated or 0) < ordered]
    if not slow and len(known) < len(firmware.modules):
        silent = next(module.locator for module in firmware.modules if module not in known)
        return Verdict.undecided(say("the firmware does not tell the speed of {module}", module=silent), required)
    lowest = min(module.configured for module in known if module.configured is not None)
    note: Phrase | None = None
    if slow:
        note = say(
            "{count} of {total} differ; {module} is rated for {rated} and runs at {speed} MT/s",
            count=len(slow), total=len(firmware.modules), module=slow[0].locator, rated=slow[0].rated or 0,
            speed=slow[0].configured or 0,
        )  # fmt: skip
    measured = say("slowest {speed} MT/s", speed=lowest)
    return Verdict.of(not slow, measured, required, "MT/s", note, (Quantity("memory speed", lowest, "MT/s"),))


def no_uncorrected_memory_errors(errors: MemoryErrors, allowed: int) -> Verdict:
    """No memory controller has counted an uncorrected error since boot."""
    if not errors.controllers:
        return Verdict.not_offered(_no_edac(), say("at most {limit}", limit=allowed))
    return bounds.at_most(say("uncorrected memory errors"), sum(mc.uncorrected for mc in errors.controllers), allowed)


def few_corrected_memory_errors(errors: MemoryErrors, allowed: int) -> Verdict:
    """No memory controller has corrected more than ``allowed`` errors since boot."""
    if not errors.controllers:
        return Verdict.not_offered(_no_edac(), say("at most {limit}", limit=allowed))
    worst = max(errors.controllers, key=lambda mc: mc.corrected)
    note = say("most of them at {controller}", controller=worst.name) if worst.corrected else None
    return bounds.at_most("corrected memory errors", worst.corrected, allowed, note=note)


def no_new_corrected_memory_errors(watched: Interval[MemoryErrors], allowed: int) -> Verdict:
    """No more than ``allowed`` corrected errors came up between two readings of one boot."""
    required = say("at most {limit} new", limit=allowed)
    before, after = watched.before, watched.after
    if not before.controllers and not after.controllers:
        return Verdict.not_offered(_no_edac(), required)
    if before.boot_id != after.boot_id:
        return Verdict.undecided(say("the host was booted between the two readings"), required)
    first = {mc.name: mc.corrected for mc in before.controllers}
    last = {mc.name: mc.corrected for mc in after.controllers}
    if first.keys() != last.keys() or any(last[name] < first[name] for name in first):
        return Verdict.undecided(say("the counts went backwards: the driver was loaded anew"), required)
    new = sum(last.values()) - sum(first.values())
    verdict = bounds.at_most(say("new corrected memory errors"), new, allowed)
    seconds, total = f"{watched.seconds:.0f}", sum(last.values())
    return verdict.with_note(say("watched for {seconds} s; {total} since boot", seconds=seconds, total=total))


def _no_edac() -> Phrase:
    return say(
        "no memory controller is counted: load the EDAC driver of this platform (amd64_edac, skx_edac, i10nm_edac)"
    )


def hugepages_reserved(memory: Memory, ordered: int) -> Verdict:
    """As many default huge pages are reserved as were agreed."""
    return bounds.exactly(say("huge pages"), memory.hugepages, ordered)


def _gib(size: int) -> str:
    return f"{size / 2**30:.6g} GiB"
