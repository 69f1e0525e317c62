"""``cma_roce_mode``, ``cma_roce_tos`` and the configfs files behind them: what the RDMA connection manager uses by default.

Seen: MLNX_OFED 4.x to 24.x and ``grep -Hs '' /sys/kernel/config/rdma_cm/DEV/ports/N/default_roce_mode ..._tos`` of Linux 4.4 to
6.x. The tools print the bare value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lexing import integer, lines, tree
from checks.probe import UnreadableOutput

COMMAND = "cma_roce"

_PATH = re.compile(r"/sys/kernel/config/rdma_cm/[\w.-]+/ports/\d{1,3}/default_roce_(mode|tos)", re.ASCII)


@dataclass(frozen=True, slots=True)
class CmaRoce:
    """Defaults of one port: ``RoCE v2`` or ``IB/RoCE v1``, and the TOS byte (DSCP times 4). None was not asked."""

    mode: str | None
    tos: int | None


def parse(text: str) -> CmaRoce:
    """Read one port; values of two ports, or none, are refused."""
    if text.startswith("/"):
        said: dict[str, str] = {}
        for path, value in tree(text).items():
            found = _PATH.fullmatch(path)
            if found is None or found[1] in said:
                raise UnreadableOutput(
                    f"found {path[:80]!r}, wanted default_roce_mode and default_roce_tos of one port"
                )
            said[found[1]] = value
    else:
        rows = [row.strip() for row in lines(text) if row.strip()]
        if len(rows) != 1:
            raise UnreadableOutput(f"{len(rows)} lines, wanted one value")
        said = {"tos" if rows[0].isdigit() else "mode": rows[0]}
    mode, tos = said.get("mode"), said.get("tos")
    if mode not in (None, "RoCE v2", "IB/RoCE v1"):
        raise UnreadableOutput(f"mode is {mode!r}, wanted 'RoCE v2' or 'IB/RoCE v1'")
    number = None if tos is None else integer(tos, "TOS")
    if number is not None and not 0 <= number <= 255:
        raise UnreadableOutput(f"TOS is {number}, wanted 0 to 255")
    return CmaRoce(mode, number)
