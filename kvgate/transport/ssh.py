"""The rack over SSH: every host asked at once, one connection a host, kept for the next questions."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import fabric
import paramiko

from checks.phrase import say
from kvgate.errors import CannotTell, HostKeyRefused, NotAskable, TimedOut, Unreachable
from kvgate.inventory.model import Defaults, Host
from kvgate.transport import channel, exchange
from kvgate.transport.base import Batch, Command
from kvgate.transport.batch import check
from kvgate.transport.fan_out import FanOut
from kvgate.transport.gateways import Gateways, JumpKeyRefused, transport_of
from kvgate.transport.hostkeys import Accepted
from kvgate.transport.keys import Keyring
from kvgate.transport.link import Bounds, Deadlines, Link, Outcome
from kvgate.transport.openssh import OpenSshLink
from kvgate.transport.ssh_config import Endpoint, Resolver

_SLACK = 60.0  # seconds past all deadlines until a worker is given up


class SshTransport:
    """Asks hosts over SSH. ``config`` replaces the operator's ~/.ssh/config; nothing is contacted before :meth:`run`."""

    def __init__(
        self,
        hosts: Mapping[str, Host],
        defaults: Defaults | None = None,
        *,
        workers: int = 32,
        deadlines: Deadlines | None = None,
        config: Path | None = None,
    ) -> None:
        logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)  # what happened stands in the batches
        self._hosts = dict(hosts)
        self._defaults = defaults or Defaults()
        self._workers = workers
        self._deadlines = deadlines or Deadlines()
        self._config = config
        self._resolver = Resolver(config)
        pinned = {(host.address, host.port): host.host_key for host in self._hosts.values()}
        self._gateways = Gateways(self._resolver, Keyring(), self._deadlines, pinned)
        self._links: dict[str, _Held] = {name: _Held() for name in self._hosts}

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        """Ask all hosts at once and yield each batch as it comes in.

        Raises ValueError for a command that cannot be sent and KeyError for a host that is not in the inventory.
        """
        for name, wanted in commands.items():
            if name not in self._hosts:
                raise KeyError(name)
            check(wanted)
        pool: FanOut[str, Batch] = FanOut(
            lambda name: self._ask(name, commands[name]),
            workers=self._workers,
            limit=lambda name: self._worst(commands[name]),
            overdue=lambda name: exchange.refused(
                name, commands[name], TimedOut(say("{name}: the transport itself hangs; run again", name=name))
            ),
        )
        return (batch for _, batch in pool.run(commands))

    def run(
        self, commands: Mapping[str, Sequence[Command]], progress: Callable[[Batch], None] | None = None
    ) -> dict[str, Batch]:
        """Ask all hosts at once; ``progress`` is called in this thread as each batch comes in. Raises as :meth:`each`."""
        batches: dict[str, Batch] = {}
        for batch in self.each(commands):
            batches[batch.host] = batch
            if progress is not None:
                progress(batch)
        return {name: batches[name] for name in commands}

    def close(self) -> None:
        """End all connections; a peer that does not answer is not waited for."""
        threads = [
            threading.Thread(target=held.close, daemon=True) for held in self._links.values() if held.link is not None
        ]
        threads.append(threading.Thread(target=self._gateways.close, daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2.0)

    def _worst(self, commands: Sequence[Command]) -> float:
        logins = 12 * (self._deadlines.connect + self._deadlines.login)
        alone = sum(command.limit + self._deadlines.margin + 2 * self._deadlines.channel for command in commands)
        return logins + exchange.bounds(commands, self._deadlines).total + alone + _SLACK

    def _ask(self, name: str, commands: Sequence[Command]) -> Batch:
        host = self._hosts[name]
        if host.access == "none":
            reason = NotAskable(
                say(
                    "{name}: its inventory entry says 'access: none'; a person answers for it under 'declared'",
                    name=name,
                )
            )
            return exchange.refused(name, commands, reason)
        held = self._links[name]
        with held.lock:
            notes: list[str] = []
            try:
                return self._converse(name, host, commands, held, notes)
            except HostKeyRefused as error:
                key = "" if isinstance(error, JumpKeyRefused) else error.presented
                return exchange.refused(name, commands, error, notes, host_key=key)
            except CannotTell as error:
                key = held.link.host_key if held.link is not None else ""
                return exchange.refused(name, commands, error, notes, host_key=key)
            except Exception as error:  # a fault of ours, or of a library, on one host must not take the others down
                unforeseen = Unreachable(
                    say(
                        "{name}: kvgate itself failed ({kind}: {error}); please report this",
                        name=name,
                        kind=type(error).__name__,
                        error=str(error),
                    )
                )
                return exchange.refused(name, commands, unforeseen, notes)

    def _converse(self, name: str, host: Host, commands: Sequence[Command], held: _Held, notes: list[str]) -> Batch:
        if held.link is None:
            held.link = self._link(name, host, notes)
        if isinstance(held.link, SshLink):
            held.link.notes = notes
        become = (host.become or self._defaults.become) == "sudo"
        if host.access == "commands":
            tools = host.commands
            return exchange.single(
                held.link, name, commands, tools=tools, become=become, deadlines=self._deadlines, notes=notes
            )
        return exchange.shell(held.link, name, commands, become=become, deadlines=self._deadlines, notes=notes)

    def _link(self, name: str, host: Host, notes: list[str]) -> Link:
        user = host.user or self._defaults.user
        own = host.identity or self._defaults.identity
        identity = Path(own).expanduser() if own else None
        endpoint = self._resolver.resolve(host.address, host.port if host.port != 22 else None, user)
        if identity is not None:
            endpoint = replace(endpoint, identities=(identity, *endpoint.identities))
        if host.ssh == "openssh" or endpoint.proxy_command:
            if host.ssh != "openssh":
                notes.append("goes through the ssh program: its ssh configuration has a ProxyCommand")
            return OpenSshLink(name, host, user, identity, self._config, self._deadlines)
        return SshLink(name, replace(endpoint, name=name), host.host_key, self._gateways, self._deadlines)


class SshLink:
    """One host's connection: made when first needed, kept, and made again once when it was found dead before a command."""

    def __init__(self, name: str, endpoint: Endpoint, pin: str, gateways: Gateways, deadlines: Deadlines) -> None:
        self._name, self._endpoint, self._gateways, self._deadlines = name, endpoint, gateways, deadlines
        self._accepted = Accepted(frozenset({pin}))
        self._connection: fabric.Connection | None = None
        self.host_key = ""
        self.notes: list[str] = []

    def execute(
        self, command: str, stdin: bytes, bounds: Bounds, finished: Callable[[bytearray], bool] | None = None
    ) -> Outcome:
        """Run ``command``, over the open connection if it lives. Raises CannotTell when it could not be started."""
        fresh = self._connection is None
        try:
            return channel.execute(self._live(), self._name, command, stdin, bounds, self._deadlines, finished)
        except channel.NotStarted:
            if fresh:
                raise
            self.close()
        return channel.execute(self._live(), self._name, command, stdin, bounds, self._deadlines, finished)

    def _live(self) -> paramiko.Transport:
        transport = transport_of(self._connection) if self._connection is not None else None
        if transport is None or not transport.is_active():
            self._open()
            transport = transport_of(self._connection)
        if transport is None:
            raise channel.NotStarted(say("{endpoint} ended the connection right after login", endpoint=self._name))
        return transport

    def _open(self) -> None:
        if self._connection is not None:
            self.close()
            self.notes.append("connected again: the host had ended the idle connection")
        self.host_key = ""
        self._connection = self._gateways.login(self._endpoint, self._accepted, self.notes)
        transport = transport_of(self._connection)
        key = transport.get_remote_server_key() if transport is not None else None
        self.host_key = key.fingerprint if key is not None else ""

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.client.close()


class _Held:
    """What is kept for one host between runs; its lock lets one batch at a time onto the connection."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.link: Link | None = None

    def close(self) -> None:
        if isinstance(self.link, SshLink):
            self.link.close()
