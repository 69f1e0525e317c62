"""``timedatectl``, ``timedatectl show``, ``show-timesync --all``, ``timesync-status``: whether systemd calls the clock synchronised.

Seen: systemd 247 to 252. Day names follow the locale and wrapped lines carry them; only known labels are read. A member that
one form does not tell is None. Offsets in seconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines
from checks.probe import UnreadableOutput

COMMAND = "timedatectl"


@dataclass(frozen=True, slots=True)
class TimeDate:
    """``synchronized`` is the kernel's word, whatever daemon disciplines the clock; the rest is timesyncd's own."""

    synchronized: bool | None = None
    service: bool | None = None
    rtc_local: bool | None = None
    server: str | None = None
    stratum: int | None = None
    leap: str | None = None
    offset: float | None = None


_LABELS = {
    "System clock synchronized": "synchronized",
    "NTP synchronized": "synchronized",
    "NTP service": "service",
    "systemd-timesyncd.service active": "service",
    "RTC in local TZ": "rtc_local",
    "NTPSynchronized": "synchronized",
    "NTP": "service",
    "LocalRTC": "rtc_local",
}
_WORDS = {"yes": True, "active": True, "no": False, "inactive": False, "n/a": None}
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse(text: str) -> TimeDate:
    """Read any of the four forms, or refuse: no known label, a known one twice, or an unknown word behind it."""
    found = lines(text)
    if found[0].startswith("Failed to "):
        raise UnreadableOutput(f"timedatectl was not answered: {found[0][:120]!r}")
    table: dict[str, str] = {}
    for line in found:
        if (label := re.match(r" *([A-Za-z][\w .-]*?)(?:: |:$|=)(.*)$", line, re.ASCII)) is None:
            continue
        if label[1] in table:
            raise UnreadableOutput(f"{label[1]!r} stands twice")
        table[label[1]] = label[2].strip()
    if "Server" in table or "NTPMessage" in table or "ServerName" in table:
        return _timesync(table)
    words = {member: table[label] for label, member in _LABELS.items() if label in table}
    if "synchronized" not in words:
        raise UnreadableOutput("no line says whether the clock is synchronised")
    told = {member: _word(member, word) for member, word in words.items()}
    return TimeDate(told["synchronized"], told.get("service"), told.get("rtc_local"))


def _word(member: str, word: str) -> bool | None:
    if word not in _WORDS:
        raise UnreadableOutput(f"{member} is {word[:40]!r}, wanted yes or no")
    return _WORDS[word]


def _timesync(table: dict[str, str]) -> TimeDate:
    message = dict(re.findall(r"(\w+)=([^,\s}]+)", table.get("NTPMessage", "")))
    server = table.get("ServerName") or table.get("Server", "").split(" (")[0]
    leap = table.get("Leap") or message.get("Leap")
    stratum = table.get("Stratum") or message.get("Stratum")
    return TimeDate(
        server=None if server in {"", "n/a"} else server,
        stratum=None if stratum is None else integer(stratum, "stratum"),
        leap=leap,
        offset=_span(table["Offset"]) if table.get("Offset", "n/a") != "n/a" else None,
    )


def _span(text: str) -> float:
    """``+1.234ms`` or ``-1min 2.5s`` -> seconds."""
    found = re.fullmatch(r"([-+]?)((?:\d{1,9}(?:\.\d{1,9})?(?:us|ms|min|s|h|d) ?)+)", text, re.ASCII)
    if found is None:
        raise UnreadableOutput(f"offset is {text[:40]!r}, wanted a time span")
    parts = re.findall(r"(\d+(?:\.\d+)?)(us|ms|min|s|h|d)", found[2], re.ASCII)
    size = sum(float(value) * _UNITS[unit] for value, unit in parts)
    return -size if found[1] == "-" else size
