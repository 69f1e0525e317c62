"""``grep -Hs '' /sys/class/nvme/nvme*/... /sys/class/nvme-subsystem/...``: every NVMe controller of a host, local or fabrics.

A namespace is named after the instance of its subsystem, not after its controller, as soon as native multipath owns it:
controller nvme1 may carry nvme0n1, and its hidden paths are called nvme0c1n1. Namespaces are therefore looked up through
the subsystem's NQN. The kernel release stands first in the output: a host without controllers still answers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from checks.lexing import aer_total, integer, link_speed, link_width, tree
from checks.probe import UnreadableOutput

COMMAND = "sysfs-nvme"

RELEASE = "/proc/sys/kernel/osrelease"
MULTIPATH = "/sys/module/nvme_core/parameters/multipath"
_CONTROLLER = re.compile(r"/sys/class/nvme/(nvme\d{1,5})/(.+)", re.ASCII)
_SUBSYSTEM = re.compile(r"/sys/class/nvme-subsystem/(nvme-subsys\d{1,5})/(.+)", re.ASCII)
_NAMESPACE = re.compile(r"(nvme\d{1,5}(?:c\d{1,5})?n\d{1,5})/(\w+)", re.ASCII)

_Table = dict[str, str]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace (``nvme0n1``) or one controller's path to it (``nvme0c1n1``). ``sectors`` are of 512 bytes always."""

    name: str
    nsid: int | None
    sectors: int | None
    wwid: str | None
    ana_state: str | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The PCI device of a local controller. Speeds in GT/s; None where the kernel says unknown or offers no such file.

    ``port_*`` are counted by the port above: what the disk sends badly is seen there and nowhere else.
    """

    current_gts: float | None
    current_lanes: int | None
    max_gts: float | None
    max_lanes: int | None
    numa_node: int | None
    aer_correctable: int | None
    aer_nonfatal: int | None
    aer_fatal: int | None
    port_correctable: int | None
    port_nonfatal: int | None
    port_fatal: int | None


@dataclass(frozen=True, slots=True)
class Controller:
    """One controller. Times in seconds, -1 where the kernel prints ``off`` (never). ``queue_count`` counts the admin queue.

    ``address`` is the PCI address for transport pcie. ``namespaces`` are those that stand below the controller itself.
    """

    name: str
    transport: str
    address: str | None
    state: str
    serial: str | None
    model: str | None
    firmware: str | None
    subsysnqn: str | None
    cntlid: int | None
    queue_count: int | None
    sqsize: int | None
    ctrl_loss_tmo: int | None
    reconnect_delay: int | None
    fast_io_fail_tmo: int | None
    kato: int | None
    hostnqn: str | None
    hostid: str | None
    numa_node: int | None
    endpoint: Endpoint | None
    namespaces: tuple[Namespace, ...]

    @property
    def local(self) -> bool:
        """Whether the controller sits on this host's PCI Express."""
        return self.transport == "pcie"


@dataclass(frozen=True, slots=True)
class Subsystem:
    """One NVM subsystem: what its controllers share."""

    name: str
    nqn: str
    iopolicy: str | None
    namespaces: tuple[Namespace, ...]


@dataclass(frozen=True, slots=True)
class NvmeTree:
    """All controllers and subsystems of one host. ``multipath`` is None where the driver is not loaded."""

    kernel: str
    multipath: bool | None
    controllers: tuple[Controller, ...]
    subsystems: tuple[Subsystem, ...]

    @property
    def local(self) -> tuple[Controller, ...]:
        """Controllers on PCI Express."""
        return tuple(controller for controller in self.controllers if controller.local)

    @property
    def fabrics(self) -> tuple[Controller, ...]:
        """Controllers reached over a network."""
        return tuple(controller for controller in self.controllers if not controller.local)

    def controller(self, serial: str) -> Controller | None:
        """The one local controller with this serial, None if there is none. Raises UnreadableOutput when two carry it."""
        found = [one for one in self.local if one.serial == serial.strip()]
        if len(found) > 1:
            names = ", ".join(one.name for one in found)
            raise UnreadableOutput(f"serial {serial.strip()} is carried by {names}: which one is meant cannot be told")
        return found[0] if found else None

    def subsystem(self, nqn: str) -> Subsystem | None:
        """The one subsystem with this NQN, None if there is none. Raises UnreadableOutput when two carry it."""
        found = [one for one in self.subsystems if one.nqn == nqn]
        if len(found) > 1:
            raise UnreadableOutput(f"NQN {nqn} is carried by {', '.join(one.name for one in found)}")
        return found[0] if found else None

    def namespaces(self, controller: Controller) -> tuple[Namespace, ...]:
        """Block devices behind a controller, lowest NSID first, whoever gave them their name."""
        shared = self.subsystem(controller.subsysnqn) if controller.subsysnqn else None
        own = tuple(one for one in controller.namespaces if "c" not in one.name.removeprefix("nvme"))
        found = {one.name: one for one in (*own, *(shared.namespaces if shared else ()))}
        return tuple(sorted(found.values(), key=lambda one: (one.nsid is None, one.nsid or 0, one.name)))

    def namespace(self, serial: str) -> str | None:
        """Name of the namespace with the lowest NSID of the disk with this serial, such as ``nvme0n1``; None if absent.

        Raises UnreadableOutput when the disk has several namespaces and the NSID of one of them is not known.
        """
        controller = self.controller(serial)
        found = self.namespaces(controller) if controller else ()
        if len(found) > 1 and any(one.nsid is None for one in found):
            raise UnreadableOutput(
                f"the disk with serial {serial.strip()} has several namespaces, one without its NSID"
            )
        return found[0].name if found else None


