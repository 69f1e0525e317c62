"""Rack, Host, Disk, Nic and the rest as ordered: frozen, strict, units read to SI. Reading files lives in reader.py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, WithJsonSchema

from checks import units

#: The gates of a campaign, in order.
GATES = ("G1", "G2", "G3", "G4")

Name = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]
Word = Annotated[StrictStr, Field(min_length=1, max_length=512)]
Bdf = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")]
Mac = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
Path = Annotated[StrictStr, Field(pattern=r"^/[A-Za-z0-9_./:-]*$")]
HostKey = Annotated[StrictStr, Field(pattern=r"^SHA256:[A-Za-z0-9+/]{43}$")]


def _quantity(parse: Any, example: str) -> Any:
    return Annotated[
        int,
        BeforeValidator(parse),
        WithJsonSchema({"type": "string", "description": f"number and unit, such as {example}"}),
    ]


Bytes = _quantity(units.parse_bytes, "3.84 TB")
BitRate = _quantity(units.parse_rate, "100 Gb/s")
Seconds = Annotated[
    float,
    BeforeValidator(units.parse_seconds),
    WithJsonSchema({"type": "string", "description": "number and unit, such as 15 s"}),
]


Days = _quantity(units.parse_days, "28 d")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Party(_Strict):
    """One of the two sides that sign."""

    key: Word


class Declaration(_Strict):
    """A fact that kvgate cannot ask for (switch, closed array), with who answers for it."""

    clause: Word
    subject: Word
    value: Word
    conforms: StrictBool
    by: Word
    on: Annotated[date, Field(strict=False)]


class Pcie(_Strict):
    """A PCI Express link as ordered: generation 1..6 and lanes."""

    gen: Annotated[StrictInt, Field(ge=1, le=6)]
    lanes: Annotated[StrictInt, Field(ge=1, le=32)]


class Disk(_Strict):
    """One NVMe disk. Its serial is its identity; kernel names are never written down."""

    serial: Word
    model: Word
    firmware: Word
    capacity: Bytes  # type: ignore[valid-type]
    role: Literal["member", "baseline", "system"] = "member"
    scratch: StrictBool = False
    bdf: Bdf | None = None
    pcie: Pcie
    lba: Literal[512, 4096] = 4096  # bytes a logical block


class Raid(_Strict):
    """One md array of this host."""

    device: Path
    level: Literal["raid0", "raid1", "raid10"]
    members: Annotated[StrictInt, Field(ge=1, le=64)]
    chunk: Bytes  # type: ignore[valid-type]


class Nic(_Strict):
    """One Ethernet port. ``name`` is the kernel's, ``mac`` its identity."""

    name: Name
    mac: Mac
    role: Literal["storage", "management"] = "storage"
    driver: Word
    firmware: Word
    speed: BitRate  # type: ignore[valid-type]
    mtu: Annotated[StrictInt, Field(ge=576, le=65535)]
    address: Word | None = None
    rdma: Name | None = None
    rdma_port: Annotated[StrictInt, Field(ge=1, le=8)] = 1
    bdf: Bdf | None = None
    pcie: Pcie | None = None
    media: Literal["optic", "copper"] = "optic"
    fec: Literal["rs", "baser", "off", "none"] = "rs"
    numa: StrictInt | None = None
    switch: Word | None = None
    switch_port: Word | None = None


class Mount(_Strict):
    """One filesystem that must be mounted. ``device`` is a stable name (md device, by-id path) when agreed."""

    path: Path
    filesystem: Literal["xfs", "ext4", "nfs", "nfs4"]
    device: Path | None = None
    options: tuple[Word, ...] = ()
    forbidden: tuple[Word, ...] = ()
    capacity: Bytes  # type: ignore[valid-type]
    stripe: Annotated[StrictInt, Field(ge=1)] | None = None
    chunk: Bytes | None = None  # type: ignore[valid-type]
    arm: Name | None = None


class Connection(_Strict):
    """One NVMe-oF subsystem that this host is connected to. Times in seconds; -1 s is written ``never``."""

    nqn: Word
    transport: Literal["rdma", "tcp"]
    address: Word
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 4420
    paths: Annotated[StrictInt, Field(ge=1, le=32)]
    queues: Annotated[StrictInt, Field(ge=1, le=1024)]
    namespaces: Annotated[StrictInt, Field(ge=1, le=1024)]
    ana: StrictBool = False
    iopolicy: Literal["numa", "round-robin", "queue-depth"] = "numa"
    ctrl_loss: Annotated[StrictInt, Field(ge=-1)]
    reconnect_delay: Annotated[StrictInt, Field(ge=1)]
    fast_io_fail: Annotated[StrictInt, Field(ge=-1)]
    keep_alive: Annotated[StrictInt, Field(ge=1)] = 5


