"""The same answers from restored KV as from computed KV: canary prompts answered greedily, one at a time.

Greedy answers may change with the batch, so the measure is the engine's own noise: how often computing twice disagrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from checks.phrase import Phrase, listed, say
from checks.verdict import Quantity, Verdict

_NAMED = 4
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Canary:
    """One prompt's answers: computed twice without any store, while storing, and from restored KV. None: no answer came.

    ``restored_hits`` are the tokens that the restored answer took from the store: an answer computed again proves nothing.
    """

    prompt: str
    computed: str | None
    computed_again: str | None
    stored: str | None
    restored: str | None
    restored_hits: int | None


def corrupt(canary: Canary) -> bool:
    """Whether the restored answer is no answer to this prompt: empty, without a common beginning, garbled, or stuck.

    Noise of batching turns one of two near words into the other, some way into the answer. It never loses the first word,
    and it makes no text of one word.
    """
    if canary.restored is None or canary.computed is None or canary.restored == canary.computed:
        return False
    if not canary.restored.strip():
        return bool(canary.computed.strip())
    controls = [text for text in (canary.computed, canary.computed_again) if text]
    if any(canary.restored == text for text in controls):
        return False
    beginnings = {text.split()[0] for text in controls if text.split()}
    lost = bool(beginnings) and canary.restored.split()[0] not in beginnings
    garbled = canary.restored.count(_REPLACEMENT) > max((text.count(_REPLACEMENT) for text in controls), default=0)
    stuck = _stuck(canary.restored) and not any(_stuck(text) for text in controls)
    return lost or garbled or stuck


def _stuck(text: str) -> bool:
    words = text.split()
    return len(words) >= 8 and Counter(words).most_common(1)[0][1] > len(words) / 2


def same_answers(
    canaries: Sequence[Canary], least: int = 32, noise_percent: float = 20.0, significance: float = 0.05
) -> Verdict:
    """Restored answers differ from computed ones no more often than computing twice differs; none is corrupt.

    More often, and beyond chance (Fisher's exact test, one-sided): STOP. More often within chance: UNDECIDED, ask more
    canaries. A control noisier than ``noise_percent`` is no control.
    """
    required = say("no more mismatches than between two computations, none corrupt")
    total = len(canaries)
    if total < max(least, 1) or len({one.prompt for one in canaries}) != total:
        return Verdict.undecided(
            say(
                "{count} different canaries, wanted at least {least}",
                count=len({c.prompt for c in canaries}),
                least=least,
            ),
            required,
        )
    if bad := [one.prompt for one in canaries if corrupt(one)]:
        measured = say(
            "{count} of {total} restored answers corrupt: {which}", count=len(bad), total=total, which=_named(bad)
        )
        return Verdict.of(False, measured, required)
    silent = [one.prompt for one in canaries if None in (one.computed, one.computed_again, one.stored, one.restored)]
    if silent:
        why = say(
            "{count} of {total} canaries were not answered each time: {which}",
            count=len(silent), total=total, which=_named(silent),
        )  # fmt: skip
        return Verdict.undecided(why, required)
    if unread := [one.prompt for one in canaries if not one.restored_hits]:
        why = say(
            "{count} of {total} answers were not shown to come from the store: {which}",
            count=len(unread), total=total, which=_named(unread),
        )  # fmt: skip
        return Verdict.undecided(why, required)
    return _compared(canaries, required, noise_percent, significance)


def _compared(canaries: Sequence[Canary], required: Phrase, noise_percent: float, significance: float) -> Verdict:
    total = len(canaries)
    noise = sum(one.computed != one.computed_again for one in canaries)
    stored = sum(one.stored not in (one.computed, one.computed_again) for one in canaries)
    restored = sum(one.restored not in (one.computed, one.computed_again) for one in canaries)
    measured = say(
        "of {total} answers {restored} differ when restored, {stored} while storing, {noise} when computed twice",
        total=total, restored=restored, stored=stored, noise=noise,
    )  # fmt: skip
    quantities = tuple(
        Quantity(name, count, "")
        for name, count in (("restored", restored), ("stored", stored), ("recompute noise", noise))
    )
    if noise > total * noise_percent / 100:
        return Verdict.undecided(
            say("computing twice already differs too often for a control: make the engine deterministic"),
            required,
            measured,
        )
    most = max(restored, stored)
    if most <= noise:
        return Verdict.of(True, measured, required, quantities=quantities)
    from scipy import stats  # a second of imports that a plan needs not

    chance = float(stats.fisher_exact([[most, total - most], [noise, total - noise]], alternative="greater").pvalue)
    if chance > significance:
        return Verdict.undecided(
            say(
                "more mismatches than the noise, but within chance (p = {chance:.2f}): ask more canaries", chance=chance
            ),
            required,
            measured,
        )
    return Verdict.of(False, measured, required, quantities=quantities)


def _named(prompts: Sequence[str]) -> Phrase:
    shown = listed(prompts[:_NAMED])
    if len(prompts) <= _NAMED:
        return shown
    return say("{shown} and {count} more", shown=shown, count=len(prompts) - _NAMED)
