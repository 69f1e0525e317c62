"""What one client process is told: which hosts, which commands, how many at once. Standard library only: every client reads it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """One host to ask."""

    name: str
    address: str
    port: int
    host_key: str  # SHA256:...


@dataclass(frozen=True)
class Job:
    """One fan-out. ``script`` is the same batch that kvgate sends, for those that send it as a file."""

    targets: tuple[Target, ...]
    user: str
    key: str
    ssh_config: str
    lines: tuple[str, ...]
    limits: tuple[float, ...]
    script: str
    nonce: str
    workers: int
    folder: str  # where the client may write

    def write(self, path: Path) -> Path:
        """Write for the client process."""
        path.write_text(json.dumps(asdict(self)), "utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Job:
        """Read what :meth:`write` wrote."""
        raw = json.loads(path.read_text("utf-8"))
        raw["targets"] = tuple(Target(**target) for target in raw["targets"])
        raw["lines"], raw["limits"] = tuple(raw["lines"]), tuple(raw["limits"])
        return cls(**raw)


@dataclass(frozen=True)
class Told:
    """What a client process says about itself: seconds, CPU seconds after imports (children included), peak bytes."""

    wall: float
    cpu: float
    peak: int
    imported: int  # peak bytes before the fan-out began
    answers: int
    stdout: int  # bytes of standard output that arrived
