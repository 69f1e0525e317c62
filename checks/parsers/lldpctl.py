"""``lldpctl -f json [interface]``: which switch port is at the other end of the cable.

Seen: lldpd 1.0 ``json``, where lists of one shrink to an object and chassis are keyed by name (or not, when the switch gives
no name), and ``json0``, where every value is a list. Without neighbours: ``{"lldp": {}}``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "lldpctl"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One neighbour seen on one interface; None for what it does not announce."""

    interface: str
    system: str | None
    chassis: str | None
    port: str | None
    description: str | None


def parse(text: str) -> tuple[Neighbour, ...]:
    """Read all neighbours of all interfaces; none is an empty tuple."""
    document = entry(json_document(text), "lldp", (dict, list))
    found: list[Neighbour] = []
    for part in document if isinstance(document, list) else [document]:
        if not isinstance(part, dict):
            raise UnreadableOutput("'lldp' is neither an object nor a list of objects")
        for item in _many(part.get("interface", [])):
            if isinstance(item, dict) and "name" in item and "port" in item:
                found.append(_neighbour(entry(item, "name", str), item))
            elif isinstance(item, dict):
                found += [_neighbour(name, one) for name, many in item.items() for one in _many(many)]
            else:
                raise UnreadableOutput("'interface' holds something that is no object")
    return tuple(found)


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _neighbour(name: str, item: Any) -> Neighbour:
    port = _one(entry(item, "port", (dict, list), name), name)
    system, chassis = _chassis(_one(item.get("chassis", {}), name), name)
    return Neighbour(name, system, chassis, _value(port, "id", name), _value(port, "descr", name))


def _one(value: Any, name: str) -> dict[str, Any]:
    values = _many(value)
    if len(values) != 1 or not isinstance(values[0], dict):
        raise UnreadableOutput(f"{name}: wanted one object, found {len(values)} entries")
    return values[0]


def _chassis(table: dict[str, Any], name: str) -> tuple[str | None, str | None]:
    if not table:
        return None, None
    if "id" in table and _identifier(table["id"]):
        return _value(table, "name", name), _value(table, "id", name)
    if len(table) != 1:
        raise UnreadableOutput(f"{name}: {len(table)} chassis, wanted one")
    system, inner = next(iter(table.items()))
    return system, _value(_one(inner, name), "id", name)


def _identifier(value: Any) -> bool:
    return all(isinstance(one, dict) and "value" in one for one in _many(value))


def _value(table: dict[str, Any], key: str, name: str) -> str | None:
    if key not in table:
        return None
    values = _many(table[key])
    value = values[0] if len(values) == 1 else None
    if isinstance(value, dict):
        value = value.get("value")
    if not isinstance(value, str):
        raise UnreadableOutput(f"{name}: {key!r} is not one text")
    return value or None
