"""One login to one SSH server: dial, key exchange, host key, authentication; each step has its deadline and its own words."""

from __future__ import annotations

import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import fabric
import paramiko
from paramiko.auth_strategy import AuthSource, AuthStrategy
from paramiko.ssh_exception import IncompatiblePeer

from checks.phrase import say
from kvgate.errors import CannotTell, TimedOut, Unreachable, because
from kvgate.transport.hostkeys import FAMILIES, Accepted, Gatekeeper, WrongKey, refusal
from kvgate.transport.keys import Offer
from kvgate.transport.link import Deadlines
from kvgate.transport.ssh_config import Endpoint

#: Logins under way at once at one address: sshd drops more than ten (MaxStartups 10:30:100).
AT_ONCE = 8
_TRIES = 4  # the first and three more
#: Asked for first: paramiko compares the MAC of every packet byte by byte in Python, and these ciphers need none.
_CHEAP = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")


class Dropped(Unreachable):
    """The server closed the connection before login: too many logins at once, or a penalty. Worth another try."""


class Conversation(paramiko.Transport):
    """A transport that logs nothing, keeps what the server said before its SSH banner, and wakes seldom while nothing comes."""

    _active_check_timeout = (
        1.0  # paramiko's 0.1 s costs a fifth of a core with 256 hosts that are busy with their answers
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.greeting: list[str] = []
        super().__init__(*args, **kwargs)

    def _log(self, level: int, msg: object, *args: object) -> None:
        if isinstance(msg, str) and msg.startswith("Banner: "):
            self.greeting.append(msg.removeprefix("Banner: ").strip())

    def close(self) -> None:
        """Hang up now: a socket that is only closed stays open until the reading thread wakes."""
        if self.is_active() and isinstance(self.sock, socket.socket):
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
        super().close()


class _OfferKeys(AuthStrategy):
    """Offers each key once on one connection, then gives up; never a password."""

    def __init__(self, user: str, offer: Offer) -> None:
        super().__init__(ssh_config=None)  # type: ignore[arg-type]
        self._user, self._offer, self.begun = user, offer, False

    def get_sources(self) -> Iterator[AuthSource]:
        """Yield none: the keys are offered below, where it is known when to stop."""
        yield from ()

    def authenticate(self, transport: paramiko.Transport) -> Any:
        """Log in with the first key that is accepted. Raises as paramiko does."""
        for _, key in self._offer.keys:
            self.begun = True
            try:
                more = transport.auth_publickey(self._user, key)
            except paramiko.BadAuthenticationType:
                raise
            except paramiko.AuthenticationException:
                if not transport.is_active():
                    raise
                continue
            if more:
                raise paramiko.BadAuthenticationType("the key alone is not enough", list(more))
            return None
        raise paramiko.AuthenticationException("no key was accepted")


class Turnstile:
    """Lets at most :data:`AT_ONCE` logins through at a time for each address."""

    def __init__(self) -> None:
        self._gates: dict[str, threading.BoundedSemaphore] = {}
        self._lock = threading.Lock()

    @contextmanager
    def through(self, place: str) -> Iterator[None]:
        """Hold one of the places at an address."""
        with self._lock:
            gate = self._gates.setdefault(place, threading.BoundedSemaphore(AT_ONCE))
        with gate:
            yield


class Dial(Protocol):
    """Opens the way to an endpoint: a TCP socket, or a channel of a jump host."""

    def __call__(self, endpoint: Endpoint, seconds: float) -> socket.socket | paramiko.Channel:
        """Raise CannotTell when there is no way."""
        ...


def dial_tcp(endpoint: Endpoint, seconds: float) -> socket.socket:
    """Connect to the first address that answers. Raises Unreachable or TimedOut."""
    until = time.monotonic() + seconds
    try:
        places = socket.getaddrinfo(endpoint.address, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(
            say(
                "{endpoint}: the name is not known here ({error}); look at DNS, /etc/hosts or ~/.ssh/config",
                endpoint=str(endpoint),
                error=str(error),
            )
        ) from error
    failure: OSError | None = None
    for family, kind, protocol, _, address in places:
        conn = socket.socket(family, kind, protocol)
        conn.settimeout(max(0.1, (until - time.monotonic()) / 2 if len(places) > 1 else until - time.monotonic()))
        try:
            conn.connect(address)
        except OSError as error:
            conn.close()
            failure = error
        else:
            _tune(conn)
            return conn
    raise _no_way(endpoint, failure, seconds) from failure


def _no_way(endpoint: Endpoint, failure: OSError | None, seconds: float) -> CannotTell:
    if isinstance(failure, TimeoutError):
        return TimedOut(
            say(
                "{endpoint}: no answer to TCP within {seconds:g} s: host off, wrong address, or a firewall that drops",
                endpoint=str(endpoint),
                seconds=seconds,
            )
        )
    if isinstance(failure, ConnectionRefusedError):
        return Unreachable(
            say(
                "{endpoint} refused the connection: nothing listens there; is sshd running, is the port right?",
                endpoint=str(endpoint),
            )
        )
    if isinstance(failure, ConnectionResetError):
        return Dropped(say("{endpoint} reset the connection", endpoint=str(endpoint)))
    words = because(failure)
    return Unreachable(
        say(
            "{endpoint}: no way to it ({words}); look at routes, VPN and the address in the inventory",
            endpoint=str(endpoint),
            words=words,
        )
    )


def _tune(conn: socket.socket) -> None:
    """Send small packets at once, and notice a peer that vanished."""
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 20_000)


def login(
    endpoint: Endpoint,
    accepted: Accepted,
    offer: Offer,
    dial: Dial,
    deadlines: Deadlines,
    admit: Callable[[], Any],
    notes: list[str],
) -> fabric.Connection:
    """Log in, trying again only when the server closed the connection before login. Raises CannotTell."""
    for attempt in range(1, _TRIES + 1):
        try:
            return _with_right_key(endpoint, accepted, offer, dial, deadlines, admit)
        except Dropped as error:
            if attempt == _TRIES:
                raise Dropped(
                    say(
                        "{error} before login, {what} times in a row: too many logins at once there "
                        "(MaxStartups in its sshd_config), a penalty after failed logins (PerSourcePenalties, "
                        "fail2ban), or hosts.deny; wait some minutes, then log in by hand",
                        error=error.phrase,
                        what=_TRIES,
                    )
                ) from error
            notes.append(f"{error}; tried again")
        time.sleep(attempt * deadlines.pause * random.uniform(0.5, 1.5))  # noqa: S311 - jitter, no secret
    raise AssertionError("unreachable")


def _with_right_key(
    endpoint: Endpoint, accepted: Accepted, offer: Offer, dial: Dial, deadlines: Deadlines, admit: Callable[[], Any]
) -> fabric.Connection:
    """Log in; a server has several keys and a fingerprint names one, so after a wrong one the other families are asked for."""

    def once(names: tuple[str, ...]) -> fabric.Connection:
        with admit():
            return _once(endpoint, accepted, offer, dial, deadlines, names)

    try:
        return once(tuple(name for family in accepted.families for name in family))
    except IncompatiblePeer as error:
        raise _incompatible(endpoint, error) from error
    except WrongKey as error:
        first = error
    for family in FAMILIES if accepted.pinned else ():
        if family != first.family:
            try:
                return once(family)
            except (WrongKey, IncompatiblePeer):
                continue  # that one is wrong too, or the server has none of that family
    raise refusal(endpoint, accepted, first.presented) from first


def _once(
    endpoint: Endpoint, accepted: Accepted, offer: Offer, dial: Dial, deadlines: Deadlines, names: tuple[str, ...]
) -> fabric.Connection:
    sock = dial(endpoint, deadlines.connect)
    talks: list[Conversation] = []
    strategy = _OfferKeys(endpoint.user, offer)

    def conversation(sock: Any, **kwargs: Any) -> Conversation:
        talk = Conversation(sock, **kwargs)
        talk.handshake_timeout = deadlines.login
        options = talk.get_security_options()
        options.key_types = list(names)
        options.ciphers = sorted(options.ciphers, key=lambda name: name not in _CHEAP)
        talks.append(talk)
        return talk

    connection = fabric.Connection(
        endpoint.address,
        user=endpoint.user,
        port=endpoint.port,
        config=fabric.Config(
            overrides={"load_ssh_configs": False}, lazy=True
        ),  # one each: a connection writes into its own
        connect_kwargs={
            "sock": sock,
            "timeout": deadlines.login,
            "banner_timeout": deadlines.connect,
            "auth_timeout": deadlines.login,
            "channel_timeout": deadlines.channel,
            "transport_factory": conversation,
            "auth_strategy": strategy,
            "allow_agent": False,
            "look_for_keys": False,
        },
    )
    connection.client.set_missing_host_key_policy(Gatekeeper(accepted))
    dialled = time.monotonic()
    try:
        connection.open()
    except (WrongKey, IncompatiblePeer):
        _hang_up(connection, sock)
        raise
    except (paramiko.SSHException, EOFError, OSError) as error:
        greeting = " ".join(talks[0].greeting)[:200] if talks else ""
        _hang_up(connection, sock)
        failure = _failure(endpoint, error, offer, deadlines, time.monotonic() - dialled, greeting)
        if strategy.begun and isinstance(failure, Dropped):
            failure = Unreachable(
                say(
                    "{failure} during the login of user {user}; tried {offer}",
                    failure=failure.phrase,
                    user=endpoint.user,
                    offer=str(offer),
                )
            )
        raise failure from error
    except BaseException:
        _hang_up(connection, sock)
        raise
    return connection


def _hang_up(connection: fabric.Connection, sock: socket.socket | paramiko.Channel) -> None:
    connection.client.close()
    sock.close()


def _failure(
    endpoint: Endpoint, error: Exception, offer: Offer, deadlines: Deadlines, seconds: float, greeting: str
) -> CannotTell:
    """Map what paramiko raised to what it means."""
    text = str(error)
    if isinstance(error, paramiko.BadAuthenticationType):
        wanted = ", ".join(error.allowed_types)
        return Unreachable(
            say(
                "{endpoint} denied the login of user {user}: it wants {wanted}, tried {offer}; kvgate uses "
                "keys only and never asks for a password",
                endpoint=str(endpoint),
                user=endpoint.user,
                wanted=wanted,
                offer=str(offer),
            )
        )
    if isinstance(error, paramiko.AuthenticationException):
        if "timeout" in text.lower():
            return TimedOut(
                say(
                    "{endpoint} did not decide on the login of {user} within {login:g} s",
                    endpoint=str(endpoint),
                    user=endpoint.user,
                    login=deadlines.login,
                )
            )
        return Unreachable(
            say(
                "{endpoint} denied the login of user {user}; tried {offer}; put the right public key into its "
                "authorized_keys, or name user and key in the inventory or ~/.ssh/config (not tried again: "
                "sshd penalises that)",
                endpoint=str(endpoint),
                user=endpoint.user,
                offer=str(offer),
            )
        )
    if "Indecipherable protocol version" in text:
        return Unreachable(
            say(
                "{endpoint} does not speak SSH (found {what}); is the port right?",
                endpoint=str(endpoint),
                what=text.partition("version")[2].strip()[:80],
            )
        )
    if seconds >= 0.9 * deadlines.connect and "banner" in text:
        return TimedOut(
            say(
                "{endpoint} took the connection but sent no SSH banner within {connect:g} s: its sshd hangs",
                endpoint=str(endpoint),
                connect=deadlines.connect,
            )
        )
    if seconds >= 0.9 * deadlines.login:
        return TimedOut(
            say(
                "{endpoint} did not finish the SSH handshake within {login:g} s: host overloaded, or MTU wrong",
                endpoint=str(endpoint),
                login=deadlines.login,
            )
        )
    if "banner" in text or isinstance(error, EOFError | ConnectionError) or "No existing session" in text:
        if greeting:
            return Dropped(
                say("{endpoint} closed the connection saying '{words}'", endpoint=str(endpoint), words=str(greeting))
            )
        return Dropped(say("{endpoint} closed the connection", endpoint=str(endpoint)))
    return Unreachable(
        say(
            "{endpoint}: the SSH handshake failed ({name}: {text})",
            endpoint=str(endpoint),
            name=type(error).__name__,
            text=text[:200],
        )
    )


def _incompatible(endpoint: Endpoint, error: IncompatiblePeer) -> CannotTell:
    return Unreachable(
        say(
            "{endpoint}: no algorithm in common with its sshd ({error}); an old one speaks only SHA-1 or "
            "DSA: renew it, or set 'ssh: openssh' for this host",
            endpoint=str(endpoint),
            error=str(error)[:200],
        )
    )
