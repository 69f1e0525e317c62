"""Each way the rack can be wrong, by name, and the clauses that must notice. One file a subject."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from lab.faults.model import Fault

__all__ = ["Fault", "chinese", "every"]


def every() -> dict[str, Fault]:
    """Return all faults by name. Raises ValueError when two share a name."""
    from lab.faults import (
        accelerators,
        baselines,
        connections,
        disks,
        drivers,
        fabric,
        files,
        hosts,
        nics,
        roce,
        serving,
        storage,
        trouble,
        volumes,
    )

    found: dict[str, Fault] = {}
    for module in (
        disks,
        storage,
        nics,
        roce,
        connections,
        hosts,
        accelerators,
        trouble,
        volumes,
        fabric,
        files,
        baselines,
        serving,
        drivers,
    ):
        for fault in module.FAULTS:
            if fault.name in found:
                raise ValueError(f"fault {fault.name!r} is defined twice")
            found[fault.name] = fault
    return found


def chinese() -> dict[str, str]:
    """Name of each fault -> what is wrong, in Chinese; ``Fault.text`` says it in English."""
    found: dict[str, str] = YAML(typ="safe").load((Path(__file__).parent / "chinese.yaml").read_text("utf-8"))
    return found
