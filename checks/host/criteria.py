"""When a host is what was ordered: processors, memory, firmware, kernel, settings, clock, room for logs. The log has its own file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from checks import bounds
from checks.host.facts import Spread, count_cpus
from checks.parsers.chronyc_sources import Sources
from checks.parsers.chronyc_tracking import Tracking
from checks.parsers.cmdline import CommandLine
from checks.parsers.dmidecode import Firmware
from checks.parsers.ipmitool_sdr import Sensors
from checks.parsers.journal_files import JournalFiles
from checks.parsers.lscpu import Processors
from checks.parsers.meminfo import Memory
from checks.parsers.proc_limits import Limits, ServiceLimits
from checks.parsers.stat_f import Spaces
from checks.parsers.sysctl import Settings
from checks.parsers.sysfs_cpufreq import Governors
from checks.parsers.sysfs_edac import MemoryErrors
from checks.parsers.sysfs_iommu import Iommu
from checks.parsers.sysfs_module import DriverModules
from checks.parsers.timedatectl import TimeDate
from checks.phrase import Phrase, say
from checks.probe import Interval
from checks.units import show_bytes
from checks.verdict import Quantity, Verdict, worst

_SYNCHRONISED = frozenset({"Normal", "Insert second", "Delete second", "normal"})
_FAILING = ("fail", "lost", "non-redundant", "not redundant", "insufficient", "error", "out of range", "absent")


def host_key_pinned(presented: str | None, pinned: str) -> Verdict:
    """The host presents the key that the inventory pins."""
    return bounds.same_text("host key", presented, pinned)


def kernel_ordered(release: str, ordered: str) -> Verdict:
    """The kernel that runs is the one ordered, to the last word of its release."""
    return bounds.same_text("kernel release", release, ordered)


def processors_ordered(found: Processors, model: str, sockets: int, cores: int) -> Verdict:
    """Model, sockets and physical cores of all sockets are those ordered."""
    required = say("{model}, {sockets} sockets, {cores} cores", model=model, sockets=sockets, cores=cores)
    if found.model is None or found.sockets is None or found.cores_per_socket is None:
        return Verdict.undecided(say("lscpu does not tell model, sockets and cores of this machine"), required)
    total = found.sockets * found.cores_per_socket
    holds = (" ".join(found.model.split()), found.sockets, total) == (" ".join(model.split()), sockets, cores)
    measured = say("{model}, {sockets} sockets, {cores} cores", model=found.model, sockets=found.sockets, cores=total)
    return Verdict.of(holds, measured, required, quantities=(Quantity("cores", total, ""),))


def memory_ordered(memory: Memory, firmware: Firmware, ordered: int, usable: float) -> Verdict:
    """The modules add up to the bytes ordered and the kernel can use at least the share ``usable`` of them."""
    required = say("{size} in modules, at least {share} % usable", size=_gib(ordered), share=f"{usable * 100:g}")
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
        return Verdict.undecided(say("the firmware's tables list no memory slots"), required=str(ordered))
    return bounds.exactly("memory modules", len(firmware.modules), ordered)


def modules_at_speed(firmware: Firmware, ordered: int) -> Verdict:
    """Every memory module runs at the speed ordered, which it is rated for; MT/s."""
    required = say("every module at {speed} MT/s", speed=ordered)
    if not firmware.modules:
        return Verdict.undecided(say("the firmware's tables list no memory module"), required)
    if unknown := [module.locator for module in firmware.modules if module.configured is None or module.rated is None]:
        return Verdict.undecided(say("the firmware does not tell the speed of {module}", module=unknown[0]), required)
    slow = [module for module in firmware.modules if module.configured != ordered or (module.rated or 0) < ordered]
    lowest = min(module.configured for module in firmware.modules if module.configured is not None)
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
    return bounds.at_most("uncorrected memory errors", sum(mc.uncorrected for mc in errors.controllers), allowed)


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
    verdict = bounds.at_most("new corrected memory errors", new, allowed)
    seconds, total = f"{watched.seconds:.0f}", sum(last.values())
    return verdict.with_note(say("watched for {seconds} s; {total} since boot", seconds=seconds, total=total))


def _no_edac() -> Phrase:
    return say(
        "no memory controller is counted: load the EDAC driver of this platform (amd64_edac, skx_edac, i10nm_edac)"
    )


def firmware_ordered(firmware: Firmware, ordered: str) -> Verdict:
    """The firmware's version is the one ordered."""
    return bounds.same_text("firmware version", firmware.version, ordered)


def booted_with(found: CommandLine, ordered: Sequence[str]) -> Verdict:
    """Every word that was agreed stands on the kernel's command line."""
    missing = [word for word in ordered if word not in found.words]
    measured = say("missing: {words}", words=" ".join(missing)) if missing else say("all there")
    return Verdict.of(not missing, measured, " ".join(ordered) or say("nothing agreed"))


