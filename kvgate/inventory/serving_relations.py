"""What no single value of ``serving`` can show: arms that could not be compared, and settings that cannot work together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.phrase import say
from kvgate.errors import Fault
from kvgate.inventory.model import Host, Rack
from kvgate.inventory.references import below
from kvgate.inventory.serving import Arm, Control, Serving, Shape
from kvgate.inventory.strict_yaml import Document, Key

_NETWORK = ("nfs", "nfs4")
#: What the mount of an arm stands on: another one would be measured under its name.
_LIES = {"local": "local", "array": "array", "reader": "array"}
_HERE: Key = ("serving",)
#: Tools that read prompts or count answers with a tokenizer of their own.
_TOKENIZED = ("sglang-bench", "aiperf")


def serving_contradictions(document: Document, rack: Rack) -> Iterator[Fault]:
    """Everything in ``serving`` that would measure nothing, or something else than it says."""
    serving = rack.serving
    if serving is None:
        return
    if serving.primary not in serving.shapes:
        yield document.fault(
            (*_HERE, "primary"), serving.primary, say("one of {words}", words=", ".join(serving.shapes))
        )
    yield from _host(document, (*_HERE, "load_host"), serving.load_host, rack)
    yield from _store(document, serving)
    yield from _workload(document, serving)
    yield from _driver(document, serving)
    for name, shape in serving.shapes.items():
        yield from _shape(document, (*_HERE, "shapes", name), shape, rack)


def _host(document: Document, place: Key, name: str, rack: Rack) -> Iterator[Fault]:
    host = rack.hosts.get(name)
    if host is None:
        yield document.fault(place, name, say("one of {words}", words=", ".join(rack.hosts)))
    elif host.access != "shell":
        yield document.fault(
            place,
            say("{name}, which has access: {access}", name=name, access=host.access),
            say("a host with access: shell"),
        )


def _store(document: Document, serving: Serving) -> Iterator[Fault]:
    kind, place = serving.store.kind, (*_HERE, "store", "kind")
    if kind == "mooncake":
        found = say(
            "mooncake, which counts neither the tokens it gave nor its failures for each engine: nothing could be proven"
        )
        yield document.fault(
            place, found, say("a store whose hits can be read: lmcache-fs, lmcache-gds, vllm-fs, sglang-hicache")
        )
    elif (kind == "sglang-hicache") != (serving.engine.kind == "sglang"):
        found = say("{store} with engine {engine}", store=kind, engine=serving.engine.kind)
        yield document.fault(place, found, say("sglang-hicache with sglang, every other store with vllm"))
    yield from _evicted(document, serving)
    if serving.store.kind == "lmcache-local-disk" and serving.evict == "restart":
        found = say(
            "restart, after which lmcache-local-disk finds none of its files: everything would be computed again"
        )
        yield document.fault((*_HERE, "evict"), found, say("store: kind: lmcache-fs on every arm, or evict: api"))


def _evicted(document: Document, serving: Serving) -> Iterator[Fault]:
    """``evict: api`` must reach every place that holds KV beside the store."""
    if serving.evict != "api":
        return
    if serving.store.kind == "vllm-fs":
        found = say("api, but no interface of vllm-fs empties its memory on the host")
        yield document.fault((*_HERE, "evict"), found, say("restart"))
    if not serving.store.kind.startswith("lmcache"):
        return
    for name, shape in serving.shapes.items():
        for arm_name, arm in shape.arms.items():
            for index, instance in enumerate(arm.instances):
                if arm.store is not None and not instance.cache:
                    here: Key = (*_HERE, "shapes", name, "arms", arm_name, "instances", index)
                    found = say("an instance without cache, and evict: api")
                    yield document.fault(here, found, say("cache: the page of every worker that clears its memory"))


def _workload(document: Document, serving: Serving) -> Iterator[Fault]:
    place: Key = (*_HERE, "workload")
    work = serving.workload
    if work.prompt_tokens < serving.store.chunk:
        found = say("{prompt_tokens}, less than a chunk: nothing would be stored", prompt_tokens=work.prompt_tokens)
        yield document.fault((*place, "prompt_tokens"), found, say("at least {chunk}", chunk=serving.store.chunk))
    if len(set(work.concurrencies)) != len(work.concurrencies):
        yield document.fault((*place, "concurrencies"), str(list(work.concurrencies)), say("each concurrency once"))


def _driver(document: Document, serving: Serving) -> Iterator[Fault]:
    place: Key = (*_HERE, "driver")
    driver = serving.driver
    if driver.tool == "own":
        if given := [name for name in ("version", "folder", "tokenizer") if getattr(driver, name) is not None]:
            found = say("{names} for kvgate's own client", names=", ".join(given))
            yield document.fault(place, found, say("none of them: it is sent to the load host as it is"))
        return
    if driver.tool == "guidellm":
        found = say("guidellm, which asks texts only and drops requests that are under way at its end")
        yield document.fault(
            (*place, "tool"), found, say("another tool; a result of guidellm is read by kvgate figures")
        )
        return
    wants = ("version", "folder", "tokenizer") if driver.tool in _TOKENIZED else ("version", "folder")
    for name in wants:
        if getattr(driver, name) is None:
            wanted = {
                "version": say("its version: tools count the first token differently from version to version"),
                "folder": say("the folder of its environment on the load host"),
                "tokenizer": say("the folder of the model's tokenizer on the load host"),
            }[name]
            yield document.fault(place, say("{tool} without {name}", tool=driver.tool, name=name), wanted)
    if driver.tool == "sglang-bench" and serving.engine.kind != "sglang":
        found = say("{tool} for the engine {engine}", tool=driver.tool, engine=serving.engine.kind)
        yield document.fault(place, found, say("engine: kind: sglang, whose own interface it asks, or another tool"))
    for name, shape in serving.shapes.items():
        if (many := max((len(arm.instances) for arm in shape.arms.values()), default=0)) > 1:
            found = say("{tool}, and {count} instances in shape {shape}", tool=driver.tool, count=many, shape=name)
            yield document.fault(place, found, say("tool: own, which asks several instances, or one instance an arm"))


def _shape(document: Document, place: Key, shape: Shape, rack: Rack) -> Iterator[Fault]:
    roles = [arm.role for arm in shape.arms.values()]
    for role in ("local", "array"):
        if roles.count(role) != 1:
            found = say("{count} arms of role {role}", count=roles.count(role), role=role)
            yield document.fault((*place, "arms"), found, say("one arm of role local and one of role array"))
    if roles.count("recompute") > 1:
        found = say("{count} arms of role {role}", count=roles.count("recompute"), role="recompute")
        yield document.fault((*place, "arms"), found, say("one at most"))
    if len({len(arm.instances) for arm in shape.arms.values()}) > 1:
        counts = ", ".join(f"{arm}: {len(one.instances)}" for arm, one in shape.arms.items())
        yield document.fault(
            (*place, "arms"),
            say("different numbers of instances ({counts})", counts=counts),
            say("the same on every arm"),
        )
    yield from _one_node(document, place, shape)
    yield from _own_engines(document, place, shape)
    yield from _readers(document, place, shape, rack)
    stores: dict[tuple[str, str], str] = {}
    for arm_name, arm in shape.arms.items():
        here: Key = (*place, "arms", arm_name)
        yield from _arm(document, here, arm, shape, rack)
        yield from _reached(document, here, arm, rack)
        if arm.store is not None:
            first = stores.setdefault((arm.host, arm.store), arm_name)
            if first != arm_name:
                yield document.fault(
                    (*here, "store"),
                    say("{store}, the store of {first} too", store=arm.store, first=first),
                    say("a folder of its own"),
                )


def _one_node(document: Document, place: Key, shape: Shape) -> Iterator[Fault]:
    """Arms that are compared run on one node: two machines are never alike."""
    array = next((arm for arm in shape.arms.values() if arm.role == "array"), None)
    for name, arm in shape.arms.items():
        if array is not None and arm.role != "reader" and arm.host != array.host:
            found = say("{host}, and the arm of role array on {other}", host=arm.host, other=array.host)
            yield document.fault((*place, "arms", name, "host"), found, say("one node for all arms that are compared"))


def _own_engines(document: Document, place: Key, shape: Shape) -> Iterator[Fault]:
    """One unit or container keeps its KV in one place: it cannot be two arms."""
    taken: dict[tuple[str, str], str] = {}
    for name, arm in shape.arms.items():
        for index, one in enumerate(arm.instances):
            engine = one.control.unit or one.control.container
            if engine is None:
                continue
            first = taken.setdefault((arm.host, engine), name)
            if first != name:
                here: Key = (*place, "arms", name, "instances", index, "control")
                found = say("{engine}, the engine of {first} too", engine=engine, first=first)
                yield document.fault(here, found, say("a unit or container of its own for every arm"))


def _reached(document: Document, here: Key, arm: Arm, rack: Rack) -> Iterator[Fault]:
    """An endpoint of the host's own is asked on that host: from another one nothing, or another engine, would answer."""
    asks = arm.host if arm.role == "reader" or rack.serving is None else rack.serving.load_host
    for index, one in enumerate(arm.instances):
        if asks != arm.host and re.match(r"http://(localhost|127\.|\[::1\])", one.endpoint):
            found = say("{endpoint} of {host}, asked from {asks}", endpoint=one.endpoint, host=arm.host, asks=asks)
            wanted = say("an address that {asks} reaches, or load_host: {host}", asks=asks, host=arm.host)
            yield document.fault((*here, "instances", index, "endpoint"), found, wanted)


