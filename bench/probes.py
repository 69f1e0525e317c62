"""The questions of G1 to one node, as the gate would ask them, and stand-ins that answer for tools which are not installed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import shlex
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gates.g1_arrival
from kvgate.gate.body import GateTest
from kvgate.gate.options import Options
from kvgate.gate.start import Prepared, prepare
from lab import inventory
from lab.machine import Machine
from lab.rack import build, fingerprint, host_key

#: Run for real on the server: the batch itself is made of these, and every Linux has them.
REAL = frozenset({"cat", "df", "grep", "ls", "od", "sh", "stat", "uname"})


@dataclass(frozen=True)
class Question:
    """One command line with its limit in seconds."""

    line: str
    limit: float


def of_a_node(folder: Path, platform: str = "rocm") -> tuple[list[Question], Machine]:
    """Return what ``pytest -m G1`` asks one node of the embedded rack, devices resolved, and the machine that can answer."""
    hosts = build(1, platform)
    written = folder / "inventory.yaml"
    written.write_text(
        inventory.text([(host.ordered, 42200 + n, fingerprint(host_key(host.name))) for n, host in enumerate(hosts)]),
        "utf-8",
    )
    prepared = prepare(Options("G1", written, "", folder))
    node = hosts[-1]
    asked = []
    needs = {need.key: need for need in prepared.session().rehearse(_tests(prepared)).needs if need.host == node.name}
    for need in needs.values():
        devices = {d: "/dev/nvme0n1" if d.kind == "namespace" else "/dev/nvme0" for d in need.probe.devices}
        asked.append(Question(need.probe.command(devices), need.probe.limit))
    return asked, node.machine


def _tests(prepared: Prepared) -> list[GateTest]:
    bodies: dict[str, Callable[..., None]] = {}
    for info in pkgutil.iter_modules(gates.g1_arrival.__path__):
        module = importlib.import_module(f"gates.g1_arrival.{info.name}")
        for body in vars(module).values():
            for mark in getattr(body, "pytestmark", []):
                if mark.name == "clause":
                    bodies[mark.args[0]] = body
    return [
        GateTest(owed, thing, bodies[owed.clause], tuple(inspect.signature(bodies[owed.clause]).parameters))
        for owed, thing in prepared.owed
    ]


def stand_ins(folder: Path, questions: list[Question], machine: Machine) -> Path:
    """Write one small shell script a tool that prints the captured answer; returns the folder to put on the server's PATH."""
    folder.mkdir(parents=True)
    cases: dict[str, list[str]] = defaultdict(list)
    for number, question in enumerate(questions):
        tool, *words = shlex.split(question.line)
        if tool not in REAL:
            reply = machine.answer(question.line)
            answer = folder / f"answer-{number}"
            answer.write_bytes(reply.stdout)
            cases[tool].append(f"{shlex.quote(' '.join(words))}) cat {answer}; exit {reply.status} ;;")
    for tool, branches in cases.items():
        script = folder / tool
        script.write_text("\n".join(["#!/bin/sh", 'case "$*" in', *branches, "esac", "exit 127", ""]), "utf-8")
        script.chmod(0o755)
    return folder
