"""Why a run's numbers may not be looked at. An invalid cell decides nothing, whatever its ratio; every reason is given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from checks.phrase import Phrase, say
from checks.serving.figures import figures
from checks.serving.records import Clock, Run, Status
from checks.statistics.percentile import Definition, percentile

#: What printing and times kept as floating-point seconds since the epoch may cost, as a share of the value.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True)
class Planned:
    """What the cell was to be, and the tolerances of its proof (percent; ``clock_step`` in seconds).

    Lengths are in the server's tokens; a client that counts by itself is caught by the engine's own counters (reconciliation).
    ``agree_percent`` is how much longer the window of the tool's own throughput may be than ours: it holds what came before
    the first sending and after the last token.
    """

    concurrency: int
    tokens_in: int
    tokens_out: int
    least_requests: int = 64
    waves: int = 10
    occupied_percent: float = 5.0
    agree_percent: float = 1.0
    tokens_in_percent: float = 0.0
    clock_step: float = 0.005

    @property
    def requests(self) -> int:
        """How many requests a cell needs."""
        return max(self.least_requests, self.waves * self.concurrency)


_STATUS = {
    Status.EMPTY: say("empty"), Status.FAILED: say("failed"), Status.UNFINISHED: say("unfinished"),
}  # fmt: skip


def faults(run: Run, planned: Planned) -> tuple[Phrase, ...]:
    """Every reason why this run is invalid; empty when its numbers may be looked at."""
    found = [*run.objections, *_unanswered(run), *_size(run, planned), *_clock(run, planned)]
    if not _unanswered(run):
        found += _lengths(run, planned)
        try:
            figures(run, planned.concurrency)
        except ValueError as error:
            found.append(_untold(run, str(error)))
        else:
            found += [*_little(run, planned), *_summary(run, planned)]
    return tuple(found)


def _unanswered(run: Run) -> list[Phrase]:
    """A failed or empty request is no zero, and the rest without it is no sample of the load."""
    found = []
    counted = Counter(one.status for one in run.requests)
    for status, name in _STATUS.items():
        if counted[status]:
            first = next((one.error for one in run.requests if one.status is status and one.error), "")
            error = f": {first[:120]}" if first else ""
            found.append(
                say(
                    "{count} of {total} requests {status}{error}",
                    count=counted[status], total=len(run.requests), status=name, error=error,
                )
            )  # fmt: skip
    if run.begun != len(run.requests):
        found.append(
            say("{begun} requests were begun, {kept} are in the file", begun=run.begun, kept=len(run.requests))
        )
    if not run.requests:
        found.append(say("no request was made"))
    return found


def _size(run: Run, planned: Planned) -> list[Phrase]:
    found = []
    if 0 < len(run.requests) < planned.requests:
        found.append(
            say(
                "{count} requests, wanted at least {wanted}: fewer are ramp and tail", count=len(run.requests), wanted=planned.requests
            )
        )  # fmt: skip
    if run.concurrency is None:
        found.append(say("the tool kept no limit of concurrency"))
    elif run.concurrency != planned.concurrency:
        found.append(say("concurrency {found}, wanted {wanted}", found=run.concurrency, wanted=planned.concurrency))
    return found


def _clock(run: Run, planned: Planned) -> list[Phrase]:
    """A wall clock may be stepped: believed only with both clocks read before and after."""
    if Clock.WALL not in (run.timeline, run.stopwatch):
        return []
    if run.ends is None:
        return [say("{tool} times by the wall clock, and nothing shows that it was not stepped", tool=run.tool)]
    before, after = run.ends
    step = (after.wall - before.wall) - (after.monotonic - before.monotonic)
    if after.monotonic <= before.monotonic or abs(step) > planned.clock_step:
        return [say("the wall clock moved by {step:.4f} s against the monotonic clock during the run", step=step)]
    return []


def _lengths(run: Run, planned: Planned) -> list[Phrase]:
    found = []
    if wrong := {one.tokens_out for one in run.requests if one.tokens_out != planned.tokens_out}:
        found.append(
            say(
                "output lengths {found} tokens, wanted {wanted} in every answer (ignore_eos)",
                found=_some(wrong), wanted=planned.tokens_out,
            )
        )  # fmt: skip
    reach = planned.tokens_in * planned.tokens_in_percent / 100
    if wrong := {
        one.tokens_in for one in run.requests if one.tokens_in is None or abs(one.tokens_in - planned.tokens_in) > reach
    }:
        found.append(
            say(
                "prompt lengths {found} tokens, wanted {wanted}",
                found=_some(wrong), wanted=planned.tokens_in,
            )
        )  # fmt: skip
    return found


def _some(values: set[int | None]) -> str:
    told = sorted(value for value in values if value is not None)
    shown = [str(value) for value in told[:3]] + ["?"] * (None in values)
    return ", ".join(shown) + (", ..." if len(told) > 3 else "")


def _untold(run: Run, why: str) -> Phrase:
    if run.requests and all(one.sent is None for one in run.requests):
        return say("{tool} writes no send times, so its throughput cannot be recomputed", tool=run.tool)
    return say("the run cannot be recomputed: {why}", why=why)


def _little(run: Run, planned: Planned) -> list[Phrase]:
    """Little's law between the first and the last sending: requests under way are the concurrency asked for."""
    occupied = figures(run, planned.concurrency).occupied
    if abs(occupied / planned.concurrency - 1) * 100 > planned.occupied_percent:
        return [
            say(
                "{occupied:.2f} requests were under way on average, wanted {wanted} within {percent} % (Little's law)",
                occupied=occupied, wanted=planned.concurrency, percent=planned.occupied_percent,
            )
        ]  # fmt: skip
    return []


def _summary(run: Run, planned: Planned) -> list[Phrase]:
    """The tool's own figures agree with ours, or one of the two is wrong and nobody can say which."""
    if run.summary is None:
        return []
    ours, theirs = figures(run, planned.concurrency), run.summary
    definition = Definition.LOWER if theirs.lower_median else Definition.LINEAR
    found = []
    latencies = [one.latency for one in run.requests if one.latency is not None]
    median = (say("TTFT p50"), percentile(ours.ttfts, 50, definition), theirs.ttft_p50)
    if theirs.ttft_p50 is None and theirs.latency_p50 is not None and len(latencies) == len(run.requests):
        median = (say("latency p50"), percentile(latencies, 50, definition), theirs.latency_p50)
    for what, mine, told in (
        median,
        (say("output tokens"), ours.tokens_out, theirs.tokens_out),
        (say("completed requests"), len(run.requests), theirs.completed),
    ):
        if told is None:
            found.append(say("the tool printed no {what} to compare with", what=what))
        elif abs(told - mine) > abs(mine) * _ROUNDING:
            found.append(_disagree(run, what, told, mine))
    window = ours.tokens_out / theirs.throughput if theirs.throughput > 0 else 0.0
    longest = ours.window * (1 + planned.agree_percent / 100) + theirs.slack
    if not ours.window * (1 - _ROUNDING) <= window <= longest:
        found.append(_disagree(run, say("throughput"), theirs.throughput, ours.throughput))
    if theirs.failed:
        found.append(say("{tool} counts {failed} failed requests", tool=run.tool, failed=theirs.failed))
    return found


def _disagree(run: Run, what: Phrase, told: float, mine: float) -> Phrase:
    return say(
        "{what}: {tool} says {told:.6g}, its requests give {mine:.6g}", what=what, tool=run.tool, told=told, mine=mine
    )
