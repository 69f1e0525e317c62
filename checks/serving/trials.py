"""The trials of G3: paired rounds at one concurrency, the arm that computes anew, canaries, one instance reading another's KV,
and all nodes reading at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from checks.phrase import say
from checks.serving import answering, fan_in, share
from checks.serving.answering import Answers
from checks.serving.client import Mode
from checks.serving.fan_in import ReadAll, Together
from checks.serving.procedure import Asked, Stages, cell, ended, evicted, measured, placed, populated, quiet, told, up
from checks.serving.rounds import ArmRound, ReadAnew, ReadBoth, Round
from checks.serving.share import Shared
from checks.serving.site import Side, Site
from checks.trial import ONE_VOID_IN, Trial
from checks.verdict import Verdict

#: Seconds that one prompt is planned to take on the whole: populating, measuring and what lies between. For progress only.
_EACH = 4.0


def group(site: Site) -> str:
    """Everything of one shape takes turns."""
    return f"G3.{site.shape}"


def first(site: Site, concurrency: int, number: int) -> str:
    """Role of the arm that begins a round: drawn for the concurrency, then in turns."""
    drawn = hashlib.sha256(f"{site.seed}/{site.shape}/{concurrency}".encode()).digest()[0]
    return "local" if (drawn + number) % 2 else "array"


def paired(
    site: Site,
    concurrency: int,
    enough: Callable[[Sequence[Round]], bool] | None = None,
    proof: Callable[[], Verdict] | None = None,
    one_void_in: int = ONE_VOID_IN,
) -> Trial[Round]:
    """Both arms at one concurrency: a round of each in turn, the same prompts on both, new ones every round."""

    def stages(number: int) -> Stages:
        prompts = f"{site.shape}/c{concurrency}/r{number}"
        asked = Asked(prompts, site.prompts(concurrency), concurrency, site.prompt_tokens, site.output_tokens)
        arms = [site.local, site.array]
        if first(site, concurrency, number) == "array":
            arms.reverse()
        together = [stage for side in arms for stage in cell(site, side, asked)]
        return (*together, *ended(site, site.local, site.array))

    return Trial(
        id=f"serving.paired:{site.shape}:c{concurrency}",
        title=say("{shape}, concurrency {level}: both arms", shape=site.shape, level=concurrency),
        stages=stages(1),
        varied=stages,
        read=ReadBoth(site, concurrency),
        rounds=site.rounds,
        at_most=site.rounds + site.more_rounds,
        enough=enough,
        one_void_in=one_void_in,
        proof=proof,
        seconds=2 * site.prompts(concurrency) * _EACH,
        group=group(site),
        seed=site.seed,
    )


def recomputed(site: Site, side: Side, concurrency: int) -> Trial[ArmRound]:
    """The arm that keeps no KV, once: it shows what the others save, and needs no interval for that."""
    prompts = f"{site.shape}/c{concurrency}/recompute/r1"
    asked = Asked(prompts, site.prompts(concurrency), concurrency, site.prompt_tokens, site.output_tokens)
    return Trial(
        id=f"serving.recompute:{site.shape}:c{concurrency}",
        title=say("{shape}, concurrency {level}: computed anew", shape=site.shape, level=concurrency),
        stages=(*cell(site, side, asked), *ended(site, side)),
        read=ReadAnew(site, side),
        rounds=1,
        seconds=site.prompts(concurrency) * _EACH,
        group=group(site),
        seed=site.seed,
    )


def canaries(site: Site, side: Side, count: int, tokens: int, out: int) -> Trial[Answers]:
    """Canaries one at a time: computed twice on an engine that has nothing stored, then while storing, then restored."""
    control = site.side("recompute") or side
    asked = Asked(f"{site.shape}/canaries/{side.role}/r1", count, 1, tokens, out, Mode.CANARIES)
    stages: Stages = ()
    for turn in ("computed", "computed again"):
        stages += quiet(site, turn)
        if control.store:
            stages += placed(site, control, count, turn)
        stages += up(site, control, turn) + measured(site, control, asked, turn)
    stages += quiet(site, "stored") + placed(site, side, count, "stored") + up(site, side, "stored")
    stages += told(site, side, "stored") + measured(site, side, asked, "stored")
    stages += answering.drained(side) + evicted(site, side, "restored") + measured(site, side, asked, "restored")
    return Trial(
        id=f"serving.canaries:{site.shape}:{side.role}",
        title=say("{shape}: canaries of the {role} arm", shape=site.shape, role=side.role),
        stages=(*stages, *ended(site, *((side,) if control is side else (control, side)))),
        read=partial(answering.read, site=site, side=side, tokens=tokens),
        rounds=1,
        seconds=count * 4 * _EACH,
        group=group(site),
        seed=site.seed,
    )


def shared(site: Site) -> Trial[Shared]:
    """The first instance of the array arm stores; the second, which never saw the prompts, reads."""
    side = site.array
    one, other = side.servers[:1], side.servers[1:2]
    asked = Asked(f"{site.shape}/shared/r1", site.prompts(4), 4, site.prompt_tokens, site.output_tokens)
    stages = quiet(site, "shared") + placed(site, side, asked.count, "shared") + up(site, side, "shared")
    stages += share.before(side, "other before") + populated(site, side, asked, "shared", one)
    stages += share.between(side) + measured(site, side, asked, "shared", other)
    return Trial(
        id=f"serving.shared:{site.shape}",
        title=say("{shape}: one instance reads what another stored", shape=site.shape),
        stages=(*stages, *ended(site, side)),
        read=partial(share.read, site=site),
        rounds=1,
        seconds=asked.count * 2 * _EACH,
        group=group(site),
        seed=site.seed,
    )


def together(site: Site, concurrency: int, rounds: int) -> Trial[Together]:
    """Every node that the inventory lets read the array, at one concurrency each, all at the same time."""
    stages = partial(fan_in.stages, site, concurrency)
    return Trial(
        id=f"serving.together:{site.shape}:c{concurrency}",
        title=say("{shape}, concurrency {level}: all nodes at once", shape=site.shape, level=concurrency),
        stages=stages(1),
        varied=stages,
        read=ReadAll(site, concurrency),
        rounds=rounds,
        seconds=site.prompts(concurrency) * _EACH,
        group=group(site),
        seed=site.seed,
    )