def parse(text: str) -> NvmeTree:
    """Read the tree; a controller without transport or state, and a subsystem without NQN, are refused."""
    controllers: dict[str, _Table] = defaultdict(dict)
    subsystems: dict[str, _Table] = defaultdict(dict)
    table = tree(text)
    kernel = _word(table, RELEASE)
    if kernel is None:
        raise UnreadableOutput(f"found no {RELEASE}, wanted it: the output may be cut at its beginning")
    for path, value in table.items():
        if found := _CONTROLLER.fullmatch(path):
            controllers[found[1]][found[2]] = value
        elif found := _SUBSYSTEM.fullmatch(path):
            subsystems[found[1]][found[2]] = value
        elif path not in (RELEASE, MULTIPATH):
            raise UnreadableOutput(f"found {path[:80]!r}, wanted paths of NVMe controllers and subsystems")
    return NvmeTree(
        kernel=kernel,
        multipath=_flag(table, MULTIPATH),
        controllers=tuple(_controller(name, controllers[name]) for name in sorted(controllers, key=_number)),
        subsystems=tuple(_subsystem(name, subsystems[name]) for name in sorted(subsystems, key=_number)),
    )


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name))


def _word(table: _Table, key: str) -> str | None:
    value = table.get(key, "").strip()
    if "\n" in value:
        raise UnreadableOutput(f"{key} has several lines, wanted one")
    return value or None


def _flag(table: _Table, key: str) -> bool | None:
    word = _word(table, key)
    if word not in ("Y", "N", None):
        raise UnreadableOutput(f"{key} is {word!r}, wanted Y or N")
    return None if word is None else word == "Y"


def _count(table: _Table, key: str) -> int | None:
    word = _word(table, key)
    if word is None:
        return None
    return -1 if word == "off" else integer(word, key)


def _needed(table: _Table, key: str, name: str) -> str:
    word = _word(table, key)
    if word is None:
        raise UnreadableOutput(f"{name} has no {key}")
    return word


def _node(table: _Table, key: str) -> int | None:
    node = _count(table, key)
    return None if node == -1 else node


def _namespaces(table: _Table) -> tuple[Namespace, ...]:
    grouped: dict[str, _Table] = defaultdict(dict)
    for path, value in table.items():
        if found := _NAMESPACE.fullmatch(path):
            grouped[found[1]][found[2]] = value
    return tuple(
        Namespace(name, _count(one, "nsid"), _count(one, "size"), _word(one, "wwid"), _word(one, "ana_state"))
        for name, one in sorted(grouped.items())
    )


def _aer(table: _Table, kind: Literal["correctable", "nonfatal", "fatal"], total: str, above: str = "") -> int | None:
    key = f"device/{above}aer_dev_{kind}"
    return aer_total(table[key], total) if key in table else None


def _endpoint(table: _Table) -> Endpoint:
    speeds = [
        link_speed(word) if (word := _word(table, f"device/{end}_link_speed")) else None for end in ("current", "max")
    ]
    widths = [
        link_width(word) if (word := _word(table, f"device/{end}_link_width")) else None for end in ("current", "max")
    ]
    return Endpoint(
        current_gts=speeds[0],
        current_lanes=widths[0],
        max_gts=speeds[1],
        max_lanes=widths[1],
        numa_node=_node(table, "device/numa_node"),
        aer_correctable=_aer(table, "correctable", "TOTAL_ERR_COR"),
        aer_nonfatal=_aer(table, "nonfatal", "TOTAL_ERR_NONFATAL"),
        aer_fatal=_aer(table, "fatal", "TOTAL_ERR_FATAL"),
        port_correctable=_aer(table, "correctable", "TOTAL_ERR_COR", "../"),
        port_nonfatal=_aer(table, "nonfatal", "TOTAL_ERR_NONFATAL", "../"),
        port_fatal=_aer(table, "fatal", "TOTAL_ERR_FATAL", "../"),
    )


def _controller(name: str, table: _Table) -> Controller:
    transport = _needed(table, "transport", name)
    return Controller(
        name=name,
        transport=transport,
        address=_word(table, "address"),
        state=_needed(table, "state", name),
        serial=_word(table, "serial"),
        model=_word(table, "model"),
        firmware=_word(table, "firmware_rev"),
        subsysnqn=_word(table, "subsysnqn"),
        cntlid=_count(table, "cntlid"),
        queue_count=_count(table, "queue_count"),
        sqsize=_count(table, "sqsize"),
        ctrl_loss_tmo=_count(table, "ctrl_loss_tmo"),
        reconnect_delay=_count(table, "reconnect_delay"),
        fast_io_fail_tmo=_count(table, "fast_io_fail_tmo"),
        kato=_count(table, "kato"),
        hostnqn=_word(table, "hostnqn"),
        hostid=_word(table, "hostid"),
        numa_node=_node(table, "numa_node"),
        endpoint=_endpoint(table) if transport == "pcie" else None,
        namespaces=_namespaces(table),
    )


def _subsystem(name: str, table: _Table) -> Subsystem:
    return Subsystem(name, _needed(table, "subsysnqn", name), _word(table, "iopolicy"), _namespaces(table))
