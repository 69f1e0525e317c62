"""``grep -Hs '' /etc/nvme/... /etc/systemd/system/*.wants/... /proc/sys/kernel/osrelease``: this host as NVMe-oF initiator.

Reads the host's identity (hostnqn, hostid), the connections configured in discovery.conf and config.json, and what the
enabled NVMe units start. The kernel release is asked last: an answer that does not end with it was cut.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document, tree
from checks.probe import UnreadableOutput

COMMAND = "nvme-host"

#: The last file asked for; its absence shows a cut answer.
LAST = "/proc/sys/kernel/osrelease"
_UNIT = re.compile(r"/etc/systemd/system/[A-Za-z0-9_.@-]+\.wants/([A-Za-z0-9_.@-]+)")
_FLAGS = {"-t": "transport", "-a": "traddr", "-s": "trsvcid", "-n": "nqn"}


@dataclass(frozen=True, slots=True)
class Configured:
    """One connection that a file asks for. None: the file leaves it open (a discovery entry names no subsystem)."""

    transport: str | None
    address: str | None
    service: str | None
    nqn: str | None


@dataclass(frozen=True, slots=True)
class Unit:
    """One systemd unit that is enabled, with the commands that it starts."""

    name: str
    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NvmeHost:
    """Identity and configuration of this host; None for identity: no such file. ``config_nqns`` stand in config.json."""

    host_nqn: str | None
    host_id: str | None
    config_nqns: tuple[str, ...]
    configured: tuple[Configured, ...]
    units: tuple[Unit, ...]


def parse(text: str) -> NvmeHost:
    """Read the files that are there; refuses an answer without the closing line."""
    found = tree(text)
    if next(reversed(found)) != LAST:
        raise UnreadableOutput(f"the answer does not end with {LAST}, it may be cut")
    units: list[Unit] = []
    files: dict[str, str] = {}
    for path, value in found.items():
        if match := _UNIT.fullmatch(path):
            units.append(Unit(match[1], tuple(re.findall(r"^ExecStart=(.*\S)\s*$", value, re.MULTILINE))))
        elif path.startswith("/etc/nvme/"):
            files[path.removeprefix("/etc/nvme/")] = value
        elif path != LAST:
            raise UnreadableOutput(f"found {path[:80]!r}, which was not asked for")
    nqns, configured = _config(files["config.json"]) if files.get("config.json", "").strip() else ((), ())
    return NvmeHost(
        host_nqn=_one_line(files, "hostnqn"),
        host_id=_one_line(files, "hostid"),
        config_nqns=nqns,
        configured=configured + _discovery(files.get("discovery.conf", "")),
        units=tuple(units),
    )


def _one_line(files: dict[str, str], name: str) -> str | None:
    text = files.get(name, "").strip()
    if "\n" in text:
        raise UnreadableOutput(f"/etc/nvme/{name} has {len(text.splitlines())} lines, wanted one")
    return text or None


def _config(text: str) -> tuple[tuple[str, ...], tuple[Configured, ...]]:
    document = json_document(text)
    hosts = document if isinstance(document, list) else [document]
    nqns: list[str] = []
    found: list[Configured] = []
    for host in hosts:
        nqns += [nqn] if (nqn := _optional(host, "hostnqn")) else []
        for subsystem in entry(host, "subsystems", list, "config.json host"):
            for port in entry(subsystem, "ports", list, "config.json subsystem"):
                found.append(
                    Configured(
                        _optional(port, "transport"),
                        _optional(port, "traddr"),
                        _optional(port, "trsvcid"),
                        _optional(subsystem, "nqn"),
                    )
                )
    return tuple(nqns), tuple(found)


def _optional(table: Any, key: str) -> str | None:
    return str(entry(table, key, str, "config.json")) if isinstance(table, dict) and key in table else None


def _discovery(text: str) -> tuple[Configured, ...]:
    found: list[Configured] = []
    for line in text.splitlines():
        words = line.replace("=", " ").split()
        if not words or words[0].startswith("#"):
            continue
        given: dict[str, str] = {}
        for flag, value in itertools.pairwise(words):
            if flag.startswith("-"):
                given[_FLAGS.get(flag, flag.lstrip("-"))] = value
        found.append(Configured(given.get("transport"), given.get("traddr"), given.get("trsvcid"), given.get("nqn")))
    return tuple(found)
