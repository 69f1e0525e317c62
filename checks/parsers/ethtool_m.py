"""``ethtool -m <interface>``: what the plugged module or cable is, and its optical levels lane by lane.

Seen: SFP (one value, no lane number), QSFP28 (``(Channel 1)``, ``(Chan 1)``; old versions count lanes from 0), passive
copper (no levels at all), unused lanes as ``0.0000 mW / -inf dBm``. A driver that cannot read the module answers
``netlink error: Operation not supported`` on stderr.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, lines
from checks.probe import UnreadableOutput

COMMAND = "ethtool-m"

_LANE = re.compile(r"\s*\((?:Channel|Chan) (\d{1,2})\)$", re.ASCII)
_LEVELS = {
    "Laser tx bias current": "bias", "Laser bias current": "bias",
    "Transmit avg optical power": "tx", "Laser output power": "tx",
    "Rcvr signal avg optical power": "rx", "Receiver signal average optical power": "rx",
    "Rcvr signal OMA": "rx", "Receiver signal OMA": "rx",
}  # fmt: skip
_LIMITED = {
    "Laser bias current": "bias", "Laser output power": "tx", "Laser rx power": "rx",
    "Module temperature": "temperature", "Module voltage": "voltage",
}  # fmt: skip
_THRESHOLD = re.compile(r"(.+) (high|low) (alarm|warning) threshold")
_FLAG = re.compile(r"(.+) (high|low) (alarm|warning)(?:\s*\(.*\))?")
_POWER = re.compile(r"(\d{1,6}\.\d{1,6}) mW / (-?\d{1,3}\.\d{1,4}|-inf) dBm", re.ASCII)
_AMPERE = re.compile(r"(\d{1,6}\.\d{1,6}) mA", re.ASCII)
_VOLT = re.compile(r"(\d{1,6}\.\d{1,6}) V", re.ASCII)
_CELSIUS = re.compile(r"(-?\d{1,4}\.\d{1,4}) degrees C / .*", re.ASCII)
_FAULT = ("Rx loss of signal", "Tx loss of signal", "Tx fault")


@dataclass(frozen=True, slots=True)
class Lane:
    """One optical lane. Power in dBm, bias in mA, None where not given; dark means no light at all (-inf dBm)."""

    number: int | None  # as printed; None for a module with one lane
    bias_ma: float | None
    tx_dbm: float | None
    rx_dbm: float | None
    tx_dark: bool
    rx_dark: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """The module's own limits of one quantity, in the quantity's unit."""

    high_alarm: float
    high_warning: float
    low_warning: float
    low_alarm: float


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of bias (mA), tx and rx power (dBm), temperature (degrees C), voltage (V); None unless all four are given."""

    bias: Limits | None
    tx: Limits | None
    rx: Limits | None
    temperature: Limits | None
    voltage: Limits | None


@dataclass(frozen=True, slots=True)
class Module:
    """What is plugged. ``raised`` are the alarm and warning flags that are On; ``flags`` is None if none are kept."""

    identifier: str
    connector: str
    types: tuple[str, ...]
    technology: str | None
    vendor: str | None
    part: str | None
    serial: str | None
    temperature_c: float | None
    voltage_v: float | None
    flags: bool | None
    lanes: tuple[Lane, ...]
    thresholds: Thresholds
    raised: tuple[str, ...]


def parse(text: str) -> Module:
    """Read the module; identifier and connector must be there, a level that does not read as one is refused."""
    types: list[str] = []
    words: dict[str, str] = {}
    for row in lines(text):
        label, colon, value = row.strip().partition(":")
        label = label.strip()
        if not colon:
            raise UnreadableOutput(f"found {row[:80]!r}, wanted 'label : value'")
        if label == "Transceiver type":
            types.append(value.strip())
        elif label in words and words[label] != value.strip() and not label.startswith(("Extended", "Option")):
            raise UnreadableOutput(f"{label!r} stands twice with two values")
        else:
            words[label] = value.strip()
    for label in ("Identifier", "Connector"):
        if not words.get(label):
            raise UnreadableOutput(f"no line {label!r}")
    kept = words.get("Alarm/warning flags implemented")
    if kept not in (None, "Yes", "No"):
        raise UnreadableOutput(f"Alarm/warning flags implemented is {str(kept)[:40]!r}, wanted Yes or No")
    return Module(
        identifier=words["Identifier"],
        connector=words["Connector"],
        types=tuple(types),
        technology=words.get("Transmitter technology") or None,
        vendor=words.get("Vendor name") or None,
        part=words.get("Vendor PN") or None,
        serial=words.get("Vendor SN") or None,
        temperature_c=_measure(words, "Module temperature", _CELSIUS),
        voltage_v=_measure(words, "Module voltage", _VOLT),
        flags=None if kept is None else kept == "Yes",
        lanes=_lanes(words),
        thresholds=_thresholds(words),
        raised=_raised(words),
    )


