"""The batch protocol as a host's shell sees it: a script with ``kvg`` lines in, frames out. Written from the protocol's text alone."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass

from lab.machine import Reply

_NONCE = re.compile(r"^kvg_nonce='?([0-9a-f]{32})'?$", re.MULTILINE)
_COMMAND = re.compile(r"^kvgr? \d+ .*$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """One command of a batch."""

    index: int
    limit: float
    cap: int
    line: str


@dataclass(frozen=True)
class Script:
    """A batch as it arrived."""

    nonce: str
    commands: tuple[Asked, ...]


def parse(script: str) -> Script | None:
    """Read a batch script; None when the text is no batch."""
    nonce = _NONCE.search(script)
    if nonce is None:
        return None
    commands = []
    for line in _COMMAND.findall(script):
        _, index, limit, cap, text = shlex.split(line)
        commands.append(Asked(int(index), float(limit), int(cap), text))
    return Script(nonce[1], tuple(commands))


def begin(script: Script, boot_id: str, skew: float) -> bytes:
    """Return the first frame; ``skew`` is what the host's clock is ahead, in seconds."""
    return f"KVGATE {script.nonce} BEGIN {time.time() + skew:.9f} {boot_id}\n".encode()


def chunk(script: Script, results: list[tuple[Asked, Reply, int]]) -> bytes:
    """Return the frames of some commands: all manifest lines, then all data."""
    head, data = [], []
    for asked, reply, milliseconds in results:
        out, err = reply.stdout[: asked.cap], reply.stderr[: asked.cap]
        cut = int(len(out) < len(reply.stdout) or len(err) < len(reply.stderr))
        head.append(
            f"KVGATE {script.nonce} R {asked.index} {reply.status} {len(out)} {len(err)} {cut} {milliseconds}\n"
        )
        data.append(out + err)
    return "".join(head).encode() + f"KVGATE {script.nonce} DATA\n".encode() + b"".join(data)


def end(script: Script, skew: float) -> bytes:
    """Return the last frame."""
    return f"KVGATE {script.nonce} END {len(script.commands)} {time.time() + skew:.9f}\n".encode()
