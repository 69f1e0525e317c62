"""Which host key is the right one: the fingerprint pinned in the inventory, or the operator's known_hosts for a jump host."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import paramiko

from kvgate.errors import HostKeyRefused
from kvgate.transport.ssh_config import Endpoint

#: Key types of one family are told apart by the server's key, not by us; Ed25519 is preferred.
FAMILIES = (
    ("ssh-ed25519",),
    ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
    ("rsa-sha2-512", "rsa-sha2-256"),
)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Fingerprints that one server may present. ``families`` are the key types known of it, best first."""

    fingerprints: frozenset[str]
    revoked: frozenset[str] = frozenset()
    families: tuple[tuple[str, ...], ...] = FAMILIES
    pinned: bool = True


class WrongKey(paramiko.SSHException):
    """The key on the wire is not the one wanted; raised before anything secret is said."""

    def __init__(self, key: paramiko.PKey) -> None:
        self.presented: str = key.fingerprint
        self.family = next((family for family in FAMILIES if _generic(key.get_name()) in map(_generic, family)), ())
        super().__init__("host key refused")


class Gatekeeper(paramiko.MissingHostKeyPolicy):
    """Asked by paramiko after the key exchange and before authentication: passes the accepted keys only."""

    def __init__(self, accepted: Accepted) -> None:
        self._accepted = accepted

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Raise WrongKey unless the key is one of those accepted."""
        presented = key.fingerprint
        if presented not in self._accepted.fingerprints or presented in self._accepted.revoked:
            raise WrongKey(key)


def _generic(name: str) -> str:
    return "ssh-rsa" if name.startswith("rsa-sha2") else name


class KnownHosts:
    """Reads known_hosts files, each once."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[paramiko.HostKeys, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def accepted(self, endpoint: Endpoint) -> Accepted:
        """Return what the operator's files say about an endpoint; nothing when they do not know it."""
        found: dict[str, str] = {}
        revoked: set[str] = set()
        for path in endpoint.known_hosts:
            keys, bad = self._read(path)
            revoked |= bad
            entry = keys.lookup(endpoint.place)
            for name, key in (entry or {}).items():
                if key is not None:
                    found[key.fingerprint] = name
        known = {_generic(name) for name in found.values()}
        families = tuple(family for family in FAMILIES if known & {_generic(name) for name in family})
        return Accepted(frozenset(found), frozenset(revoked), families or FAMILIES, pinned=False)

    def _read(self, path: Path) -> tuple[paramiko.HostKeys, frozenset[str]]:
        with self._lock:
            if path not in self._files:
                keys, bad = paramiko.HostKeys(), set()
                try:
                    keys.load(str(path))
                    for line in path.read_text("utf-8", "replace").splitlines():
                        words = line.split()
                        if len(words) > 3 and words[0] == "@revoked":
                            entry = paramiko.hostkeys.HostKeyEntry.from_line(" ".join(words[1:]))
                            bad |= {entry.key.fingerprint} if entry is not None and entry.key is not None else set()
                except (OSError, paramiko.SSHException):
                    pass  # a file that is not there knows no host
                self._files[path] = keys, frozenset(bad)
            return self._files[path]


def refusal(endpoint: Endpoint, accepted: Accepted, presented: str) -> HostKeyRefused:
    """Say whose key was refused and how a person finds out which of the two is right."""
    if accepted.pinned:
        wanted = ", ".join(sorted(accepted.fingerprints))
        message = (
            f"{endpoint} presents the host key {presented}, the inventory pins {wanted}: another machine answers there, or it "
            "was installed anew; compare at its console with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' before "
            "'host_key' is changed"
        )
    elif presented in accepted.revoked:
        message = f"jump host {endpoint} presents the host key {presented}, which known_hosts marks as revoked; nothing was sent"
    elif accepted.fingerprints:
        wanted = ", ".join(sorted(accepted.fingerprints))
        message = (
            f"jump host {endpoint} presents the host key {presented}, known_hosts has {wanted}: compare at its console before "
            f"the old line is removed with 'ssh-keygen -R {endpoint.place}'"
        )
    else:
        message = (
            f"jump host {endpoint} presents the host key {presented}, and known_hosts does not know that host: compare the key "
            f"at its console, then log in once by hand with 'ssh {endpoint.name}' to accept it"
        )
    return HostKeyRefused(message, presented)