def _readers(document: Document, place: Key, shape: Shape, rack: Rack) -> Iterator[Fault]:
    """Each reader is another node than the array arm's and every other reader's, and reads the array."""
    taken = {arm.host: name for name, arm in shape.arms.items() if arm.role == "array"}
    for name, arm in shape.arms.items():
        if arm.role != "reader":
            continue
        if arm.host in taken:
            found = say("{host}, the node of {first} too", host=arm.host, first=taken[arm.host])
            yield document.fault(
                (*place, "arms", name, "host"), found, say("a node of its own for every arm that reads at once")
            )
        taken.setdefault(arm.host, name)


def _arm(document: Document, here: Key, arm: Arm, shape: Shape, rack: Rack) -> Iterator[Fault]:
    yield from _host(document, (*here, "host"), arm.host, rack)
    host = rack.hosts.get(arm.host)
    if arm.role == "recompute":
        if arm.mount is not None or arm.store is not None:
            yield document.fault(here, say("a recompute arm with a mount or a store"), say("neither: it keeps no KV"))
    elif arm.mount is None or arm.store is None:
        yield document.fault(
            here, say("an arm of role {role} without mount or store", role=arm.role), say("mount: and store: below it")
        )
    else:
        yield from _place(document, here, arm, arm.mount, arm.store, host, rack)
    cards = host.accelerators if host is not None else None
    if cards is not None and shape.tensor_parallel * len(arm.instances) > cards.count:
        found = say(
            "{count} x {tensor_parallel} accelerators, but {host} has {cards}",
            count=len(arm.instances),
            tensor_parallel=shape.tensor_parallel,
            host=arm.host,
            cards=cards.count,
        )
        yield document.fault((*here, "instances"), found, say("at most {count} together", count=cards.count))
    endpoints = [one.endpoint for one in arm.instances]
    for index, instance in enumerate(arm.instances):
        if instance.endpoint in endpoints[:index]:
            wanted = say("an endpoint of its own for each instance")
            yield document.fault(
                (*here, "instances", index, "endpoint"),
                say("{endpoint} a second time", endpoint=instance.endpoint),
                wanted,
            )
        yield from _control(document, (*here, "instances", index, "control"), instance.control)


