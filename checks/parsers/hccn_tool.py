"""``hccn_tool -i N -<query> -g``: the RoCE port of an Ascend NPU.

Seen: drivers 23.0 to 25.x. Queries read: ``link net_health link_stat stat fec speed mtu optical pfc dscp_to_tc``.
``-stat`` prints ``name:value`` without blanks, the others mostly ``name : value``; ``-link_stat`` says ``[device N]`` or
``[devid N]`` and, from 2025 on, a down count; ``-optical`` prints milliwatts only, one value or one a lane, ``NA`` for
what the module does not tell. Several answers may follow one another when each is headed by its own command line, as
collected logs are written (``checks.roce.probes.npu_ports`` asks that way).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from checks.lexing import NOT_GIVEN, decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "hccn_tool"

_HEAD = re.compile(r"(?:\S*/)?hccn_tool -i (\d{1,3}) -([a-z_]+) -g\b.*", re.ASCII)
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9 ]*?)\s*:\s*(.*)", re.ASCII)
_LANE = re.compile(r"(Tx|Rx) Power([0-7]?)", re.ASCII)
_RECORD = re.compile(r"\[dev(?:ice|id) \d{1,3}\]\s+(\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4})\s+LINK (UP|DOWN)", re.ASCII)
_FIELD = re.compile(
    r"\[dev(?:ice|id) \d{1,3}\](current time|link (?:up|down) count|link change records)\s*:\s*(.*)", re.ASCII
)
_HEALTH = frozenset(
    {
        "Success", "Socket fail", "Receive timeout", "Unreachable", "Time exceeded", "Fault", "Init", "Thread error",
        "Detect ip set", "Unknown",
    }
)  # fmt: skip
Named = TypeVar("Named")


@dataclass(frozen=True, slots=True)
class Link:
    """``-link``: whether the port is up."""

    up: bool


@dataclass(frozen=True, slots=True)
class NetHealth:
    """``-net_health``: result of the port's own probe of its detect address; ``Init`` means none was configured yet."""

    status: str


@dataclass(frozen=True, slots=True)
class LinkChange:
    """One record of ``-link_stat``; the device clock may be years off."""

    at: str
    up: bool


@dataclass(frozen=True, slots=True)
class LinkStat:
    """``-link_stat``: how often the link came up (and, newer tools, went down), newest record first."""

    now: str
    up_count: int
    down_count: int | None
    changes: tuple[LinkChange, ...]


@dataclass(frozen=True, slots=True)
class Stat:
    """``-stat``: packet counters since the last clear or reset."""

    counters: dict[str, int]


@dataclass(frozen=True, slots=True)
class Fec:
    """``-fec``: the mode's own words, such as ``rs FEC mode``."""

    mode: str


@dataclass(frozen=True, slots=True)
class Speed:
    """``-speed``: Mb/s, None when the tool calls it unknown."""

    mbps: int | None


@dataclass(frozen=True, slots=True)
class Mtu:
    """``-mtu``: bytes."""

    mtu: int


@dataclass(frozen=True, slots=True)
class Optical:
    """``-optical``: powers in mW a lane, thresholds of the module in mW and deg C; None is what the tool calls NA."""

    present: bool
    temperature_c: float | None
    tx_power_mw: tuple[float | None, ...]
    rx_power_mw: tuple[float | None, ...]
    tx_high_mw: float | None
    tx_low_mw: float | None
    rx_high_mw: float | None
    rx_low_mw: float | None
    temperature_high_c: float | None
    temperature_low_c: float | None
    tx_los: str | None  # hexadecimal, one bit a lane; 0x0 is good
    rx_los: str | None
    vendor: str | None
    part: str | None
    serial: str | None


@dataclass(frozen=True, slots=True)
class Pfc:
    """``-pfc``: the priorities with PFC on."""

    enabled: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DscpToTc:
    """``-dscp_to_tc``: pairs of DSCP and traffic class, all 64 or the one asked for."""

    classes: tuple[tuple[int, int], ...]


