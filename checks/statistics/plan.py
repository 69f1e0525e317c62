"""The order of an interleaved experiment, fixed before it starts by one logged seed, and which rounds may be taken out.

Orders come from SHA-256 of the seed, not from a random number generator whose stream another version may change: the plan
of a run can be made again years later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from checks.phrase import Phrase, say


@dataclass(frozen=True, slots=True)
class Slot:
    """One cell in the order of measuring: round from 1, concurrency, arm, and the seed of its prompts.

    Both arms of a pair have the same prompt seed; no two pairs share one, so no prompt is ever met twice.
    """

    place: int
    round: int
    concurrency: int
    arm: str
    prompts: int


def interleaved(arms: tuple[str, str], concurrencies: Sequence[int], rounds: int, seed: int) -> tuple[Slot, ...]:
    """``rounds`` pairs a concurrency; the order of concurrencies is shuffled each round, the arms go A B, B A, A B, ...

    Which arm begins is drawn for each concurrency. Raises ValueError for equal arms, a concurrency that is doubled or not
    positive, and no rounds.
    """
    if len(set(arms)) != 2:
        raise ValueError(f"found arms {arms}, wanted two different ones")
    if not concurrencies or len(set(concurrencies)) != len(concurrencies) or min(concurrencies) < 1:
        raise ValueError(f"found concurrencies {list(concurrencies)}, wanted different positive numbers")
    if rounds < 1:
        raise ValueError(f"found {rounds} rounds, wanted at least 1")
    slots: list[Slot] = []
    for number in range(1, rounds + 1):
        for concurrency in sorted(concurrencies, key=lambda c: _draw(seed, "order", number, c)):
            swapped = (_draw(seed, "first", concurrency) + number) % 2 == 1
            for arm in reversed(arms) if swapped else arms:
                prompts = _draw(seed, "prompts", number, concurrency)
                slots.append(Slot(len(slots) + 1, number, concurrency, arm, prompts))
    return tuple(slots)


def _draw(seed: int, *words: str | int) -> int:
    text = "/".join(str(word) for word in (seed, *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


class Cause(StrEnum):
    """Why a round may be taken out: only what a counter or log told, none of them a result."""

    THROTTLED = "throttled"
    LINK_DOWN = "link down"
    REBOOTED = "rebooted"
    PREEMPTED = "preempted"
    ENGINE_DIED = "engine died"
    CLOCK_STEPPED = "clock stepped"
    INTERRUPTED = "interrupted"


#: The causes as people read them.
_SAID = {
    Cause.THROTTLED: say("throttling"), Cause.LINK_DOWN: say("a link that went down"), Cause.REBOOTED: say("a reboot"),
    Cause.PREEMPTED: say("preemption"), Cause.ENGINE_DIED: say("an engine that died"),
    Cause.CLOCK_STEPPED: say("a clock that stepped"), Cause.INTERRUPTED: say("an interruption"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Voided:
    """A round taken out. ``recorded`` and ``seen`` are sequence numbers of the journal; None: the result was never read."""

    round: int
    concurrency: int
    cause: Cause
    recorded: int
    seen: int | None


def void_faults(voided: Sequence[Voided], run: int, one_in: int = 5) -> tuple[Phrase, ...]:
    """Why these rounds may not be taken out of ``run`` rounds (taken out or not); empty when all is in order.

    A cause counts only if it was written down before the result was seen; at most one round ``one_in`` may go.
    """
    found = [
        say(
            "round {round} at concurrency {concurrency} was taken out for {cause} after its result was seen",
            round=one.round, concurrency=one.concurrency, cause=_SAID[one.cause],
        )
        for one in voided
        if one.seen is not None and one.recorded >= one.seen
    ]  # fmt: skip
    if len({(one.round, one.concurrency) for one in voided}) != len(voided):
        found.append(say("a round is taken out twice"))
    if len(voided) * one_in > run:
        found.append(
            say(
                "{count} of {run} rounds were taken out, at most 1 in {one_in} may be",
                count=len(voided),
                run=run,
                one_in=one_in,
            )
        )
    return tuple(found)
