"""Times in which a host's soak was not what it should be: a path away, a link down, an engine gone, no load; and what excuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from checks.soak.asked import answered
from checks.soak.causes import RACK, SETTLING, Outage, Reach, explained
from checks.soak.tables import Table, said
from checks.soak.track import Doing, Track

#: Transports of controllers that stand in the array.
FABRICS = frozenset({"rdma", "tcp", "fc"})

#: Seconds without the load that shall always run before a minute is interrupted.
_IDLE = 60.0

#: What the system says of a mount that stands behind a folder that nobody may enter; any other word is one of a file system that is gone.
_DENIED = "Permission denied"

#: How the load may end without having failed.
_ENDED_WELL = frozenset({"limit", "stopped"})


def scheduled(track: Track) -> tuple[tuple[float, float], ...]:
    """Times that planned actions excuse, at most ``within``: from their begin until they ended, what is planned to run is there again,
    and a request is answered again: an engine that was begun anew is a process at once, and loads its model for minutes."""
    if "scheduled" not in track.known:
        track.known["scheduled"] = tuple(_scheduled(track))
    return track.known["scheduled"]


def _scheduled(track: Track) -> Iterable[tuple[float, float]]:
    within = {load.name: load.within for load in track.plan.loads if load.scheduled}
    for one in track.loads:
        if one.what == "begin" and one.name in within:
            number, until = one.fields.get("number"), one.at + within[one.name]
            ends = [
                e.at for e in track.loads if e.name == one.name and e.what == "end" and e.fields.get("number") == number
            ]
            end = min([until, *(at for at in ends if at <= until)])
            there = min(until, max(end, _healthy_after(track, end)))
            yield one.at, min(until, answered(track, there, until))


def merged(windows: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same times, each once."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(windows):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _healthy_after(track: Track, end: float) -> float:
    """When every planned process is there again after a planned action."""
    table = track.tables.get("process")
    if table is None or "pid" not in table.numbers:
        return end
    seconds = track.seconds["process"]
    after = (seconds >= end) & ~np.isnan(table.numbers["pid"])
    return float(seconds[after].min()) if after.any() else np.inf


def outages(track: Track) -> Iterable[Outage]:
    """Every time in which a sample or the absence of load shows trouble that nothing excuses, by the cause that explains it."""
    for one in _seen(track):
        parts, reach = [one], _reach(track, one.cause)
        for pause in track.breaks:
            parts = [
                part for whole in parts for part in explained(whole, pause.cause, pause.begin, pause.end, reach)
            ]  # fmt: skip
        yield from parts


#: Streams that show a cause: one of their periods may lie between what happened and the sample that shows it.
_SHOWN = {"array": ("nvme",), "disk": ("nvme",), "link": ("net", "rdma"), "mount": ("space",), "engine": ("process",)}


def _reach(track: Track, cause: str) -> Reach:
    """How far from a break something that is away may be its consequence.

    What a sample shows to be away before a machine boots is no consequence of that, but an engine was last seen a sample before.
    A machine has its controllers, ports and mounts soon; an engine may load for as long as the policy passes over.
    """
    every = [track.plan.streams[stream].every for stream in _SHOWN.get(cause, ()) if stream in track.plan.streams]
    after = max(every, default=_IDLE) + 1.0
    rack = cause in RACK - {"engine"}
    return Reach(0.0 if rack else after, after, SETTLING if rack else max(SETTLING, track.plan.policy.longest))


def _seen(track: Track) -> Iterable[Outage]:
    yield from _controllers(track)
    yield from _words(track, "rdma", "state", "link", lambda word: "ACTIVE" in word)
    yield from _words(track, "net", "operstate", "link", lambda word: word == "up")
    yield from _mounts(track)
    excused = scheduled(track)
    slack = track.plan.streams["process"].every + 1.0 if "process" in track.plan.streams else _IDLE
    for one in (*_processes(track), *_idle(track)):
        yield from _unexcused(one, excused, slack)


def _unexcused(one: Outage, excused: Iterable[tuple[float, float]], slack: float) -> Iterable[Outage]:
    """What planned actions leave of an outage; one may be seen a sample before the action that made it."""
    begin, met = one.begin, False
    for first, last in sorted(excused):
        if last < begin or first > one.end:
            continue
        if first - begin > slack:
            yield Outage(one.cause, begin, first, one.detail)
        begin, met = max(begin, last), True
    if not met or one.end > begin:
        yield Outage(one.cause, begin, one.end, one.detail)


def _spells(
    table: Table, seconds: npt.NDArray[np.float64], subject: str, bad: npt.NDArray[np.bool_], told: npt.NDArray[np.bool_]
) -> list[tuple[float, float]]:  # fmt: skip
    """Times from the first bad sample of a subject to the next good one; a sample that does not tell ends nothing."""
    mine = (table.subject == subject) & told
    when, wrong = seconds[mine], bad[mine]
    if not len(when):
        return []
    edges = np.flatnonzero(np.diff(np.concatenate(([0], wrong.astype(np.int8), [0]))))
    return [
        (float(when[begin]), float(when[end]) if end < len(when) else float(when[-1]))
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _subjects(table: Table) -> list[str]:
    return sorted({*table.subject} - {""})


def _controllers(track: Track) -> Iterable[Outage]:
    table = track.tables.get("nvme")
    if table is None:
        return
    seconds = track.seconds["nvme"]
    transport = table.texts.get("transport", np.full(len(table), None, dtype=object))
    state = table.texts.get("state", np.full(len(table), None, dtype=object))
    paths = table.texts.get("ana_state", np.full(len(table), None, dtype=object))
    for subject in _subjects(table):
        mine = table.subject == subject
        kinds = {*transport[mine]} - {None}
        cause = "array" if kinds & FABRICS or any(one is not None for one in paths[mine]) else "disk"
        bad = np.array(
            [
                s not in (None, "live") or p in ("inaccessible", "persistent-loss")
                for s, p in zip(state, paths, strict=True)
            ]
        )
        told = np.array([s is not None or p is not None for s, p in zip(state, paths, strict=True)], dtype=bool)
        for begin, end in _spells(table, seconds, subject, bad, told):
            yield Outage(cause, begin, end, subject)
        yield from _gone(track, "nvme", subject, cause)
        for one in (one for one in track.renamed if one.subject == subject):
            yield Outage(cause, float(seconds[one.before]), float(seconds[one.after]), subject)


def _gone(track: Track, stream: str, subject: str, cause: str) -> Iterable[Outage]:
    """A subject that is missing from samples in which others stand."""
    table, seconds = track.tables[stream], track.seconds[stream]
    error = table.texts.get("error", np.full(len(table), None, dtype=object))
    # Where nothing could be read nobody knows who was gone; where all was read and nothing is there, all are.
    ticks = np.unique(table.tick[(table.subject != "") | ~said(error)])
    there = np.isin(ticks, table.tick[table.subject == subject])
    if there.all():
        return
    when = np.array([seconds[np.searchsorted(table.tick, tick)] for tick in ticks])
    edges = np.flatnonzero(np.diff(np.concatenate(([0], (~there).astype(np.int8), [0]))))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        yield Outage(cause, float(when[begin]), float(when[end]) if end < len(when) else float(when[-1]), subject)


def _words(track: Track, stream: str, field: str, cause: str, well: Callable[[str], bool]) -> Iterable[Outage]:
    """Subjects that were well at first and are not, or are not there at all."""
    table = track.tables.get(stream)
    if table is None or field not in table.texts:
        return
    words = table.texts[field]
    told = np.array([one is not None for one in words], dtype=bool)
    bad = np.array([one is not None and not well(one) for one in words], dtype=bool)
    for subject in _subjects(table):
        first = next((one for one in words[table.subject == subject] if one is not None), None)
        if first is None or not well(first):
            continue  # a port that was never up carries nothing of the soak; the start state tells of it
        for begin, end in _spells(table, track.seconds[stream], subject, bad, told):
            yield Outage(cause, begin, end, subject)
        yield from _gone(track, stream, subject, cause)


def _mounts(track: Track) -> Iterable[Outage]:
    table = track.tables.get("space")
    if table is None:
        return
    nothing = np.full(len(table), np.nan)
    mounted, read_only = table.numbers.get("mounted", nothing), table.numbers.get("read_only", nothing)
    error = table.texts.get("error", np.full(len(table), None, dtype=object))
    broken = np.array([one is not None and one != _DENIED for one in error], dtype=bool)
    bad = (mounted == 0) | (read_only == 1) | broken
    for subject in _subjects(table):
        for begin, end in _spells(table, track.seconds["space"], subject, bad, bad | ~np.isnan(mounted)):
            yield Outage("mount", begin, end, subject)


def _processes(track: Track) -> Iterable[Outage]:
    """A process that is not there, or is another one than at the sample before."""
    table = track.tables.get("process")
    if table is None:
        return
    seconds = track.seconds["process"]
    nothing = np.full(len(table), np.nan)
    pid, start = table.numbers.get("pid", nothing), table.numbers.get("start", nothing)
    for subject in _subjects(table):
        for begin, end in _spells(table, seconds, subject, np.isnan(pid), np.ones(len(table), dtype=bool)):
            yield Outage("engine", begin, end, subject)
        rows = np.flatnonzero(table.subject == subject)
        for before, after in pairwise(rows):
            other = start[before] != start[after] or pid[before] != pid[after]
            if other and not np.isnan([start[before], start[after], pid[before], pid[after]]).any():
                yield Outage("engine", float(seconds[before]), float(seconds[after]), subject)


def _idle(track: Track) -> Iterable[Outage]:
    """The load that shall always run ended badly, or did not run for more than a minute."""
    yield from gaps(track)
    again = {load.name for load in track.plan.loads if load.again}
    for one in track.loads:
        if one.name in again and failed(one):
            yield Outage("load", one.at, one.at + 1.0, one.name)


def gaps(track: Track) -> Iterable[Outage]:
    """Times of more than a minute in which a load that shall always run did not."""
    for load in track.plan.loads:
        if not load.again:
            continue
        free = load.first
        for one in (one for one in track.loads if one.name == load.name):
            if one.what == "begin":
                if one.at - free > _IDLE:
                    yield Outage("load", free, one.at, load.name)
                free = np.inf
            elif one.what == "end":
                free = one.at
        until = min(track.last, track.plan.seconds)
        if until - free > _IDLE:
            yield Outage("load", free, until, load.name)


def failed(one: Doing) -> bool:
    """Whether a load ended and should not have ended so."""
    return one.what == "end" and one.fields.get("status") != 0 and one.fields.get("why") not in _ENDED_WELL
