"""The knobs by name: what an operator would call each way in which serving goes wrong, and on which arm."""

from __future__ import annotations

from dataclasses import dataclass

from lab.engine.knobs import Knobs


@dataclass(frozen=True)
class EngineFault:
    """One named fault. ``on`` is the arm: local, array, recompute, or all."""

    name: str
    text: str
    on: str
    knobs: Knobs

    def hits(self, arm: str) -> bool:
        """Whether this arm has it."""
        return self.on in ("all", arm)


FAULTS: tuple[EngineFault, ...] = (
    EngineFault("kv-page-cache", "KV files of the local arm are read from the page cache, which outlives its dropping",
                "local", Knobs(page_cache=True)),
    EngineFault("kv-in-hbm", "the engine of the array arm keeps its prefixes in HBM over the restart", "array", Knobs(keeps_device=True)),
    EngineFault("kv-reset-lies", "reset_prefix_cache answers 200 and resets nothing", "array", Knobs(reset_lies=True)),
    EngineFault("kv-in-dram", "a hot cache in DRAM answers for the array arm", "array", Knobs(host_tokens=50_000_000, host_lies=True)),
    EngineFault("kv-hash-seed", "the engine hashes with another seed after each start and finds none of its files",
                "array", Knobs(new_seed=True)),
    EngineFault("kv-index-lost", "a restarted store does not know the files that it wrote", "local", Knobs(index_lost=True)),
    EngineFault("kv-write-lost", "every write to the array's store is lost, and nobody says so", "array", Knobs(write_lost=1.0)),
    EngineFault("kv-write-half-lost", "one write in four to the local store is lost, and nobody says so",
                "local", Knobs(write_lost=0.25)),
    EngineFault("kv-disk-full", "the local store's disk is full after a while; writes fail and are counted",
                "local", Knobs(full=10_000_000_000)),
    EngineFault("kv-evicted", "the local store holds less than the working set and drops the oldest files silently",
                "local", Knobs(capacity=20_000_000_000)),
    EngineFault("kv-load-fails", "one load in twelve from the local store fails and is computed again", "local", Knobs(load_fails=0.08)),
    EngineFault("kv-unhealthy", "the array arm's store calls itself unhealthy, and everything is computed",
                "array", Knobs(unhealthy=True)),
    EngineFault("kv-corrupt", "one file in ten of the array's store holds other bytes than were written", "array", Knobs(corrupt=0.1)),
    EngineFault("kv-foreign", "one load in ten from the array's store brings the KV of another prompt", "array", Knobs(foreign=0.1)),
    EngineFault("kv-garbled", "restored answers of the array arm are noise, one in ten", "array", Knobs(garbled=0.1)),
    EngineFault("arm-slow", "the array arm saves a fifth of TTFT and not more", "array", Knobs(slow=1.24)),
    EngineFault("arm-no-gain", "the array arm is as slow as the local disk", "array", Knobs(slow=1.757)),
    EngineFault("arm-starved", "the engine of the array arm shares its cores with something else", "array", Knobs(cpu=1.9)),
    EngineFault("arm-weak-baseline", "the local disk gives half of what it should: the gain is larger than any reference run",
                "local", Knobs(slow=2.0)),
    EngineFault("arm-drifts", "the local arm grows slower with every start", "local", Knobs(drift=0.006)),
    EngineFault("arm-unsteady", "times on the array arm vary widely", "array", Knobs(noise=1.2)),
    EngineFault("arm-impossible", "the array arm's answers come faster than its link can carry them", "array", Knobs(impossible=True)),
    EngineFault("stream-role-first", "both engines send a role before they read anything", "all", Knobs(role_first=True)),
    EngineFault("stream-usage-first", "both engines send usage before they read anything", "all", Knobs(usage_first=True)),
    EngineFault("stream-empty", "one answer in twenty of the array arm has no text", "array", Knobs(empty=0.05)),
    EngineFault("stream-dropped", "one stream in twenty of the array arm ends in the middle", "array", Knobs(dropped=0.05)),
    EngineFault("stream-429", "one request in twenty of the local arm is refused with 429", "local", Knobs(too_many=0.05)),
    EngineFault("stream-500", "one request in twenty of the array arm ends in 500", "array", Knobs(broken=0.05)),
    EngineFault("stream-error", "one stream in twenty of the array arm carries an error", "array", Knobs(error=0.05)),
    EngineFault("stream-stalled", "one stream in twenty of the array arm stops in the middle and says nothing more",
                "array", Knobs(stalled=0.05)),
    EngineFault("answers-short", "one answer in ten of the local arm ends before its length", "local", Knobs(short=0.1)),
    EngineFault("tokenizer-differs", "the engine of the array arm adds a token to each prompt", "array", Knobs(extra_tokens=1)),
    EngineFault("usage-missing", "the engine of the array arm tells no usage", "array", Knobs(no_usage=True)),
    EngineFault("answers-vary", "one computed answer in three differs each time: no control for restored ones",
                "all", Knobs(nondeterministic=0.34)),
    EngineFault("engine-dies", "the engine of the array arm dies in the middle of a round", "array", Knobs(dies_after=70)),
    EngineFault("engine-will-not-start", "the engine of the array arm does not start", "array", Knobs(will_not_start=True)),
    EngineFault("engine-will-not-stop", "the engine of the local arm goes on after it was told to stop",
                "local", Knobs(will_not_stop=True)),
    EngineFault("engine-never-ready", "the engine of the array arm starts and never answers", "array", Knobs(never_ready=True)),
    EngineFault("metrics-worker-silent", "one worker's page of the array arm does not answer", "array", Knobs(worker_silent=True)),
    EngineFault("metrics-no-sources", "the engine of the local arm does not tell tokens by source", "local", Knobs(no_sources=True)),
    EngineFault("metrics-frozen", "counters of the array arm's engine never move", "array", Knobs(frozen=True)),
    EngineFault("metrics-failures-untold", "workers of the array arm do not count failed loads and stores",
                "array", Knobs(failures_untold=True)),
    EngineFault("engine-preempts", "requests of the local arm are preempted", "local", Knobs(preempted=0.05)),
    EngineFault("kv-amplified", "a quarter more is read on the local device than the hits come to", "local", Knobs(amplified=0.25)),
    EngineFault("rdma-port-silent", "the RDMA port counts nothing while the array arm reads", "array", Knobs(port_silent=True)),
    EngineFault("arms-version", "the array arm runs a newer engine", "array", Knobs(version="0.20.2")),
    EngineFault("arms-chunk", "the local arm stores chunks of another size", "local", Knobs(chunk=128)),
)  # fmt: skip


def named(name: str) -> EngineFault:
    """Return the fault of this name. Raises ValueError, naming those there are."""
    for one in FAULTS:
        if one.name == name:
            return one
    raise ValueError(f"found fault {name!r}, wanted one of: {', '.join(one.name for one in FAULTS)}")
