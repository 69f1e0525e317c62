"""Which host key is the right one: the fingerprint pinned in the inventory, or the operator's known_hosts for a jump host."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey

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
        found, revoked = self._known(endpoint)
        known = {_generic(name) for name in found.values()}
        families = tuple(family for family in FAMILIES if known & {_generic(name) for name in family})
        return Accepted(frozenset(found), revoked, families or FAMILIES, pinned=False)

    def pin(self, endpoint: Endpoint) -> str | None:
        """Fingerprint of the best key that the operator's files have for an endpoint and do not revoke; None when there is none."""
        found, revoked = self._known(endpoint)
        for family in FAMILIES:
            names = {_generic(name) for name in family}
            for fingerprint, name in found.items():
                if _generic(name) in names and fingerprint not in revoked:
                    return fingerprint
        return None

    def _known(self, endpoint: Endpoint) -> tuple[dict[str, str], frozenset[str]]:
        """Fingerprint -> key type, and what is revoked."""
        found: dict[str, str] = {}
        revoked: set[str] = set()
        for path in endpoint.known_hosts:
            keys, bad = self._read(path)
            revoked |= bad
            entry = keys.lookup(endpoint.place)
            for name, key in (entry or {}).items():
                if key is not None:
                    found[key.fingerprint] = name
        return found, frozenset(revoked)

    def _read(self, path: Path) -> tuple[paramiko.HostKeys, frozenset[str]]:
        with self._lock:
            if path not in self._files:
                keys, bad = paramiko.HostKeys(), set()
                for words in _lines(path):
                    revoked = words[0] == "@revoked"
                    if (entry := _entry(words[1:] if revoked else words)) is None or entry.key is None:
                        continue
                    if revoked:
                        bad.add(entry.key.fingerprint)
                    else:
                        for name in entry.hostnames or ():
                            keys.add(name, entry.key.get_name(), entry.key)
                self._files[path] = keys, frozenset(bad)
            return self._files[path]


def _lines(path: Path) -> list[list[str]]:
    """Words of every line of a known_hosts file that says something; a file that is not there knows no host."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return []
    return [words for line in text.splitlines() if (words := line.split()) and not words[0].startswith("#")]


def _entry(words: list[str]) -> HostKeyEntry | None:
    """Read one entry; None for one that is not a plain host key (a certificate authority, a damaged line)."""
    if words and words[0].startswith("@"):
        return None
    try:
        return HostKeyEntry.from_line(" ".join(words))
    except (paramiko.SSHException, InvalidHostKey, ValueError):
        return None


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
