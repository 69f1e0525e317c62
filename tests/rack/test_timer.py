"""A timer that `kvgate soak schedule --units` wrote, under a real systemd: it fires at its time, and makes up for time it was not there.

What it starts is a stand-in that writes down its words: kvgate itself runs on the operator's machine, and the node stands for one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.vm.machine import Machine
from lab.vm.rack import Rack
from tests.rack.computer import TooSlow, until
from tests.rack.conftest import SHORT
from tests.rack.site import KEPT, RackSite, fresh

pytestmark = SHORT

_FIRED = "/var/tmp/fired"
#: Seconds after which a timer that did not fire does not.
_LATEST = 300.0


@dataclass(frozen=True)
class Planned:
    """Units as they were written: the timer's name, what it is to run, when (seconds since the epoch)."""

    timer: str
    words: list[str]
    at: float

    @property
    def service(self) -> str:
        return self.timer.replace(".timer", ".service")


@pytest.fixture
def site(rack: Rack) -> RackSite:
    return fresh(KEPT / "timer")


@pytest.fixture
def node(rack: Rack, site: RackSite) -> Iterator[Machine]:
    """The node, cleaned of what the test put there."""
    machine = rack.machine("node")
    yield machine
    # `disable` takes no pattern: a timer whose file goes while it is loaded stays, and counts as something that was left.
    cleaned = machine.ssh(
        "systemctl stop 'kvgate-soak-*.timer'\n"
        f"rm -f /etc/systemd/system/kvgate-soak-* /etc/systemd/system/*.wants/kvgate-soak-* {_FIRED}\n"
        "rm -f /var/lib/systemd/timers/stamp-kvgate-*\nsystemctl daemon-reload\n"
        "systemctl list-units --all --no-legend --plain 'kvgate-*.timer'"
    )
    assert (cleaned.returncode, cleaned.stdout) == (0, ""), cleaned.stdout + cleaned.stderr


def planned(site: RackSite, node: Machine, name: str, lead: float) -> Planned:
    """Plan a soak, put its units on the node, and let systemd look at them."""
    units = site.folder / name
    at = int(float(node.ssh("date +%s").stdout) + lead)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    words = ("schedule", "--units", str(units), "--allow-load", "--at", when, "--name", name, "--json")
    done = site.soak(*words, *site.by("customer"))
    assert done.returncode == 0, done.stderr
    entry = next(one for one in json.loads(done.stdout) if one["name"] == name)
    python = entry["command"][0]
    text = f"rm -f {_FIRED}\nmkdir -p {Path.cwd()} $(dirname {python})\n"
    text += f"printf '#!/bin/sh\\necho \"$@\" >>{_FIRED}\\n' >{python}\nchmod 755 {python}\n"
    for file in sorted(units.iterdir()):
        text += f"cat >/etc/systemd/system/{file.name} <<'UNIT'\n{file.read_text()}UNIT\n"
    found = Planned(next(file.name for file in units.iterdir() if file.suffix == ".timer"), entry["command"][1:], at)
    text += f"systemctl daemon-reload\nsystemd-analyze verify {found.service} {found.timer} 2>&1 | grep -F {name}\ntrue"
    checked = node.ssh(text)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr
    return found


def enabled(site: RackSite, node: Machine, name: str, also: str = "true") -> tuple[Planned, float]:
    """Enable a timer before its time comes, do ``also`` after it; and what the node's clock said then.

    One that is enabled after its only time never fires. A busy machine takes its minutes to put units there: it is given more.
    """
    lead = 60.0
    while lead < 1000:
        made = planned(site, node, f"{name}-{lead:.0f}", lead)
        done = node.ssh(f"systemctl enable -q --now {made.timer} && {also} && date +%s")
        assert done.returncode == 0, done.stderr
        if float(done.stdout) < made.at:
            return made, float(done.stdout)
        lead *= 2
    raise TooSlow("the node cannot be told of a timer within a quarter of an hour")


def fired(node: Machine, limit: float) -> list[str]:
    """What was run, once it was; ``limit`` seconds from now at most."""
    said: list[str] = []

    def looked() -> bool:
        said[:] = node.ssh(f"cat {_FIRED} 2>/dev/null").stdout.splitlines()
        return bool(said)

    until(looked, limit, lambda: node.ssh("true", 120), "a timer fires")
    return said


def test_a_timer_of_the_schedule_fires_once_under_a_real_systemd(
    rack: Rack, site: RackSite, node: Machine, note: list[str]
) -> None:
    made, told = enabled(site, node, "tonight")
    assert fired(node, made.at - told + _LATEST) == [" ".join(made.words)]
    began = float(node.ssh(f"stat -c %Y {_FIRED}").stdout)
    assert made.at <= began, "not before its time"
    if began > made.at + 120:  # systemd's own accuracy is a minute
        raise TooSlow(f"a timer fired {began - made.at:.0f} s after its time")
    shown = node.ssh(f"systemctl show -p Result -p ExecMainStatus {made.service}").stdout.split()
    assert sorted(shown) == ["ExecMainStatus=0", "Result=success"]
    node.ssh(f"systemctl restart {made.timer}")
    time.sleep(5)
    assert fired(node, 5) == [" ".join(made.words)], "once is once"
    note.append(f"{made.timer} fired {began - made.at:.0f} s after its time: kvgate {' '.join(made.words[2:4])} ...")


def test_a_timer_makes_up_for_a_time_at_which_it_was_not_there(
    rack: Rack, site: RackSite, node: Machine, note: list[str]
) -> None:
    made, told = enabled(site, node, "slept", "systemctl stop kvgate-soak-slept-*.timer")
    time.sleep(made.at - told + 5)
    assert not node.ssh(f"cat {_FIRED} 2>/dev/null").stdout, "nobody was there to start it"
    node.ssh(f"systemctl start {made.timer}")
    assert fired(node, _LATEST) == [" ".join(made.words)]
    note.append(f"{made.timer} was made up for when it came back")
