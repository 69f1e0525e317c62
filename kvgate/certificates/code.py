"""Which code certified: its version, and one digest over everything that asks, reads, decides and signs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from kvgate.codec import canonical, digest

_PACKAGES = ("checks", "gates", "kvgate")
_KINDS = (".py", ".yaml")


def code_version() -> str:
    """Version of kvgate that asks and judges."""
    try:
        return version("kvgate")
    except PackageNotFoundError:
        return "unknown"


@cache
def code_digest() -> str:
    """SHA-256 over path and SHA-256 of every source file and of the acceptance document."""
    found = []
    for package in _PACKAGES:
        root = Path(str(files(package)))
        for path in root.rglob("*"):
            if path.suffix in _KINDS and "__pycache__" not in path.parts:
                found.append([package, path.relative_to(root).as_posix(), digest(path.read_bytes())])
    return digest(canonical(sorted(found)))
