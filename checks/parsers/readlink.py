"""``readlink -m PATH``: the kernel name behind a stable name such as ``/dev/disk/by-id/...`` or ``/dev/md/kv``."""

from __future__ import annotations

import re

from checks.lexing import lines
from checks.probe import UnreadableOutput

COMMAND = "readlink"


def parse(text: str) -> str:
    """Return the one absolute path."""
    rows = lines(text)
    if len(rows) != 1 or re.fullmatch(r"/[^\x00-\x1f]{0,4095}", rows[0]) is None:
        raise UnreadableOutput(f"found {text.strip()[:80]!r}, wanted one absolute path")
    return rows[0]
