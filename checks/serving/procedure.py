"""The steps of one cell in their order, and why each may not be passed over: populate, prove, evict, warm, measure, clean up.

A step that does not hold ends the round: nothing is measured on an arm that is not what it should be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checks.block.rounds import stands
from checks.parsers.kvgate_client import ClientRun
from checks.parsers.model_config import ModelConfig
from checks.phrase import Phrase, say
from checks.raid import probes as raid
from checks.serving import probes
from checks.serving.around import looks
from checks.serving.client import Mode, Work, client
from checks.serving.driven import as_ordered, drive, version
from checks.serving.kv import Layout, NoOneNumber, layout
from checks.serving.probes import Count, Ready, Reset, Room, State
from checks.serving.readback import settings
from checks.serving.site import Server, Side, Site, kept
from checks.serving.snapshot import snapshot
from checks.serving.tools import OWN, OWN_CLIENT, Driver
from checks.trial import Step
from checks.units import show_bytes

Stages = tuple[tuple[Step, ...], ...]

#: Token ids that prompts are made of: words in every vocabulary of 32,768 tokens or more.
IDS = (4096, 24576)

#: Prompts that warm an engine, as many a wave as it serves at once: kernels are compiled and graphs captured after that.
_WAVES = 2

_QUIET = frozenset({"inactive", "failed", "exited", "stopped", "absent", "created", "dead", ""})


@dataclass(frozen=True, slots=True)
class Asked:
    """What one cell asks: ``prompts`` is the name of the set, the same on both arms and new in every round."""

    prompts: str
    count: int
    concurrency: int
    tokens_in: int
    tokens_out: int
    mode: Mode = Mode.MEASURE


def expected(site: Site) -> str:
    """Name of the KV type as :func:`checks.serving.kv.layout` knows it."""
    return {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}.get(site.kv_dtype, site.kv_dtype)


def bytes_of(site: Site, config: ModelConfig) -> Layout:
    """Bytes of a token in this site. Raises NoOneNumber."""
    return layout(config, expected(site), site.tensor_parallel, 1 if config.latent is not None else None)


def equipped(site: Site, name: str) -> Stages:
    """The load host has the tool that the inventory orders, in a version whose results are known; kvgate's own client it is sent."""
    if site.driver.tool == OWN:
        return ()
    probe = version(site.driver)
    return ((Step(f"{name}: driver", site.load_host, probe, must=as_ordered(site.driver)),),)


def quiet(site: Site, name: str) -> Stages:
    """Stop every engine of the shape, and those of other shapes on the same hosts: they hold the accelerators."""
    servers = [(side.host, server) for side in site.sides for server in side.servers] + list(site.busy)
    return (
        tuple(
            Step(f"{name}: stop {number}", host, probes.stopped(server), must=_over(server))
            for number, (host, server) in enumerate(_unique(servers), 1)
        ),
    )


def _unique(servers: list[tuple[str, Server]]) -> list[tuple[str, Server]]:
    found: dict[tuple[str, str, tuple[str, ...]], tuple[str, Server]] = {}
    for host, server in servers:
        found.setdefault((host, server.target, server.stop), (host, server))
    return list(found.values())


def up(site: Site, side: Side, name: str) -> Stages:
    """Start the engines of one arm and wait until each serves."""
    return (
        tuple(
            Step(f"{name}: start {number}", side.host, probes.started(server, site.ready))
            for number, server in enumerate(side.servers, 1)
        ),
        tuple(
            Step(
                f"{name}: ready {number}", side.host, probes.ready(server, site.model, site.ready), must=_serves(server)
            )
            for number, server in enumerate(side.servers, 1)
        ),
    )


def placed(site: Site, side: Side, prompts: int, name: str) -> Stages:
    """The arm's place: mounted, empty, large enough, writable for the engine."""
    return (
        (Step(f"{name}: mounts", side.host, raid.mounts(), must=stands(side.mount, side.filesystem)),),
        (Step(f"{name}: empty", side.host, probes.emptied(side.store), must=_empty(side)),),
        (Step(f"{name}: room", side.host, probes.room(side.mount, site.config), must=_fits(site, side, prompts)),),
        (Step(f"{name}: writable", side.host, probes.writable(side.store, site.user), must=_writes(site, side)),),
    )


