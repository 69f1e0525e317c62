"""Secrets are masked before a byte is written: patterns that are always secret, and literal secrets of this run.

Masking is deterministic, so what is judged live and what is judged again from the folder are the same bytes. This file also goes
into the worker of a soak, which masks before it writes a line: Python 3.8, nothing but the standard library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MASK = b"[masked]"

#: Keeps a search from going back where Python can say so.
_ONCE = b"+" if sys.version_info >= (3, 11) else b""

_SECRET_NAME = re.compile(
    r"(?:\w+[_-])*(?:password|passwd|passphrase|secret|api[_-]?key|secret[_-]?key|token|psk)", re.IGNORECASE
)

#: A literal shorter than this would blank out half of every output.
SHORTEST = 4


@dataclass(frozen=True)
class Pattern:
    """One kind of secret; group 1 of ``shape`` is kept, the rest becomes the mask.

    ``signs`` are lower-case words of which one is in every match, followed by ``after``: text without them is not searched.
    """

    name: str
    signs: tuple[bytes, ...]
    shape: re.Pattern[bytes]
    after: bytes = b""


def _pattern(
    name: str, signs: tuple[bytes, ...], shape: bytes, flags: int = re.IGNORECASE, after: bytes = b""
) -> Pattern:
    return Pattern(name, signs, re.compile(shape, flags), after)


PATTERNS = (
    _pattern(
        "private key",
        (b"private key",),
        rb"(-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----)"
        rb"(?:(?:[^-]|-(?!----)){0,20000}"
        + _ONCE
        + rb"-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|(?:\s*[A-Za-z0-9+/=]{8,}(?![^\s]))+)",
        0,
    ),
    _pattern("NVMe key", (b"dhhc-1:", b"nvmetlskey-1:"), rb"((?:DHHC-1|NVMeTLSkey-1):[0-9a-f]{2}:)[A-Za-z0-9+/=]+:?"),
    _pattern(
        "authorization header",
        (b"authorization",),
        rb"(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:basic|bearer|token|digest|negotiate)\s+)?)[^\s\"',]{4,}",
    ),
    _pattern(
        "named secret",
        (
            b"passw",
            b"passphrase",
            b"secret",
            b"api_key",
            b"api-key",
            b"apikey",
            b"access_key",
            b"access-key",
            b"token",
            b"psk",
        ),
        rb"((?:password|passwd|passphrase|(?<![a-z0-9])(?:secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key"
        rb"|access[_-]?key(?:[_-]?id)?|token|psk))(?:\s{0,3}=\s{0,3}|[\"']\s{0,9}:\s{0,9}|:\s?)[\"']?)"
        rb"(?!\[masked\]|(?:none|null|true|false|yes)\b)(?!\d+(?:\.\d+)?(?:[\s,;}\"']|$))[^\s\"',;&}]{3,}",
        after=rb"(?:ord|d)?(?:[_-]?(?:access[_-]?)?key)?(?:[_-]?id)?(?:\s{0,3}=|[\"']\s{0,9}:|:)",
    ),
    _pattern("userinfo of a URL", (b"://",), rb"(://[^/\s:@\"']{0,256}:)(?!\[masked\]@)[^/\s@\"']{1,1000}(?=@)"),
    _pattern("AWS key", (b"akia", b"asia"), rb"()\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", 0),
    _pattern(
        "access token",
        (b"ghp_", b"gho_", b"ghs_", b"github_pat_", b"glpat-", b"hf_", b"xoxb-", b"xoxp-", b"eyj"),
        rb"()\b(?:gh[pos]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{30,}"
        rb"|xox[bp]-[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})",
        0,
    ),
    _pattern("password hash", (b"$1$", b"$5$", b"$6$", b"$y$", b"$2"), rb"()\$(?:[156y]|2[aby])\$[^\s:]{20,}", 0),
)


def _all(data: bytes, part: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(part), data)]


class Masker:
    """Replaces secrets by ``[masked]`` and counts them."""

    def __init__(self, secrets: Iterable[str | bytes] = (), patterns: tuple[Pattern, ...] = PATTERNS) -> None:
        self._patterns = patterns
        self._signs = {sign: re.compile(re.escape(sign) + one.after) for one in patterns for sign in one.signs}
        self._secrets: list[bytes] = []
        for secret in secrets:
            self.register(secret)

    def register(self, secret: str | bytes) -> None:
        """Mask this literal from now on. Raises ValueError, without the secret, for one shorter than four bytes."""
        raw = secret.encode() if isinstance(secret, str) else secret
        if len(raw) < SHORTEST:
            raise ValueError(f"found a secret of {len(raw)} bytes, wanted at least {SHORTEST}")
        if raw not in self._secrets:
            self._secrets.append(raw)
            self._secrets.sort(key=len, reverse=True)

    def mask(self, data: bytes) -> tuple[bytes, int]:
        """Return the data without its secrets, and how many were masked."""
        count = 0
        for secret in self._secrets:
            if found := data.count(secret):
                data, count = data.replace(secret, MASK), count + found
        lower = data.lower()
        signs = {sign for sign, whole in self._signs.items() if sign in lower and whole.search(lower)}
        if signs:
            for pattern in self._patterns:
                if not signs.isdisjoint(pattern.signs):
                    data, found = pattern.shape.subn(rb"\g<1>" + MASK, data)
                    count += found
        return data, count

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where in a text secrets stand: line and column from 1 of each, in their order; the column counts characters."""
        data = text.encode("utf-8", "surrogatepass")
        starts = {at for secret in self._secrets for at in _all(data, secret)}
        starts |= {found.end(1) for one in self._patterns for found in one.shape.finditer(data)}
        found = []
        for at in sorted(starts):
            line = data.rfind(b"\n", 0, at) + 1
            found.append((data.count(b"\n", 0, line) + 1, len(data[line:at].decode("utf-8", "replace")) + 1))
        return found

    def mask_text(self, text: str) -> tuple[str, int]:
        """Same for text."""
        data, count = self.mask(text.encode("utf-8", "surrogatepass"))
        return (data.decode("utf-8", "surrogatepass"), count) if count else (text, 0)

    def mask_value(self, value: object) -> tuple[object, int]:
        """Same for every text inside a JSON-like value. A text under a secret's name is masked whole."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, bytes):
            return self.mask(value)
        if isinstance(value, Mapping):
            pairs = {name: self._mask_named(name, inner) for name, inner in value.items()}
            return {name: inner for name, (inner, _) in pairs.items()}, sum(n for _, n in pairs.values())
        if isinstance(value, (list, tuple)):
            items = [self.mask_value(inner) for inner in value]
            return [inner for inner, _ in items], sum(n for _, n in items)
        return value, 0

    def _mask_named(self, name: object, value: object) -> tuple[object, int]:
        if isinstance(name, str) and isinstance(value, str) and value and _SECRET_NAME.fullmatch(name):
            return MASK.decode(), 1
        return self.mask_value(value)
