"""When a host is set up as agreed: IOMMU, NUMA, clock governor, limits of the service, kernel settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from checks.lexing import count_cpus
from checks.parsers.proc_limits import Limits, ServiceLimits
from checks.parsers.sysctl import Settings
from checks.parsers.sysfs_cpufreq import Governors
from checks.parsers.sysfs_iommu import Iommu
from checks.phrase import Phrase, say
from checks.verdict import Verdict

#: Words of the command line that switch an IOMMU on: with them, no device behind one is no proof that it is off.
_ASKED_FOR = frozenset({"intel_iommu=on", "amd_iommu=on", "iommu=force", "iommu=on", "iommu.passthrough=0"})


def iommu_passes_through(found: Iommu, bdfs: Collection[str]) -> Verdict:
    """The IOMMU is off, or passes the addresses of the storage devices through (``iommu=pt``)."""
    required = say("off, or identity for every storage device")
    if not found.domains and (asked := sorted(_ASKED_FOR & set(found.cmdline.split()))):
        note = say("the kernel was asked for an IOMMU ({words}) and shows no device behind it", words=" ".join(asked))
        return Verdict.undecided(note, required)
    if not found.domains:
        return Verdict.of(True, say("off: no device is behind an IOMMU"), required)
    types = {domain.bdf: domain.type for domain in found.domains}
    known = {bdf: types[bdf] for bdf in bdfs if bdf in types}
    if not known:
        return Verdict.undecided(
            say("none of the storage devices of the inventory has a driver and an IOMMU group"), required
        )
    silent = [bdf for bdf in bdfs if bdf not in types]
    translated = [f"{bdf} {kind}" for bdf, kind in known.items() if kind != "identity"]
    measured = ", ".join(translated) if translated else say("identity for {count} devices", count=len(known))
    if silent and not translated:
        note = say("{device} has no driver or no IOMMU group, so nothing is known of it", device=silent[0])
        return Verdict.undecided(note, required, measured)
    return Verdict.of(not translated, measured, required)


def numa_balancing_as_agreed(settings: Settings, on: bool) -> Verdict:
    """Automatic NUMA balancing is on or off as agreed."""
    value = settings.get("kernel.numa_balancing")
    required = say("on") if on else say("off")
    if value is None or not value.isdecimal():
        return Verdict.undecided(say("the kernel does not answer kernel.numa_balancing"), required)
    return Verdict.of((value != "0") is on, value, required)


def governed_by(found: Governors, wanted: str) -> Verdict:
    """Every online CPU has the governor wanted; ``firmware`` is agreed where the firmware keeps the clocks."""
    if wanted == "firmware":
        return Verdict.of(not found.governors, found.governors[0][1] if found.governors else wanted, wanted)
    if not found.governors:
        note = say("no CPU has a governor: the firmware keeps the clocks; ask its power profile (BIOS, BMC)")
        return Verdict.not_offered(note, wanted)
    others = [f"{cpu} {governor}" for cpu, governor in found.governors if governor != wanted]
    if not others and len(found.governors) < count_cpus(found.online):
        note = say(
            "{known} of {online} CPUs tell their governor", known=len(found.governors), online=count_cpus(found.online)
        )
        return Verdict.undecided(note, wanted)
    measured = say("CPUs that differ: {count}, first {cpu}", count=len(others), cpu=others[0]) if others else wanted
    return Verdict.of(not others, measured, wanted)


def service_may(found: ServiceLimits, memlock: int | str, nofile: int) -> Verdict:
    """The service may lock ``memlock`` bytes and open ``nofile`` files: its process if it runs, else its unit."""
    required = say("locked memory {memlock}, open files at least {nofile}", memlock=memlock, nofile=nofile)
    if found.load == "not-found":
        return Verdict.of(False, say("the unit does not exist"), required)
    if found.load != "loaded":
        return Verdict.undecided(say("the unit cannot be loaded: {state}", state=found.load), required)
    limits = found.running or found.unit
    if limits is None:
        return Verdict.undecided(say("neither the process nor the unit tells its limits"), required)
    holds = _may(limits.memlock, memlock) and _may(limits.nofile, nofile)
    note = None if found.running else say("the service does not run: judged by its unit")
    return Verdict.of(holds, _limits(limits), required, note=note)


def _may(found: int | str, wanted: int | str) -> bool:
    if isinstance(found, str):
        return True  # unlimited
    return not isinstance(wanted, str) and found >= wanted


def _limits(limits: Limits) -> Phrase:
    return say("locked memory {memlock}, open files {nofile}", memlock=limits.memlock, nofile=limits.nofile)


def settings_equal(found: Settings, ordered: Mapping[str, str]) -> Verdict:
    """Every setting of the agreed list has the agreed value."""
    if not ordered:
        return Verdict.undecided(say("the inventory agrees no {what}: nothing to compare with", what="system.sysctl"))
    required = say("{count} settings as agreed", count=len(ordered))
    values = {name: found.get(name) for name in ordered}
    wrong = [
        f"{name} = {value}"
        for name, value in values.items()
        if value is not None and value != " ".join(ordered[name].split())
    ]
    if wrong:
        return Verdict.of(False, ", ".join(wrong), required)
    if unknown := [name for name, value in values.items() if value is None]:
        return Verdict.undecided(say("the kernel does not answer {name}", name=unknown[0]), required)
    return Verdict.of(True, say("all equal"), required)
