"""What no single value of ``serving`` can show: arms that could not be compared, and settings that cannot work together."""

from __future__ import annotations

from collections.abc import Iterator

from kvgate.errors import Fault
from kvgate.inventory.model import Host, Rack
from kvgate.inventory.serving import Arm, Control, Serving, Shape
from kvgate.inventory.strict_yaml import Document, Key

_NETWORK = ("nfs", "nfs4")
_HERE: Key = ("serving",)


def serving_contradictions(document: Document, rack: Rack) -> Iterator[Fault]:
    """Everything in ``serving`` that would measure nothing, or something else than it says."""
    serving = rack.serving
    if serving is None:
        return
    if serving.primary not in serving.shapes:
        yield document.fault((*_HERE, "primary"), serving.primary, f"one of {', '.join(serving.shapes)}")
    yield from _host(document, (*_HERE, "load_host"), serving.load_host, rack)
    yield from _store(document, serving)
    yield from _workload(document, serving)
    for name, shape in serving.shapes.items():
        yield from _shape(document, (*_HERE, "shapes", name), shape, rack)


def _host(document: Document, place: Key, name: str, rack: Rack) -> Iterator[Fault]:
    host = rack.hosts.get(name)
    if host is None:
        yield document.fault(place, name, f"one of {', '.join(rack.hosts)}")
    elif host.access != "shell":
        yield document.fault(place, f"{name}, which has access: {host.access}", "a host with access: shell")


def _store(document: Document, serving: Serving) -> Iterator[Fault]:
    if serving.store.kind == "lmcache-local-disk" and serving.evict == "restart":
        found = "restart, after which lmcache-local-disk finds none of its files: everything would be computed again"
        yield document.fault((*_HERE, "evict"), found, "store: kind: lmcache-fs on every arm, or evict: api")


def _workload(document: Document, serving: Serving) -> Iterator[Fault]:
    place: Key = (*_HERE, "workload")
    work = serving.workload
    if work.prompt_tokens < serving.store.chunk:
        found = f"{work.prompt_tokens}, less than a chunk: nothing would be stored"
        yield document.fault((*place, "prompt_tokens"), found, f"at least {serving.store.chunk}")
    if len(set(work.concurrencies)) != len(work.concurrencies):
        yield document.fault((*place, "concurrencies"), str(list(work.concurrencies)), "each concurrency once")
    if work.client != "kvgate" and work.client_version is None:
        wanted = "its version: clients count the first token differently from version to version"
        yield document.fault((*place, "client"), f"{work.client} without client_version", wanted)


def _shape(document: Document, place: Key, shape: Shape, rack: Rack) -> Iterator[Fault]:
    roles = [arm.role for arm in shape.arms.values()]
    for role in ("local", "array"):
        if roles.count(role) != 1:
            found = f"{roles.count(role)} arms of role {role}"
            yield document.fault((*place, "arms"), found, "one arm of role local and one of role array")
    if len({len(arm.instances) for arm in shape.arms.values()}) > 1:
        counts = ", ".join(f"{arm}: {len(one.instances)}" for arm, one in shape.arms.items())
        yield document.fault((*place, "arms"), f"different numbers of instances ({counts})", "the same on every arm")
    stores: dict[tuple[str, str], str] = {}
    for arm_name, arm in shape.arms.items():
        here: Key = (*place, "arms", arm_name)
        yield from _arm(document, here, arm, shape, rack)
        if arm.store is not None:
            first = stores.setdefault((arm.host, arm.store), arm_name)
            if first != arm_name:
                yield document.fault((*here, "store"), f"{arm.store}, the store of {first} too", "a folder of its own")


def _arm(document: Document, here: Key, arm: Arm, shape: Shape, rack: Rack) -> Iterator[Fault]:
    yield from _host(document, (*here, "host"), arm.host, rack)
    host = rack.hosts.get(arm.host)
    if arm.role == "recompute":
        if arm.mount is not None or arm.store is not None:
            yield document.fault(here, "a recompute arm with a mount or a store", "neither: it keeps no KV")
    elif arm.mount is None or arm.store is None:
        yield document.fault(here, f"an arm of role {arm.role} without mount or store", "mount: and store: below it")
    else:
        yield from _place(document, here, arm, arm.mount, arm.store, host)
    cards = host.accelerators if host is not None else None
    if cards is not None and shape.tensor_parallel * len(arm.instances) > cards.count:
        found = f"{len(arm.instances)} x {shape.tensor_parallel} accelerators, but {arm.host} has {cards.count}"
        yield document.fault((*here, "instances"), found, f"at most {cards.count} together")
    endpoints = [one.endpoint for one in arm.instances]
    for index, instance in enumerate(arm.instances):
        if instance.endpoint in endpoints[:index]:
            wanted = "an endpoint of its own for each instance"
            yield document.fault((*here, "instances", index, "endpoint"), f"{instance.endpoint} a second time", wanted)
        yield from _control(document, (*here, "instances", index, "control"), instance.control)


def _place(document: Document, here: Key, arm: Arm, mount: str, store: str, host: Host | None) -> Iterator[Fault]:
    if not store.startswith(mount.rstrip("/") + "/") or ".." in store.split("/"):
        yield document.fault((*here, "store"), store, f"a folder below {mount}: it is emptied between rounds")
    mounts = {one.path: one for one in host.mounts} if host is not None else {}
    if host is not None and mount not in mounts:
        yield document.fault((*here, "mount"), mount, f"a mount of {arm.host}: {', '.join(mounts) or 'it has none'}")
    elif host is not None and (arm.role == "nfs") != (mounts[mount].filesystem in _NETWORK):
        found = f"{mount}, which is {mounts[mount].filesystem}"
        yield document.fault((*here, "mount"), found, "nfs for an arm of role nfs, and for no other")


def _control(document: Document, place: Key, control: Control) -> Iterator[Fault]:
    ways = [bool(control.unit), bool(control.container), bool(control.start or control.stop)]
    if sum(ways) != 1:
        yield document.fault(place, f"{sum(ways)} ways to start and stop", "one of unit, container, or start with stop")
    elif (control.start or control.stop) and not (control.start and control.stop):
        yield document.fault(place, "one of start and stop", "both")
