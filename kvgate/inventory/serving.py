"""How models are served on the rack: engine, KV store, arms and workload, as both parties agreed before the first round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr

from kvgate.inventory.base import Name, Path, Seconds, Strict, Word

Url = Annotated[StrictStr, Field(pattern=r"^http://[A-Za-z0-9_.\[\]:-]+(/[A-Za-z0-9_./-]*)?$")]
Unit = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9@_.:-]+\.service$")]
Variable = Annotated[StrictStr, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

#: What an arm keeps its KV on. ``recompute`` keeps none: every prompt is prefilled again.
#: A ``reader`` is another node that reads the array at the same time; G3 asks it nothing alone.
ArmRole = Literal["local", "array", "nfs", "recompute", "reader"]


class Engine(Strict):
    """The serving engine, the same on every arm."""

    kind: Literal["vllm", "sglang"]
    version: Word


class Store(Strict):
    """What keeps KV outside the accelerators. ``chunk`` is in tokens: only whole chunks are stored.

    ``header`` is bytes a file beside its KV. A store that forgets its index when its engine restarts (``lmcache-local-disk``)
    can only be evicted by ``api``.
    """

    kind: Literal["lmcache-fs", "lmcache-local-disk", "lmcache-gds", "vllm-fs", "sglang-hicache", "mooncake"]
    version: Word
    chunk: Annotated[StrictInt, Field(ge=1, le=65536)] = 256
    header: Annotated[StrictInt, Field(ge=0, le=4096)] = 0


class Model(Strict):
    """The served model. ``config`` is the path of its config.json on the arm's host: KV bytes a token are computed from it."""

    name: Word
    path: Path
    config: Path | None = None  # config.json below path
    kv_dtype: Literal["bf16", "fp16", "fp8", "fp32"]


class Control(Strict):
    """How an instance is started and stopped: one of a systemd unit, a container, or two commands (words, no shell)."""

    unit: Unit | None = None
    container: Name | None = None
    runtime: Literal["docker", "podman", "nerdctl"] = "docker"
    start: tuple[Word, ...] = ()
    stop: tuple[Word, ...] = ()
    log: Path | None = None  # where commands leave the engine's log


class Instance(Strict):
    """One engine process group with its endpoint. ``metrics``: every page, of every worker that has its own."""

    endpoint: Url
    metrics: Annotated[tuple[Url, ...], Field(min_length=1)]
    control: Control
    cache: tuple[Url, ...] = ()  # control interface of the store, every worker's, for `evict: api`


class Arm(Strict):
    """One way to keep KV. Arms of a shape may differ in nothing but what ``may_differ`` lists."""

    role: ArmRole
    host: Name
    mount: Path | None = None  # a mount of that host; recompute has none
    store: Path | None = None  # folder below the mount, emptied between rounds
    instances: Annotated[tuple[Instance, ...], Field(min_length=1)]


class Shape(Strict):
    """One way to lay the model over a host's accelerators, with its arms. ``tensor_parallel`` is accelerators an instance."""

    tensor_parallel: Annotated[StrictInt, Field(ge=1, le=64)]
    arms: Mapping[Name, Arm]


class Workload(Strict):
    """What is asked of every arm, the same prompts in the same order. Lengths in the server's own tokens.

    ``requests`` is the least number a round; it is raised to ten times the concurrency where that is more.
    """

    prompt_tokens: Annotated[StrictInt, Field(ge=16, le=4_000_000)]
    output_tokens: Annotated[StrictInt, Field(ge=1, le=65536)]
    concurrencies: Annotated[tuple[Annotated[StrictInt, Field(ge=1, le=4096)], ...], Field(min_length=1)] = (8, 16, 32)
    requests: Annotated[StrictInt, Field(ge=1, le=100_000)] = 64
    rounds: Annotated[StrictInt, Field(ge=1, le=100)] = 5
    more_rounds: Annotated[StrictInt, Field(ge=0, le=100)] = 5  # at most so many more where the interval is wide
    canaries: Annotated[StrictInt, Field(ge=0, le=1000)] = 32
    seed: Annotated[StrictInt, Field(ge=0, le=2**63 - 1)]


class Driver(Strict):
    """What asks the arms while they are measured: kvgate's own client, or a load tool that is installed on the load host.

    ``folder`` is the tool's environment there, with its programs in ``bin``; ``tokenizer`` a folder with the model's, for tools
    that do not work without. Populating, warming up, canaries and sharing are asked by kvgate's own client always.
    """

    tool: Literal["own", "vllm-bench", "sglang-bench", "aiperf", "guidellm"] = "own"
    version: Word | None = None
    folder: Path | None = None
    tokenizer: Path | None = None


class Serving(Strict):
    """Everything that G2's serving baselines, G3 and G4 need to know of the engines."""

    engine: Engine
    store: Store
    model: Model
    load_host: Name  # where the driver runs
    driver: Driver = Driver()
    user: Word | None = None  # whom the store's folder must be writable for
    shapes: Annotated[Mapping[Name, Shape], Field(min_length=1)]
    primary: Name  # shape that G3's main clauses are about
    may_differ: tuple[Word, ...] = ()  # settings that may differ between arms, as they are read back
    evict: Literal["restart", "api"] = "restart"
    ready: Seconds = 1800.0  # an engine that is not ready by then has failed
    free: Annotated[float, Field(ge=1.0, le=10.0, strict=False)] = 1.3  # space on the mount, times the working set
    environment: tuple[Variable, ...] = ("PYTHONHASHSEED",)  # read back and compared beside arguments
    workload: Workload
