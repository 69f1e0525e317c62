"""How anybody verifies a certificate with openssl and a shell alone: printed on its sheet, and run by a test."""

from __future__ import annotations

from shlex import quote

#: An Ed25519 public key in DER is these twelve bytes and the key (RFC 8410); ssh keeps the key as the last 32 of its 51 bytes.
_DER = r"\060\052\060\005\006\003\053\145\160\003\041\000"


def recipe(file: str, digest: str, party: str, *, number: int) -> str:
    """Return commands that check digest and signature ``number`` of a certificate against ``<party>.pub`` (ssh-ed25519 AAAA...)."""
    field = f"tr ',' '\\n' <{quote(file)} | sed -n 's/.*\"%s\":\"\\([^\"]*\\)\".*/\\1/p'"
    payload, signature = field % "payload", (field % "sig") + f" | sed -n {number}p"
    return "\n".join(
        [
            f"{payload} | base64 -d >payload",
            f"{signature} | base64 -d >sig",
            f"sha256sum <payload   # {digest}",
            "(printf 'DSSEv1 28 application/vnd.in-toto+json %s ' $(($(wc -c <payload))); cat payload) >signed",
            f"(printf '{_DER}'; cut -d' ' -f2 {quote(party)}.pub | base64 -d | tail -c 32) >key.der",
            "openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in signed -sigfile sig",
        ]
    )
