"""Ed25519 keys of the parties: public keys by their SSH fingerprint, private ones only for as long as they sign.

A private key comes from an OpenSSH or PEM file, or stays in ssh-agent; neither it nor a passphrase is ever shown or kept.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)  # fmt: skip

from checks.phrase import say
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed, Unproven, because

#: Bytes of an Ed25519 signature (RFC 8032).
SIGNATURE = 64

#: Types of public keys as OpenSSH names them (sshd(8), AUTHORIZED_KEYS FILE FORMAT), and the old one for DSA.
_KINDS = frozenset({
    "ssh-ed25519", "ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
})  # fmt: skip

#: Bytes read of a key file.
_MOST = 64 * 1024

_P = 2**255 - 19
#: y of the eight points of small order. A "key" at one of them verifies signatures that nobody made.
_SMALL_ORDER = frozenset({
    0, 1, _P - 1,
    int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"),
    int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little") % 2**255,
})  # fmt: skip

#: Asks a person for the passphrase of a file; called once.
AskPassphrase = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One Ed25519 public key. Two are the same when their 32 bytes are."""

    raw: bytes

    def __post_init__(self) -> None:
        y = int.from_bytes(self.raw, "little") % 2**255
        if len(self.raw) != 32 or y >= _P or y in _SMALL_ORDER:
            raise Unproven(say("found 32 bytes that are no Ed25519 key anybody could have made"))

    @property
    def blob(self) -> bytes:
        """The key as SSH sends it (RFC 8709)."""
        return b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + self.raw

    @property
    def fingerprint(self) -> str:
        """``SHA256:...`` as ``ssh-keygen -lf`` prints it; it stands as ``keyid`` in envelopes."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether this key made the signature over these bytes."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def openssh(self) -> str:
        """``ssh-ed25519 AAAA...`` without a comment."""
        return f"ssh-ed25519 {base64.b64encode(self.blob).decode()}"

    def pem(self) -> str:
        """``-----BEGIN PUBLIC KEY-----``, as openssl reads it."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


class Signer(Protocol):
    """Something that signs with one key."""

    @property
    def public(self) -> PublicKey:
        """The key's public half."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes of the signature. Raises Unproven when the key refuses."""
        ...


class FileSigner:
    """A private key that was read from a file. Its representation shows the fingerprint only."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def __repr__(self) -> str:
        return f"FileSigner({self.public.fingerprint})"

    def sign(self, data: bytes) -> bytes:
        """Return the signature."""
        return self._key.sign(data)


def public_key(text: str, what: str = "the key") -> PublicKey:
    """Read an OpenSSH (``ssh-ed25519 AAAA... [comment]``) or PEM public key. Raises Unproven."""
    data = text.strip().encode("utf-8", "replace")
    pem = data.startswith(b"-----BEGIN")
    kind = data.split(b" ")[0].decode("utf-8", "replace")
    if not pem and kind not in _KINDS:  # not shown: any file may have been named, one with a secret too
        raise Unproven(say("{what} holds no key: wanted ssh-ed25519, as ssh-keygen -t ed25519 makes one", what=what))
    if not pem and kind != "ssh-ed25519":
        raise Unproven(
            say(
                "{what} is of type {kind!r:.60}, wanted ssh-ed25519: make one with ssh-keygen -t ed25519",
                what=what,
                kind=kind,
            )
        )
    try:
        key = load_pem_public_key(data) if pem else load_ssh_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Unproven(say("{what} is no public key: {error!s:.120}", what=what, error=str(error))) from None
    if not isinstance(key, Ed25519PublicKey):
        raise Unproven(say("{what} is no Ed25519 key: make one with ssh-keygen -t ed25519", what=what))
    return PublicKey(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def signer(path: Path, ask: AskPassphrase) -> Signer:
    """Return what signs with the key of a file: a private key (``ask`` is called if it has a passphrase), or a public one,
    then ssh-agent signs. An agent that holds the key is asked before a passphrase is. Raises NotAllowed, Unproven.
    """
    data = _bytes(path)
    if b"PRIVATE KEY-----" not in data:
        from kvgate.certificates.agent import agent_signer

        return agent_signer(public_key(data.decode("utf-8", "replace"), str(path)))
    try:
        return _private(data, path, None)
    except TypeError:  # how the library says that there is a passphrase
        return _from_agent(path) or _private(data, path, ask(path).encode())


def unattended(path: Path) -> FileSigner:
    """Return what signs where nobody can be asked and no agent runs: a private key file without a passphrase. Raises NotAllowed."""
    data = _bytes(path)
    if b"PRIVATE KEY-----" not in data:
        raise NotAllowed(
            say(
                "key {path} is no private key, and what a timer starts has no ssh-agent: name the private key's file",
                path=str(path),
            )
        )
    try:
        return _private(data, path, None)
    except TypeError:
        raise NotAllowed(
            say(
                "key {path} has a passphrase, and what a timer starts can ask nobody: make a key for that alone (ssh-keygen -t "
                "ed25519 -N '' -f FILE) and let both parties add it to their trust files",
                path=str(path),
            )
        ) from None


def _private(data: bytes, path: Path, passphrase: bytes | None) -> FileSigner:
    load = load_ssh_private_key if b"BEGIN OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, passphrase)
    except TypeError:
        if passphrase is None:
            raise
        raise NotAllowed(say("key {path} wants a passphrase and got an empty one", path=str(path))) from None
    except (ValueError, UnsupportedAlgorithm):  # its text may quote what it read
        why = (
            "is no private key that can be read"
            if passphrase is None
            else "does not open: wrong passphrase, or damaged"
        )
        raise NotAllowed(
            say("key {path} {why}; wanted an Ed25519 key, as ssh-keygen -t ed25519 makes it", path=str(path), why=why)
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise NotAllowed(say("key {path} is no Ed25519 key: make one with ssh-keygen -t ed25519", path=str(path)))
    return FileSigner(key)


def _from_agent(path: Path) -> Signer | None:
    """The agent's signer for a locked private key, when its public half lies beside it and the agent holds it."""
    beside = Path(f"{path}.pub")
    if not beside.is_file():
        return None
    from kvgate.certificates.agent import agent_signer

    try:
        return agent_signer(public_key(_bytes(beside).decode("utf-8", "replace"), str(beside)))
    except (NotAllowed, Unproven):
        return None


def _bytes(path: Path) -> bytes:
    try:
        return first_bytes(path, _MOST)
    except OSError as error:
        raise NotAllowed(
            say("key {path} cannot be read: {strerror}", path=str(path), strerror=because(error))
        ) from None
