"""The memory of an array, which no host can empty: what is read back from it was measured only beyond what that memory holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.phrase import Phrase, beside, say
from checks.units import show_bytes
from checks.verdict import Outcome, Verdict

#: Working sets are whole mebibytes.
_STEP = 2**20
_UNTOLD = say(
    "not proven that the array's disks answered and not its memory, of which the inventory tells nothing: ask the vendor and declare "
    "`cache` of the array's host, with `size` (0 B: none) or `flushed: true` (the vendor empties it between rounds)"
)


@dataclass(frozen=True, slots=True)
class ArrayMemory:
    """Memory of the array as the inventory tells it: bytes (None: it does not), and whether the vendor empties it between rounds.

    Of several arrays below one volume: all of them together.
    """

    size: int | None
    flushed: bool = False

    @property
    def told(self) -> bool:
        """Whether the inventory tells enough of it that disks can have been measured."""
        return self.flushed or self.size is not None

    def holds(self, size: int) -> bool:
        """Whether so many bytes may all lie in it."""
        return self.size is not None and not self.flushed and size <= self.size


def beyond(least: int, memory: ArrayMemory | None, factor: float) -> int:
    """Bytes of a working set: at least ``least``, and ``factor`` times the array's memory where that is known and not emptied."""
    if memory is None or memory.size is None or memory.flushed:
        return least
    wanted = int(factor * memory.size)
    return max(least, -(-wanted // _STEP) * _STEP)


def from_its_disks(verdict: Verdict, memory: ArrayMemory | None, size: int) -> Verdict:
    """Return the verdict on a working set of ``size`` bytes with what the array's memory leaves open.

    What was met by a working set that the memory holds, or by any where nobody tells of the memory, is UNDECIDED: memory may have
    been measured. What was not met stays unmet: disks are no faster. ``memory`` is None where no array is below.
    """
    if memory is None or not memory.told:
        return if_told(verdict, memory)
    if verdict.outcome is Outcome.PASS and memory.holds(size):
        note = say(
            "it measured the array's memory: the working set of {size} fits its {cache}; a larger one, or have the vendor "
            "empty it between rounds (`flushed: true` in `cache` of the array's host)",
            size=show_bytes(size), cache=show_bytes(memory.size or 0),
        )  # fmt: skip
        return replace(verdict, outcome=Outcome.UNDECIDED, note=beside(note, verdict.note))
    return replace(verdict, note=beside(verdict.note, stated(memory, size)))


def if_told(verdict: Verdict, memory: ArrayMemory | None) -> Verdict:
    """Return the verdict on what was read from an array: where nobody tells of its memory, what was met is UNDECIDED."""
    if memory is None or memory.told:
        return verdict
    if verdict.outcome is Outcome.PASS:
        return replace(verdict, outcome=Outcome.UNDECIDED, note=beside(_UNTOLD, verdict.note))
    return replace(verdict, note=beside(verdict.note, _UNTOLD))


def stated(memory: ArrayMemory, size: int) -> Phrase:
    """Say how a working set of ``size`` bytes stands to the array's memory, and what that leaves unproven."""
    if not memory.told:
        return _UNTOLD
    if memory.size is None:
        return say("the vendor empties the array's memory between rounds, as declared")
    shown, cache = show_bytes(size), show_bytes(memory.size)
    if memory.flushed:
        return say("the vendor empties the array's memory of {cache} between rounds, as declared", cache=cache)
    if memory.holds(size):
        return say(
            "the array's memory of {cache} may have answered: the working set of {size} fits it",
            cache=cache,
            size=shown,
        )
    if not memory.size:
        return say("the array has no memory of its own, as declared")
    return say(
        "working set {size}, {times:.1f} times the array's memory of {cache}",
        size=shown, times=size / memory.size, cache=cache,
    )  # fmt: skip


def at_random(memory: ArrayMemory | None, size: int) -> Phrase | None:
    """Say how much of reads at random places of ``size`` bytes memory may have answered: as much as it holds of them. None: nothing.

    Reads in order are not answered by what the same pass has driven out; reads at random are.
    """
    if memory is None or not memory.size or memory.flushed or memory.holds(size):
        return None
    share = 100 * memory.size / size
    return say("of reads at random up to {share:.0f} percent may have come from that memory", share=share)
