"""The keys of the two sides: there, public, of the kind that signs, and not one key for both."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from checks.phrase import Phrase, listed, plain, say
from kvgate.errors import Fault, because
from kvgate.inventory.model import Rack
from kvgate.inventory.strict_yaml import Document, Key

SIDES = ("vendor", "customer")
_LIMIT_BYTES = 2**16
#: What a key looks like that was written where its file's name belongs.
_TEXT = re.compile(r"(ssh-|ecdsa-|sk-)\S+\s+AAAA|-----BEGIN|AAAA[A-Za-z0-9+/]{40}")
_WANTED = say("an Ed25519 public key as ssh-keygen -t ed25519 writes it (ssh-ed25519 AAAA...), or its PEM form")


def _made_by(path: Path) -> Phrase:
    """Say which command makes a key whose public half is ``path``, for who has none yet."""
    return say(
        "a party's public key: make yours with `ssh-keygen -t ed25519 -f {key}`, take the other party's from them",
        key=shlex.quote(str(path.with_suffix("") if path.suffix == ".pub" else path)),
    )


def one_file_each(document: Document, rack: Rack) -> Iterator[Fault]:
    """Faults that the text alone shows: a side that is missing, one file for two."""
    if missing := [side for side in SIDES if side not in rack.parties]:
        names = plain(", ".join(rack.parties)) if rack.parties else say("nobody")
        yield document.fault(("parties",), names, say("both sides that sign: {words} missing", words=listed(missing)))
    seen: dict[str, str] = {}
    for name, party in rack.parties.items():
        file = str(PurePosixPath(party.key))
        if file in seen:
            found = say("{key}, the key of {other} too", key=party.key, other=seen[file])
            yield document.fault(("parties", name, "key"), found, say("a key of its own for each side"))
        seen.setdefault(file, name)


def good_keys(document: Document, rack: Rack, folder: Path) -> Iterator[Fault]:
    """Faults of the key files themselves, relative to ``folder``. A simulated rack may do without both: it certifies nothing.

    A file that a second side names is looked at once: that it is named twice is told by :func:`one_file_each`.
    """
    seen: dict[bytes, str] = {}
    files: set[PurePosixPath] = set()
    absent: list[Fault] = []
    for name, party in rack.parties.items():
        place: Key = ("parties", name, "key")
        if PurePosixPath(party.key) in files:
            continue
        files.add(PurePosixPath(party.key))
        if _TEXT.match(party.key.strip()):
            yield document.fault(
                place, say("the text of a key"), say("the name of a file that holds it, relative to the inventory")
            )
            continue
        path = folder / Path(party.key).expanduser()
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                yield document.fault(place, say("{path}: a folder, pipe or device", path=str(path)), _WANTED)
                continue
            if status.st_size > _LIMIT_BYTES:
                yield document.fault(
                    place, say("{path}: more than {count} bytes", path=str(path), count=_LIMIT_BYTES), _WANTED
                )
                continue
            raw = path.read_bytes()
        except OSError as error:
            absent_key = isinstance(error, FileNotFoundError)
            wanted = _made_by(path) if absent_key else _WANTED
            fault = document.fault(place, say("{path}: {what}", path=str(path), what=because(error)), wanted)
            if rack.simulated and absent_key:
                absent.append(fault)
            else:
                yield fault
            continue
        public = _public(raw)
        if isinstance(public, Phrase):
            yield document.fault(place, say("{path}: {what}", path=str(path), what=public), _WANTED)
        elif public in seen:
            yield document.fault(
                place,
                say("{path}: the key of {other} too", path=str(path), other=seen[public]),
                say("a key of its own for each side"),
            )
        else:
            seen[public] = name
    if seen:  # one key alone lets nothing count, and nobody would notice
        yield from absent


def _public(raw: bytes) -> bytes | Phrase:
    """Return the 32 bytes of the key, or what stands there instead."""
    if b"PRIVATE KEY" in raw:
        return say("a private key: take it away from there, and make a new one if anybody could read it")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key

    try:
        key = load_pem_public_key(raw) if raw.lstrip().startswith(b"-----") else load_ssh_public_key(raw.strip())
    except (ValueError, UnsupportedAlgorithm):
        return say("no public key")
    if not isinstance(key, Ed25519PublicKey):
        return say("a key of another kind ({kind})", kind=type(key).__name__.strip("_").removesuffix("PublicKey"))
    return key.public_bytes_raw()
