"""When a host is what was ordered: identity, kernel, processors, firmware. Memory, settings, clock and upkeep have their own files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from checks import bounds
from checks.lexing import count_cpus
from checks.parsers.cmdline import CommandLine
from checks.parsers.dmidecode import Firmware
from checks.parsers.lscpu import Processors
from checks.phrase import Phrase, say
from checks.verdict import Quantity, Verdict, worst


def host_key_pinned(presented: str | None, pinned: str) -> Verdict:
    """The host presents the key that the inventory pins."""
    return bounds.same_text(say("host key"), presented, pinned)


def kernel_ordered(release: str, ordered: str) -> Verdict:
    """The kernel that runs is the one ordered, to the last word of its release."""
    return bounds.same_text(say("kernel release"), release, ordered)


def processors_ordered(found: Processors, model: str, sockets: int, cores: int) -> Verdict:
    """Model, sockets and physical cores of all sockets are those ordered."""
    required = say("{sockets} x {model}, {cores} cores in all", model=model, sockets=sockets, cores=cores)
    if found.model is None or found.sockets is None or found.cores_per_socket is None:
        return Verdict.undecided(say("lscpu does not tell model, sockets and cores of this machine"), required)
    total = found.sockets * found.cores_per_socket
    holds = (" ".join(found.model.split()), found.sockets, total) == (" ".join(model.split()), sockets, cores)
    measured = say("{sockets} x {model}, {cores} cores in all", model=found.model, sockets=found.sockets, cores=total)
    quantities = (Quantity("cores", total, ""),)
    if holds and found.threads_per_core is not None and found.online is not None:
        # lscpu tells the cores of the fullest socket: a core that one socket lacks shows only in the count of threads.
        threads = total * found.threads_per_core
        online = count_cpus(found.online)
        note = say("{online} of {threads} threads are online", online=online, threads=threads)
        return Verdict.of(online == threads, measured, required, note=note, quantities=quantities)
    if holds:
        return Verdict.undecided(say("lscpu does not tell which threads are online"), required, measured)
    return Verdict.of(False, measured, required, quantities=quantities)


def firmware_ordered(firmware: Firmware, ordered: str) -> Verdict:
    """The firmware's version is the one ordered."""
    return bounds.same_text(say("firmware version"), firmware.version, ordered)


def booted_with(found: CommandLine, ordered: Sequence[str]) -> Verdict:
    """Every word that was agreed stands on the kernel's command line."""
    if not ordered:
        return Verdict.undecided(say("the inventory agrees no {what}: nothing to compare with", what="system.cmdline"))
    missing = [word for word in ordered if word not in found.words]
    measured = say("missing: {words}", words=" ".join(missing)) if missing else say("all there")
    return Verdict.of(not missing, measured, " ".join(ordered))


def alike(what: Phrase, found: Mapping[str, str | None], kinds: Mapping[str, Hashable]) -> Verdict:
    """Hosts of one kind carry the same; ``kinds`` is host -> whatever makes hosts alike. A host that does not tell makes it undecided."""
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
