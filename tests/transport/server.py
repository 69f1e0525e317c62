"""A real OpenSSH server on a loopback port, with its own keys and configuration; root's or the present user's login."""

from __future__ import annotations

import contextlib
import functools
import getpass
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvgate.inventory.model import Host

ADDRESS = "127.0.0.1"
USER = getpass.getuser()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "", bits: int | None = None) -> Path:
    size = ["-b", str(bits)] if bits else []
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, *size, "-N", passphrase, "-C", path.name, "-f", str(path)], check=True
    )
    return path


@functools.cache
def fingerprint(key: Path) -> str:
    done = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], check=True, capture_output=True, text=True)
    return done.stdout.split()[1]


def once(started: Path, act: Callable[[], None], after: float = 1.7) -> None:
    """Act in the background, some seconds after a command has made the file ``started`` (earlier answers are out by then)."""

    def wait() -> None:
        until = time.monotonic() + 20
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(after)
        act()

    threading.Thread(target=wait, daemon=True).start()


@dataclass
class Sshd:
    """Start with ``with``. ``force`` is a script that runs in place of what is asked (``$SSH_ORIGINAL_COMMAND``)."""

    folder: Path
    host_keys: tuple[Path, ...]
    authorized: Path
    options: tuple[str, ...] = ()
    force: str = ""
    path: str = ""
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Sshd:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        lines = [
            f"ListenAddress {ADDRESS}",
            f"Port {self.port}",
            *(f"HostKey {key}" for key in self.host_keys),
            f"AuthorizedKeysFile {self.authorized}",
            "PermitRootLogin prohibit-password",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "PidFile none",
            "MaxStartups 1000",
            "UseDNS no",
        ]
        given = {option.split()[0] for option in self.options}
        lines = [*self.options, *(line for line in lines if line.split()[0] not in given)]
        if self.force:
            script = self.folder / "force"
            script.write_text("#!/bin/sh\n" + self.force)
            script.chmod(0o755)
            lines.append(f"ForceCommand {script}")
        path = f" PATH={self.path}" if self.path else ""
        lines.append(f"SetEnv SHLVL=5{path}")  # so that bash does not read the ~/.bashrc of whoever runs the tests
        config = self.folder / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        self._process = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-e", "-f", str(config)], stderr=(self.folder / "log").open("wb")
        )
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex((ADDRESS, self.port)) == 0:
                    return self
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
            self._process.kill()
            self._process.wait()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def sessions(self) -> list[int]:
        """Process ids of all connections, privileged and unprivileged half, and what runs in them."""
        found, todo = [], [self._process.pid] if self._process is not None else []
        while todo:
            children = _children(todo.pop())
            found += children
            todo += children
        return found

    def signal(self, number: signal.Signals, only_sshd: bool = True) -> None:
        for pid in self.sessions():
            try:
                if not only_sshd or "sshd" in Path(f"/proc/{pid}/comm").read_text():
                    os.kill(pid, number)
            except (OSError, ProcessLookupError):
                continue

    def host(self, **more: Any) -> Host:
        """Return an inventory entry for this server, its first key pinned."""
        values: dict[str, Any] = {
            "role": "node",
            "address": ADDRESS,
            "port": self.port,
            "user": USER,
            "host_key": fingerprint(self.host_keys[0]),
        }
        return Host(**values | more)


def _children(pid: int) -> list[int]:
    try:
        texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []  # it ended meanwhile
    return [int(word) for text in texts for word in text.split()]


@dataclass
class Wire:
    """A TCP proxy in front of a server: cuts the link after so many bytes to the client, or stops passing bytes on."""

    target: int
    cut_after: int | None = None
    stopped: bool = False
    port: int = 0
    connections: int = 0
    _listener: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def __enter__(self) -> Wire:
        self._listener = socket.create_server((ADDRESS, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._listener is not None:
            self._listener.close()
        self.cut()

    def cut(self) -> None:
        for conn in self._open:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection((ADDRESS, self.target))
            except OSError:
                return
            self.connections += 1
            self._open += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, down: bool) -> None:
        passed = 0
        while True:
            try:
                piece = source.recv(65536)
                while self.stopped:
                    time.sleep(0.05)
                if down and self.cut_after is not None and passed + len(piece) > self.cut_after:
                    sink.sendall(piece[: self.cut_after - passed])
                    self.cut()
                    return
                passed += len(piece)
                if not piece:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(piece)
            except OSError:
                with contextlib.suppress(OSError):
                    sink.shutdown(socket.SHUT_RDWR)
                return
