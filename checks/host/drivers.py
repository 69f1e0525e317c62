"""When the driver modules of a host are those agreed, and all of one tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from checks.parsers.sysfs_module import DriverModules
from checks.phrase import joined, say
from checks.verdict import Verdict


def modules_loaded(found: DriverModules, ordered: Mapping[str, str]) -> Verdict:
    """Every driver module agreed is loaded, in the version agreed; a module without one has its kernel's."""
    if not ordered:
        return Verdict.undecided(say("the inventory agrees no {what}: nothing to compare with", what="system.modules"))
    wanted = [name if version == "any" else f"{name} {version}" for name, version in ordered.items()]
    required = ", ".join(wanted)
    there = {module.name: module for module in found.modules}
    wrong = [say("{name} is not loaded", name=name) for name in ordered if name not in there or not there[name].live]
    for name, version in ordered.items():
        if version != "any" and name in there and (has := there[name].version or found.kernel) != version:
            wrong.append(say("{name} is {version}", name=name, version=has))
    return Verdict.of(not wrong, joined(wrong[:4]) if wrong else say("all loaded"), required)


def modules_of_one_tree(found: DriverModules, family: Collection[str]) -> Verdict:
    """The RDMA core and what is built against it come from one tree: all of the kernel, or all of the vendor's package."""
    required = say("all from the kernel or all from one vendor package")
    members = [module for module in found.modules if module.name in family]
    if not members:
        return Verdict.undecided(say("no RDMA module is loaded, so there is nothing to compare"), required)
    foreign = [module.name for module in members if module.foreign]
    own = [module.name for module in members if not module.foreign]
    if foreign and own:
        measured = say("vendor: {foreign}; kernel: {own}", foreign=", ".join(foreign), own=", ".join(own))
        return Verdict.of(False, measured, required)
    return Verdict.of(True, say("vendor package") if foreign else say("kernel {kernel}", kernel=found.kernel), required)