class Accelerators(_Strict):
    """All accelerators of one host: they are ordered alike and must be alike."""

    platform: Literal["rocm", "ascend", "nvidia"]
    model: Word
    count: Annotated[StrictInt, Field(ge=1, le=64)]
    memory: Bytes  # type: ignore[valid-type]
    driver: Word
    runtime: Word
    firmware: Word | None = None
    pcie: Pcie
    compute_partition: Word | None = None
    memory_partition: Word | None = None
    gds: StrictBool = False
    nvswitch: StrictBool = False


class Cpu(_Strict):
    """Processors of one host."""

    model: Word
    sockets: Annotated[StrictInt, Field(ge=1, le=16)]
    cores: Annotated[StrictInt, Field(ge=1)]  # physical cores of all sockets


class Memory(_Strict):
    """Main memory of one host."""

    size: Bytes  # type: ignore[valid-type]
    dimms: Annotated[StrictInt, Field(ge=1)]
    speed: Annotated[StrictInt, Field(ge=800)]  # MT/s


class Service(_Strict):
    """The systemd unit whose limits count (not those of the SSH shell)."""

    unit: Word
    memlock: Literal["unlimited"] | StrictInt = "unlimited"
    nofile: Annotated[StrictInt, Field(ge=1024)] = 1048576


class System(_Strict):
    """What the machine is apart from disks, ports and accelerators."""

    cpu: Cpu
    memory: Memory
    bios: Word
    kernel: Word
    cmdline: tuple[Word, ...] = ()
    sysctl: Mapping[Word, Word] = {}
    modules: Mapping[Name, Word] = {}  # name -> version, or "any"
    service: Service | None = None
    numa_balancing: StrictBool = False
    hugepages: Annotated[StrictInt, Field(ge=0)] = 0


class Host(_Strict):
    """One machine: how to reach it and everything that was ordered with it."""

    role: Literal["array", "node"]
    address: Word
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 22
    user: Word | None = None
    become: Literal["none", "sudo"] | None = None
    identity: Word | None = None  # private key file; else ssh_config and the agent
    host_key: HostKey
    access: Literal["shell", "commands", "none"] = "shell"
    commands: tuple[Word, ...] = ()
    ssh: Literal["builtin", "openssh"] = "builtin"
    profile: Name | None = None
    system: System | None = None
    disks: tuple[Disk, ...] = ()
    raid: tuple[Raid, ...] = ()
    nics: tuple[Nic, ...] = ()
    mounts: tuple[Mount, ...] = ()
    nvmeof: tuple[Connection, ...] = ()
    accelerators: Accelerators | None = None


class Defaults(_Strict):
    """What applies to every host that does not say otherwise."""

    user: Word | None = None
    become: Literal["none", "sudo"] = "none"
    identity: Word | None = None


class Fabric(_Strict):
    """What was agreed for the storage network, the same on every port and switch."""

    pfc_priority: Annotated[StrictInt, Field(ge=0, le=7)]
    dscp: Annotated[StrictInt, Field(ge=0, le=63)]
    cnp_dscp: Annotated[StrictInt, Field(ge=0, le=63)] = 48
    ecn: StrictBool
    mtu: Annotated[StrictInt, Field(ge=576, le=65535)]
    roce_mtu: Annotated[StrictInt, Field(ge=256, le=4096)] = 4096
    traffic_class: Annotated[StrictInt, Field(ge=0, le=255)] | None = None


class Planned(_Strict):
    """When a gate is planned, both days included, and for how many days after it passed its PASS opens the next gate."""

    start: Annotated[date, Field(strict=False)]
    end: Annotated[date, Field(strict=False)]
    valid: Days = 70  # type: ignore[valid-type]


class PlannedGates(_Strict):
    """All four gates: a plan without one of them is no plan of the campaign."""

    G1: Planned
    G2: Planned
    G3: Planned
    G4: Planned


class Calendar(_Strict):
    """The campaign's weeks, counted from ``begins``, and the gates in them."""

    begins: Annotated[date, Field(strict=False)]
    weeks: Annotated[StrictInt, Field(ge=1, le=104)] = 10
    gates: PlannedGates


class Rack(_Strict):
    """A whole inventory file."""

    rack: Name
    campaign: Name
    parties: Mapping[Name, Party]
    acceptance: Word | None = None  # overlay file, relative to the inventory
    simulated: StrictBool = False
    calendar: Calendar | None = None
    defaults: Defaults = Defaults()
    profiles: Mapping[Name, Mapping[str, Any]] = {}
    hosts: Mapping[Name, Host]
    fabric: Fabric | None = None
    declared: tuple[Declaration, ...] = ()