Fact = Link | NetHealth | LinkStat | Stat | Fec | Speed | Mtu | Optical | Pfc | DscpToTc


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; ``device`` is None when the text does not say whose it is."""

    device: int | None
    query: str
    fact: Fact


def parse(text: str) -> tuple[Reply, ...]:
    """Read one answer, or several that are each headed by their command line."""
    rows = lines(text)
    heads = [(number, head) for number, row in enumerate(rows) if (head := _HEAD.fullmatch(row.strip()))]
    if not heads:
        body = [row for row in rows if row.strip()]
        query = _query_of(body[0])
        return (Reply(None, query, _READERS[query](body)),)
    if any(row.strip() for row in rows[: heads[0][0]]):
        raise UnreadableOutput(f"found {rows[0][:60]!r} before the first command line")
    replies = []
    ends = [*(number for number, _ in heads[1:]), len(rows)]
    for (start, head), end in zip(heads, ends, strict=True):
        body = [row for row in rows[start + 1 : end] if row.strip()]
        if head[2] not in _READERS:
            raise UnreadableOutput(f"query -{head[2]} is not one that is read")
        if not body:
            raise UnreadableOutput(f"no answer after {rows[start].strip()!r}")
        replies.append(Reply(int(head[1]), head[2], _READERS[head[2]](body)))
    if len({(reply.device, reply.query) for reply in replies}) != len(replies):
        raise UnreadableOutput("one query of one device stands twice")
    return tuple(replies)


def _query_of(first: str) -> str:
    for query, start in _STARTS.items():
        if re.match(start, first.strip()):
            return query
    raise UnreadableOutput(f"found {first.strip()[:60]!r}, no answer of hccn_tool begins so")


def _one(rows: list[str], pattern: str, what: str) -> str:
    found = re.fullmatch(pattern, rows[0].strip(), re.ASCII)
    if len(rows) != 1 or found is None:
        raise UnreadableOutput(f"found {len(rows)} lines beginning {rows[0].strip()[:60]!r}, wanted one line {what}")
    return found[1]


def _link(rows: list[str]) -> Link:
    return Link(_one(rows, r"link status:\s*(UP|DOWN)", "'link status: UP' or DOWN") == "UP")


def _net_health(rows: list[str]) -> NetHealth:
    word = _one(rows, r"net health status:\s*(\S.*)", "'net health status: ...'")
    if word not in _HEALTH:
        raise UnreadableOutput(f"net health status {word[:40]!r} is not a known one")
    return NetHealth(word)


def _fec(rows: list[str]) -> Fec:
    return Fec(_one(rows, r"fec mode:\s*(\S.* mode|\S+)", "'fec mode: ...'"))


def _speed(rows: list[str]) -> Speed:
    word = _one(rows, r"Speed:\s*(\d{1,9} Mb/s|[Uu]nknown!?)", "'Speed: 100000 Mb/s'")
    return Speed(int(word.split()[0]) if word[0].isdigit() else None)


def _mtu(rows: list[str]) -> Mtu:
    return Mtu(integer(_one(rows, r"mtu:\s*(\d{1,5})", "'mtu:1500'"), "mtu"))


def _link_stat(rows: list[str]) -> LinkStat:
    fields: dict[str, str] = {}
    changes: list[LinkChange] = []
    for row in rows:
        if field := _FIELD.fullmatch(row.strip()):
            if field[1] in fields or changes:
                raise UnreadableOutput(f"{field[1]!r} stands twice or after the records")
            fields[field[1]] = field[2]
        elif (record := _RECORD.fullmatch(row.strip())) and "link change records" in fields:
            changes.append(LinkChange(record[1], record[2] == "UP"))
        else:
            raise UnreadableOutput(f"found {row.strip()[:60]!r} among the link records")
    if missing := {"current time", "link up count", "link change records"} - fields.keys():
        raise UnreadableOutput(f"no {sorted(missing)[0]!r}")
    down = fields.get("link down count")
    return LinkStat(
        now=fields["current time"],
        up_count=integer(fields["link up count"], "link up count"),
        down_count=None if down is None else integer(down, "link down count"),
        changes=tuple(changes),
    )


def _stat(rows: list[str]) -> Stat:
    counters: dict[str, int] = {}
    for row in rows[1:]:
        name, colon, value = row.strip().partition(":")
        if not colon or re.fullmatch(r"[a-z][a-z0-9_]*", name, re.ASCII) is None or name in counters:
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, wanted name:value, each name once")
        counters[name] = integer(value, name)
    if rows[0].strip() != "packet statistics:" or not counters or list(counters)[-1] != "nic_rx_all_oct_num":
        raise UnreadableOutput("wanted 'packet statistics:' first and nic_rx_all_oct_num last; the table is cut")
    return Stat(counters)


def _optical(rows: list[str]) -> Optical:
    said: dict[str, str] = {}
    for row in rows[1:]:
        found = _LABEL.fullmatch(row.strip())
        if found is None or found[1] in said:
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, wanted 'label : value', each label once")
        said[found[1]] = found[2].strip()
    present = said.get("present")
    if present not in ("present", "not present"):
        raise UnreadableOutput(f"present is {present!r}, wanted 'present' or 'not present'")
    lanes: dict[str, list[float | None]] = {"Tx": [], "Rx": []}
    for label in said:
        if lane := _LANE.fullmatch(label):
            lanes[lane[1]].append(_measure(said, label, "mW"))
    if not lanes["Tx"] or len(lanes["Tx"]) != len(lanes["Rx"]) or "RxPower Low Thres" not in said:
        raise UnreadableOutput(f"powers of {len(lanes['Tx'])} and {len(lanes['Rx'])} lanes; the answer is cut")
    if lanes["Rx"][0] is not None and "Rx Los Flag" not in said:
        raise UnreadableOutput("no 'Rx Los Flag' after the powers; the answer is cut")
    return Optical(
        present=present == "present",
        temperature_c=_measure(said, "temperature", "C"),
        tx_power_mw=tuple(lanes["Tx"]),
        rx_power_mw=tuple(lanes["Rx"]),
        tx_high_mw=_measure(said, "TxPower High Thres", "mW"),
        tx_low_mw=_measure(said, "TxPower Low Thres", "mW"),
        rx_high_mw=_measure(said, "RxPower High Thres", "mW"),
        rx_low_mw=_measure(said, "RxPower Low Thres", "mW"),
        temperature_high_c=_measure(said, "Temp High Thres", "C"),
        temperature_low_c=_measure(said, "Temp Low Thres", "C"),
        tx_los=_flag(said, "Tx Los Flag"),
        rx_los=_flag(said, "Rx Los Flag"),
        vendor=said.get("vendor name") or None,
        part=said.get("vendor part number") or None,
        serial=said.get("vendor serial number") or None,
    )


def _measure(said: dict[str, str], label: str, unit: str) -> float | None:
    if label not in said:
        raise UnreadableOutput(f"no {label!r}")
    if said[label] in NOT_GIVEN or said[label] == "get failed":
        return None
    value, _, found = said[label].partition(" ")
    if found != unit:
        raise UnreadableOutput(f"{label} is {said[label][:40]!r}, wanted a number in {unit}")
    return decimal(value, label)


def _flag(said: dict[str, str], label: str) -> str | None:
    if label not in said or said[label] in NOT_GIVEN:
        return None
    if re.fullmatch(r"0x[0-9a-f]{1,4}", said[label], re.ASCII) is None:
        raise UnreadableOutput(f"{label} is {said[label][:40]!r}, wanted 0x..")
    return said[label]


def _pfc(rows: list[str]) -> Pfc:
    table = [row.split() for row in rows]
    if len(table) != 3 or table[0] != ["PFC", "configuration:"] or table[1] != ["priority", *"01234567"]:
        raise UnreadableOutput("wanted 'PFC configuration:', a row priority 0..7 and a row enabled")
    word, *bits = table[2]
    if word != "enabled" or len(bits) != 8 or set(bits) - {"0", "1"}:
        raise UnreadableOutput(f"found {rows[2].strip()[:60]!r}, wanted 'enabled' and eight of 0 or 1")
    return Pfc(tuple(priority for priority, bit in enumerate(bits) if bit == "1"))


def _dscp_to_tc(rows: list[str]) -> DscpToTc:
    classes: dict[int, int] = {}
    for row in rows[1:]:
        cells = row.split()
        if len(cells) != 2:
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, wanted a DSCP and a traffic class")
        dscp, traffic_class = (integer(cell, "DSCP or traffic class") for cell in cells)
        if dscp in classes or not (0 <= dscp <= 63 and 0 <= traffic_class <= 7):
            raise UnreadableOutput(f"found {row.strip()[:60]!r}, a DSCP out of range or twice")
        classes[dscp] = traffic_class
    if rows[0].split() != ["dscp", "tc"] or len(classes) not in (1, 64):
        raise UnreadableOutput(
            f"{len(classes)} rows after {rows[0].strip()[:40]!r}, wanted 'dscp tc' and 64 rows or one"
        )
    return DscpToTc(tuple(classes.items()))


_READERS: dict[str, Callable[[list[str]], Fact]] = {
    "link": _link, "net_health": _net_health, "link_stat": _link_stat, "stat": _stat, "fec": _fec, "speed": _speed,
    "mtu": _mtu, "optical": _optical, "pfc": _pfc, "dscp_to_tc": _dscp_to_tc,
}  # fmt: skip
_STARTS = {
    "link": "link status:", "net_health": "net health status:", "link_stat": r"\[dev(ice|id) ", "stat": "packet stat",
    "fec": "fec mode:", "speed": "Speed:", "mtu": "mtu:", "optical": "optical info:", "pfc": "PFC configuration:",
    "dscp_to_tc": r"dscp +tc$",
}  # fmt: skip


def of(replies: tuple[Reply, ...], kind: type[Named]) -> dict[int | None, Named]:
    """Return the facts of one kind by device."""
    return {reply.device: reply.fact for reply in replies if isinstance(reply.fact, kind)}
