"""Faults of connections."""

from __future__ import annotations

from lab.faults.model import Fault

FAULTS: tuple[Fault, ...] = ()
