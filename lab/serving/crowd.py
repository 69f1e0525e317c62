"""What the serving hosts of one rack share: the array behind one port, and the moment at which all of them begin to read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.load.model import ARRAY

if TYPE_CHECKING:
    from lab.serving.host import ServingHost


@dataclass
class Crowd:
    """All serving hosts of one rack."""

    hosts: list[ServingHost] = field(default_factory=list)
    begun: dict[str, float] = field(default_factory=dict)

    def begin(self, host: ServingHost, prompts: str) -> float:
        """When this node begins to read what all nodes read at once: a moment after the others."""
        late = max(one.clock for one in self.hosts)
        return self.begun.setdefault(prompts.rpartition("/")[0], late) + 0.15 * self.hosts.index(host)

    def reading(self) -> int:
        """Nodes whose engine keeps its KV on the array now."""
        return sum(any(one.unit.role == "array" for one in list(host.running.values())) for host in self.hosts)

    def slowdown(self, rate: float) -> float:
        """By what reading takes longer where every node reads ``rate`` bytes a second by itself."""
        return max(1.0, self.reading() * rate / ARRAY.read)