def evicted(site: Site, side: Side, name: str) -> Stages:
    """Take the KV out of the accelerators and out of memory: by a restart, or by the interfaces of engine and store."""
    drop = (Step(f"{name}: drop caches", side.host, probes.dropped()),)
    if site.evict == "api":
        steps = tuple(
            Step(f"{name}: reset {number}", side.host, probes.reset(server, site.engine), must=_reset(server, site))
            for number, server in enumerate(side.servers, 1)
        )
        return (steps, drop)
    return (*quiet(site, f"{name}: evict"), drop, *up(site, side, f"{name}: again"))


def work(site: Site, side: Side, asked: Asked, mode: Mode, servers: tuple[Server, ...] = (), shift: int = 0) -> Work:
    """What the client is told."""
    return Work(
        mode=mode,
        endpoints=tuple(one.endpoint for one in servers or side.servers),
        model=site.model,
        seed=site.seed,
        prompt_set=asked.prompts,
        count=asked.count,
        tokens_in=asked.tokens_in,
        tokens_out=asked.tokens_out,
        concurrency=asked.concurrency,
        ids=IDS,
        shift=shift,
    )


def populated(site: Site, side: Side, asked: Asked, name: str, servers: tuple[Server, ...] = ()) -> Stages:
    """Ask every prompt once, for one token; then wait until the store holds all of them, and count."""
    once = Asked(asked.prompts, asked.count, asked.concurrency, asked.tokens_in, 1)
    limit = 120.0 + asked.count * asked.tokens_in / 1000
    fill = client(work(site, side, once, Mode.POPULATE, servers))
    return (
        (Step(f"{name}: populate", site.load_host, fill, must=answered(say("populating"))),),
        (Step(f"{name}: kept", side.host, probes.count(side.store, limit), must=_still(side)),),
    )


def warmed(site: Site, side: Side, asked: Asked, name: str) -> Stages:
    """Warm the engine with prompts that nobody else asks; the first measured prompt is never among them."""
    count = _WAVES * max(asked.concurrency, len(side.servers))
    warm = Asked(f"{asked.prompts}/warm/{side.role}", count, asked.concurrency, min(asked.tokens_in, 2048), 16)
    probe = client(work(site, side, warm, Mode.WARM))
    return ((Step(f"{name}: warm", site.load_host, probe, must=answered(say("warming up"))),),)


def measured(
    site: Site, side: Side, asked: Asked, name: str, servers: tuple[Server, ...] = (), driver: Driver = OWN_CLIENT
) -> Stages:
    """The window: snapshot, load, snapshot."""
    pages = snapshot(side.servers)
    run = drive(driver, work(site, side, asked, asked.mode, servers))
    return (
        (Step(f"{name}: before", side.host, pages),),
        (Step(f"{name}: {asked.mode.value}", site.load_host, run),),
        (Step(f"{name}: after", side.host, pages),),
    )


def told(site: Site, side: Side, name: str) -> Stages:
    """Read back what is in force in every engine of the arm."""
    return (
        tuple(
            Step(f"{name}: settings {number}", side.host, settings(server, site))
            for number, server in enumerate(side.servers, 1)
        ),
    )


def cell(site: Site, side: Side, asked: Asked) -> Stages:
    """All stages of one arm in one round. An arm that keeps no KV is only warmed and measured."""
    name = side.role
    stages: Stages = (*equipped(site, name), *quiet(site, name))
    if side.store:
        stages += placed(site, side, asked.count, name) + up(site, side, name)
        stages += populated(site, side, asked, name) + evicted(site, side, name)
    else:
        stages += up(site, side, name)
    stages += told(site, side, name) + warmed(site, side, asked, name)
    if site.engine == "sglang" and not side.store:
        # It prints where tokens came from once they came from anywhere: asked again, its own prefix cache gives some, and that
        # none of them gave any in the window can be told.
        stages += warmed(site, side, asked, f"{name}: again")
    stages += looks(side, "before")
    return stages + measured(site, side, asked, name, driver=site.driver) + looks(side, "after")


