"""Which host key is the right one: the fingerprint pinned in the inventory, or the operator's known_hosts for a jump host."""

from __future__ import annotations

import re
import threading
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path

import paramiko

from checks.phrase import say
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


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a known_hosts file."""

    patterns: tuple[str, ...]
    key: paramiko.PKey
    revoked: bool

    def names(self, place: str) -> bool:
        """Tell whether the line speaks of a place: by name, hashed name or wildcards, unless it excludes it."""
        hits = [pattern for pattern in self.patterns if _matches(place, pattern.removeprefix("!"))]
        return bool(hits) and not any(pattern.startswith("!") for pattern in hits)


def _matches(place: str, pattern: str) -> bool:
    if pattern.startswith("|1|"):
        return paramiko.HostKeys.hash_host(place, pattern) == pattern
    literal = pattern.replace("[", "\\[").replace("]", "\\]").replace(".", "\\.")
    return re.fullmatch(literal.replace("*", ".*").replace("?", "."), place) is not None


class KnownHosts:
    """Reads known_hosts files, each once."""

    def __init__(self) -> None:
        self._files: dict[Path, tuple[_Line, ...]] = {}
        self._lock = threading.Lock()

    def accepted(self, endpoint: Endpoint) -> Accepted:
        """Return what the operator's files say about an endpoint; nothing when they do not know it."""
        lines = self._of(endpoint)
        known = {_generic(line.key.get_name()) for line in lines if not line.revoked}
        families = tuple(family for family in FAMILIES if known & {_generic(name) for name in family})
        return Accepted(
            frozenset(line.key.fingerprint for line in lines if not line.revoked),
            frozenset(line.key.fingerprint for line in lines if line.revoked),
            families or FAMILIES,
            pinned=False,
        )

    def pin(self, endpoint: Endpoint) -> str | None:
        """Fingerprint of the best key that the operator's files have for an endpoint and do not revoke; None when there is none."""
        accepted = self.accepted(endpoint)
        for family in accepted.families:
            for line in self._of(endpoint):
                if _generic(line.key.get_name()) in map(_generic, family):
                    fingerprint: str = line.key.fingerprint
                    if fingerprint in accepted.fingerprints - accepted.revoked:
                        return fingerprint
        return None

    def _of(self, endpoint: Endpoint) -> list[_Line]:
        return [line for path in endpoint.known_hosts for line in self._read(path) if line.names(endpoint.place)]

    def _read(self, path: Path) -> tuple[_Line, ...]:
        with self._lock:
            if path not in self._files:
                try:
                    text = path.read_text("utf-8", "replace")
                except OSError:
                    text = ""  # a file that is not there knows no host
                found = [_line(line.split()) for line in text.splitlines()]
                self._files[path] = tuple(line for line in found if line is not None)
            return self._files[path]


def _line(words: list[str]) -> _Line | None:
    """Read one line; None for comments, authorities (which kvgate does not follow) and what is no line at all."""
    revoked = words[:1] == ["@revoked"]
    words = words[1:] if revoked else words
    if len(words) < 3 or words[0].startswith(("#", "@")):
        return None
    try:
        key = paramiko.PKey.from_type_string(words[1], b64decode(words[2], validate=True))
    except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
        return None
    return _Line(tuple(words[0].split(",")), key, revoked)


def refusal(endpoint: Endpoint, accepted: Accepted, presented: str) -> HostKeyRefused:
    """Say whose key was refused and how a person finds out which of the two is right."""
    place, wanted = str(endpoint), ", ".join(sorted(accepted.fingerprints))
    if accepted.pinned:
        message = say(
            "{endpoint} presents the host key {presented}, the inventory pins {wanted}: another machine answers there, or it "
            "was installed anew; compare at its console with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' before "
            "'host_key' is changed",
            endpoint=place,
            presented=presented,
            wanted=wanted,
        )
    elif presented in accepted.revoked:
        message = say(
            "jump host {endpoint} presents the host key {presented}, which known_hosts marks as revoked; nothing was sent",
            endpoint=place,
            presented=presented,
        )
    elif accepted.fingerprints:
        message = say(
            "jump host {endpoint} presents the host key {presented}, known_hosts has {wanted}: compare at its console before "
            "the old line is removed with 'ssh-keygen -R {place}'",
            endpoint=place,
            presented=presented,
            wanted=wanted,
            place=endpoint.place,
        )
    else:
        message = say(
            "jump host {endpoint} presents the host key {presented}, and known_hosts does not know that host: compare the key "
            "at its console, then log in once by hand with 'ssh {name}' to accept it",
            endpoint=place,
            presented=presented,
            name=endpoint.name,
        )
    return HostKeyRefused(message, presented)
