"""What no single value of ``soak`` can show: hosts and mounts that are not there, names used twice, times that cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from checks.phrase import say
from kvgate.errors import Fault
from kvgate.inventory.model import Rack
from kvgate.inventory.serving import Serving
from kvgate.inventory.strict_yaml import Document, Key

#: Names of loads that kvgate itself gives.
OWN = ("verify", "fill", "janitor", "cleanup", "client", "canary", "kvfiles", "restart")


def soak_contradictions(document: Document, rack: Rack) -> Iterator[Fault]:
    """Everything in ``soak`` that would load nothing, or something else than the rack."""
    if (soak := rack.soak) is None:
        return
    here: Key = ("soak",)
    for kind in ("verify", "programs", "fill", "janitor"):
        for number, one in enumerate(getattr(soak, kind)):
            yield from _host(document, (*here, kind, number, "host"), one.host, rack)
    for kind in ("units", "pages"):
        for name in getattr(soak, kind):
            yield from _host(document, (*here, kind, name), name, rack)
    for kind in ("verify", "fill", "janitor"):
        for number, one in enumerate(getattr(soak, kind)):
            yield from _mount(document, (*here, kind, number, "path"), one.host, one.path, rack)
    for kind in ("fill", "janitor"):
        for number, one in enumerate(getattr(soak, kind)):
            if one.low >= one.high:
                yield document.fault(
                    (*here, kind, number, "low"), str(one.low), say("less than high, {high}", high=one.high)
                )
    if soak.serve is not None and not _arms(rack):
        wanted = say("`serving` with an arm of role array in its primary shape")
        yield document.fault((*here, "serve"), say("a serving load and nothing that serves"), wanted)
    if soak.serve is not None and rack.serving is not None:
        yield from _one_host(document, rack.serving)
    names = Counter((one.host, one.name) for one in soak.programs)
    for number, program in enumerate(soak.programs):
        place: Key = (*here, "programs", number)
        if names[program.host, program.name] > 1 or (program.name in OWN and soak.serve is not None):
            yield document.fault((*place, "name"), program.name, say("a name that no other load of this host has"))
        if bool(program.argv) == bool(program.rota):
            yield document.fault(
                place, say("{count} of argv and rota", count=2 if program.argv else 0), say("one of them")
            )
        if program.again and program.every is not None:
            yield document.fault((*place, "every"), say("again as well as every"), say("one of them"))


def _arms(rack: Rack) -> list[str]:
    shape = None if rack.serving is None else rack.serving.shapes.get(rack.serving.primary)
    return [] if shape is None else [name for name, arm in shape.arms.items() if arm.role == "array"]


def _one_host(document: Document, serving: Serving) -> Iterator[Fault]:
    """A planned restart of an engine excuses what its own host asked meanwhile, and nothing on another host."""
    shape = serving.shapes.get(serving.primary)
    for arm in () if shape is None else shape.arms.values():
        if arm.role == "array" and arm.host != serving.load_host:
            found = say("{load}, and the array arm is on {arm}", load=serving.load_host, arm=arm.host)
            wanted = say(
                "the arm's own host where soak.serve is used: planned restarts excuse requests of their own host only"
            )
            yield document.fault(("serving", "load_host"), found, wanted)


def _host(document: Document, place: Key, name: str, rack: Rack) -> Iterator[Fault]:
    host = rack.hosts.get(name)
    if host is None:
        yield document.fault(place, name, say("one of {words}", words=", ".join(rack.hosts)))
    elif host.access != "shell":
        found = say("{name}, which has access: {access}", name=name, access=host.access)
        yield document.fault(place, found, say("a host with access: shell"))


def _mount(document: Document, place: Key, name: str, path: str, rack: Rack) -> Iterator[Fault]:
    host = rack.hosts.get(name)
    mounts = [mount.path for mount in host.mounts] if host is not None else []
    inside = [
        one for one in mounts if PurePosixPath(path).is_relative_to(one) and ".." not in PurePosixPath(path).parts
    ]
    if host is not None and not inside:
        words = ", ".join(mounts) or say("this host has none")
        yield document.fault(place, path, say("a path below a mount of the host: {words}", words=words))
