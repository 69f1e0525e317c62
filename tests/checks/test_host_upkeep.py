"""Room, journal and sensors of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

import pytest

from checks.host import upkeep
from checks.parsers.ipmitool_sdr import Sensor, Sensors
from checks.parsers.journal_files import JournalFiles
from checks.parsers.stat_f import FileSystem
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


def filesystem(path: str, available: int, total: int = 100) -> FileSystem:
    return FileSystem(path, "xfs", 10**9, total, available, 1, 1, None)


@pytest.mark.parametrize(("blocks", "outcome"), [(20, PASS), (19, STOP), (21, PASS)])
def test_room_is_judged_where_it_is_tightest(blocks: int, outcome: Outcome) -> None:
    found = (filesystem("/", 90), filesystem("/var/log", blocks))
    assert upkeep.room_for_logs(found, 20 * 10**9).outcome is outcome
    assert upkeep.room_for_logs((*found, filesystem("/proc", 0, total=0)), 20 * 10**9).outcome is UNDECIDED
    assert upkeep.room_for_logs((), 20 * 10**9).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("disk", "ram", "outcome"), [(("a",), (), PASS), ((), ("b",), STOP), ((), (), STOP), (("a",), ("b",), UNDECIDED)]
)
def test_the_journal_is_on_disk(disk: tuple[str, ...], ram: tuple[str, ...], outcome: Outcome) -> None:
    assert upkeep.journal_on_disk(JournalFiles(disk, ram)).outcome is outcome


def sensors(*more: Sensor, supplies: int = 2) -> Sensors:
    power = [Sensor(f"PS{n}", f"7{n}h", "ok", f"10.{n}", "Presence detected") for n in range(supplies)]
    return Sensors(
        (
            Sensor("Temp", "0Eh", "ok", "7.1", "51 degrees C"),
            Sensor("SEL", "72h", "ns", "7.1", "No Reading"),
            *power,
            *more,
        )
    )


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (sensors(), PASS),
        (sensors(supplies=1), STOP),
        (sensors(supplies=0), UNDECIDED),
        (sensors(Sensor("Fan", "32h", "cr", "7.1", "0 RPM")), STOP),
        (sensors(Sensor("PS Redundancy", "77h", "ok", "7.1", "Redundancy Lost")), STOP),
        (sensors(Sensor("PS Redundancy", "77h", "ok", "7.1", "Fully Redundant")), PASS),
        (sensors(Sensor("CPU1 Status", "60h", "ok", "3.1", "Presence detected"), supplies=1), STOP),  # no power supply
        (sensors(Sensor("PS1 Again", "74h", "ok", "10.0", "Presence detected"), supplies=1), STOP),  # the same supply
        (sensors(Sensor("Drive 7", "80h", "ok", "4.7", "Device Absent")), PASS),  # an empty bay
    ],
)
def test_sensors(found: Sensors, outcome: Outcome) -> None:
    assert upkeep.sensors_well(found, 2).outcome is outcome
