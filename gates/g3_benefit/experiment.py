"""The experiment that G3's clauses share: shapes, arms and workload of the inventory as the trials take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from checks.block.criteria import payload_rate
from checks.serving import judging, sensitivity, trials
from checks.serving.limits import Limits, limits
from checks.serving.rounds import Round
from checks.serving.site import Server, Side, Site
from checks.serving.tools import Driver
from checks.trial import Trial
from checks.verdict import Verdict
from kvgate.inventory import serving as inventory
from kvgate.inventory.model import Rack
from kvgate.inventory.serving import Arm, Instance, Shape
from kvgate.inventory.subjects import below, promised

#: What a device may give beyond its data sheet before its counter cannot be true.
_BEYOND_SHEET = 1.25


def site(rack: Rack, shape: str) -> Site:
    """One shape of the rack with everything that its trials need."""
    serving = rack.serving
    assert serving is not None
    found, work, model = serving.shapes[shape], serving.workload, serving.model
    return Site(
        shape=shape,
        engine=serving.engine.kind,
        engine_version=serving.engine.version,
        kind=serving.store.kind,
        store_version=serving.store.version,
        chunk=serving.store.chunk,
        header=serving.store.header,
        model=model.name,
        model_path=model.path,
        config=model.config or f"{model.path.rstrip('/')}/config.json",
        kv_dtype=model.kv_dtype,
        tensor_parallel=found.tensor_parallel,
        load_host=serving.load_host,
        user=serving.user or "",
        evict=serving.evict,
        ready=serving.ready,
        free=serving.free,
        environment=serving.environment,
        may_differ=serving.may_differ,
        array_cache=serving.array_cache,
        array_cache_flushed=serving.array_cache_flushed,
        prompt_tokens=work.prompt_tokens,
        output_tokens=work.output_tokens,
        requests=work.requests,
        rounds=work.rounds,
        more_rounds=work.more_rounds,
        canaries=work.canaries,
        seed=work.seed,
        sides=tuple(_side(rack, name, arm) for name, arm in found.arms.items()),
        busy=_busy(rack, found),
        driver=_driver(serving.driver),
    )


def _driver(ordered: inventory.Driver) -> Driver:
    return Driver(ordered.tool, ordered.version or "", ordered.folder or "", ordered.tokenizer or "")


def _busy(rack: Rack, shape: Shape) -> tuple[tuple[str, Server], ...]:
    """Engines of every other shape: they would hold the accelerators."""
    assert rack.serving is not None
    others = [one for one in rack.serving.shapes.values() if one is not shape]
    return tuple((arm.host, _server(one)) for other in others for arm in other.arms.values() for one in arm.instances)


def _server(one: Instance) -> Server:
    control = one.control
    way = "unit" if control.unit else "container" if control.container else "command"
    return Server(
        endpoint=one.endpoint,
        metrics=one.metrics,
        way=way,
        target=control.unit or control.container or "",
        runtime=control.runtime,
        start=control.start,
        stop=control.stop,
        cache=one.cache,
    )


def _side(rack: Rack, name: str, arm: Arm) -> Side:
    host = rack.hosts[arm.host]
    servers = tuple(_server(one) for one in arm.instances)
    mount = next((one for one in host.mounts if one.path == arm.mount), None)
    if mount is None or arm.store is None:
        return Side(name, arm.role, arm.host, servers)
    ports = [nic.speed for nic in host.nics if nic.role == "storage"]
    behind = below(mount) != "local"
    sheet = promised(rack, host, mount)
    ceilings = {}
    if behind and ports:
        mtu = rack.fabric.roce_mtu if rack.fabric else 4096
        ceilings["the ports"] = sum(payload_rate(speed, mtu) for speed in ports)
    if sheet is not None:
        ceilings["the data sheets"] = sheet.read * _BEYOND_SHEET
    rdma = behind and any(link.transport == "rdma" for link in host.nvmeof)
    return Side(
        name, arm.role, arm.host, servers, mount.path, mount.filesystem, arm.store, rdma, tuple(ceilings.items())
    )


def cells(concurrency, terms, proof=None) -> tuple[Site, Limits, Trial[Round]]:
    """The paired rounds at one concurrency, a thing of the inventory, and what they are held to by a clause's terms."""
    where = site(concurrency.rack, concurrency.shape)
    held = limits(terms, where)
    return where, held, trials.paired(where, concurrency.level, partial(judging.enough, site=where, limits=held), proof)


def seen(concurrency, terms) -> Callable[[], Verdict]:
    """What shows, before the first round, that a drop that is too small would be stopped and a large one would pass."""
    where = site(concurrency.rack, concurrency.shape)
    return cache(
        partial(
            sensitivity.sees,
            where,
            concurrency.level,
            limits(terms, where),
            terms["small"],
            terms["large"],
            terms["least"],
        )
    )