def _place(
    document: Document, here: Key, arm: Arm, mount: str, store: str, host: Host | None, rack: Rack
) -> Iterator[Fault]:
    plain = not {"", ".", ".."} & set(store.split("/")[1:])
    if not store.startswith(mount.rstrip("/") + "/") or not plain:
        yield document.fault(
            (*here, "store"), store, say("a folder below {mount}: it is emptied between rounds", mount=mount)
        )
    for held in _kept(rack, host):
        if f"{held}/".startswith(store.rstrip("/") + "/"):
            found = say("{store}, which holds {path}", store=store, path=held)
            yield document.fault((*here, "store"), found, say("a folder for KV alone: it is emptied between rounds"))
    mounts = {one.path: one for one in host.mounts} if host is not None else {}
    if host is not None and mount not in mounts:
        yield document.fault(
            (*here, "mount"),
            mount,
            say(
                "a mount of {host}: {mounts}", host=arm.host, mounts=", ".join(mounts) if mounts else say("it has none")
            ),
        )
    elif host is not None and (arm.role == "nfs") != (mounts[mount].filesystem in _NETWORK):
        found = say("{mount}, which is {filesystem}", mount=mount, filesystem=mounts[mount].filesystem)
        yield document.fault((*here, "mount"), found, say("nfs for an arm of role nfs, and for no other"))
    elif host is not None and (wanted := _LIES.get(arm.role)) and below(mounts[mount]) != wanted:
        lies = {
            "array": say("{mount}, which does not lie on the array", mount=mount),
            "local": say("{mount}, which does not lie on the node's own disk (arm: local)", mount=mount),
        }[wanted]
        owed = {
            "array": say("a mount of the array for an arm of role {role}", role=arm.role),
            "local": say("a mount with arm: local for the arm of role local"),
        }[wanted]
        yield document.fault((*here, "mount"), lies, owed)


def _kept(rack: Rack, host: Host | None) -> list[str]:
    """Paths of a host that no store may hold: what lies there is not KV, and would be removed."""
    serving = rack.serving
    model = [serving.model.path, serving.model.config] if serving is not None else []
    places = [*(one.path for one in host.mounts), *(model)] if host is not None else model
    return [one.rstrip("/") for one in places if one is not None and one != "/"]


def _control(document: Document, place: Key, control: Control) -> Iterator[Fault]:
    ways = [bool(control.unit), bool(control.container), bool(control.start or control.stop)]
    if sum(ways) != 1:
        yield document.fault(
            place,
            say("{count} ways to start and stop", count=sum(ways)),
            say("one of unit, container, or start with stop"),
        )
    elif (control.start or control.stop) and not (control.start and control.stop):
        yield document.fault(place, say("one of start and stop"), "both")
