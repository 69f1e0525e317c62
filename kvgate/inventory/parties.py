"""The keys of the two sides: there, public, of the kind that signs, and not one key for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kvgate.errors import Fault
from kvgate.inventory.model import Rack
from kvgate.inventory.strict_yaml import Document, Key

SIDES = ("vendor", "customer")
_LIMIT_BYTES = 2**16
_WANTED = "an Ed25519 public key as ssh-keygen -t ed25519 writes it (ssh-ed25519 AAAA...), or its PEM form"


def one_file_each(document: Document, rack: Rack) -> Iterator[Fault]:
    """Faults that the text alone shows: a side that is missing, one file for two."""
    if missing := [side for side in SIDES if side not in rack.parties]:
        found = ", ".join(rack.parties) or "nobody"
        yield document.fault(("parties",), found, f"both sides that sign: {' and '.join(missing)} missing")
    seen: dict[str, str] = {}
    for name, party in rack.parties.items():
        file = str(PurePosixPath(party.key))
        if file in seen:
            found = f"{party.key}, the key of {seen[file]} too"
            yield document.fault(("parties", name, "key"), found, "a key of its own for each side")
        seen.setdefault(file, name)


def good_keys(document: Document, rack: Rack, folder: Path) -> Iterator[Fault]:
    """Faults of the key files themselves, relative to ``folder``. A simulated rack may do without: it certifies nothing."""
    seen: dict[bytes, str] = {}
    for name, party in rack.parties.items():
        place: Key = ("parties", name, "key")
        path = folder / Path(party.key).expanduser()
        try:
            if path.stat().st_size > _LIMIT_BYTES:
                yield document.fault(place, f"{path}: more than {_LIMIT_BYTES} bytes", _WANTED)
                continue
            raw = path.read_bytes()
        except OSError as error:
            if not (rack.simulated and isinstance(error, FileNotFoundError)):
                yield document.fault(place, f"{path}: {error.strerror or error}", _WANTED)
            continue
        public = _public(raw)
        if isinstance(public, str):
            yield document.fault(place, f"{path}: {public}", _WANTED)
        elif public in seen:
            yield document.fault(place, f"{path}: the key of {seen[public]} too", "a key of its own for each side")
        else:
            seen[public] = name


def _public(raw: bytes) -> bytes | str:
    """Return the 32 bytes of the key, or what stands there instead."""
    if b"PRIVATE KEY" in raw:
        return "a private key: take it away from there, and make a new one if anybody could read it"
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    try:
        key = load_pem_public_key(raw) if raw.lstrip().startswith(b"-----") else load_ssh_public_key(raw.strip())
    except (ValueError, UnsupportedAlgorithm):
        return "no public key"
    if not isinstance(key, Ed25519PublicKey):
        return f"a key of another kind ({type(key).__name__.strip('_')})"
    return key.public_bytes_raw()
