"""Asks a QEMU process over its control socket: one command, one answer."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any


class Refused(Exception):
    """QEMU did not do what it was asked."""


def ask(path: Path, command: str, /, **arguments: Any) -> Any:
    """Run one command and return what it returns. Raises Refused with QEMU's reason, OSError when nobody listens."""
    folder = os.open(path.parent, os.O_PATH)  # a socket's name may have 107 bytes; a checkout may lie deeper
    try:
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(60)
            control.connect(f"/proc/self/fd/{folder}/{path.name}")
            with control.makefile("rw") as lines:
                json.loads(lines.readline())
                _one(lines, "qmp_capabilities", {})
                return _one(lines, command, arguments)
    finally:
        os.close(folder)


def _one(lines: Any, command: str, arguments: dict[str, Any]) -> Any:
    lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    lines.flush()
    while line := lines.readline():
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(f"{command}: {answer['error'].get('desc')}")
        if "return" in answer:
            return answer["return"]
    raise Refused(f"{command}: QEMU ended")
