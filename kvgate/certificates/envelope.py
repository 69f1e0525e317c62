"""DSSE envelopes (secure-systems-lab/dsse, protocol 1.0.2): one payload, several signatures over exactly its bytes.

The bytes are written once, signed, and kept; nobody signs or verifies a second spelling of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from checks.phrase import Phrase, say
from kvgate.certificates import canonical
from kvgate.certificates.keys import SIGNATURE, Signer
from kvgate.codec import digest, first_bytes
from kvgate.errors import Unproven

#: The only payload type there is: in-toto statements (in-toto/attestation, spec/v1/envelope.md).
PAYLOAD_TYPE = "application/vnd.in-toto+json"

#: Bytes of a whole envelope. 2,000 clauses take about 1 MiB.
LIMIT = 64 * 2**20

#: Signatures on one envelope; there are two parties.
MOST = 16

_KEYID = 256  # characters


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature. ``keyid`` is a hint that nobody vouches for: shown, never believed."""

    keyid: str
    sig: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """The signed bytes and their signatures. ``digest`` names the document, however many have signed it."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, lower-case hex: the same for DRAFT and FINAL."""
        return digest(self.payload)

    def signed_by(self, signer: Signer) -> Envelope:
        """Return the envelope with one more signature over the same bytes. Raises Unproven when that key has signed it."""
        sig = signer.sign(pae(self.payload))
        if not signer.public.verifies(sig, pae(self.payload)):
            raise Unproven(
                say(
                    "key {fingerprint} gave a signature that does not verify: nothing was signed",
                    fingerprint=signer.public.fingerprint,
                )
            )
        if any(one.sig == sig for one in self.signatures):
            raise Unproven(say("key {fingerprint} has signed this already", fingerprint=signer.public.fingerprint))
        return replace(self, signatures=(*self.signatures, Signature(signer.public.fingerprint, sig)))

    def statement(self) -> dict[str, object]:
        """Read the payload that was verified. Raises Unproven unless it stands in its one spelling."""
        return canonical.exact(self.payload, "the payload")

    def to_bytes(self) -> bytes:
        """Return the envelope as it is stored: canonical JSON and a newline."""
        signatures = [{"keyid": one.keyid, "sig": canonical.encoded(one.sig)} for one in self.signatures]
        whole = {"payload": canonical.encoded(self.payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
        return canonical.write(whole) + b"\n"


def seal(statement: Mapping[str, object]) -> Envelope:
    """Write a statement's bytes, once. Raises TypeError for a float anywhere in it."""
    return Envelope(canonical.write(statement))


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Pre-authentication encoding: the bytes that are signed. Lengths count bytes, in decimal."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def read(data: bytes, what: Phrase | str = "the envelope") -> Envelope:
    """Read an envelope strictly; its payload must be a canonical JSON object too. Raises Unproven with the reason.

    The layout of the envelope itself is free (no signature covers it); nothing but DSSE's own keys may stand in it.
    """
    if len(data) > LIMIT:
        raise Unproven(say("{what} has {data} bytes, wanted at most {what2}", what=what, data=len(data), what2=LIMIT))
    record = canonical.parse(data, what)
    if strangers := sorted(set(record) - {"payload", "payloadType", "signatures"}):
        raise Unproven(say("{what} has the key {name!r:.60}, which no signature covers", what=what, name=strangers[0]))
    if (kind := record.get("payloadType")) != PAYLOAD_TYPE:
        raise Unproven(
            say("{what} has payload type {kind:.80}, wanted {what2!r}", what=what, kind=repr(kind), what2=PAYLOAD_TYPE)
        )
    payload = canonical.decoded(_text(record, "payload", what), f"the payload of {what}")
    canonical.exact(payload, f"the payload of {what}")
    listed = record.get("signatures")
    if not isinstance(listed, list) or len(listed) > MOST:
        raise Unproven(say("{what} has no list of at most {what2} signatures", what=what, what2=MOST))
    return Envelope(payload, tuple(_signature(one, number, what) for number, one in enumerate(listed, start=1)))


def resembles(data: bytes) -> bool:
    """Whether bytes that cannot be read may once have been an envelope: a damaged one still names its payload."""
    return b'"payload' in data


def load(path: Path) -> Envelope:
    """Read an envelope from a file. Raises Unproven, OSError."""
    return read(first_bytes(path, LIMIT + 1), str(path))


def _signature(found: object, number: int, what: Phrase | str) -> Signature:
    place = f"signature {number} of {what}"
    if not isinstance(found, dict) or not {"sig"} <= set(found) <= {"sig", "keyid"}:
        raise Unproven(say("{place} is {found:.80}, wanted sig and keyid", place=place, found=repr(found)))
    keyid = found.get("keyid", "")
    if not isinstance(keyid, str) or len(keyid) > _KEYID:
        raise Unproven(
            say("{place} has a key id that is no text of at most {what} characters", place=place, what=_KEYID)
        )
    sig = canonical.decoded(_text(found, "sig", place), place)
    if len(sig) != SIGNATURE:
        raise Unproven(
            say("{place} has {sig} bytes, an Ed25519 signature has {what}", place=place, sig=len(sig), what=SIGNATURE)
        )
    return Signature(keyid, sig)


def _text(record: Mapping[str, object], name: str, what: Phrase | str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise Unproven(say("{what} has no {name}", what=what, name=name))
    return value
