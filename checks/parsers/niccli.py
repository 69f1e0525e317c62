"""``niccli --dev N qos --ets --show``: trust-by-DSCP table, PFC and scheduling of a Broadcom port.

Seen: niccli 227 to 233 (``niccli -dev N get_qos`` before), Thor and Thor 2. ``PFC enabled`` lists priorities (``3``, ``3 4`` or
``none``), it is no bit mask. A prompt line or a banner may come first. An APP entry with Sel 5 maps a DSCP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "niccli"

_PAIRS = re.compile(r"(PRIO_MAP|TSA_MAP):((?: [0-7]:\w+)+)", re.ASCII)
_APP = re.compile(
    r"(Priority|Sel|DSCP|UDP or DCCP|TCP or SCTP|TCP/UDP/SCTP/DCCP|Port|Ethertype): (0x[0-9a-fA-F]{1,4}|\d{1,5})",
    re.ASCII,
)
_DSCP_SELECTOR = "5"


@dataclass(frozen=True, slots=True)
class NiccliQos:
    """``classes`` are pairs of priority and traffic class, ``tsa`` of class and word, ``dscp`` of DSCP and priority."""

    classes: tuple[tuple[int, int], ...]
    tsa: tuple[tuple[int, str], ...]
    share: tuple[int, ...]
    pfc: tuple[int, ...]
    dscp: tuple[tuple[int, int], ...]


def parse(text: str) -> NiccliQos:
    """Read the report; ETS maps, PFC and the closing rate limits are required."""
    maps: dict[str, str] = {}
    apps: list[dict[str, str]] = []
    for line in lines(text):
        row = line.strip()
        label, colon, value = row.partition(":")
        if pairs := _PAIRS.fullmatch(row):
            _once(maps, pairs[1], pairs[2])
        elif label in ("TC Bandwidth", "PFC enabled", "TC Rate Limit") and colon:
            _once(maps, label, value.strip())
        elif re.fullmatch(r"APP#\d{1,3}:", row, re.ASCII):
            apps.append({})
        elif (found := _APP.fullmatch(row)) and apps:
            _once(apps[-1], found[1], found[2])
        elif "PFC enabled" in row or "_MAP" in row or (apps and label in ("Priority", "Sel", "DSCP")):
            raise UnreadableOutput(f"found {row[:80]!r}, a line of another shape")
    if missing := {"PRIO_MAP", "TSA_MAP", "TC Bandwidth", "PFC enabled", "TC Rate Limit"} - maps.keys():
        raise UnreadableOutput(f"no line {sorted(missing)[0]!r}; this is no QoS report, or it is cut")
    classes = _pairs(maps["PRIO_MAP"])
    tsa = _pairs(maps["TSA_MAP"])
    if any(not value.isdigit() for value in classes.values()) or set(tsa.values()) - {"ets", "strict", "vendor", "cbs"}:
        raise UnreadableOutput(f"PRIO_MAP is {maps['PRIO_MAP'][:60]!r}, TSA_MAP is {maps['TSA_MAP'][:60]!r}")
    return NiccliQos(
        classes=tuple((priority, int(value)) for priority, value in classes.items()),
        tsa=tuple(tsa.items()),
        share=_shares(maps["TC Bandwidth"]),
        pfc=_priorities(maps["PFC enabled"]),
        dscp=_dscp(apps),
    )


def _once(table: dict[str, str], key: str, value: str) -> None:
    if key in table:
        raise UnreadableOutput(f"{key} stands twice in one block")
    table[key] = value


def _pairs(text: str) -> dict[int, str]:
    cells = [cell.split(":") for cell in text.split()]
    if len({cell[0] for cell in cells}) != len(cells):
        raise UnreadableOutput(f"{text[:60]!r} names one number twice")
    return {int(number): word for number, word in cells}


def _shares(text: str) -> tuple[int, ...]:
    if re.fullmatch(r"\d{1,3}%(?: \d{1,3}%){0,7}", text, re.ASCII) is None:
        raise UnreadableOutput(f"TC Bandwidth is {text[:40]!r}")
    return tuple(int(cell.rstrip("%")) for cell in text.split())


def _priorities(text: str) -> tuple[int, ...]:
    if text == "none":
        return ()
    if re.fullmatch(r"[0-7](?:[ ,]+[0-7])*", text, re.ASCII) is None:
        raise UnreadableOutput(f"PFC enabled is {text[:40]!r}, wanted priorities or none")
    return tuple(int(cell) for cell in re.split(r"[ ,]+", text))


def _dscp(apps: list[dict[str, str]]) -> tuple[tuple[int, int], ...]:
    found: dict[int, int] = {}
    for app in apps:
        if "Priority" not in app or "Sel" not in app:
            raise UnreadableOutput(f"an APP entry holds {sorted(app)}, wanted Priority and Sel")
        if app["Sel"] != _DSCP_SELECTOR:
            continue
        if not app.get("DSCP", "").isdigit() or not app["Priority"].isdigit():
            raise UnreadableOutput(f"an APP entry with Sel 5 holds {app}, wanted a DSCP and a Priority")
        dscp, priority = int(app["DSCP"]), int(app["Priority"])
        if dscp in found or dscp > 63 or priority > 7:
            raise UnreadableOutput(f"DSCP {dscp} to priority {priority} is out of range or stands twice")
        found[dscp] = priority
    return tuple(sorted(found.items()))
