"""Soaks at set times on the operator's host: units or a crontab line as text, the book of what was planned, and what was missed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from checks.phrase import say
from kvgate.codec import canonical, parse_object
from kvgate.errors import NotAllowed
from kvgate.evidence.durable import flush, unwritable
from kvgate.soak.host.times import boot_id, started

Every = Literal["once", "daily", "weekly", "monthly"]
EVERY: tuple[Every, ...] = ("once", "daily", "weekly", "monthly")
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}", re.ASCII)
#: Exit status of a run -> its result.
RESULTS = {0: "PASS", 1: "STOP", 2: "interrupted", 4: "refused", 6: "UNDECIDED"}
#: After so long a run that did not begin counts as missed.
GRACE = timedelta(minutes=10)
#: Every status with which the job ends by itself: it is begun again only where it was killed. All but 0 leave the unit failed, so that
#: `systemctl --failed` shows a STOP as it shows what could not be decided.
_RESULTS = "1 2 3 4 5 6"
#: So far ahead entries are compared: every day of the week and of the month meets every other within it.
_AHEAD = timedelta(days=400)
#: Seconds between two times, at least.
_PERIOD = {"daily": 86400.0, "weekly": 7 * 86400.0, "monthly": 28 * 86400.0}


@dataclass(frozen=True, slots=True)
class Entry:
    """One planned job. ``at``: first time, ISO 8601 in UTC; ``made``: when it was planned; ``way``: systemd or crontab.

    ``rack``: fingerprint of the rack that is soaked, ``takes``: seconds of a soak at most; "" and 0 in entries of earlier versions.
    """

    name: str
    at: str
    every: Every
    argv: tuple[str, ...]
    folder: str
    made: str
    way: Literal["systemd", "crontab"]
    rack: str = ""
    takes: float = 0.0

    @property
    def first(self) -> datetime:
        """The first time it is due."""
        return datetime.fromisoformat(self.at)

    def due(self, until: datetime) -> Iterator[datetime]:
        """Every time at which it was to begin, up to ``until``."""
        moment = self.first
        while moment <= until:
            yield moment
            if self.every == "once":
                return
            if self.every == "monthly":
                moment = moment.replace(year=moment.year + moment.month // 12, month=moment.month % 12 + 1)
            else:
                moment += timedelta(days=7 if self.every == "weekly" else 1)

    def next(self, now: datetime) -> datetime | None:
        """The next time after now; None for one that is over."""
        return next((one for one in self.due(now + timedelta(days=32)) if one > now), None)


def entry(name: str, at: datetime, every: Every, argv: Sequence[str], folder: Path, now: datetime, way: str) -> Entry:
    """Check and build an entry. Raises NotAllowed: a name that is none, a time that is over, a day that not every month has."""
    if NAME.fullmatch(name) is None:
        raise NotAllowed(say("found the name {name!r}, wanted lower-case letters, digits and -", name=name))
    first = at.astimezone(UTC).replace(microsecond=0)
    if first <= now:
        raise NotAllowed(say("found --at {at}, which is over; wanted a time to come", at=first.isoformat()))
    if every == "monthly" and first.day > 28:
        raise NotAllowed(say("found day {day} of each month, wanted 1 to 28: not every month has it", day=first.day))
    kind: Literal["systemd", "crontab"] = "crontab" if way == "crontab" else "systemd"
    return Entry(name, first.isoformat(), every, tuple(argv), str(folder), now.isoformat(timespec="seconds"), kind)


def apart(every: Every, duration: float, spare: float) -> None:
    """Whether a soak is over before the next one is due. Raises NotAllowed with the sum."""
    period = _PERIOD.get(every)
    if period is None or duration + spare < period:
        return
    raise NotAllowed(
        say(
            "a soak of {duration:g} h and {spare:g} h to spare takes {whole:g} h, and --every {every} begins one each {period:g} h: the "
            "next would be due while it runs. Wanted: a longer time between, or a shorter `soak` in the inventory",
            duration=duration / 3600, spare=spare / 3600, whole=(duration + spare) / 3600, every=every, period=period / 3600,
        )
    )  # fmt: skip


def clear(one: Entry, others: Sequence[Entry], now: datetime) -> None:
    """Whether a soak is due on a rack only while no other planned one runs there. Raises NotAllowed with both names and times."""
    for other in others:
        if _rack(other) & _rack(one) and (pair := _overlap(one, other, now)) is not None:
            raise NotAllowed(
                say(
                    "{name} would be due {at} while {other}, due {then} on the same rack, may still run (it takes up to {hours:g} h): two "
                    "soaks load each other. Wanted: another time, or `kvgate soak schedule --remove {other}` first",
                    name=one.name, at=pair[0].isoformat(), other=other.name, then=pair[1].isoformat(),
                    hours=(one.takes if pair[0] < pair[1] else other.takes or one.takes) / 3600,
                )
            )  # fmt: skip


def _rack(one: Entry) -> set[str]:
    """What tells on which rack an entry runs: its fingerprint, and the inventory that it names."""
    named = one.argv[one.argv.index("--inventory") + 1] if "--inventory" in one.argv[:-1] else ""
    return {one.rack, named} - {""}


def _overlap(one: Entry, other: Entry, now: datetime) -> tuple[datetime, datetime] | None:
    """The first two times at which both would run, of the first and of the other; None where they never do."""
    later = max(one.first, other.first, now)
    since, until = later - timedelta(seconds=max(one.takes, other.takes)), later + _AHEAD
    mine = [moment for moment in one.due(until) if moment >= since]
    theirs = [moment for moment in other.due(until) if moment >= since]
    for here in mine:
        for there in theirs:
            takes = one.takes if here <= there else other.takes or one.takes
            if abs(here - there) < timedelta(seconds=takes):
                return here, there
    return None


def unit(one: Entry) -> str:
    """Name of its units without the ending."""
    return f"kvgate-soak-{one.name}"


def service(one: Entry) -> str:
    """Text of the service: the job, begun again only where it was killed."""
    return "\n".join(
        [
            "[Unit]",
            f"Description=kvgate soak {one.name}: start, collect, judge",
            "",
            "[Service]",
            "Type=exec",
            f"WorkingDirectory={_path(one.folder)}",
            f"ExecStart={' '.join(map(_word, one.argv))}",
            f"RestartPreventExitStatus={_RESULTS}",
            "Restart=on-failure",
            "RestartSec=60",
            "",
        ]
    )


def timer(one: Entry) -> str:
    """Text of the timer; a time at which the host slept is made up for when it wakes."""
    first = one.first
    time = first.strftime("%H:%M:%S")
    when = {
        "once": first.strftime("%Y-%m-%d"), "daily": "*-*-*", "weekly": f"{first.strftime('%a')} *-*-*",
        "monthly": f"*-*-{first.day:02d}",
    }[one.every]  # fmt: skip
    lines = [
        "[Unit]", f"Description=kvgate soak {one.name}: when", "", "[Timer]", f"OnCalendar={when} {time} UTC", "Persistent=true",
        f"Unit={unit(one)}.service", "", "[Install]", "WantedBy=timers.target", "",
    ]  # fmt: skip
    return "\n".join(lines)


def crontab(one: Entry) -> str:
    """One line of a crontab, in the time of this machine. A year stands in no crontab: what is due once says so to the job."""
    at = one.first.astimezone()
    day = {
        "once": f"{at.day} {at.month} *",
        "daily": "* * *",
        "weekly": f"* * {at.isoweekday() % 7}",
        "monthly": f"{at.day} * *",
    }
    words = shlex.join(one.argv).replace("%", r"\%")
    return f"{at.minute} {at.hour} {day[one.every]} cd {shlex.quote(one.folder)} && {words} # {unit(one)}"


def _word(word: str) -> str:
    """One word of ExecStart: quoted, with nothing that systemd would expand."""
    plain = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", plain, re.ASCII):
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _path(path: str) -> str:
    return path.replace("%", "%%")


def begun() -> dict[str, object]:
    """What tells this very process from a later one with the same id: id, start in ticks since boot, boot; where /proc tells it."""
    return {"pid": os.getpid(), "start": started(os.getpid()), "boot": boot_id()}


def _lives(run: Mapping[str, object]) -> bool:
    """Whether the very process of a run lives; of one that noted its id alone: whether any process has that id."""
    pid, start = run.get("pid"), run.get("start")
    if not isinstance(pid, int):
        return False
    if isinstance(start, str):
        return run.get("boot") == boot_id() and started(pid) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Book:
    """What was planned and what ran: two files beside the soaks."""

    def __init__(self, root: Path) -> None:
        self._entries, self._runs = root / "schedule.json", root / "schedule-runs.jsonl"

    def entries(self) -> list[Entry]:
        """Every entry, by name."""
        if not self._entries.exists():
            return []
        rows = json.loads(self._entries.read_text("utf-8"))
        return sorted((Entry(**{**row, "argv": tuple(row["argv"])}) for row in rows), key=lambda one: one.name)

    def write(self, entries: Sequence[Entry]) -> None:
        """Replace all entries, durably. Raises Unwritable."""
        try:
            self._entries.parent.mkdir(parents=True, exist_ok=True)
            part = self._entries.with_suffix(".part")
            with part.open("w", encoding="utf-8") as file:
                file.write(canonical([asdict(one) for one in entries]))
                file.flush()
                flush(file.fileno())
            part.replace(self._entries)
        except OSError as error:
            raise unwritable(error, "the schedule", self._entries) from error

    def note(self, name: str, event: str, **more: object) -> None:
        """Write down that a run began or ended. Raises Unwritable."""
        told = {"name": name, "event": event, "at": datetime.now(UTC).isoformat(timespec="seconds"), **more}
        try:
            self._runs.parent.mkdir(parents=True, exist_ok=True)
            with self._runs.open("ab") as file:
                file.write(canonical(told).encode() + b"\n")
                file.flush()
                flush(file.fileno())
        except OSError as error:
            raise unwritable(error, "the schedule", self._runs) from error

    def runs(self, name: str) -> list[dict[str, object]]:
        """Begins and ends of one entry, in order; a line that was cut off is passed over."""
        found: list[dict[str, object]] = []
        for raw in self._runs.read_bytes().splitlines() if self._runs.exists() else []:
            with contextlib.suppress(ValueError):
                if (one := parse_object(raw)).get("name") == name:
                    found.append(one)
        return found

    def unfinished(self, name: str) -> str | None:
        """The soak that a run of this name began and did not come to judge: killed, interrupted or under way; None where there is none."""
        last = None
        for run in self.runs(name):
            if run["event"] == "soak":
                last = str(run["soak"])
            elif run["event"] == "ended" and run.get("judged"):
                last = None
        return last

    def result(self, name: str) -> str | None:
        """What the last run came to: a word of RESULTS, ``under way`` or ``killed`` for one without an end; None before the first."""
        runs = [run for run in self.runs(name) if run["event"] in ("begun", "ended")]
        if not runs:
            return None
        if runs[-1]["event"] == "ended":
            return RESULTS.get(int(str(runs[-1]["status"])), "failed")
        return "under way" if _lives(runs[-1]) else "killed"

    def missed(self, one: Entry, now: datetime) -> list[datetime]:
        """Times at which it was to begin and nothing began until the next time."""
        begun = [datetime.fromisoformat(str(run["at"])) for run in self.runs(one.name) if run["event"] == "begun"]
        due = [moment for moment in one.due(now) if now - moment > GRACE]
        ends = [*due[1:], now + timedelta(days=1)]
        return [moment for moment, end in zip(due, ends, strict=False) if not any(moment <= at < end for at in begun)]
