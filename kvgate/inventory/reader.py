"""An inventory file -> Rack, or every fault in it at once."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from checks.phrase import plain, say
from kvgate.errors import BadInput, Fault
from kvgate.inventory import parties, strict_yaml
from kvgate.inventory.faults import faults, once_each, placeholder
from kvgate.inventory.model import Rack
from kvgate.inventory.plausible import impossible
from kvgate.inventory.relations import contradictions, same_thing
from kvgate.inventory.serving_relations import serving_contradictions
from kvgate.inventory.soak_relations import soak_contradictions
from kvgate.inventory.strict_yaml import Document, Key

#: Keys that inventories of older runs may hold and that nothing is judged by any more; a new inventory may not have them.
_BYGONE: tuple[Key, ...] = tuple(("serving", "workload", name) for name in ("client", "client_version", "tokenizer"))
#: Keys that inventories of older runs may hold -> what they are called in ``cache`` of every host of role array, where they stand now.
_MOVED: dict[Key, str] = {("serving", "array_cache"): "size", ("serving", "array_cache_flushed"): "flushed"}
_BRACKETS = re.compile(r"<[^<>]*>")
_LATER = re.compile(r"(?i:tbd|tba|to ?do|fixme|n/?a|x{3,}|\?+|\.{3}|…|to be (filled|defined|determined)\b.*)")


@dataclass(frozen=True)
class Inventory:
    """A rack as ordered, with the text it was read from."""

    rack: Rack
    file: str
    text: str

    @property
    def text_digest(self) -> str:
        """SHA-256 of the file's bytes."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what makes it this rack and no other: serials, MACs, PCI slots, accelerators, host keys."""
        hosts = {
            name: {
                "host_key": host.host_key,
                "disks": sorted(disk.serial for disk in host.disks),
                "nics": sorted(nic.mac for nic in host.nics),
                "accelerators": host.accelerators.model_dump(mode="json") if host.accelerators else None,
            }
            for name, host in self.rack.hosts.items()
        }
        return hashlib.sha256(json.dumps(hosts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read(path: FilePath) -> Inventory:
    """Read and check one inventory file. Raises BadInput with all faults, each with line and column."""
    absent = say(
        "the inventory of a rack; to write a first one from its hosts: kvgate inventory draft HOST... -o {file}",
        file=shlex.quote(str(path)),
    )
    return _check(strict_yaml.agreed(path, absent), path.parent)


def parse(text: str, file: str = "inventory") -> Inventory:
    """Read and check inventory text; the files that it names are not looked at."""
    return _check(strict_yaml.parse(text, file))


def stored(text: str, file: str) -> Inventory:
    """Read the inventory that a run was begun with: its form must be right, but it is held to no rule that came later.

    A run says what was found under the rules of its day; a stricter version must still be able to judge it.
    """
    return _check(strict_yaml.parse(text, file), rules=False)


def _without(data: Any, paths: Iterable[Key]) -> Any:
    """Return the data without what stands at these places."""
    for path in paths:
        data = _left_out(data, path)
    return data


def _moved(data: Any) -> dict[str, Any]:
    """What stands at the old places, by its new name."""
    serving = data.get("serving")
    return {new: serving[old] for (_, old), new in _MOVED.items() if isinstance(serving, dict) and old in serving}


def _of_arrays(data: Any) -> dict[str, dict[str, Any]]:
    hosts = data.get("hosts")
    every = hosts.items() if isinstance(hosts, dict) else ()
    return {name: host for name, host in every if isinstance(host, dict) and host.get("role") == "array"}


def _in_place(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with what stands at an old place at the new one; what stands there already is the truth."""
    if not (moved := _moved(data)):
        return data
    arrays = {name: {"cache": moved, **host} for name, host in _of_arrays(data).items()}
    return {**data, "hosts": {**data["hosts"], **arrays}} if arrays else data


def _out_of_place(document: Document, data: dict[str, Any]) -> Iterator[Fault]:
    """What a new inventory says at an old place, and perhaps at the new one too."""
    arrays = _of_arrays(data)
    twice = [name for name, host in arrays.items() if "cache" in host]
    for path, new in _MOVED.items():
        if new not in _moved(data):
            continue
        if twice:
            found = say(
                "{key} beside 'cache' of {hosts}, which tells the array's memory too",
                key=str(path[-1]),
                hosts=", ".join(twice),
            )
            yield document.fault(path, found, say("'cache' of the array alone"), key=True)
        else:
            line = f"cache: {{{new}: {document.spelled.get(path, _at(data, path))}}}"
            wanted = say(
                "{line} at {hosts}, where the array is ordered", line=line, hosts=", ".join(arrays) or say("the array")
            )
            yield document.fault(path, say("{key}, which stands here no more", key=str(path[-1])), wanted, key=True)


def _left_out(data: Any, path: Key) -> Any:
    if not path or not isinstance(data, dict) or path[0] not in data:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    return rest if len(path) == 1 else {**data, path[0]: _left_out(data[path[0]], path[1:])}


def _check(document: Document, folder: FilePath | None = None, *, rules: bool = True) -> Inventory:
    """Check everything; key files only where the inventory is a file itself, contradictions only where ``rules`` are asked."""
    found = list(document.faults)
    found += [document.fault(path, placeholder(text), say("the real value")) for path, text in _placeholders(document)]
    if not isinstance(document.data, dict):
        raise BadInput(
            (document.fault((), say("no mapping"), say("the keys of an inventory: rack, campaign, parties, hosts")),)
        )
    data = _with_profiles(document, found)
    if rules:
        found += _out_of_place(document, data)
    else:
        data = _without(_in_place(data), _BYGONE)
    data = _without(data, _MOVED)
    rack: Rack | None = None
    try:
        rack = Rack.model_validate(data)
    except ValidationError as error:
        found += faults(error, document, Rack)
    found += _used_twice(document, data)
    if rack is not None and rules:
        found += contradictions(document, rack)
        found += serving_contradictions(document, rack)
        found += soak_contradictions(document, rack)
        found += impossible(document, rack)
        found += parties.one_file_each(document, rack)
        found += parties.good_keys(document, rack, folder) if folder is not None else ()
    if found or rack is None:
        raise BadInput(once_each(found))
    return Inventory(rack, document.file, document.text)


def leaves(data: Any, path: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Every value that holds no others, with the keys that lead to it."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, tuple):
        for index, value in enumerate(data):
            yield from leaves(value, (*path, index))
    else:
        yield path, data


def _placeholders(document: Document) -> Iterator[tuple[Key, str]]:
    for path, value in leaves(document.data):
        if isinstance(value, str) and (_BRACKETS.search(value) or _LATER.fullmatch(value.strip())):
            yield path, value


def _with_profiles(document: Document, found: list[Fault]) -> dict[str, Any]:
    """Fill each host from its profile; a key of the host replaces the profile's key whole."""
    data = dict(document.data)
    hosts, profiles = data.get("hosts"), data.get("profiles")
    if not isinstance(hosts, dict):
        return data
    merged: dict[str, Any] = {}
    every: tuple[dict[Key, Any], ...] = (document.keys, document.values, document.spelled)
    tables = [(table, _by_profile(table)) for table in every]
    for name, host in hosts.items():
        merged[name] = host
        if not isinstance(host, dict) or "profile" not in host:
            continue
        profile = host["profile"]
        if not isinstance(profiles, dict) or not isinstance(profiles.get(profile), dict):
            known = plain(", ".join(profiles)) if isinstance(profiles, dict) and profiles else say("none")
            wanted = say("a profile of this file: {known}", known=known)
            found.append(document.fault(("hosts", name, "profile"), repr(profile), wanted))
            continue
        merged[name] = {**profiles[profile], **host}
        for table, places in tables:
            _point_to_profile(table, places.get(profile, ()), name, host)
    data["hosts"] = merged
    return data


def _by_profile(table: dict[Key, Any]) -> dict[str | int, list[tuple[Key, Any]]]:
    """Places below each profile, by the keys below it: looked up once, not once a host."""
    found: dict[str | int, list[tuple[Key, Any]]] = defaultdict(list)
    for path, place in table.items():
        if len(path) > 2 and path[0] == "profiles":
            found[path[1]].append((path[2:], place))
    return found


def _point_to_profile(
    table: dict[Key, Any], places: Iterable[tuple[Key, Any]], name: str, host: dict[str, Any]
) -> None:
    for path, place in places:
        if path[0] not in host:
            table[("hosts", name, *path)] = place


_UNIQUE = {"serial": say("serial"), "mac": say("MAC address"), "host_key": say("host key"), "address": say("address")}


def _used_twice(document: Document, data: dict[str, Any]) -> Iterator[Fault]:
    seen: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for path, value in leaves(data.get("hosts"), ("hosts",)):
        if not isinstance(value, str) or not path:
            continue
        if path[-1] != "address" and path[-1] in _UNIQUE:
            seen[str(path[-1]), same_thing(str(path[-1]), value)].append(path)
        elif path[-1] == "address" and (len(path) == 3 or "nics" in path):
            port = _port(data, path) if len(path) == 3 else ""
            seen["address", f"{'host' if len(path) == 3 else 'port'} {value}{port}"].append(path)
    for (kind, _), paths in seen.items():
        line, _ = document.values.get(paths[0], (0, 0))
        what, first = _UNIQUE[kind], _at(data, paths[0])
        for path in paths[1:]:
            value = _at(data, path)
            twice = say("{what} {value!r} a second time (first on line {line})", what=what, value=value, line=line)
            if value != first:
                twice = say(
                    "{what} {value!r} a second time (on line {line} as {first!r}; letters of either case are the same)",
                    what=what,
                    value=value,
                    line=line,
                    first=first,
                )
            yield document.fault(path, twice, say("each {what} once", what=what))


def _at(data: Any, path: Key) -> str:
    for step in path:
        data = data[step]
    return str(data)


def _port(data: dict[str, Any], path: Key) -> str:
    host = data["hosts"].get(path[1])
    return f":{host.get('port', 22)}" if isinstance(host, dict) else ""
