"""The question that a host is asked before and after a round, and how its answer is read."""

from __future__ import annotations

import re
from itertools import chain
from statistics import fmean

from checks.around.facts import Surroundings
from checks.probe import Glob, Probe, Word
from checks.roce.losses import ERRORS

_CPU = "/sys/devices/system/cpu/cpu[0-9]*"
_NET = "/sys/class/net/*"
_PORT = "/sys/class/infiniband/*/ports/[0-9]*"
_FILES = (
    "/proc/stat", f"{_CPU}/cpufreq/scaling_cur_freq", f"{_CPU}/topology/physical_package_id", f"{_CPU}/topology/core_id",
    f"{_CPU}/thermal_throttle/package_throttle_count", f"{_CPU}/thermal_throttle/core_throttle_count",
    f"{_NET}/carrier_changes", f"{_NET}/statistics/rx_errors", f"{_NET}/statistics/tx_errors",
    f"{_PORT}/counters/symbol_error", f"{_PORT}/counters/link_downed", f"{_PORT}/counters/port_rcv_errors",
    f"{_PORT}/hw_counters/*", "/sys/class/nvme/nvme*/hwmon*/temp1_input",
)  # fmt: skip
#: Whole lines that are a number, and the first one of /proc/stat.
_NUMBERS = "^(cpu )?[0-9 -]+$"

_CLOCK = re.compile(r"/sys/devices/system/cpu/cpu\d{1,5}/cpufreq/scaling_cur_freq:(\d{1,9})$", re.ASCII | re.MULTILINE)
_PLACE = re.compile(
    r"/sys/devices/system/cpu/(cpu\d{1,5})/topology/(physical_package_id|core_id):(-?\d{1,9})$", re.ASCII | re.MULTILINE
)
_THROTTLED = re.compile(
    r"/sys/devices/system/cpu/(cpu\d{1,5})/thermal_throttle/(package|core)_throttle_count:(\d{1,18})$",
    re.ASCII | re.MULTILINE,
)
_LINK = re.compile(
    r"/sys/class/net/([^/\s]+)/(carrier_changes|statistics/[rt]x_errors):(\d{1,20})$", re.ASCII | re.MULTILINE
)
_RDMA = re.compile(
    r"/sys/class/infiniband/([^/\s]+)/ports/(\d{1,3})/(?:hw_)?counters/(\w+):(\d{1,20})$", re.ASCII | re.MULTILINE
)
_HEAT = re.compile(r"/sys/class/nvme/(nvme\d{1,4})/hwmon\d{1,4}/temp1_input:(-?\d{1,7})$", re.ASCII | re.MULTILINE)
_TICKS = re.compile(r"/proc/stat:cpu +((?:\d{1,20} ?){4,10})$", re.ASCII | re.MULTILINE)

#: Counters of an RDMA port that mean something was lost, damaged or sent again, whatever the driver.
_LOST = frozenset(
    chain(
        ("symbol_error", "link_downed", "port_rcv_errors"), *(chain(needed, more) for needed, more in ERRORS.values())
    )
)


def surroundings() -> Probe[Surroundings]:
    """Heat, clocks, throttling, ticks and link counters of a host; whatever of it is absent is no error."""
    argv: tuple[Word, ...] = ("grep", "-EHs", _NUMBERS, *(Glob(file) if "*" in file else file for file in _FILES))
    return Probe("surroundings", argv, parse, accepted=frozenset({0, 1, 2}))


def parse(text: str) -> Surroundings:
    """Read what is there; lines that are none of these are left out."""
    clocks = [int(found) / 1000 for found in _CLOCK.findall(text)]
    throttled = {(level, cpu): int(count) for cpu, level, count in _THROTTLED.findall(text)}
    places: dict[str, dict[str, int]] = {}
    for cpu, what, number in _PLACE.findall(text):
        places.setdefault(cpu, {})[what] = int(number)
    links = {(name, counter.removeprefix("statistics/")): int(count) for name, counter, count in _LINK.findall(text)}
    links |= {(f"{name}/{port}", one): int(count) for name, port, one, count in _RDMA.findall(text) if one in _LOST}
    ticks = [int(one) for found in _TICKS.findall(text) for one in found.split()]
    return Surroundings(
        megahertz=fmean(clocks) if clocks else None,
        throttled=throttled or None,
        places={cpu: (one["physical_package_id"], one["core_id"]) for cpu, one in places.items() if len(one) == 2}
        or None,
        links=links or None,
        celsius={name: int(millis) / 1000 for name, millis in _HEAT.findall(text)} or None,
        # user nice system idle iowait irq softirq steal; what guests had is in user already
        ticks=(sum(ticks[:8]) - sum(ticks[3:5]), sum(ticks[:8])) if ticks else None,
    )
