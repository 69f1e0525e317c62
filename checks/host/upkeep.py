"""When a host can be left running for days: room for logs, a journal that lasts, power and cooling."""

from __future__ import annotations

import re
from collections.abc import Collection

from checks.parsers.ipmitool_sdr import Sensors
from checks.parsers.journal_files import JournalFiles
from checks.parsers.stat_f import FileSystem
from checks.phrase import say
from checks.units import show_bytes
from checks.verdict import Quantity, Verdict

_FAILING = ("fail", "lost", "non-redundant", "not redundant", "insufficient", "error", "out of range")
#: IPMI entity of a power supply; processors, fans and drives say "Presence detected" just so.
_SUPPLY = re.compile(r"10\.\d+", re.ASCII)


def room_for_logs(found: Collection[FileSystem], at_least: int) -> Verdict:
    """Root and log filesystem have at least so many bytes free."""
    required = say("at least {limit} free", limit=show_bytes(at_least))
    if not found:
        return Verdict.undecided(say("no filesystem was named"), required)
    room: list[tuple[int, str]] = []
    for one in found:
        if not one.blocks or not one.block_bytes or one.blocks_available is None:  # procfs and the like hold no logs
            return Verdict.undecided(say("{path} has no size of its own", path=one.path), required)
        room.append((one.blocks_available * one.block_bytes, one.path))
    free, tightest = min(room)
    measured = say("{free} free on {path}", free=show_bytes(free), path=tightest)
    return Verdict.of(free >= at_least, measured, required, "B", quantities=(Quantity("free for logs", free, "B"),))


def journal_on_disk(found: JournalFiles) -> Verdict:
    """The journal outlives a reboot."""
    required = say("journal on disk")
    if found.on_disk and found.in_memory:
        note = say("journal files lie on disk and in memory: journalctl --flush, then ask again")
        return Verdict.undecided(note, required)
    measured = found.on_disk[0] if found.on_disk else say("in memory only")
    return Verdict.of(bool(found.on_disk), measured, required)


def sensors_well(found: Sensors, supplies: int) -> Verdict:
    """No sensor of the board is critical, and all power supplies are there."""
    required = say("no critical sensor, {count} power supplies", count=supplies)
    bad = [sensor for sensor in found.sensors if sensor.state not in {"ok", "ns"}]
    bad += [sensor for sensor in found.sensors if any(word in sensor.reading.lower() for word in _FAILING)]
    if bad:
        measured = say("{sensor}: {state} {reading}", sensor=bad[0].name, state=bad[0].state, reading=bad[0].reading)
        return Verdict.of(False, measured, required)
    power = {
        sensor.entity
        for sensor in found.sensors
        if _SUPPLY.fullmatch(sensor.entity) and "presence detected" in sensor.reading.lower()
    }
    if not power:
        return Verdict.undecided(say("the board controller names no power supply"), required)
    return Verdict.of(len(power) >= supplies, say("{count} power supplies", count=len(power)), required)