def iommu_passes_through(found: Iommu, bdfs: Collection[str]) -> Verdict:
    """The IOMMU is off, or passes the addresses of the storage devices through (``iommu=pt``)."""
    required = say("off, or identity for every storage device")
    if not found.domains:
        return Verdict.of(True, say("off: no device is behind an IOMMU"), required)
    types = {domain.bdf: domain.type for domain in found.domains}
    known = {bdf: types[bdf] for bdf in bdfs if bdf in types}
    if not known:
        return Verdict.undecided(
            say("none of the storage devices of the inventory has a driver and an IOMMU group"), required
        )
    translated = [f"{bdf} {kind}" for bdf, kind in known.items() if kind != "identity"]
    measured = ", ".join(translated) if translated else say("identity for {count} devices", count=len(known))
    return Verdict.of(not translated, measured, required)


def numa_balancing_as_agreed(settings: Settings, on: bool) -> Verdict:
    """Automatic NUMA balancing is on or off as agreed."""
    value = settings.get("kernel.numa_balancing")
    required = say("on") if on else say("off")
    if value is None or not value.isdecimal():
        return Verdict.undecided(say("the kernel does not answer kernel.numa_balancing"), required)
    return Verdict.of((value != "0") is on, value, required)


def hugepages_reserved(memory: Memory, ordered: int) -> Verdict:
    """As many default huge pages are reserved as were agreed."""
    return bounds.exactly("huge pages", memory.hugepages, ordered)


def governed_by(found: Governors, wanted: str) -> Verdict:
    """Every online CPU has the governor wanted; ``firmware`` is agreed where the firmware keeps the clocks."""
    if wanted == "firmware":
        return Verdict.of(not found.governors, found.governors[0][1] if found.governors else wanted, wanted)
    if not found.governors:
        note = say("no CPU has a governor: the firmware keeps the clocks; ask its power profile (BIOS, BMC)")
        return Verdict.undecided(note, wanted)
    others = [f"{cpu} {governor}" for cpu, governor in found.governors if governor != wanted]
    if not others and len(found.governors) < count_cpus(found.online):
        note = say(
            "{known} of {online} CPUs tell their governor", known=len(found.governors), online=count_cpus(found.online)
        )
        return Verdict.undecided(note, wanted)
    measured = say("{count} CPUs differ, first {cpu}", count=len(others), cpu=others[0]) if others else wanted
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


def modules_loaded(found: DriverModules, ordered: Mapping[str, str]) -> Verdict:
    """Every driver module agreed is loaded, in the version agreed; a module without one has its kernel's."""
    required = ", ".join(f"{name} {version}" for name, version in ordered.items()) or say("nothing agreed")
    there = {module.name: module for module in found.modules}
    wrong = [say("{name} is not loaded", name=name) for name in ordered if name not in there or not there[name].live]
    for name, version in ordered.items():
        if version != "any" and name in there and (has := there[name].version or found.kernel) != version:
            wrong.append(say("{name} is {version}", name=name, version=has))
    return Verdict.of(not wrong, wrong[0] if wrong else say("all loaded"), required)


def modules_of_one_tree(found: DriverModules, ordered: Collection[str], family: Collection[str]) -> Verdict:
    """The RDMA core and what is built against it come from one tree: all of the kernel, or all of the vendor's package."""
    required = say("all from the kernel or all from one vendor package")
    members = [module for module in found.modules if module.name in family]
    if not members and any(name in family for name in ordered):
        return Verdict.undecided(say("no RDMA module is loaded, so there is nothing to compare"), required)
    if not members:
        return Verdict.of(True, say("no RDMA module is agreed or loaded"), required)
    foreign = [module.name for module in members if module.foreign]
    own = [module.name for module in members if not module.foreign]
    if foreign and own:
        measured = say("vendor: {foreign}; kernel: {own}", foreign=", ".join(foreign), own=", ".join(own))
        return Verdict.of(False, measured, required)
    return Verdict.of(True, say("vendor package") if foreign else say("kernel {kernel}", kernel=found.kernel), required)


def clock_synchronised(found: Tracking | TimeDate, offset_ms: float, stratum: int, dispersion_ms: float) -> Verdict:
    """The time daemon follows a source of at most ``stratum``, within ``offset_ms``, and its estimate is not stale."""
    required = say("synchronised, stratum 1-{stratum}, offset at most {limit} ms", stratum=stratum, limit=offset_ms)
    leap = found.leap
    if isinstance(found, TimeDate) and found.server is None:
        return Verdict.of(False, say("not synchronised: no server answers"), required)
    if leap not in _SYNCHRONISED:
        return Verdict.of(False, say("leap status: {leap}", leap=leap or "-"), required)
    if found.stratum is None or found.offset is None:
        return Verdict.undecided(say("the time daemon does not tell stratum and offset"), required)
    milliseconds = abs(found.offset) * 1000
    shown = f"{milliseconds:.6g}"
    measured = say("stratum {stratum}, offset {offset} ms", stratum=found.stratum, offset=shown)
    holds = 1 <= found.stratum <= stratum and milliseconds <= offset_ms
    note: Phrase | None = None
    if isinstance(found, Tracking) and found.root_dispersion * 1000 > dispersion_ms:
        holds = False
        note = say(
            "root dispersion {found} s, at most {limit} ms: the source has not answered for long",
            found=found.root_dispersion, limit=dispersion_ms,
        )  # fmt: skip
    return Verdict.of(holds, measured, required, "ms", note, (Quantity("clock offset", milliseconds, "ms"),))


