"""When files come back as they were written, and when models are loaded and saved fast enough. Published figures stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import median

from checks.around.causes import cause
from checks.block.rounds import Round
from checks.block.validity import Held, broken, doubtful, unsteady
from checks.block.validity import cause as cause_of
from checks.ceiling import beyond
from checks.files.integrity import Checked
from checks.files.loading import Loaded
from checks.files.saving import Saved
from checks.parsers.vllm_log import ModelLoad
from checks.phrase import Phrase, beside, joined, say
from checks.trial import Measured
from checks.units import show_bytes
from checks.verdict import Outcome, Quantity, Verdict


def intact(measured: Measured[Checked], unproven: Phrase | None = None) -> Verdict:
    """Every byte that was written comes back as it was written, in every round. ``unproven`` is what that leaves open."""
    required = say("all bytes written come back as they were written")
    if not measured.facts and not measured.broken:
        return Verdict.undecided(say("no round was measured"), required)
    if bad := next((one for one in measured.facts if one.wrong), None):
        shown = say(
            "written on {writer}, read on {reader}: {wrong}", writer=bad.writer, reader=bad.reader, wrong=bad.wrong
        )
        return Verdict.of(False, shown, required)
    if (stop := broken(measured, required)) is not None:
        return stop
    put, got = (sum(getattr(one, name) for one in measured.facts) for name in ("written", "verified"))
    one = measured.facts[0]
    shown = say(
        "{got} of {put} verified over {count} rounds, written on {writer}, read on {reader}",
        got=show_bytes(got), put=show_bytes(put), count=len(measured.facts), writer=one.writer, reader=one.reader,
    )  # fmt: skip
    if got != put or not put:
        return Verdict.undecided(say("not everything that was written was verified"), required, shown)
    found = (Quantity("bytes verified", got, "B"),)
    return Verdict.of(True, shown, required, "B", beside(unproven, measured.remarks()), found)


def outlives_its_connection(measured: Measured[Checked], fabric: bool) -> Verdict:
    """Every byte comes back after the volume was let go and taken again; of one that comes over a ``fabric``, by a new connection."""
    found = intact(measured)
    if found.outcome is Outcome.STOP:
        # An error of the device has a note of its own, and may have come before the volume was let go.
        note = found.note or say("after it was connected anew")
        return Verdict.of(False, found.measured, found.required, note=note)
    if found.outcome is Outcome.UNDECIDED:
        return found
    counts = [one.anew.connections for one in measured.facts if one.anew is not None]
    if len(counts) < len(measured.facts):
        return Verdict.undecided(say("the volume was not let go in every round"), found.required, found.measured)
    if fabric and not all(counts):
        note = say("it was unmounted and mounted again, but no controller of its own was found to connect anew")
        return Verdict.undecided(note, found.required, found.measured)
    how = say("unmounted, connected anew ({count} controllers) and mounted again", count=min(counts, default=0))
    shown = joined([found.measured, how if fabric else say("unmounted and mounted again")])
    open_ = say("whether the connection was a new one, and that not the server's memory answered, is not proven")
    remarks = beside(None if fabric else open_, measured.remarks())
    return Verdict.of(True, shown, found.required, "B", remarks, found.quantities)


def loads(
    measured: Measured[Loaded], reads: Measured[Round], share: float, held: Held, context: Phrase | None
) -> Verdict:
    """A model is read cold at ``share`` of what fio reads there sequentially, in rounds that are held to the same."""
    if (stop := broken(measured)) is not None:
        return stop
    return _beside_fio(measured, reads, share, held, context)


def saves(
    measured: Measured[Saved], writes: Measured[Round], share: float, held: Held, context: Phrase | None
) -> Verdict:
    """A checkpoint is durable at ``share`` of what fio writes there sequentially, and comes back as it was written."""
    if bad := next((one for one in measured.facts if one.wrong), None):
        return Verdict.of(
            False, say("{wrong}", wrong=bad.wrong), say("all bytes written come back as they were written")
        )
    if (stop := broken(measured)) is not None:
        return stop
    return _beside_fio(measured, writes, share, held, context)


def _beside_fio(
    measured: Measured[Loaded] | Measured[Saved], fio: Measured[Round], share: float, held: Held, context: Phrase | None
) -> Verdict:
    rates, seconds = [one.bytes / one.seconds for one in measured.facts], [one.seconds for one in measured.facts]
    reference = [one.bytes_per_second for one in fio.facts]
    if fio.broken:
        return Verdict.undecided(joined(fio.broken), say("at least {share:.0%} of fio's rate", share=share))
    if not reference or not rates:
        return Verdict.undecided(say("no round was measured"), say("at least {share:.0%} of fio's rate", share=share))
    wanted = share * median(reference)
    required = say(
        "at least {wanted}/s ({share:.0%} of fio's {rate}/s)",
        wanted=show_bytes(int(wanted)), share=share, rate=show_bytes(int(median(reference))),
    )  # fmt: skip
    shown = say(
        "{rate}/s, {seconds:.1f} s, over {count} rounds",
        rate=show_bytes(int(median(rates))), seconds=median(seconds), count=len(rates),
    )  # fmt: skip
    if why := doubtful(fio, held) or unsteady(reference, held, partial(cause_of, fio)) or _own(measured, held):
        return Verdict.undecided(why, required, shown)
    quantities = (Quantity("bytes per second", median(rates), "B/s"), Quantity("seconds", median(seconds), "s"))
    remarks = beside(context, measured.remarks(), fio.remarks())
    return Verdict.of(median(rates) >= wanted, shown, required, "B/s", remarks, quantities)


def _own(measured: Measured[Loaded] | Measured[Saved], held: Held) -> Phrase | None:
    """Say why rates of whole files may not stand, or None."""
    rates = [one.bytes / one.seconds for one in measured.facts]
    return beyond(rates, held.ceiling) or unsteady(rates, held, partial(cause, measured.around))


def faster_than_nfs(
    array: Measured[Loaded], nfs: Measured[Loaded], least: float, held: Mapping[str, Held], context: Phrase | None
) -> Verdict:
    """A model is loaded from the array at least ``least`` times as fast as over NFS.

    ``held`` has what the rounds of each side are held to: ``array`` and ``nfs``.
    """
    required = say("at least {least:g} times as fast as over NFS", least=least)
    if (stop := broken(array, required)) is not None:
        return stop
    if nfs.broken:
        return Verdict.undecided(joined(nfs.broken), required)
    sides = [[one.bytes / one.seconds for one in side.facts] for side in (array, nfs)]
    if any(len(side) < 2 for side in sides):
        return Verdict.undecided(say("fewer than two rounds of one side"), required)
    for side, its in ((array, held["array"]), (nfs, held["nfs"])):
        if (why := _own(side, its)) is not None:
            return Verdict.undecided(why, required)
    here, there = (median(side) for side in sides)
    shown = say(
        "{here}/s against {there}/s over NFS: {ratio:.2f} times",
        here=show_bytes(int(here)), there=show_bytes(int(there)), ratio=here / there,
    )  # fmt: skip
    quantity = Quantity("times as fast as NFS", here / there, "")
    note = beside(context, array.remarks(), nfs.remarks())
    return Verdict.of(here >= least * there, shown, required, note=note, quantities=(quantity,))


def engine_loaded(found: ModelLoad, most: float, context: Phrase | None) -> Verdict:
    """The engine says itself that its slowest worker had the model loaded within ``most`` seconds."""
    required = say("at most {most:g} s by the engine's own log", most=most)
    if not found.loads:
        return Verdict.undecided(say("the engine's log tells no finished load"), required)
    slowest = max(found.loads, key=lambda one: one.seconds)
    size = sum(one.gib for one in found.loads)
    parts = [say("{gib:.1f} GiB in {seconds:.1f} s", gib=size, seconds=slowest.seconds)]
    if found.weight_seconds:
        parts.append(say("weights {seconds:.1f} s", seconds=max(found.weight_seconds)))
    quantities = (Quantity("load seconds", slowest.seconds, "s"),)
    return Verdict.of(slowest.seconds <= most, joined(parts), required, "s", context, quantities)
