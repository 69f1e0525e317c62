"""Who is asked: many addresses of OpenSSH servers on loopback, or the embedded rack in a process of its own."""

from __future__ import annotations

import base64
import contextlib
import getpass
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

from bench.job import Target
from kvgate.inventory import reader
from lab.rack import host_key

_GROUP = 16  # addresses that one sshd can listen on
_TICK = os.sysconf("SC_CLK_TCK")


class Server(Protocol):
    """Hosts that are up."""

    targets: list[Target]
    known_hosts: Path
    key: Path

    def cpu(self) -> float:
        """CPU seconds so far of the servers and of all they ran; waits until no session is left."""
        ...


def end_cleanly() -> None:
    """Let SIGTERM unwind, so that servers are ended with the measurement."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def children(pid: int) -> list[int]:
    """Process ids of all descendants."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found + [below for child in found for below in children(child)]


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / _TICK


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        for pid in children(process.pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class OpenSsh:
    """``count`` hosts: 127.0.0.1, 127.0.0.2 and so on, one port, served by as few sshd as can listen on them."""

    def __init__(self, folder: Path, count: int, tools: Path) -> None:
        self._folder, self._tools = folder, tools
        self._addresses = [f"127.0.{number // 250}.{number % 250 + 1}" for number in range(count)]
        self._processes: list[subprocess.Popen[bytes]] = []
        self.key, self.known_hosts = folder / "user", folder / "known_hosts"
        self.targets: list[Target] = []

    def __enter__(self) -> OpenSsh:
        self._folder.mkdir(parents=True)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for name in ("user", "host"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", self._folder / name], check=True
            )
        with socket.socket() as probe:
            probe.bind((self._addresses[0], 0))
            port = int(probe.getsockname()[1])
        kind, blob = (self._folder / "host.pub").read_text().split()[:2]
        digest = hashlib.sha256(base64.b64decode(blob)).digest()
        pin = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
        self.known_hosts.write_text("".join(f"[{one}]:{port} {kind} {blob}\n" for one in self._addresses))
        self.targets = [Target(f"host-{n:03}", one, port, pin) for n, one in enumerate(self._addresses)]
        try:
            for start in range(0, len(self._addresses), _GROUP):
                self._start(start, port)
            for address in self._addresses:
                _await(address, port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, first: int, port: int) -> None:
        config = self._folder / f"sshd_config-{first}"
        lines = [
            *(f"ListenAddress {address}:{port}" for address in self._addresses[first : first + _GROUP]),
            f"HostKey {self._folder / 'host'}",
            f"AuthorizedKeysFile {self._folder / 'user.pub'}",
            "PermitRootLogin prohibit-password",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "PidFile none",
            "UseDNS no",
            "LogLevel ERROR",
            "MaxSessions 100",
            "MaxStartups 1000:30:2000",
            f"SetEnv SHLVL=5 PATH={self._tools}:/usr/local/bin:/usr/bin:/bin",  # SHLVL: bash then reads no ~/.bashrc
        ]
        config.write_text("\n".join(lines) + "\n")
        with (self._folder / "log").open("ab") as log:
            self._processes.append(subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", config], stderr=log))

    def __exit__(self, *_: object) -> None:
        _end(self._processes)

    def cpu(self) -> float:
        """CPU seconds of sshd, its sessions and the commands they ran."""
        for _ in range(100):
            if not any(children(process.pid) for process in self._processes):
                break
            time.sleep(0.05)
        return sum(_spent(process.pid) for process in self._processes)


class Rack:
    """The embedded rack, served by a process of its own: one array and ``count - 1`` nodes."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder, count
        self._processes: list[subprocess.Popen[bytes]] = []
        self.inventory = folder / "inventory.yaml"
        self.key, self.known_hosts = folder / "keys" / "id_ed25519", folder / "known_hosts"
        self.targets: list[Target] = []

    def __enter__(self) -> Rack:
        self._folder.mkdir(parents=True)
        command = [sys.executable, "-m", "kvgate", "rack", "serve", "--nodes", str(max(1, self._count - 1))]
        with (self._folder / "log").open("wb") as log:
            process = subprocess.Popen([*command, "--inventory-out", self.inventory], stdout=log, stderr=log)
        self._processes.append(process)
        try:
            while not self.inventory.exists() or not self.inventory.read_text().endswith("\n"):
                if process.poll() is not None:
                    raise RuntimeError((self._folder / "log").read_text())
                time.sleep(0.05)
            rack = reader.read(self.inventory).rack
        except BaseException:
            self.__exit__()
            raise
        hosts = sorted(rack.hosts.items(), key=lambda item: item[1].role == "array")[: self._count]
        self.targets = [Target(name, host.address, host.port, host.host_key) for name, host in hosts]
        keys = {name: host_key(name).export_public_key().decode().split()[:2] for name, _ in hosts}
        self.known_hosts.write_text(
            "".join(f"[{one.address}]:{one.port} {' '.join(keys[one.name])}\n" for one in self.targets)
        )
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._processes)

    def cpu(self) -> float:
        """CPU seconds of the rack's process."""
        time.sleep(0.1)
        return sum(_spent(process.pid) for process in self._processes)


def _await(address: str, port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex((address, port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"no sshd listens on {address}:{port}")


USER = getpass.getuser()
