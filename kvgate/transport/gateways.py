"""The way to an endpoint: straight, or through jump hosts that are each logged in to once and shared by all hosts behind them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import replace

import fabric
import paramiko

from checks.phrase import say
from kvgate.errors import CannotTell, HostKeyRefused, TimedOut, Unreachable
from kvgate.transport.channel import watchdog
from kvgate.transport.connect import Turnstile, dial_tcp, login
from kvgate.transport.hostkeys import Accepted, KnownHosts
from kvgate.transport.keys import Keyring
from kvgate.transport.link import Deadlines
from kvgate.transport.ssh_config import Endpoint, Resolver, hop

_DEEPEST = 5
_REMEMBERED = 30.0  # seconds that a failed jump host is not tried again for the next host behind it


class JumpKeyRefused(HostKeyRefused):
    """The key of a jump host was refused; ``presented`` is the jump host's, the host behind it showed none."""


def transport_of(connection: fabric.Connection) -> paramiko.Transport | None:
    """Return the transport of an open connection, None when it was closed meanwhile."""
    client: paramiko.SSHClient = connection.client
    return client.get_transport()


class Gateways:
    """Logs in to endpoints for all workers. ``pinned`` are fingerprints by (address, port), as the inventory gives them."""

    def __init__(
        self, resolver: Resolver, keyring: Keyring, deadlines: Deadlines, pinned: Mapping[tuple[str, int], str]
    ) -> None:
        self._resolver, self._keyring, self._deadlines, self._pinned = resolver, keyring, deadlines, pinned
        self._turnstile = Turnstile()
        self._known_hosts = KnownHosts()
        self._jumps: dict[str, _Jump] = {}
        self._lock = threading.Lock()

    def login(self, endpoint: Endpoint, accepted: Accepted, notes: list[str], depth: int = 0) -> fabric.Connection:
        """Log in to an endpoint, through its jump hosts if it has any. Raises CannotTell."""
        offer = self._keyring.offer(endpoint)
        place = " > ".join(
            [*endpoint.jumps, endpoint.address]
        )  # a jump host never waits at the gate of a host behind it

        def dial(endpoint: Endpoint, seconds: float) -> socket.socket | paramiko.Channel:
            if not endpoint.jumps:
                return dial_tcp(endpoint, seconds)
            return self._dial_through(endpoint, seconds, notes, depth)

        return login(endpoint, accepted, offer, dial, self._deadlines, lambda: self._turnstile.through(place), notes)

    def close(self) -> None:
        """Hang up on all jump hosts."""
        with self._lock:
            jumps, self._jumps = list(self._jumps.values()), {}
        for jump in jumps:
            if jump.connection is not None:
                jump.connection.client.close()

    def _dial_through(self, endpoint: Endpoint, seconds: float, notes: list[str], depth: int) -> paramiko.Channel:
        name = " via ".join(reversed(endpoint.jumps))
        transport = self._jump(endpoint, notes, depth)
        try:
            with watchdog(transport, seconds + 2):
                return transport.open_channel(
                    "direct-tcpip", (endpoint.address, endpoint.port), ("127.0.0.1", 0), timeout=seconds
                )
        except paramiko.ChannelException as error:
            if error.code == 1:
                raise Unreachable(
                    say(
                        "jump host {name} may not forward to {endpoint}: look at AllowTcpForwarding and PermitOpen in its sshd_config",
                        name=name,
                        endpoint=str(endpoint),
                    )
                ) from error
            raise Unreachable(
                say(
                    "{endpoint} refused the connection, or cannot be reached from jump host {name}, which "
                    "itself answers ({what}); is the host up, does its sshd listen there?",
                    endpoint=str(endpoint),
                    name=name,
                    what=error.text or error.code,
                )
            ) from error
        except (paramiko.SSHException, EOFError, OSError) as error:
            if "timeout" in str(error).lower():
                raise TimedOut(
                    say(
                        "jump host {name} answers, but got no connection to {endpoint} within {seconds:g} s: "
                        "host off, wrong address, or a firewall between them",
                        name=name,
                        endpoint=str(endpoint),
                        seconds=seconds,
                    )
                ) from error
            raise Unreachable(
                say(
                    "jump host {name} ended its connection ({why}); {endpoint} itself was never asked",
                    name=name,
                    why=str(error or "EOF"),
                    endpoint=str(endpoint),
                )
            ) from error

    def _jump(self, endpoint: Endpoint, notes: list[str], depth: int) -> paramiko.Transport:
        """Return a live transport to the last jump host, logging in to the chain as far as needed."""
        if depth >= _DEEPEST:
            raise Unreachable(
                say(
                    "{endpoint}: more than {what} jump hosts one behind another; does ProxyJump go in a circle?",
                    endpoint=str(endpoint),
                    what=_DEEPEST,
                )
            )
        *before, last = endpoint.jumps
        address, port, user = hop(last)
        resolved = self._resolver.resolve(address, port, user)
        if before:
            resolved = replace(resolved, jumps=tuple(before))
        with self._lock:
            jump = self._jumps.setdefault(",".join([*resolved.jumps, last]), _Jump())
        wait = 2 * (self._deadlines.connect + self._deadlines.login)
        if not jump.lock.acquire(timeout=wait):
            raise TimedOut(
                say(
                    "jump host {last} took longer than {wait:g} s to log in; {endpoint} itself was never asked",
                    last=last,
                    wait=wait,
                    endpoint=str(endpoint),
                )
            )
        try:
            return jump.transport(self, resolved, self._accepted(resolved), notes, depth)
        except HostKeyRefused as error:
            why = say("{why}; {endpoint} itself was never asked", why=error.phrase, endpoint=str(endpoint))
            raise JumpKeyRefused(why, error.presented) from error
        except CannotTell as error:
            why = say("jump host {why}; {endpoint} itself was never asked", why=error.phrase, endpoint=str(endpoint))
            raise type(error)(why) from error
        finally:
            jump.lock.release()

    def _accepted(self, endpoint: Endpoint) -> Accepted:
        pin = self._pinned.get((endpoint.address, endpoint.port))
        return Accepted(frozenset({pin})) if pin else self._known_hosts.accepted(endpoint)


class _Jump:
    """One shared login to a jump host; a failure is remembered for a while so that hosts behind it need not wait in line."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: fabric.Connection | None = None
        self._failure: CannotTell | None = None
        self._failed_at = 0.0

    def transport(
        self, gateways: Gateways, endpoint: Endpoint, accepted: Accepted, notes: list[str], depth: int
    ) -> paramiko.Transport:
        """Return the live transport, logging in if there is none. Raises CannotTell."""
        if self.connection is not None:
            transport = transport_of(self.connection)
            if transport is not None and transport.is_active():
                return transport
            with contextlib.suppress(Exception):
                self.connection.client.close()
            self.connection = None
            notes.append(f"logged in again to jump host {endpoint}")
        if self._failure is not None and time.monotonic() - self._failed_at < _REMEMBERED:
            raise self._failure
        try:
            self.connection = gateways.login(endpoint, accepted, notes, depth + 1)
        except CannotTell as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None
        transport = transport_of(self.connection)
        if transport is None:
            raise Unreachable(say("{endpoint} ended the connection right after login", endpoint=str(endpoint)))
        return transport
