"""The operator's private keys: each file read once, agent keys used through the agent; nothing here ever asks for a passphrase."""

from __future__ import annotations

import socket
import threading
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.agent import AgentKey, AgentSSH

from kvgate.transport.ssh_config import Endpoint

#: sshd hangs up after MaxAuthTries (6 by default) offered keys.
MOST = 5
_AGENT_SECONDS = 10.0


class _Agent(AgentSSH):
    """An agent behind a socket of our choice; many connections sign through it, one at a time."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._lock = threading.Lock()
        conn = socket.socket(socket.AF_UNIX)
        conn.settimeout(_AGENT_SECONDS)
        conn.connect(path)
        self._connect(conn)  # type: ignore[attr-defined]

    def _send_message(self, msg: object) -> object:
        with self._lock:
            return super()._send_message(msg)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Offer:
    """Keys to offer, best first, and why others are not among them."""

    keys: tuple[tuple[str, paramiko.PKey], ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        tried = ", ".join(f"{label} {key.fingerprint}" for label, key in self.keys) or "no key at all"
        return tried + "".join(f"; {remark}" for remark in self.remarks)


class Keyring:
    """Loads keys on first use and keeps them; shared by all connections."""

    def __init__(self) -> None:
        self._files: dict[Path, paramiko.PKey | str] = {}
        self._agents: dict[str, tuple[AgentKey, ...] | str] = {}
        self._offers: dict[tuple[object, ...], Offer] = {}
        self._lock = threading.Lock()

    def offer(self, endpoint: Endpoint) -> Offer:
        """Choose at most :data:`MOST` keys: identity files in their order (through the agent if it has them), then the agent's."""
        wanted = (endpoint.identities, endpoint.identities_only, endpoint.agent)
        with self._lock:
            if wanted not in self._offers:  # hosts that want the same are offered the same: no file is looked at twice
                self._offers[wanted] = self._choose(endpoint)
            return self._offers[wanted]

    def _choose(self, endpoint: Endpoint) -> Offer:
        agent = self._agent(endpoint.agent)
        held = {} if isinstance(agent, str) else {key.fingerprint: key for key in agent}
        remarks = [agent] if isinstance(agent, str) and agent else []
        chosen: dict[str, tuple[str, paramiko.PKey]] = {}
        for path in endpoint.identities:
            fingerprint = _public(path)
            if fingerprint in held:
                chosen.setdefault(fingerprint, (f"{path} (agent)", held[fingerprint]))
            elif path.is_file():
                key = self._file(path)
                if isinstance(key, str):
                    remarks.append(key)
                else:
                    chosen.setdefault(key.fingerprint, (str(path), key))
        if not endpoint.identities_only:
            for fingerprint, agent_key in held.items():
                chosen.setdefault(fingerprint, (agent_key.comment or "agent key", agent_key))
        keys = tuple(chosen.values())
        if len(keys) > MOST:
            remarks.append(
                f"{len(keys) - MOST} more keys were not tried: name the right one by IdentityFile in ~/.ssh/config"
            )
        return Offer(keys[:MOST], tuple(remarks))

    def _file(self, path: Path) -> paramiko.PKey | str:
        if path not in self._files:
            try:
                self._files[path] = paramiko.PKey.from_path(path)
            except (paramiko.PasswordRequiredException, TypeError):
                self._files[path] = f"{path} has a passphrase: load it into the agent with ssh-add"
            except (paramiko.SSHException, paramiko.pkey.UnknownKeyType, OSError, ValueError) as error:
                self._files[path] = f"{path} cannot be read as a private key ({type(error).__name__})"
        return self._files[path]

    def _agent(self, path: str) -> tuple[AgentKey, ...] | str:
        if not path:
            return ""
        if path not in self._agents:
            try:
                self._agents[path] = tuple(_Agent(path).get_keys())
            except (OSError, paramiko.SSHException) as error:
                self._agents[path] = f"the agent at {path} does not answer ({type(error).__name__})"
        return self._agents[path]


def _public(path: Path) -> str:
    """Return the fingerprint of the public half beside a private key (or of ``path`` itself), empty when there is none."""
    for file in (path.with_name(path.name + ".pub"), path):
        try:
            words = file.read_text("ascii").split()
            return paramiko.PKey.from_type_string(words[0], b64decode(words[1], validate=True)).fingerprint
        except (OSError, ValueError, IndexError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
            continue
    return ""
