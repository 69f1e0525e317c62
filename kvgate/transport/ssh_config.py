"""Where a host really is: the operator's ssh configuration as ``ssh -G`` resolves it, aliases and jump hosts included."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from checks.phrase import say
from kvgate.errors import Unreachable

_SYSTEM = Path("/etc/ssh/ssh_config")
_MATTERS = re.compile(
    r"^\s*(hostname|port|user|identity\w*|proxy\w+|match|hostkeyalias|canonical\w+|(user|global)knownhostsfile)\b",
    re.IGNORECASE | re.MULTILINE,
)
_DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One SSH server and how to log in to it. ``agent`` is a socket path, empty for none."""

    name: str  # as written in the inventory or as a jump host
    address: str
    port: int
    user: str
    identities: tuple[Path, ...] = ()
    identities_only: bool = False
    agent: str = ""
    known_hosts: tuple[Path, ...] = ()
    key_alias: str = ""
    jumps: tuple[str, ...] = ()
    proxy_command: str = ""

    @property
    def place(self) -> str:
        """Address and port as known_hosts writes them."""
        name = self.key_alias or self.address
        return name if self.port == 22 or self.key_alias else f"[{name}]:{self.port}"

    def __str__(self) -> str:
        where = f"{self.address} port {self.port}"
        return where if self.name == self.address else f"{self.name} ({where})"


class Resolver:
    """Resolves addresses, each once. ``config`` replaces the operator's own ~/.ssh/config."""

    def __init__(self, config: Path | None = None) -> None:
        self._config = config
        self._ssh = shutil.which("ssh")
        self._known: dict[tuple[str, int | None, str | None], Endpoint] = {}
        self._lock = threading.Lock()
        self._plain_is_final = self._ssh is None or not self._matters()

    def resolve(self, address: str, port: int | None = None, user: str | None = None) -> Endpoint:
        """Return the endpoint; ``port`` and ``user`` win over the configuration. Raises Unreachable for a broken one."""
        key = (address, port, user)
        with self._lock:
            if key in self._known:
                return self._known[key]
        if self._plain_is_final or self._ssh is None:
            endpoint = self._default(address, port, user)
        else:
            endpoint = self._ask(self._ssh, address, port, user)
        with self._lock:
            return self._known.setdefault(key, endpoint)

    def _matters(self) -> bool:
        """Tell whether any configuration file says something that a plain address would miss."""
        own = self._config or Path("~/.ssh/config").expanduser()
        if _has_text(own):
            return True
        system = [] if self._config else [_SYSTEM, *sorted(_SYSTEM.with_name("ssh_config.d").glob("*.conf"))]
        return any(_MATTERS.search(_text(file)) for file in system)

    def _default(self, address: str, port: int | None, user: str | None) -> Endpoint:
        home = Path("~/.ssh").expanduser()
        return Endpoint(
            name=address,
            address=address,
            port=port or 22,
            user=user or getpass.getuser(),
            identities=tuple(home / name for name in _DEFAULT_KEYS),
            agent=os.environ.get("SSH_AUTH_SOCK", ""),
            known_hosts=(home / "known_hosts", Path("/etc/ssh/ssh_known_hosts")),
        )

    def _ask(self, ssh: str, address: str, port: int | None, user: str | None) -> Endpoint:
        argv = [ssh, "-G"]
        argv += ["-F", str(self._config)] if self._config else []
        argv += ["-p", str(port)] if port else []
        argv += ["-l", user] if user else []
        try:
            done = subprocess.run(
                [*argv, "--", address], capture_output=True, timeout=15, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unreachable(
                say(
                    "{address}: 'ssh -G' did not answer ({error}); look at the ssh configuration",
                    address=address,
                    error=str(error),
                )
            ) from error
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "backslashreplace").strip()[:300]
            raise Unreachable(
                say("{address}: 'ssh -G' refused the ssh configuration: {words}", address=address, words=words)
            )
        return _endpoint(address, done.stdout.decode("utf-8", "surrogateescape"))


def _endpoint(name: str, text: str) -> Endpoint:
    """Read the output of ``ssh -G``: one keyword and its value a line, some keywords several times."""
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        keyword, _, value = line.partition(" ")
        options.setdefault(keyword.lower(), []).append(value.strip())

    def last(keyword: str, default: str = "") -> str:
        return options.get(keyword, [default])[-1]

    address, port, user = last("hostname", name), int(last("port", "22")), last("user") or getpass.getuser()
    tokens = {"h": address, "n": name, "p": str(port), "r": user, "u": getpass.getuser(), "d": str(Path.home())}

    def path(word: str) -> Path:
        return Path(re.sub(r"%([%hnprud])", lambda m: tokens.get(m[1], "%"), word)).expanduser()

    agent = last("identityagent", "SSH_AUTH_SOCK").strip('"')
    if agent == "SSH_AUTH_SOCK":
        agent = os.environ.get("SSH_AUTH_SOCK", "")
    elif agent.startswith("$"):
        agent = os.environ.get(agent.strip("${}"), "")
    elif agent == "none":
        agent = ""
    jumps, proxy = last("proxyjump", "none"), last("proxycommand", "none")
    known = f"{last('userknownhostsfile')} {last('globalknownhostsfile')}".split()
    return Endpoint(
        name=name,
        address=address,
        port=port,
        user=user,
        identities=tuple(path(word.strip('"')) for word in options.get("identityfile", [])),
        identities_only=last("identitiesonly", "no") == "yes",
        agent=str(path(agent)) if agent else "",
        known_hosts=tuple(path(word) for word in known if word != "none"),
        key_alias=last("hostkeyalias").replace("none", ""),
        jumps=() if jumps == "none" else tuple(jumps.split(",")),
        proxy_command="" if proxy == "none" else proxy,
    )


def hop(word: str) -> tuple[str, int | None, str | None]:
    """Take one jump host apart: ``[user@]host[:port]`` or ``ssh://…``; returns address, port, user."""
    user, _, place = word.removeprefix("ssh://").rpartition("@")
    bracketed = re.fullmatch(r"\[(.+)\](?::(\d+))?", place)
    plain = re.fullmatch(r"([^:]+):(\d+)", place)
    found = bracketed or plain
    if found is None:
        return place, None, user or None
    return found[1], int(found[2]) if found[2] else None, user or None


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def _has_text(file: Path) -> bool:
    return any(line.strip() and not line.strip().startswith("#") for line in _text(file).splitlines())
