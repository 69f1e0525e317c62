"""Rack, Host, Disk, Nic and the rest as ordered: frozen, strict, units read to SI. Reading files lives in reader.py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from kvgate.inventory.base import (
    Bdf,
    BitRate,
    ByteRate,
    Bytes,
    HostKey,
    Mac,
    Name,
    Operations,
    Path,
    Said,
    Strict,
    Target,
    User,
    Word,
)
from kvgate.inventory.calendar import Calendar
from kvgate.inventory.serving import Serving
from kvgate.inventory.soak import Soak


class Party(Strict):
    """One of the two sides that sign."""

    key: Word


class Declaration(Strict):
    """A fact that kvgate cannot ask for (switch, closed array), with who answers for it."""

    clause: Word
    subject: Word
    value: Said
    conforms: StrictBool
    by: Word
    on: Annotated[date, Field(strict=False)]


class Pcie(Strict):
    """A PCI Express link as ordered: generation 1..6 and lanes."""

    gen: Annotated[StrictInt, Field(ge=1, le=6)]
    lanes: Annotated[StrictInt, Field(ge=1, le=32)]


class Sheet(Strict):
    """What the vendor's data sheet promises of one disk: sequential rates in bytes a second, random ones of 4 KiB in operations.

    Random writes are those of the steady state, as data sheets of enterprise disks give them.
    """

    read: ByteRate
    write: ByteRate
    random_read: Operations | None = None
    random_write: Operations | None = None


class Disk(Strict):
    """One NVMe disk. Its serial is its identity; kernel names are never written down."""

    serial: Word
    model: Word
    firmware: Word
    capacity: Bytes
    role: Literal["member", "baseline", "system"] = "member"
    scratch: StrictBool = False
    bdf: Bdf | None = None
    pcie: Pcie
    lba: Literal[512, 4096] = 4096  # bytes a logical block
    sheet: Sheet | None = None


class Raid(Strict):
    """One md array of this host."""

    device: Path
    level: Literal["raid0", "raid1", "raid10"]
    members: Annotated[StrictInt, Field(ge=1, le=64)]
    chunk: Bytes
    local: Sheet | None = (
        None  # what it gave on the array itself, without the network; both parties agree on the figures
    )


class Cache(Strict):
    """Memory of an array that may answer reads and take writes in place of its disks: its bytes (0: none), and whether the vendor
    empties it between rounds.
    """

    size: Bytes | None = None
    flushed: StrictBool = False


class Nic(Strict):
    """One Ethernet port. ``name`` is the kernel's, ``mac`` its identity."""

    name: Name
    mac: Mac
    role: Literal["storage", "management"] = "storage"
    driver: Word
    firmware: Word
    speed: BitRate
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


class Mount(Strict):
    """One filesystem that must be mounted. ``device`` is a stable name (md device, by-id path) when agreed."""

    path: Path
    filesystem: Literal["xfs", "ext4", "nfs", "nfs4"]
    device: Path | None = None
    options: tuple[Word, ...] = ()
    forbidden: tuple[Word, ...] = ()
    capacity: Bytes
    stripe: Annotated[StrictInt, Field(ge=1)] | None = None
    chunk: Bytes | None = None
    arm: Name | None = None
    remount: StrictBool = False  # nobody else uses it while G2 runs: it may be unmounted and connected anew


class Connection(Strict):
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


class Accelerators(Strict):
    """All accelerators of one host: they are ordered alike and must be alike."""

    platform: Literal["rocm", "ascend", "nvidia"]
    model: Word
    count: Annotated[StrictInt, Field(ge=1, le=64)]
    memory: Bytes
    driver: Word
    runtime: Word
    firmware: Word | None = None
    pcie: Pcie
    compute_partition: Word | None = None
    memory_partition: Word | None = None
    gds: StrictBool = False
    peer_direct: StrictBool = False  # network cards read and write their memory without the host's
    nvswitch: StrictBool = False


class Cpu(Strict):
    """Processors of one host."""

    model: Word
    sockets: Annotated[StrictInt, Field(ge=1, le=16)]
    cores: Annotated[StrictInt, Field(ge=1)]  # physical cores of all sockets


class Memory(Strict):
    """Main memory of one host."""

    size: Bytes
    dimms: Annotated[StrictInt, Field(ge=1)]
    speed: Annotated[StrictInt, Field(ge=800)]  # MT/s


class Service(Strict):
    """The systemd unit whose limits count (not those of the SSH shell)."""

    unit: Word
    memlock: Literal["unlimited"] | StrictInt = "unlimited"
    nofile: Annotated[StrictInt, Field(ge=1024)] = 1048576


class System(Strict):
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


class Host(Strict):
    """One machine: how to reach it and everything that was ordered with it."""

    role: Literal["array", "node"]
    address: Target
    port: Annotated[StrictInt, Field(ge=1, le=65535)] = 22
    user: User | None = None
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
    cache: Cache | None = None  # of an array; not told: what its memory may have answered is not decided
    nics: tuple[Nic, ...] = ()
    mounts: tuple[Mount, ...] = ()
    nvmeof: tuple[Connection, ...] = ()
    accelerators: Accelerators | None = None


class Defaults(Strict):
    """What applies to every host that does not say otherwise."""

    user: User | None = None
    become: Literal["none", "sudo"] = "none"
    identity: Word | None = None


class Fabric(Strict):
    """What was agreed for the storage network, the same on every port and switch."""

    pfc_priority: Annotated[StrictInt, Field(ge=0, le=7)]
    dscp: Annotated[StrictInt, Field(ge=0, le=63)]
    cnp_dscp: Annotated[StrictInt, Field(ge=0, le=63)] = 48
    ecn: StrictBool
    mtu: Annotated[StrictInt, Field(ge=576, le=65535)]
    roce_mtu: Annotated[StrictInt, Field(ge=256, le=4096)] = 4096
    traffic_class: Annotated[StrictInt, Field(ge=0, le=255)] | None = None
    networks: tuple[Word, ...] = ()  # where storage ports have their addresses; none: not checked


class Rack(Strict):
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
    serving: Serving | None = None
    soak: Soak | None = None
    declared: tuple[Declaration, ...] = ()
