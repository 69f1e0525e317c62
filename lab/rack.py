"""The embedded rack: one real SSH server a virtual host, each on its own loopback port, answering with captured outputs."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lab import order, wire
from lab.faults import Fault, every
from lab.load.fabric import Cable, FabricHost
from lab.load.files import Upset
from lab.load.host import LoadHost
from lab.load.model import ARRAY, LOCAL, NFS, Trouble
from lab.machine import Edit, Machine, Reply, load
from lab.order import Ordered
from lab.serving.crowd import Crowd
from lab.soak.faults import EMBEDDED
from lab.soak.trouble import Trouble as SoakTrouble
from lab.soak.worker import SoakHost

ADDRESS = "127.0.0.1"

#: Host whose soak goes wrong where a fault of the soak is chosen.
SOAKED = "node-01"

#: What tells of accelerators in a soak where it is not made up.
_CARDS = ("nvidia-smi -q -x", "npu-smi info")

#: What the embedded rack's workload asks its arms at.
CONCURRENCIES = (8, 16, 32)


def host_key(name: str, generation: int = 0) -> asyncssh.SSHKey:
    """Return the Ed25519 host key of a virtual host. Derived from its name and worth nothing: it protects a simulation."""
    seed = hashlib.sha256(f"kvgate embedded rack {name} {generation}".encode()).digest()
    raw = Ed25519PrivateKey.from_private_bytes(seed)
    return asyncssh.import_private_key(raw.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))


def fingerprint(key: asyncssh.SSHKey) -> str:
    """``SHA256:...`` as ssh-keygen -lf prints it."""
    digest = hashlib.sha256(key.public_data).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


@dataclass
class VirtualHost:
    """One host of the rack: what was ordered, the machine that answers, and how the host itself misbehaves."""

    ordered: Ordered
    machine: Machine
    behaviours: frozenset[str] = frozenset()
    port: int = 0
    skew: float = 0.0
    connections: int = 0  # how often somebody connected
    driver: str = ""  # load tool that the rack is ordered with, where a fault needs one
    engine: str = "vllm"  # the engine that the rack is ordered with
    containers: bool = False  # engines are ordered as containers, where a fault needs them
    untold: bool = False  # the order tells nothing of this array's memory

    @property
    def name(self) -> str:
        """Inventory name."""
        return self.ordered.name

    @property
    def key(self) -> asyncssh.SSHKey:
        """Key that the server presents; another one when the fault says so."""
        return host_key(self.name, 1 if "changed-host-key" in self.behaviours else 0)


def build(
    nodes: int = 2,
    platform: str = "rocm",
    faults: Iterable[str] = (),
    *,
    nfs: bool = False,
    engine: str = "vllm",
    tool: str = "",
) -> list[VirtualHost]:
    """Make all virtual hosts. Raises ValueError for an unknown fault, or one that no host of this rack can carry.

    ``nfs``: every node mounts an export of the array too, as it does where a fault needs that; so it is with ``engine``
    and the load ``tool`` (empty: kvgate's own client).
    """
    known, soaked = every(), {fault.name: fault for fault in EMBEDDED}
    chosen: list[Fault] = []
    upset: list[SoakTrouble] = []
    for name in faults:
        if name not in known and name not in soaked:
            raise ValueError(f"found fault {name!r}, wanted one of: {', '.join(sorted({*known, *soaked}))}")
        wanted = soaked[name].platform if name in soaked else known[name].platform
        if wanted not in ("", platform):
            raise ValueError(f"fault {name!r} needs nodes of platform {wanted}, this rack has {platform}")
        if name in soaked:
            upset += soaked[name].troubles
            continue
        chosen.append(known[name])
    engine = next((fault.engine for fault in chosen if fault.engine), engine)
    if tool == "sglang-bench" and engine != "sglang":
        raise ValueError("load tool sglang-bench asks an interface of SGLang's own: order engine sglang with it")
    hosts = []
    server: dict[str, int] = {}
    crowd = Crowd()
    for ordered in order.rack(nodes, platform, nfs=nfs or any(fault.nfs for fault in chosen)):
        hits = [fault for fault in chosen if fault.hits(ordered.name)]
        edits: tuple[Edit, ...] = tuple(edit for fault in hits for edit in fault.edits)
        troubles = tuple(trouble for fault in hits for trouble in fault.load)
        cables = tuple(one for one in troubles if isinstance(one, Cable))
        computed = LoadHost(
            ordered.name,
            volumes=(LOCAL, ARRAY, *((NFS,) if ordered.nfs else ())),
            server=server,
            crowd=crowd,
            engine=engine,
            troubles=tuple(one for one in troubles if isinstance(one, Trouble)),
            fabric=FabricHost(ordered.name, nodes, cables),
            upsets=tuple(one for one in troubles if isinstance(one, Upset)),
            boot=str(ordered.values["boot_id"]),
            flaws=tuple(flaw for fault in hits for flaw in fault.serving),
        )
        entries = load(ordered.folders, ordered.values)
        captured = next((entries[ask].text for ask in _CARDS if ask in entries), "")
        broken = tuple(upset) if ordered.name == SOAKED else ()
        computed.soak = SoakHost(ordered.name, str(ordered.values["boot_id"]), broken, captured)
        machine = Machine(ordered.name, entries, edits, computed=computed)
        behaviours = frozenset(fault.behaviour for fault in hits if fault.behaviour)
        skews = [float(word.removeprefix("clock-ahead-")) for word in behaviours if word.startswith("clock-ahead-")]
        driver = next((fault.driver for fault in hits if fault.driver), tool)
        held, untold = any(fault.containers for fault in hits), any(fault.untold for fault in hits)
        hosts.append(
            VirtualHost(
                ordered, machine, behaviours, skew=sum(skews), driver=driver, containers=held, engine=engine, untold=untold
            )
        )  # fmt: skip
    return hosts


def break_until(hosts: Iterable[VirtualHost], faults: Iterable[str], gate: str) -> None:
    """Let hosts answer as they do when ``gate`` begins: a disk that grows hot under load was cool when it arrived, and a fault that
    a later gate is to notice must not end the campaign before it. ``faults`` are those that the hosts were built with.
    """
    chosen = [fault for name in faults if (fault := every().get(name)) is not None and fault.gate <= gate]
    for host in hosts:
        hits = (fault for fault in chosen if fault.hits(host.name))
        host.machine.edits = tuple(edit for fault in hits for edit in fault.edits)


def driver(hosts: Iterable[VirtualHost]) -> str:
    """The load tool that a rack of these hosts is ordered with; empty for kvgate's own client."""
    return next((host.driver for host in hosts if host.driver), "")


class _Server(asyncssh.SSHServer):
    """Accepts any public key of any user: there is nothing behind it but captured text."""

    def __init__(self, host: VirtualHost) -> None:
        self.host = host
        host.connections += 1

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return "refuse-login" not in self.host.behaviours


async def _converse(host: VirtualHost, process: asyncssh.SSHServerProcess[bytes]) -> None:
    command = process.command or ""
    try:
        if "silent" in host.behaviours:
            await asyncio.sleep(3600)
        if "banner" in host.behaviours:
            process.stdout.write(b"Welcome to this machine.\nKVGATE is not what this line starts\n\xff\xfe\n")
        if "no-sudo" in host.behaviours and command.startswith("sudo "):
            process.stderr.write(b"sudo: a password is required\n")
            process.exit(1)
        elif command.removeprefix("sudo -n -- ") == "sh -s":
            await _batch(host, process)
        else:
            reply = host.machine.answer(command.removeprefix("sudo -n -- "))
            process.stdout.write(reply.stdout)
            process.stderr.write(reply.stderr)
            process.exit(reply.status)
    except (asyncssh.Error, BrokenPipeError, ConnectionError):
        process.close()


async def _batch(host: VirtualHost, process: asyncssh.SSHServerProcess[bytes]) -> None:
    script = wire.parse((await process.stdin.read()).decode("utf-8", "surrogateescape"))
    if script is None:
        process.stderr.write(b"sh: 1: this virtual host runs batches only\n")
        process.exit(2)
        return
    if "garbage" in host.behaviours:
        process.stdout.write(hashlib.sha512(host.name.encode()).digest() * 40)
        process.exit(0)
        return
    boot_id = str(host.ordered.values["boot_id"])
    process.stdout.write(wire.begin(script, boot_id, host.skew))
    results: list[tuple[wire.Asked, Reply, int]] = []
    for asked in script.commands:
        # Load may take its time, and other hosts answer meanwhile.
        busy = asked.line.startswith("env KVGATE_LOAD=") or "/worker.pyz" in asked.line
        reply = await asyncio.to_thread(host.machine.answer, asked.line) if busy else host.machine.answer(asked.line)
        if asked.line == "id -u":
            reply = Reply(b"0\n" if (process.command or "").startswith("sudo ") else b"1000\n")
        wait = asked.limit if reply.hang else min(reply.delay, asked.limit)
        if reply.hang or reply.delay > asked.limit:
            reply = Reply(status=124)
        if wait:
            process.stdout.write(wire.chunk(script, results))
            results = []
            await asyncio.sleep(wait)
        if reply.cut or "cut-in-batch" in host.behaviours:
            process.stdout.write(wire.chunk(script, results)[: -len(results) or None])
            await asyncio.sleep(0.05)
            process.get_extra_info("connection").abort()
            return
        results.append((asked, reply, int(wait * 1000) + 1))
    process.stdout.write(wire.chunk(script, results) + wire.end(script, host.skew))
    process.exit(0)


@dataclass
class EmbeddedRack:
    """The running rack. Use as a context manager; ``port`` 0 takes free ports, else hosts listen from ``port`` on."""

    hosts: list[VirtualHost]
    port: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _listeners: list[asyncssh.SSHAcceptor | asyncio.Server] = field(default_factory=list)
    _deaf: list[socket.socket] = field(default_factory=list)

    def __enter__(self) -> EmbeddedRack:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded-rack", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        self._loop = self._thread = None

    async def _listen(self) -> None:
        for index, host in enumerate(self.hosts):
            port = self.port + index if self.port else 0
            if "down" in host.behaviours:
                host.port = self._refuse(port)
                continue
            if "close-early" in host.behaviours:
                plain = await asyncio.start_server(_hang_up(host), ADDRESS, port)
                host.port = plain.sockets[0].getsockname()[1]
                self._listeners.append(plain)
                continue
            listener = await asyncssh.listen(
                ADDRESS,
                port,
                server_factory=lambda host=host: _Server(host),
                process_factory=lambda process, host=host: _converse(host, process),
                server_host_keys=[host.key],
                encoding=None,
                compression_algs=None,
                server_version="embedded-rack",
                login_timeout=30,
                keepalive_interval=0,
                line_editor=False,
                allow_pty=False,
            )
            host.port = listener.get_port()
            self._listeners.append(listener)

    def _refuse(self, port: int) -> int:
        """Hold a port on which nobody listens: it stays refused as long as the rack is up."""
        deaf = socket.socket()
        deaf.bind((ADDRESS, port))
        self._deaf.append(deaf)
        return int(deaf.getsockname()[1])

    async def _stop(self) -> None:
        for listener in self._listeners:
            listener.close()
        for deaf in self._deaf:
            deaf.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def inventory(self, identity: Path | None = None) -> str:
        """Return the inventory of this rack, as YAML text."""
        from lab.inventory import text

        hosts = [(host.ordered, host.port, fingerprint(host_key(host.name))) for host in self.hosts]
        held = any(host.containers for host in self.hosts)
        return text(
            hosts,
            identity,
            concurrencies=CONCURRENCIES,
            driver=driver(self.hosts),
            containers=held,
            engine=self.hosts[0].engine,
            untold=any(host.untold for host in self.hosts),
        )


def _hang_up(host: VirtualHost) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host.connections += 1
        writer.close()

    return hang_up
