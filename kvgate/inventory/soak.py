"""How a rack is soaked: what runs on which host for how long, agreed before it begins. Times with units, words and no shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from kvgate.inventory.base import ByteRate, Bytes, Name, Path, Seconds, Strict, Word
from kvgate.inventory.serving import Unit, Url

Percent = Annotated[StrictInt, Field(ge=1, le=95)]


class Verify(Strict):
    """fio writes a file on a mount and reads it back with checksums, again and again, no faster than ``rate``."""

    host: Name
    path: Path
    size: Bytes
    rate: ByteRate
    block: Bytes = 2**20
    every: Seconds = 14400.0


class Program(Strict):
    """One load or action: its words, when it begins and how long it may take. ``rota``: other words for each ``turn`` in a circle.

    ``scheduled``: what it interrupts (a restart of the engine) is excused for ``within`` at most.
    """

    name: Name
    host: Name
    argv: tuple[Word, ...] = ()
    rota: tuple[tuple[Word, ...], ...] = ()
    turn: Seconds = 3600.0
    first: Seconds = 0.0
    every: Seconds | None = None
    again: StrictBool = False
    limit: Seconds
    output: Literal["whole", "lines"] = "whole"
    scheduled: StrictBool = False
    within: Seconds = 1800.0


class Fill(Strict):
    """A folder on a mount that is filled to ``high`` percent of the file system and emptied to ``low``, again and again."""

    host: Name
    path: Path
    low: Percent = 60
    high: Percent = 85
    rate: ByteRate = 100 * 10**6


class Janitor(Strict):
    """A store that never evicts: files used least recently are removed where more than ``high`` percent are used."""

    host: Name
    path: Path
    low: Percent = 60
    high: Percent = 85
    every: Seconds = 60.0


class Policy(Strict):
    """What an interruption costs: the clock begins anew, or so many of at most ``longest`` are passed over, their time not counted."""

    interruption: Literal["restart_clock", "resume"] = "restart_clock"
    interruptions: Annotated[StrictInt, Field(ge=0, le=10)] = 2
    longest: Seconds = 1800.0


class Serve(Strict):
    """The serving load on the arm that keeps KV on the array, by kvgate's own client: a ``rota`` of concurrencies, one a ``turn``.

    Beside it canaries each ``canaries`` seconds, a look at the digests of KV files each ``files``, and a restart of the engines
    each ``restart``, the first after half of it; what the restart interrupts is excused for ``within``.
    """

    rota: Annotated[tuple[Annotated[StrictInt, Field(ge=1, le=4096)], ...], Field(min_length=1)] = (16, 8, 16, 32)
    turn: Seconds = 3600.0
    canaries: Seconds = 600.0
    files: Seconds = 14400.0
    restart: Seconds = 86400.0
    within: Seconds = 1800.0


class Soak(Strict):
    """Everything that G4 needs to know beside the rack. ``spare`` is how much longer the workers go on, for what is not counted."""

    duration: Seconds = 72 * 3600.0
    spare: Seconds = 3600.0
    folder: Path | None = (
        None  # on the hosts; else /var/lib/kvgate-soak, for others than root ~/.local/state/kvgate-soak
    )
    journal: Bytes = 4 * 2**30  # a host's journal may take so much until it is collected
    free: Bytes = 2**30  # and leaves so much
    serve: Serve | None = None
    verify: tuple[Verify, ...] = ()
    programs: tuple[Program, ...] = ()
    fill: tuple[Fill, ...] = ()
    janitor: tuple[Janitor, ...] = ()
    units: Mapping[Name, Mapping[Name, Unit]] = {}  # host -> name -> unit whose memory and open files are watched
    pages: Mapping[Name, tuple[Url, ...]] = {}  # host -> pages of metrics read there
    metrics: tuple[Word, ...] = ("vllm:", "lmcache:", "sglang:")  # what names of metrics begin with
    policy: Policy = Policy()
