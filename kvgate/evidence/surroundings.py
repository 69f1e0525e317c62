"""Which Python and which packages asked: written into the first line of every run's evidence."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

#: Packages that could change what is asked, read or judged.
PACKAGES = (
    "kvgate",
    "paramiko",
    "fabric",
    "cryptography",
    "pydantic",
    "sqlalchemy",
    "pytest",
    "defusedxml",
    "ruamel.yaml",
)


@cache
def surroundings() -> dict[str, object]:
    """Versions of interpreter, system and packages; a package that is not installed is left out."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "system": platform.platform(), "packages": packages}
