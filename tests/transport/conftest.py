"""Real OpenSSH servers for the transport's tests, and transports with short deadlines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvgate.inventory.model import Defaults, Host
from kvgate.transport.base import Batch, Command
from kvgate.transport.link import Deadlines
from kvgate.transport.ssh import SshTransport
from tests.transport.server import Sshd, make_key

SHORT = Deadlines(connect=3.0, login=5.0, channel=3.0, margin=2.0, pause=0.2)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    made = {name: make_key(folder / name) for name in ("user", "host", "other", "jump")}
    made["ecdsa"] = make_key(folder / "ecdsa", "ecdsa", bits=256)
    made["rsa"] = make_key(folder / "rsa", "rsa", bits=2048)
    made["locked"] = make_key(folder / "locked", passphrase="a passphrase")
    (folder / "authorized").write_text("".join((folder / f"{name}.pub").read_text() for name in ("user", "locked")))
    made["authorized"] = folder / "authorized"
    return made


@pytest.fixture
def sshd(tmp_path: Path, keys: Mapping[str, Path]) -> Iterator[Callable[..., Sshd]]:
    """Start servers; keyword arguments are those of :class:`Sshd`."""
    with ExitStack() as stack:
        count = 0

        def start(**more: Any) -> Sshd:
            nonlocal count
            count += 1
            values: dict[str, Any] = {"host_keys": (keys["host"],), "authorized": keys["authorized"]} | more
            return stack.enter_context(Sshd(tmp_path / f"sshd{count}", **values))

        yield start


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, keys: Mapping[str, Path]) -> Iterator[Sshd]:
    """One server without any peculiarity, for all tests of a module."""
    with Sshd(tmp_path_factory.mktemp("plain"), (keys["host"],), keys["authorized"]) as server:
        yield server


@pytest.fixture
def transport(keys: Mapping[str, Path], tmp_path: Path) -> Iterator[Callable[..., SshTransport]]:
    """Build transports that know the user's key, and close them."""
    made: list[SshTransport] = []
    empty = tmp_path / "no_ssh_config"
    empty.write_text("")

    def build(hosts: Mapping[str, Host] | Host, *, identity: Path | None = keys["user"], **more: Any) -> SshTransport:
        defaults = Defaults(identity=str(identity) if identity else None)
        named = {"node-01": hosts} if isinstance(hosts, Host) else hosts
        deadlines = more.pop("deadlines", SHORT)
        made.append(SshTransport(named, defaults, **{"config": empty, "deadlines": deadlines} | more))
        return made[-1]

    yield build
    for one in made:
        one.close()


@pytest.fixture
def reads() -> bool:
    """Whether the commands asked are sent as ones that write no files of their own."""
    return False


@pytest.fixture
def ask(transport: Callable[..., SshTransport], reads: bool) -> Callable[..., Batch]:
    """Ask one host some command lines (keys "0", "1", …) and return its batch."""

    def ask(host: Host, *lines: str | Command, **more: Any) -> Batch:
        commands = [
            replace(c if isinstance(c, Command) else Command("", c), key=str(i), reads=reads)
            for i, c in enumerate(lines)
        ]
        return transport(host, **more).run({"node-01": commands})["node-01"]

    return ask
