"""What a fault is: edits of one host's answers, or a way the host itself misbehaves, and who must notice."""

from __future__ import annotations

from dataclasses import dataclass

from lab.load.fabric import Cable
from lab.load.files import Upset
from lab.load.model import Trouble
from lab.machine import Edit
from lab.serving.model import Flaw


@dataclass(frozen=True)
class Fault:
    """One named way to be wrong.

    ``on`` selects hosts: ``array``, ``node-01``, ``nodes``, ``all``. ``stops`` are the clauses that must STOP and
    ``undecided`` those that cannot be told any more; every other clause must come out as on the healthy rack. ``platform`` is the node
    type the fault needs (``rocm``, ``ascend``, ``nvidia``) or empty. ``behaviour`` is a fault of the host itself:
    ``changed-host-key``, ``refuse-login``, ``silent``, ``close-early``, ``garbage``, ``banner``, ``cut-in-batch``, ``down``, ``slow``.
    ``load`` is what is wrong with load that is made on the host, ``serving`` with the engines on it. ``nfs``: it needs a rack whose
    nodes mount an export of the array too. ``driver`` is the load tool that the rack is ordered with for it;
    ``containers``: its engines are ordered as containers; ``engine`` is the engine that
    it is ordered with, where that is not vLLM; ``untold``: its order tells nothing of the array's memory.
    """

    name: str
    text: str
    on: str
    stops: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    edits: tuple[Edit, ...] = ()
    platform: str = ""
    behaviour: str = ""
    load: tuple[Trouble | Cable | Upset, ...] = ()
    serving: tuple[Flaw, ...] = ()
    nfs: bool = False
    driver: str = ""
    containers: bool = False
    engine: str = ""
    untold: bool = False

    @property
    def gate(self) -> str:
        """The gate whose clauses notice it."""
        (gate,) = {clause.partition(".")[0] for clause in self.stops | self.undecided} or {"G1"}
        return gate

    def hits(self, host: str) -> bool:
        """Whether the host with this name carries the fault."""
        node = host.startswith("node-")
        return self.on in ("all", host) or (self.on == "nodes" and node) or (self.on == "array" and not node)


def served(
    name: str, text: str, *flaws: Flaw, stops: frozenset[str] = frozenset(), undecided: frozenset[str] = frozenset()
) -> Fault:
    """Make a fault of the engines on the serving node."""
    return Fault(name, text, "node-01", stops=stops, undecided=undecided, serving=flaws)
