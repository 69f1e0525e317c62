"""Shapes, arms and workload of the inventory as the trials of serving take them, in G2 and in G3."""

from __future__ import annotations

from checks.block.memory import ArrayMemory
from checks.ceiling import payload_rate
from checks.phrase import Phrase, say
from checks.serving.site import Server, Side, Site
from checks.serving.tools import Driver
from kvgate.inventory import serving as inventory
from kvgate.inventory.model import Rack
from kvgate.inventory.references import below, memory, promised
from kvgate.inventory.serving import Arm, Instance, Serving, Shape

#: What a device may give beyond its data sheet before its counter cannot be true.
_BEYOND_SHEET = 1.25


def site(rack: Rack, shape: str) -> Site:
    """One shape of the rack with everything that its trials need. Raises LookupError where nothing is served."""
    serving = _serving(rack)
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
        memory=_memory(rack, found),
    )


def served(rack: Rack, host: str, path: str) -> tuple[Site, ...]:
    """Shapes that keep their KV on a mount of a host; where none does, all that this host serves. Empty: it serves none."""
    shapes = rack.serving.shapes if rack.serving is not None else {}
    here = {
        name: {arm.mount for arm in shape.arms.values() if arm.host == host and arm.role != "reader"}
        for name, shape in shapes.items()
    }
    found = [name for name, mounts in here.items() if path in mounts] or [
        name for name, mounts in here.items() if mounts
    ]
    return tuple(site(rack, name) for name in found)


def _memory(rack: Rack, shape: Shape) -> ArrayMemory | None:
    """Memory of the array below the arm on trial."""
    trial = next((arm for arm in shape.arms.values() if arm.role == "array"), None)
    mounts = rack.hosts[trial.host].mounts if trial is not None else ()
    return next((memory(rack, one) for one in mounts if trial is not None and one.path == trial.mount), None)


def _driver(ordered: inventory.Driver) -> Driver:
    return Driver(ordered.tool, ordered.version or "", ordered.folder or "", ordered.tokenizer or "")


def _serving(rack: Rack) -> Serving:
    if rack.serving is None:
        raise LookupError("the inventory has no serving section")
    return rack.serving


def _busy(rack: Rack, shape: Shape) -> tuple[tuple[str, Server], ...]:
    """Engines of every other shape: they would hold the accelerators."""
    others = [one for one in _serving(rack).shapes.values() if one is not shape]
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
    platform = host.accelerators.platform if host.accelerators is not None else ""
    mount = next((one for one in host.mounts if one.path == arm.mount), None)
    if mount is None or arm.store is None:
        return Side(name, arm.role, arm.host, servers, platform=platform)
    behind = below(mount) != "local"
    ports = [nic for nic in host.nics if nic.role == "storage" and behind]
    sheet = promised(rack, host, mount)
    ceilings: dict[Phrase, float] = {}
    if ports:
        mtu = rack.fabric.roce_mtu if rack.fabric else 4096
        ceilings[say("the ports")] = sum(payload_rate(nic.speed, mtu) for nic in ports)
    if sheet is not None:
        ceilings[say("the data sheets")] = sheet.read * _BEYOND_SHEET
    serials = [disk.serial for disk in host.disks if disk.role == "baseline"]
    return Side(
        name=name,
        role=arm.role,
        host=arm.host,
        servers=servers,
        mount=mount.path,
        filesystem=mount.filesystem,
        store=arm.store,
        over_rdma=behind and any(link.transport == "rdma" for link in host.nvmeof),
        ceilings=tuple(ceilings.items()),
        serial=serials[0] if not behind and len(serials) == 1 else "",
        platform=platform,
        ports=tuple(nic.name for nic in ports),
    )
