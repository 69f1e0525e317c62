"""``ping -c N ADDRESS`` of iputils, both streams: how many packets came back, and who said that they are too large.

Seen: iputils 20221126 (local error on stderr), 2018 (``Message too long``), routers' ``Frag needed and DF set (mtu = N)``,
and status 2 without statistics where the host has no route or no such interface. Busybox has no ``-M`` and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import decimal, integer, lines
from checks.probe import UnreadableOutput

COMMAND = "ping"

_HEAD = re.compile(
    r"PING \S+? ?\((\S+?)\) (?:from .*?: )?(\d{1,6})(?:\(\d{1,6}\) bytes of data\.| data bytes)", re.ASCII
)
_STATISTICS = re.compile(
    r"(\d{1,9}) packets transmitted, (\d{1,9}) received,(?: \+(\d{1,9}) duplicates,)?(?: \+(\d{1,9}) corrupted,)?"
    r"(?: \+(\d{1,9}) errors,)? (\d{1,3}(?:\.\d{1,6})?)% packet loss(?:, time \d+ms)?.*",
    re.ASCII,
)
_RTT = re.compile(r"rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms.*", re.ASCII)
_LOCAL = re.compile(r"ping: (?:local error|sendmsg): [Mm]essage too long(?:, mtu[=:] ?(\d{1,6}))?", re.ASCII)
_REMOTE = re.compile(
    r"From \S+.* (?:Frag needed and DF set \(mtu = (\d{1,6})\)|Packet too big: mtu=(\d{1,6}))", re.ASCII
)
_HOPELESS = re.compile(
    r"ping: (?:.*: )?(Network is unreachable|No route to host|No such device|Cannot assign requested address|Invalid argument)"
    r".*|(?:ping: )?.*(?:unknown iface|SO_BINDTODEVICE).*",
)


@dataclass(frozen=True, slots=True)
class Echoes:
    """One series of echo requests. MTUs are what the host itself or a router on the way said is the largest."""

    address: str | None
    payload: int | None  # bytes
    sent: int | None  # None where nothing was sent
    received: int | None
    errors: int | None
    average_ms: float | None
    local_mtu: int | None
    remote_mtu: int | None
    refused: str | None  # why not one packet was sent


def parse(text: str) -> Echoes:
    """Read the heading and the statistics line, or the reason why nothing was sent; neither is refused."""
    rows = lines(text)
    head = next((found for row in rows if (found := _HEAD.fullmatch(row.strip()))), None)
    totals = [found for row in rows if (found := _STATISTICS.fullmatch(row.strip()))]
    refused = next((row.strip() for row in rows if _HOPELESS.fullmatch(row.strip())), None)
    if len(totals) > 1 or (totals and head is None):
        raise UnreadableOutput(
            f"{len(totals)} statistics lines, heading {'present' if head else 'absent'}: wanted one each"
        )
    if not totals:
        if refused is None:
            raise UnreadableOutput(f"no statistics line in the output, which ends {rows[-1][-80:]!r}")
        return Echoes(head[1] if head else None, None, None, None, None, None, None, None, refused)
    total = totals[0]
    if integer(total[2], "received") > integer(total[1], "transmitted"):
        raise UnreadableOutput(f"{total[2]} packets received of {total[1]} transmitted")
    assert head is not None  # noqa: S101 - checked above
    rtt = next((found for row in rows if (found := _RTT.fullmatch(row.strip()))), None)
    local = next((found for row in rows if (found := _LOCAL.fullmatch(row.strip()))), None)
    remote = next((found for row in rows if (found := _REMOTE.fullmatch(row.strip()))), None)
    return Echoes(
        address=head[1],
        payload=integer(head[2], "payload"),
        sent=integer(total[1], "transmitted"),
        received=integer(total[2], "received"),
        errors=integer(total[5], "errors") if total[5] else None,
        average_ms=decimal(rtt[2], "average") if rtt else None,
        local_mtu=integer(local[1], "local mtu") if local and local[1] else None,
        remote_mtu=integer(remote[1] or remote[2], "remote mtu") if remote else None,
        refused=refused,
    )
