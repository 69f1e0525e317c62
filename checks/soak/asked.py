"""What a serving load asked and was answered, request by request: documents of kvgate's own client, or one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np

from checks.parsers import kvgate_client
from checks.parsers.kvgate_client import ClientRequest, ClientRun
from checks.probe import UnreadableOutput
from checks.soak.tables import LINES
from checks.soak.track import Doing, Track

#: What the name of the serving load begins with.
SERVING = "client"

_BEFORE = 1e-3  # seconds: the request that is answered belongs to the time that counts

#: One request: second of the soak, concurrency, whether it was answered whole, seconds to the first token, tokens. Of one that failed,
#: in place of the seconds to the first token, those of the soak in which it may have been under way: nobody tells when it failed.
Row = tuple[float, int, bool, float, float]


def rows_of(track: Track, load: str) -> list[Row]:
    """All requests of a load by time. Raises UnreadableOutput for what is no request."""
    runs = [one for one in track.loads if one.name == load]
    return sorted([*_documents(track, runs), *_lines(track, load, 0.0, np.inf)], key=lambda row: row[0])


def answered(track: Track, after: float, until: float) -> float:
    """When the engine answers again: just before the first request from ``after`` on that was answered, at most ``until``.

    ``after`` itself where the first request is answered, nobody asked meanwhile, or what was asked cannot be read: then nothing
    tells that it does not answer.
    """
    found: list[Row] = []
    for load in {one.name for one in track.plan.loads if one.name.startswith(SERVING)}:
        runs = [one for one in track.loads if one.name == load and one.at >= after]
        ends = [one for one in runs if one.what == "end"]
        near = [one for one in ends if one.at <= until] + [one for one in ends if one.at > until][:1]
        try:
            found += [*_documents(track, near), *_lines(track, load, after, until)]
        except UnreadableOutput:
            continue
    rows = sorted(row for row in found if after <= row[0] <= until)
    if not rows or rows[0][2]:
        return after
    return next((row[0] - _BEFORE for row in rows if row[2]), until)


def _lines(track: Track, load: str, begin: float, end: float) -> Iterable[Row]:
    table = track.tables.get(LINES)
    if table is None:
        return
    seconds = track.seconds[LINES]
    for place in np.flatnonzero((table.subject == load) & (seconds >= begin) & (seconds <= end)):
        yield float(track.seconds[LINES][place]), *_line(str(table.texts["line"][place]))


def _documents(track: Track, runs: Iterable[Doing]) -> Iterable[Row]:
    """Requests of every whole document; times within it are real seconds since its begin."""
    for one in runs:
        text = one.fields.get("stdout")
        if one.what != "end" or not isinstance(text, str) or not text.strip():
            continue
        run = kvgate_client.parse(text)
        longest = _longest(run) * track.plan.scale
        begun = one.at - run.seconds * track.plan.scale
        for row in run.requests:
            if row.status == "unfinished" and not _stuck(run, row):
                continue
            at = begun + (row.sent_s or 0.0) * track.plan.scale
            well = row.status == "completed" and row.first_s is not None and row.sent_s is not None
            ttft = row.first_s - row.sent_s if row.first_s is not None and row.sent_s is not None else np.nan
            yield at, run.concurrency, well, ttft if well else longest, float(row.tokens_out or 0)


def _stuck(run: ClientRun, row: ClientRequest) -> bool:
    """Whether a request that was under way when its run was ended had waited for longer than any answer took, twice over."""
    if row.sent_s is None:
        return False  # it was never made
    return run.seconds - row.sent_s > 2 * _longest(run)


def _longest(run: ClientRun) -> float:
    """Seconds that the longest answer of a run took."""
    took = [one.last_s - one.sent_s for one in run.requests if one.last_s is not None and one.sent_s is not None]
    return max(took, default=0.0)


def _line(text: str) -> tuple[int, bool, float, float]:
    try:
        table = json.loads(text)
    except ValueError:
        raise UnreadableOutput(f"a line of the load is no request: {text[:80]!r}") from None
    status = table.get("status") if isinstance(table, dict) else None
    concurrency = table.get("concurrency") if isinstance(table, dict) else None
    if not isinstance(status, str) or not isinstance(concurrency, int):
        raise UnreadableOutput(f"a line of the load has no status or concurrency: {text[:80]!r}")
    if status != "completed":
        return concurrency, False, 0.0, 0.0  # its line is written when it failed
    ttft, tokens = table.get("ttft_s"), table.get("tokens")
    for value in (ttft, tokens):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise UnreadableOutput(f"a completed request has no times or tokens: {text[:80]!r}")
    return concurrency, True, float(ttft), float(tokens)
