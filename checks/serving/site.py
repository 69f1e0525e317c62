"""What G3 measures on, as the inventory orders it: engines and how they are started, arms and where each keeps its KV."""

from __future__ import annotations

from dataclasses import dataclass

from checks.block.memory import ArrayMemory
from checks.phrase import Phrase
from checks.serving.kv import Layout
from checks.serving.tools import OWN_CLIENT, Driver


@dataclass(frozen=True, slots=True)
class Server:
    """One engine. ``way`` is ``unit``, ``container`` or ``command``; ``target`` the unit or container; words are run as they are.

    ``metrics``: the engine's page first, then every worker's that has one of its own.
    """

    endpoint: str
    metrics: tuple[str, ...]
    way: str
    target: str = ""
    runtime: str = "docker"
    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    cache: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What people call it."""
        return self.target or self.endpoint

    @property
    def port(self) -> str:
        """Port that it listens on."""
        return self.endpoint.removeprefix("http://").partition("/")[0].rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Side:
    """One arm. ``role``: local, array, nfs, reader or recompute, which has no place. ``ceilings``: bytes a second that cannot be exceeded.

    ``serial`` is the disk below a local arm, ``platform`` the inventory's word for the accelerators: whose heat is looked at.
    ``ports`` are the host's storage ports that an arm behind the network reads through.
    """

    name: str
    role: str
    host: str
    servers: tuple[Server, ...]
    mount: str = ""
    filesystem: str = ""
    store: str = ""
    over_rdma: bool = False
    ceilings: tuple[tuple[Phrase, float], ...] = ()
    serial: str = ""
    platform: str = ""
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One shape of the model on the rack with all its arms, and the workload. Lengths in tokens, ``ready`` in seconds.

    ``busy`` are servers of other shapes by host: they hold the same accelerators and are stopped first. ``kind`` is the
    inventory's word for the store.
    """

    shape: str
    engine: str
    engine_version: str
    kind: str
    store_version: str
    chunk: int
    header: int
    model: str
    model_path: str
    config: str
    kv_dtype: str
    tensor_parallel: int
    load_host: str
    user: str
    evict: str
    ready: float
    free: float
    environment: tuple[str, ...]
    may_differ: tuple[str, ...]
    prompt_tokens: int
    output_tokens: int
    requests: int
    rounds: int
    more_rounds: int
    canaries: int
    seed: int
    sides: tuple[Side, ...]
    busy: tuple[tuple[str, Server], ...] = ()
    driver: Driver = OWN_CLIENT
    memory: ArrayMemory | None = None  # of the array below the arm on trial; None: no array is below it

    def side(self, role: str) -> Side | None:
        """Return the arm of a role; None where the inventory orders none."""
        return next((one for one in self.sides if one.role == role), None)

    @property
    def local(self) -> Side:
        """The baseline arm. Raises LookupError where there is none."""
        return self.arm("local")

    @property
    def array(self) -> Side:
        """The arm on trial. Raises LookupError where there is none."""
        return self.arm("array")

    def arm(self, role: str) -> Side:
        """Return the arm of a role. Raises LookupError where there is none."""
        found = self.side(role)
        if found is None:
            raise LookupError(f"shape {self.shape} has no arm of role {role}")
        return found

    def prompts(self, concurrency: int) -> int:
        """How many prompts a round asks: at least ten waves of the concurrency, in equal shares for all instances."""
        count = max(self.requests, 10 * concurrency)
        instances = len(self.local.servers)
        return -(-count // instances) * instances


@dataclass(frozen=True, slots=True)
class Kept:
    """Working set of one round in a store: files (None where the store's way to file them is not known) and bytes."""

    files: int | None
    size: int


def kept(site: Site, layout: Layout, prompts: int) -> Kept:
    """Whole chunks of all prompts, each with its header on every rank."""
    chunks = prompts * (site.prompt_tokens // site.chunk)
    size = chunks * layout.ranks * (site.chunk * layout.rank_bytes + site.header)
    return Kept(chunks * layout.ranks if site.kind == "lmcache-fs" else None, size)