def _measure(words: dict[str, str], label: str, shape: re.Pattern[str]) -> float | None:
    if label not in words:
        return None
    found = shape.fullmatch(words[label])
    if found is None:
        raise UnreadableOutput(f"{label} is {words[label][:40]!r}")
    return decimal(found[1], label)


def _lanes(words: dict[str, str]) -> tuple[Lane, ...]:
    found: dict[int | None, dict[str, float | None]] = {}
    for label, value in words.items():
        place = _LANE.search(label)
        kind = _LEVELS.get(label[: place.start()] if place else label)
        if kind is None:
            if label.partition("(")[0].strip() in _LEVELS:
                raise UnreadableOutput(f"{label!r} names no lane")
            continue
        shape = (_AMPERE if kind == "bias" else _POWER).fullmatch(value)
        if shape is None:
            raise UnreadableOutput(f"{label} is {value[:40]!r}")
        lane = found.setdefault(int(place[1]) if place else None, {})
        if kind in lane:
            raise UnreadableOutput(f"{label}: the {kind} level of this lane stands twice")
        lane[kind] = _level(kind, shape)
    if None in found and len(found) > 1:
        raise UnreadableOutput("levels with and without a lane number")
    numbers = sorted(number for number in found if number is not None)
    order: list[int | None] = [*numbers] if numbers else [None] if found else []
    return tuple(
        Lane(
            number, found[number].get("bias"), found[number].get("tx"), found[number].get("rx"),
            found[number].get("tx", 0) is None, found[number].get("rx", 0) is None,
        )
        for number in order
    )  # fmt: skip


def _level(kind: str, shape: re.Match[str]) -> float | None:
    if kind != "bias" and shape[2] == "-inf":
        if float(shape[1]) != 0:
            raise UnreadableOutput(f"{shape[1]} mW cannot be -inf dBm")
        return None
    return decimal(shape[1 if kind == "bias" else 2], kind)


def _thresholds(words: dict[str, str]) -> Thresholds:
    found: dict[str, dict[str, float]] = {}
    for label, value in words.items():
        place = _THRESHOLD.fullmatch(label)
        if place is None or place[1] not in _LIMITED:
            continue
        of = _LIMITED[place[1]]
        shape = {"bias": _AMPERE, "tx": _POWER, "rx": _POWER, "temperature": _CELSIUS, "voltage": _VOLT}[of]
        read = shape.fullmatch(value)
        if read is None:
            raise UnreadableOutput(f"{label} is {value[:40]!r}")
        if "-inf" in read.groups():
            continue  # a limit of no light limits nothing: the quantity stays without limits
        number = decimal(read[2] if shape is _POWER else read[1], label)
        found.setdefault(of, {})[f"{place[2]}_{place[3]}"] = number
    four = ("high_alarm", "high_warning", "low_warning", "low_alarm")
    limits = {of: Limits(*(table[name] for name in four)) for of, table in found.items() if len(table) == len(four)}
    return Thresholds(*(limits.get(of) for of in ("bias", "tx", "rx", "temperature", "voltage")))


def _raised(words: dict[str, str]) -> tuple[str, ...]:
    raised = []
    for label, value in words.items():
        if _FLAG.fullmatch(label):
            if value not in ("On", "Off"):
                raise UnreadableOutput(f"{label} is {value[:40]!r}, wanted On or Off")
            if value == "On":
                raised.append(label)
        elif label in _FAULT and value != "None" and "Yes" in value:
            raised.append(label)
    return tuple(raised)