def kernel_clock_synchronised(found: TimeDate) -> Verdict:
    """The kernel counts its clock as synchronised, whichever daemon does it."""
    if found.synchronized is None:
        return Verdict.undecided(say("systemd does not tell whether the clock is synchronised"), say("synchronised"))
    return Verdict.of(
        found.synchronized, say("synchronised") if found.synchronized else say("not synchronised"), say("synchronised")
    )


def time_source_answers(found: Sources) -> Verdict:
    """The selected source has answered each of the last eight polls."""
    required = say("a selected source with reach 377")
    selected = [source for source in found.sources if source.state == "*"]
    if not selected:
        return Verdict.of(False, say("{count} sources, none selected", count=len(found.sources)), required)
    measured = say("{source}, reach {reach}", source=selected[0].name, reach=f"{selected[0].reach:o}")
    return Verdict.of(selected[0].reach == 0o377, measured, required)


def clocks_agree(found: Spread, limit_ms: float) -> Verdict:
    """The clocks of all hosts lie within ``limit_ms`` of each other, the uncertainty of the measurement included."""
    least, most = found.least * 1000, found.most * 1000
    required = say("at most {limit} ms apart", limit=f"{limit_ms:g}")
    measured = say("{least} to {most} ms apart", least=f"{least:.1f}", most=f"{most:.1f}")
    if least <= limit_ms < most:
        note = say("the round trip over SSH is too long to tell: ask again from nearer, or on a quiet network")
        return Verdict.undecided(note, required, measured)
    note = say("{ahead} is ahead of {behind}", ahead=found.ahead, behind=found.behind)
    return Verdict.of(most <= limit_ms, measured, required, "ms", note, (Quantity("clock spread", most, "ms"),))


def room_for_logs(found: Spaces, at_least: int) -> Verdict:
    """Root and log filesystem have at least so many bytes free."""
    required = say("at least {limit} free", limit=show_bytes(at_least))
    if not found.paths:
        return Verdict.undecided(say("no filesystem was named"), required)
    tightest = min(found.paths, key=lambda space: space.available * space.block)
    free = tightest.available * tightest.block
    measured = say("{free} free on {path}", free=show_bytes(free), path=tightest.path)
    return Verdict.of(free >= at_least, measured, required, "B", quantities=(Quantity("free for logs", free, "B"),))


def journal_on_disk(found: JournalFiles) -> Verdict:
    """The journal outlives a reboot."""
    required = say("journal on disk")
    if found.on_disk and found.in_memory:
        note = say("journal files lie on disk and in memory: journalctl --flush, then ask again")
        return Verdict.undecided(note, required)
    measured = found.on_disk[0] if found.on_disk else say("in memory only")
    return Verdict.of(bool(found.on_disk), measured, required)


def sensors_well(found: Sensors, supplies: int) -> Verdict:
    """No sensor of the board is critical, and all power supplies are there."""
    required = say("no critical sensor, {count} power supplies", count=supplies)
    bad = [sensor for sensor in found.sensors if sensor.state not in {"ok", "ns"}]
    bad += [sensor for sensor in found.sensors if any(word in sensor.reading.lower() for word in _FAILING)]
    if bad:
        measured = say("{sensor}: {state} {reading}", sensor=bad[0].name, state=bad[0].state, reading=bad[0].reading)
        return Verdict.of(False, measured, required)
    power = [sensor for sensor in found.sensors if "presence detected" in sensor.reading.lower()]
    if not power:
        return Verdict.undecided(say("the board controller names no power supply"), required)
    return Verdict.of(len(power) >= supplies, say("{count} power supplies", count=len(power)), required)


def alike(what: Phrase, found: Mapping[str, str | None], kinds: Mapping[str, str]) -> Verdict:
    """Hosts of one kind carry the same; ``kinds`` is host -> kind. A host that does not tell makes it undecided."""
    required = say("the same {what} on like hosts", what=what)
    if not kinds:
        return Verdict.undecided(say("the inventory has no hosts to compare"), required)
    verdicts = []
    for kind in dict.fromkeys(kinds.values()):
        values = {host: found.get(host) for host, of in kinds.items() if of == kind}
        if unknown := [host for host, value in values.items() if not value]:
            verdicts.append(Verdict.undecided(say("{host} does not tell", host=unknown[0]), required))
            continue
        words = {value or "": [host for host, other in values.items() if other == value] for value in values.values()}
        measured = "; ".join(f"{value}: {', '.join(hosts)}" for value, hosts in words.items())
        verdicts.append(Verdict.of(len(words) == 1, measured, required))
    return worst(verdicts)


def _gib(size: int) -> str:
    return f"{size / 2**30:.6g} GiB"
