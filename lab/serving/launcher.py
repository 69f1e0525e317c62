"""A simulated load host with load tools in /opt/bench: their versions, and what the launcher tells of their runs."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from lab.machine import Reply
from lab.serving import tools
from lab.serving.client import digest, timed

if TYPE_CHECKING:
    from lab.serving.host import ServingHost

_ASKED = re.compile(r"/opt/bench/bin/python3 -I -c .*?for name in \(\W*(\w+)", re.ASCII)


def answer(host: ServingHost, line: str) -> Reply | None:
    """Answer the launcher and the question for a tool's version; None for another line."""
    if "kvgate-launcher" in line[:1000]:
        return _run(host, json.loads(shlex.split(line)[-1]))
    if found := _ASKED.match(line):
        return _told(host, found[1])
    return None


def _told(host: ServingHost, word: str) -> Reply:
    """What the tool's own interpreter says of its version, or why it cannot."""
    if host.flaw("tool-folder"):
        return Reply(stderr=b"sh: 1: /opt/bench/bin/python3: not found\n", status=127)
    if host.flaw("tool-absent"):
        trace = b'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nIndexError: list index out of range\n'
        return Reply(stderr=trace, status=1)
    if host.flaw("tool-unreadable"):
        return Reply(b"None\n")
    return Reply(f"{_version(host, word)}\n".encode())


def _version(host: ServingHost, word: str) -> str:
    tool = next(one for one in tools.VERSIONS if one.startswith(word))
    flaw = host.flaw("tool-version")
    return tools.VERSIONS[tool] if flaw is None else flaw.text or "0.99.0"


def _run(host: ServingHost, options: dict[str, Any]) -> Reply:
    from lab.serving.host import Window

    tool, wanted = tools.tool_of(options), tools.asked(options)
    engine = host.at(wanted["endpoints"][0])
    role = engine.unit.role if engine is not None else ""
    place = (role, wanted["concurrency"], engine.unit.store if engine is not None else "")
    number = host.windows[place] = host.windows.get(place, 0) + 1
    window = Window(host, wanted, role, number)
    if host.flaw("tool-concurrency", role):
        wanted["concurrency"] //= 2
    repeats = host.flaw("tool-repeats", role) is not None
    asked = [index // 2 if repeats else index for index in range(wanted["count"])]
    run, seconds = timed(wanted["count"], wanted["concurrency"], lambda index: window.serve(engine, asked[index]))
    began = (1.79e9 + host.clock, host.clock)
    wrong = tools.Wrong(
        zero=host.flaw("tool-zero", role, number) is not None,
        role=host.flaw("tool-role", role) is not None,
        summary=0.03 if host.flaw("tool-summary", role) else 0.0,
        cut=host.flaw("tool-cut", role) is not None,
    )
    written = tools.results(tool, run, began, wanted, wrong)
    lag = 0.4 if host.flaw("client-busy") else 0.003
    step = 0.2 if host.flaw("clock-steps") else 0.0
    host.clock += seconds
    window.end(seconds)
    told = tools.document(options, began, (seconds, step), digest(wanted), _version(host, tool), lag, written)
    return Reply(told.encode())
