"""One shape of what a load driver saw, whichever tool it was: a run and its requests.

The one definition used everywhere:

- *sent*: the driver hands the request to the connection, after any waiting of its own for a free slot;
- *first*: the first streamed event that carries generated output (text, reasoning or a tool call; an event with a role, with
  usage or with ``[DONE]`` only is none);
- *last*: the last such event;
- TTFT is first minus sent; throughput is the output tokens the server counted over the time from the first request sent to
  the last token of all, ramp and tail included.

A failed request has no times: nothing here is ever 0 for want of a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from checks.phrase import Phrase


class Status(StrEnum):
    """How a request ended."""

    COMPLETED = "completed"
    EMPTY = "empty"
    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Times in seconds of the run's clock; ``output`` is the SHA-256 of the answer's text.

    None: never reached, or not told by this tool. ``waited`` is the time that the driver kept it back before sending.
    """

    index: int
    status: Status
    sent: float | None = None
    first: float | None = None
    last: float | None = None
    ttft: float | None = None
    latency: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None
    waited: float | None = None
    output: str | None = None
    error: str = ""


class Clock(StrEnum):
    """What the times of a run count from. A wall clock may be stepped by a clock service in the middle of a request."""

    MONOTONIC = "monotonic"
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class Instant:
    """Both clocks of the load host read at once, in seconds; a pair around a run joins it with counters of other hosts."""

    wall: float
    monotonic: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The tool's own figures, to be compared with ours. Seconds and tokens a second; None: the tool printed none.

    ``latency_p50`` stands in where no TTFT was printed. ``lower_median``: its median is an order statistic and not
    interpolated. ``slack`` are seconds that its window may hold beyond ours: the tool still has to start up and to wind down
    while its watch runs.
    """

    ttft_p50: float | None
    throughput: float
    duration: float
    tokens_out: int
    completed: int
    failed: int | None
    lower_median: bool = False
    slack: float = 0.25
    latency_p50: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """All requests of one run of a driver.

    ``timeline`` is the clock of sent, first and last, ``stopwatch`` the clock of TTFT and latency. ``concurrency`` is the
    limit that the tool says it kept, None for no limit. ``begun`` counts the requests that the tool began, in the list or
    not. ``ends`` are both clocks before and after. ``objections`` say why this tool's times do not follow the definition.
    """

    tool: str
    timeline: Clock
    stopwatch: Clock
    concurrency: int | None
    begun: int
    requests: tuple[Request, ...]
    summary: Summary | None
    ends: tuple[Instant, Instant] | None = None
    objections: tuple[Phrase, ...] = ()
