"""Who runs this, and nothing else."""

from __future__ import annotations

import os
import pwd


def operator() -> str:
    """Who runs this, as far as the machine knows: a name, or a number where the account has none (a container)."""
    if named := os.environ.get("KVGATE_OPERATOR") or os.environ.get("USER"):
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
