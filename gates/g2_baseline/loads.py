"""Loads that several clauses of G2 read, each made once: what is asked of a mount, and what its rounds are held to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from checks.block import criteria
from checks.block.criteria import Settling
from checks.block.memory import at_random, beyond, from_its_disks
from checks.block.patterns import Pattern, Way
from checks.block.trials import on_file
from checks.block.validity import Held
from checks.phrase import beside, say
from checks.serving import chunk
from checks.serving.kv import NoOneNumber
from kvgate.errors import CannotTell
from kvgate.inventory import experiment, references
from kvgate.inventory.references import below, memory

GIB, MIB, KIB, G = 2**30, 2**20, 2**10, 10**9


def load(mount, terms, way, block, depth, jobs=1, **more):
    """A trial on one mount, a thing of the inventory or one of its host's other mounts."""
    serials = [disk.serial for disk in mount.machine.disks if disk.role == "baseline"]
    serial = serials[0] if below(mount) == "local" and len(serials) == 1 else None
    pattern = Pattern(way, block, depth, terms["seconds"], jobs)
    return on_file(
        mount.host, mount.path, mount.filesystem, pattern, working_set(mount, terms), serial, terms["rounds"], **more
    )


def working_set(mount, terms):
    """Bytes of a working set: more than were agreed where they would not exceed the array's memory."""
    return beyond(int(terms["size"] * GIB), memory(mount.rack, mount), terms.get("beyond", 0))


def told(mount, terms, verdict):
    """A verdict with what the array's memory leaves open of it."""
    return from_its_disks(verdict, memory(mount.rack, mount), working_set(mount, terms))


def told_at_random(mount, terms, verdict):
    """The same of reads at random places, of which a memory answers what it holds."""
    found = told(mount, terms, verdict)
    return replace(found, note=beside(found.note, at_random(memory(mount.rack, mount), working_set(mount, terms))))


def kv_block(mount, ask, terms):
    """Block of KV-shaped reads on a mount: the engine's chunk as its model's config.json tells, else what was agreed."""
    block = int(terms["block"] * MIB)
    sites = experiment.served(mount.rack, mount.host, mount.path)
    if not sites:
        return chunk.agreed(block)
    try:
        return chunk.of_engine(chunk.smallest(sites, ask(mount.host, chunk.config(sites[0].config))), block, False)
    except NoOneNumber as error:
        return chunk.of_engine(say("{why}", why=str(error)), block, terms["block_stands_in"])
    except CannotTell as error:
        return chunk.of_engine(error.phrase, block, terms["block_stands_in"])


def sequential(mount, terms, way):
    """Whole streams, as G2.1.2 and G2.1.3 read and write them."""
    return load(mount, terms, way, MIB, 32)


def random_reads(mount, terms):
    """Small reads from as many jobs as a data sheet is measured with."""
    return load(mount, terms, Way.RANDREAD, 4 * KIB, terms["depth"], int(terms["jobs"]))


def random_writes(mount, terms):
    """Small writes until they are steady, of G2.1.8."""
    rule = settling(terms)
    return load(
        mount, {**terms, "rounds": rule.window}, Way.RANDWRITE, 4 * KIB, terms["depth"], int(terms["jobs"]),
        at_most=terms["most_rounds"], enough=partial(criteria.steady, rule=rule),
    )  # fmt: skip


def settling(terms):
    """SNIA's rule in the agreed numbers."""
    return Settling(terms["range"], terms["rise"], terms["window"])


def held(mount, terms, block=0):
    """What rounds on a mount are held to before they are numbers; steady states have a rule of their own for what they vary by."""
    carrier = references.ceiling(mount.rack, mount.machine, mount.ordered)
    # What a clause has no number for it holds to nothing at all, never to less.
    variation, drift, busy = (float(terms.get(name, 0)) for name in ("variation", "drift", "busy"))
    return Held(variation, drift, busy, carrier, block)


def reference(mount, kind):
    """What a rate on a mount is held against: the least of data sheets, the array's own result, and the port."""
    return references.reference(mount.rack, mount.machine, mount.ordered, kind)


def disks(mount):
    """What the disks below a mount promise, whatever carries it."""
    return references.disks(mount.rack, mount.machine, mount.ordered)


def share_of(mount, terms):
    """Share of the reference that small requests must reach: a fabric and two more hosts stand between where it is the array."""
    return terms["share" if below(mount) == "local" else "share_array"]
