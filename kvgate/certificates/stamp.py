"""RFC 3161 time stamps over an envelope: that it existed, with its signatures, not later than a moment that a third party names.

The token covers the envelope's canonical bytes and lies beside it as ``<certificate>.tsr``; openssl ts reads it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)  # fmt: skip

from checks.phrase import say
from kvgate.certificates.envelope import Envelope
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed, Unproven, because

SUFFIX = ".tsr"

#: Bytes of a token with its certificates; usual ones have 2 to 8 KiB.
_MOST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Stamp:
    """A verified token: when (UTC), and who says so."""

    time: datetime
    authority: str


def request(envelope: Envelope) -> bytes:
    """Return a request (``application/timestamp-query``) for a token over the envelope, with a nonce."""
    builder = TimestampRequestBuilder().data(envelope.to_bytes()).hash_algorithm(HashAlgorithm.SHA256)
    return builder.nonce(nonce=True).cert_request(cert_request=True).build().as_bytes()


def load_roots(path: Path) -> list[x509.Certificate]:
    """Certificates (PEM) of the authorities that the verifier trusts. Raises NotAllowed."""
    try:
        return x509.load_pem_x509_certificates(first_bytes(path, _MOST))
    except OSError as error:
        raise NotAllowed(say("{path} cannot be read: {strerror}", path=str(path), strerror=because(error))) from None
    except ValueError:
        raise NotAllowed(say("{path} holds no certificates in PEM", path=str(path))) from None


def load(path: Path) -> bytes:
    """Read a token. Raises NotAllowed, Unproven for a file that is too large to be one."""
    try:
        data = first_bytes(path, _MOST + 1)
    except OSError as error:
        raise NotAllowed(say("{path} cannot be read: {strerror}", path=str(path), strerror=because(error))) from None
    if len(data) > _MOST:
        raise Unproven(say("{path} has more than {what} bytes: it is no time stamp", path=str(path), what=_MOST))
    return data


def verify(token: bytes, envelope: Envelope, roots: list[x509.Certificate]) -> Stamp:
    """Verify a token over an envelope, signatures included. Raises Unproven with the reason."""
    if not roots:
        raise Unproven(say("no time-stamping authority is trusted"))
    try:
        answer = decode_timestamp_response(token)
        verifier = VerifierBuilder(roots=list(roots)).build()
        verifier.verify_message(answer, envelope.to_bytes())
        found = answer.tst_info
        return Stamp(found.gen_time.astimezone(UTC), _name(found.name, roots))
    except (VerificationError, ValueError, TypeError) as error:
        if "ErrorStack" in str(error):  # the words of a library
            raise Unproven(
                say("the time stamp does not hold: no authority that is trusted (--tsa) has signed it so")
            ) from None
        raise Unproven(say("the time stamp does not hold: {error!s:.160}", error=str(error))) from None


def _name(given: object, roots: list[x509.Certificate]) -> str:
    if isinstance(given, x509.DirectoryName):
        return given.value.rfc4514_string()
    return roots[0].subject.rfc4514_string() if len(roots) == 1 else "-"
