"""G2.3 to G2.5  Files come back as they were written; models are loaded cold and checkpoints saved, durably, fast enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.block.memory import beyond, from_its_disks, stated
from checks.block.patterns import Way
from checks.files import criteria
from checks.files.anew import anew
from checks.files.integrity import Place, by_blocks, by_sums
from checks.files.loading import cold
from checks.files.probes import engine_log
from checks.files.saving import checkpoint
from checks.phrase import beside, joined, say
from checks.trial import Measured
from checks.verdict import Verdict
from gates.g2_baseline.loads import GIB, MIB, held, sequential, working_set
from kvgate import reference
from kvgate.errors import CannotTell
from kvgate.inventory.references import below, memory
from kvgate.inventory.subjects import things


def _place(mount):
    return Place(mount.host, mount.path, mount.filesystem)


def _reader(mount):
    """Who reads back: another node where the filesystem is one that several may mount, else the same node, caches dropped.

    XFS on a namespace that two nodes have mounted would destroy it: never that.
    """
    if below(mount) != "nfs":
        return _place(mount)
    others = (one for one in things(mount.rack) if one.kind is mount.kind and one.host != mount.host)
    alike = (
        one
        for one in others
        if (one.path, one.filesystem, one.device) == (mount.path, mount.filesystem, mount.device)
        and one.machine is not None and one.machine.access == "shell"
    )  # fmt: skip
    return _place(next(alike, mount))


def _unproven(mount, reader):
    """What an intact round on this mount does not show, in words for the verdict."""
    alone = [] if reader.host != mount.host else [say("read back by the node that wrote it")]
    if not mount.remount:
        alone.append(
            say("neither unmounted nor connected anew (no 'remount: true'): that it outlives both is not proven")
        )
    if below(mount) == "nfs":
        alone.append(say("the memory of the NFS server may have answered"))
    return joined(alone) if alone else None


def _users(mount):
    """Services of the inventory that may keep files below a mount of their host."""
    shapes = mount.rack.serving.shapes.values() if mount.rack.serving else ()
    controls = [
        one.control
        for shape in shapes
        for arm in shape.arms.values()
        if arm.host == mount.host
        for one in arm.instances
    ]
    units = [f"unit:{one.unit}" for one in controls if one.unit]
    return tuple(dict.fromkeys([*units, *(f"{one.runtime}:{one.container}" for one in controls if one.container)]))


def _shard(mount, terms):
    """Bytes of a shard: more than were agreed where all of them together would not exceed the array's memory."""
    shards = terms["shards"]
    return (
        -(-beyond(shards * int(terms["shard"] * GIB), memory(mount.rack, mount), terms["beyond"]) // shards // MIB)
        * MIB
    )


def _told(mount, verdict, *sizes):
    """With what the array's memory leaves open of it: the smallest of the working sets decides."""
    return from_its_disks(verdict, memory(mount.rack, mount), min(sizes, default=0))


def _model(mount):
    """The served model's folder where it lies below this mount; empty: files that stand for it are laid out."""
    serving = mount.rack.serving
    path = serving.model.path if serving else ""
    return path if path.startswith(f"{mount.path.rstrip('/')}/") else ""


def _cold(mount, terms):
    shard = _shard(mount, terms)
    return cold(_place(mount), terms["shards"], shard, terms["jobs"], terms["rounds"], _model(mount))


def _value(name):
    return str(reference.read().value(name))


def _published_loads():
    return say(
        "published beside it, no limit: whole services on other hardware (R9) took {large_nfs} s over NFS and {large} s from "
        "the array (70B), {small_nfs} s and {small} s (32B); bytes read and the state of caches are not said there",
        large_nfs=_value("R9.load.70b.nfs"), large=_value("R9.load.70b.fx100"),
        small_nfs=_value("R9.load.32b.nfs"), small=_value("R9.load.32b.fx100"),
    )  # fmt: skip


def _published_save():
    size, after = _value("R1.ckpt_size"), _value("R1.ckpt_time.after")
    return say(
        "published beside it, no limit (R1): {before} s to {after} s, {low} to {high} GB/s; these do not fit together, "
        "{size} GB in {after} s are {rate:.2f} GB/s (I6)",
        before=_value("R1.ckpt_time.before"), after=after, low=_value("R1.ckpt_bw.before"), high=_value("R1.ckpt_bw.after"),
        size=size, rate=float(size) / float(after),
    )  # fmt: skip


@pytest.mark.clause("G2.3.1")
def test_blocks_come_back_as_they_were_written(mount, measure, terms, decide):
    reader = _reader(mount)
    size = working_set(mount, terms)
    verdict = criteria.intact(
        measure(by_blocks(_place(mount), reader, size, terms["rounds"])), _unproven(mount, reader)
    )
    decide(_told(mount, verdict, size))


@pytest.mark.clause("G2.3.2")
def test_whole_files_come_back_as_they_were_written(mount, measure, terms, decide):
    reader = _reader(mount)
    each = int(terms["each"] * GIB)
    verdict = criteria.intact(
        measure(by_sums(_place(mount), reader, terms["files"], each, terms["rounds"])), _unproven(mount, reader)
    )
    # Whole files are few and small beside the blocks of G2.3.1, which exceed any memory: said, and left at that.
    kept = memory(mount.rack, mount)
    note = beside(verdict.note, None if kept is None else stated(kept, terms["files"] * each))
    decide(replace(verdict, note=note))


@pytest.mark.clause("G2.3.3")
def test_what_was_written_outlives_mount_and_connection(mount, measure, terms, decide):
    place = _place(mount)
    size = working_set(mount, terms)
    trial = by_blocks(place, place, size, terms["rounds"], anew(mount.path, _users(mount)))
    decide(_told(mount, criteria.outlives_its_connection(measure(trial), fabric=below(mount) == "array"), size))


@pytest.mark.clause("G2.4.1")
def test_loads_a_model_cold(mount, measure, terms, decide):
    loaded = measure(_cold(mount, terms))
    reads = _beside(lambda: loaded.broken, measure, sequential(mount, terms, Way.READ))
    verdict = criteria.loads(loaded, reads, terms["share"], held(mount, terms), _published_loads())
    decide(_told(mount, verdict, working_set(mount, terms), *(one.bytes for one in loaded.facts)))


@pytest.mark.clause("G2.4.2")
def test_loads_a_model_faster_than_over_nfs(mount, measure, terms, decide):
    nfs = next(one for one in things(mount.rack) if one.host == mount.host and dict(one.traits).get("below") == "nfs")
    here = measure(_cold(mount, terms))
    there = _beside(lambda: here.broken, measure, _cold(nfs, terms))
    both = {"array": held(mount, terms), "nfs": held(nfs, terms)}
    context = joined([_published_loads(), say("the memory of the NFS server may have answered")])
    verdict = criteria.faster_than_nfs(here, there, terms["least"], both, context)
    decide(_told(mount, verdict, *(one.bytes for one in here.facts)))


@pytest.mark.clause("G2.4.3")
def test_engine_loads_its_model_in_time(arm, ask, terms, decide):
    serving = arm.rack.serving
    if serving.engine.kind != "vllm":
        decide(Verdict.not_offered(say("kvgate reads load times from the log of vLLM alone")))
    else:
        control = arm.instances[0].control
        log = engine_log(control.unit, control.container and (control.runtime, control.container), control.log)
        if log is None:
            decide(Verdict.not_offered(say("the inventory does not say where this engine leaves its log")))
        else:
            decide(criteria.engine_loaded(ask(arm.host, log), terms["most"], _published_loads()))


@pytest.mark.clause("G2.5.1")
def test_saves_a_checkpoint_durably(mount, measure, terms, decide):
    trial = checkpoint(_place(mount), terms["shards"], _shard(mount, terms), terms["rounds"])
    saved = measure(trial)
    writes = _beside(
        lambda: saved.broken or any(one.wrong for one in saved.facts), measure, sequential(mount, terms, Way.WRITE)
    )
    verdict = criteria.saves(saved, writes, terms["share"], held(mount, terms), _published_save())
    decide(_told(mount, verdict, working_set(mount, terms), *(one.bytes for one in saved.facts)))


def _beside(decided, measure, trial):
    """What a result is held against. Where other data or an error decided already, it need not be told: the mount may be gone by then."""
    try:
        return measure(trial)
    except CannotTell:
        if not decided():
            raise
        return Measured(())
