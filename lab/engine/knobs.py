"""Every way in which an engine, its store or its pages can be wrong, as numbers that the engine obeys."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Knobs:
    """What is wrong with one engine. Shares are of requests (or files) from 0 to 1; all zero and False: nothing is.

    Which requests a share hits is decided by their prompt, so the same ones are hit each time.
    """

    # where KV comes from
    page_cache: bool = False  # buffered files, and dropping the page cache leaves them there
    keeps_device: bool = False  # a restart leaves HBM as it was: nobody stopped the process
    reset_lies: bool = False  # POST /reset_prefix_cache says 200 and resets nothing
    host_lies: bool = False  # DELETE /cache/clear says 200 and the hot cache stays
    host_tokens: int = 0  # tokens of a hot cache in DRAM that should not be there
    new_seed: bool = False  # hashes of another seed after each start
    index_lost: bool = False  # files stay, but a restarted store does not know them
    load_fails: float = 0.0  # loads that fail and are computed again
    unhealthy: bool = False  # the store gave up and everything is computed
    # what is written
    write_lost: float = 0.0  # writes that are lost, and nobody says so
    capacity: int = 0  # bytes that the store holds; the oldest are dropped silently
    full: int = 0  # bytes after which every write fails, and is counted
    corrupt: float = 0.0  # files that hold other bytes than were written
    foreign: float = 0.0  # loads that take the KV of another prompt
    garbled: float = 0.0  # restored answers that are noise
    # how fast
    slow: float = 1.0  # the store's device takes so many times as long
    cpu: float = 1.0  # the engine's own part takes so many times as long
    drift: float = 0.0  # each start makes everything slower by this share
    noise: float = 0.0  # deviation from request to request, instead of the shape's
    impossible: bool = False  # reads take no time at all
    # what the server says
    role_first: bool = False  # an event with a role and no text before anything is read
    usage_first: bool = False  # an event with usage only before anything is read
    empty: float = 0.0
    dropped: float = 0.0
    too_many: float = 0.0  # HTTP 429
    broken: float = 0.0  # HTTP 500
    error: float = 0.0  # an error in the stream
    stalled: float = 0.0
    short: float = 0.0  # answers that end early
    extra_tokens: int = 0  # tokens that its tokenizer adds to each prompt
    no_usage: bool = False
    nondeterministic: float = 0.0  # computed answers that differ each time
    dies_after: int = 0  # requests after which the process dies
    # what the pages say
    worker_silent: bool = False  # one worker's page does not answer
    no_sources: bool = False  # a page without tokens by source
    frozen: bool = False  # counters that never move
    preempted: float = 0.0
    failures_untold: bool = False  # no counter of failed loads and stores
    # what the device says
    amplified: float = 0.0  # more is read than asked, by this share
    port_silent: bool = False  # the RDMA port counts nothing
    # what runs
    version: str = ""
    chunk: int = 0
    will_not_start: bool = False
    will_not_stop: bool = False
    never_ready: bool = False


def joined(*all_of: Knobs) -> Knobs:
    """All of these at once; of two that set the same knob the later one counts."""
    plain, found = Knobs(), {}
    for one in all_of:
        for field in fields(Knobs):
            if (value := getattr(one, field.name)) != getattr(plain, field.name):
                found[field.name] = value
    return Knobs(**found)