def ended(site: Site, *sides: Side) -> Stages:
    """Stop what was started and empty the stores, whatever happened before."""
    stop = tuple(
        Step(f"end: stop {side.role} {number}", side.host, probes.stopped(server), always=True)
        for side in sides
        for number, server in enumerate(side.servers, 1)
    )
    empty = tuple(
        Step(f"end: empty {side.role}", side.host, probes.emptied(side.store), always=True)
        for side in sides
        if side.store
    )
    return (stop, empty) if empty else (stop,)


def _over(server: Server) -> Callable[[State], Phrase | None]:
    def must(found: State) -> Phrase | None:
        if found.state in _QUIET:
            return None
        return say("{engine} is {state} after it was told to stop", engine=server.name, state=found.state)

    return must


def _serves(server: Server) -> Callable[[Ready], Phrase | None]:
    def must(found: Ready) -> Phrase | None:
        if found.seconds is not None:
            return None
        return say(
            "{engine} does not serve its model ({state}); its last words: {log}: mend it, start it by hand once, then go on with "
            "--only-stale",
            engine=server.name, state=found.state, log=found.log or say("none"),
        )  # fmt: skip

    return must


def _empty(side: Side) -> Callable[[int], Phrase | None]:
    def must(left: int) -> Phrase | None:
        if not left:
            return None
        return say("{count} entries of {path} could not be removed", count=left, path=side.store)

    return must


def _fits(site: Site, side: Side, prompts: int) -> Callable[[Room], Phrase | None]:
    def must(found: Room) -> Phrase | None:
        try:
            size = kept(site, bytes_of(site, found.config), prompts).size
        except NoOneNumber as error:
            return say("the bytes of a token cannot be told: {why}", why=str(error))
        here = next((one for one in found.space if one.target == side.mount), None)
        if here is None or here.available is None:
            return say("the free space of {path} is not known", path=side.mount)
        shown = show_bytes(size)
        if here.available < size * site.free:
            return say(
                "{path} has {free} free; the KV of {prompts} prompts is {size}, and {factor} times that is wanted: shorter "
                "prompts, a lower concurrency, or room on the mount",
                path=side.mount, free=show_bytes(here.available), prompts=prompts, size=shown, factor=f"{site.free:g}",
            )  # fmt: skip
        memory = site.memory
        if side.role == "array" and memory is not None and memory.holds(size):
            return say(
                "the KV of {prompts} prompts is {size} and fits the array's own memory of {cache}: longer or more prompts, or "
                "have the vendor flush it between rounds",
                prompts=prompts, size=shown, cache=show_bytes(memory.size or 0),
            )  # fmt: skip
        return None

    return must


def _writes(site: Site, side: Side) -> Callable[[str], Phrase | None]:
    def must(found: str) -> Phrase | None:
        if found == "kvgate":
            return None
        who = site.user or say("the operator")
        return say("{user} cannot write and read in {path}: {why}", user=who, path=side.store, why=found[-160:])

    return must


def _still(side: Side) -> Callable[[Count], Phrase | None]:
    def must(found: Count) -> Phrase | None:
        if not found.files:
            return say(
                "the engine stored nothing in {path}: its store is not in use, or its writes fail silently",
                path=side.store,
            )
        return None if found.still else say("files in {path} still change long after populating", path=side.store)

    return must


def _reset(server: Server, site: Site) -> Callable[[Reset], Phrase | None]:
    def must(found: Reset) -> Phrase | None:
        whole = len(found.store) == len(server.cache) and (bool(found.store) or site.kind == "sglang-hicache")
        if not found.refused and found.engine == 200 and whole and all(status == 200 for status in found.store):
            return None
        if found.refused:
            return say("{engine} was not evicted: it answered that it did not succeed", engine=server.name)
        told = ", ".join(str(status) for status in (found.engine, *found.store))
        return say(
            "{engine} was not evicted: HTTP {told} (engine first, then every page of the store)",
            engine=server.name,
            told=told,
        )

    return must


def answered(what: Phrase) -> Callable[[ClientRun], Phrase | None]:
    """Every prompt was answered: what was not asked was not stored, and what was not warmed up is measured cold."""

    def must(found: ClientRun) -> Phrase | None:
        wrong = [one for one in found.requests if one.status != "completed"]
        if not wrong:
            return None
        return say(
            "{what}: {count} of {total} requests were not answered: {why}",
            what=what, count=len(wrong), total=found.count, why=wrong[0].error[:160] or wrong[0].status,
        )  # fmt: skip

    return must
