"""Whose keys count for which party: OpenSSH's ``allowed_signers`` (ssh-keygen(1)), and what was revoked.

A verifier keeps its own trust file. Its principals are the parties; a key stands in it for one party only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import translate
from pathlib import Path

from checks.phrase import Phrase, say
from kvgate.certificates.keys import PublicKey, public_key
from kvgate.codec import first_bytes
from kvgate.errors import NotAllowed, Unproven, because

#: What the keys are for; a line that names namespaces counts only when this is one of them.
NAMESPACE = "kvgate"

#: The two parties that sign.
VENDOR, CUSTOMER = "vendor", "customer"
PARTIES = (VENDOR, CUSTOMER)

#: Bytes and lines of a trust file or revocation list.
_MOST = 2**20

_PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,62}", re.ASCII)
_TIME = re.compile(r"\d{8}(\d{4}(\d\d)?)?Z?", re.ASCII)
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Trusted:
    """One line: a party, its key, when the key counts (UTC, both ends included), and the comment (who holds it)."""

    party: str
    key: PublicKey
    after: datetime | None
    before: datetime | None
    who: str

    def flaw(self, at: datetime) -> Phrase | None:
        """Why the key does not count at that time; None when it does."""
        if self.after is not None and at < self.after:
            return say("it counts only from {time} on", time=f"{self.after:%Y-%m-%dT%H:%M:%SZ}")
        if self.before is not None and at > self.before:
            return say("it counted only until {time}", time=f"{self.before:%Y-%m-%dT%H:%M:%SZ}")
        return None


@dataclass(frozen=True)
class Trust:
    """A trust file with its revocation list. ``keys`` are by raw public key, so that none stands for two parties."""

    place: str
    keys: Mapping[bytes, tuple[Trusted, ...]]
    revoked_keys: frozenset[str] = frozenset()  # fingerprints
    revoked_documents: frozenset[str] = frozenset()  # digests of statements

    def of(self, party: str) -> list[Trusted]:
        """Every line of one party."""
        return [line for lines in self.keys.values() for line in lines if line.party == party]


def load(path: Path, revoked: Path | None = None) -> Trust:
    """Read a trust file; ``revoked`` or else ``<path>.revoked``, where that is there. Raises NotAllowed, Unproven."""
    beside = Path(f"{path}.revoked")
    listed = revoked if revoked is not None else beside if beside.is_file() else None
    return read(_text(path), "" if listed is None else _text(listed), str(path), str(listed or ""))


def read(text: str, revoked: str = "", place: str = "trust file", revoked_place: str = "revocation list") -> Trust:
    """Read both texts. Raises Unproven naming the line that cannot be believed."""
    keys: dict[bytes, tuple[Trusted, ...]] = {}
    for number, line in _lines(text):
        where = f"{place}:{number}"
        for found in _line(line, where):
            others = keys.get(found.key.raw, ())
            if stranger := next((one for one in others if one.party != found.party), None):
                raise Unproven(
                    say(
                        "{where}: key {fingerprint} stands for {party} and for {party2}: one key is one party's",
                        where=where,
                        fingerprint=found.key.fingerprint,
                        party=stranger.party,
                        party2=found.party,
                    )
                )
            keys[found.key.raw] = (*others, found)
    fingerprints, digests = _revoked(revoked, revoked_place)
    return Trust(place, keys, fingerprints, digests)


def _line(line: str, where: str) -> Iterator[Trusted]:
    words = _words(line, where)
    at = next((place for place, word in enumerate(words) if _is_key_type(word)), 0)
    if at not in (1, 2) or len(words) < at + 2:
        raise Unproven(
            say(
                "{where}: found {line!r:.60}, wanted: vendor|customer [options] ssh-ed25519 AAAA... [comment]",
                where=where,
                line=line,
            )
        )
    options = _options(words[1], where) if at == 2 else {}
    if "namespaces" in options and not _in(NAMESPACE, options["namespaces"]):
        return
    if words[at] != "ssh-ed25519":
        raise Unproven(
            say(
                "{where}: key of type {kind!r:.60} cannot sign certificates, wanted ssh-ed25519",
                where=where,
                kind=words[at],
            )
        )
    key = public_key(f"ssh-ed25519 {words[at + 1]}", where)
    after, before = _time(options, "valid-after", where), _time(options, "valid-before", where)
    if after is not None and before is not None and after > before:
        raise Unproven(say("{where}: valid-after is later than valid-before: this key never counts", where=where))
    for principal in dict.fromkeys(words[0].split(",")):
        if _PRINCIPAL.fullmatch(principal) is None:
            raise Unproven(
                say(
                    "{where}: found principal {principal!r:.60}, wanted a party's name, no pattern",
                    where=where,
                    principal=principal,
                )
            )
        yield Trusted(principal, key, after, before, " ".join(words[at + 2 :]))


def _options(text: str, where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in re.findall(r'(?:[^,"]|"[^"]*")+', text):
        name, equals, value = item.partition("=")
        name = name.lower()
        if name in found:
            raise Unproven(say("{where}: option {name!r:.40} stands twice", where=where, name=name))
        if name not in ("namespaces", "valid-after", "valid-before") or not equals:
            raise Unproven(
                say(
                    "{where}: found option {item!r:.60}, wanted namespaces, valid-after or valid-before",
                    where=where,
                    item=item,
                )
            )
        found[name] = value.strip('"')
    return found


def _time(options: Mapping[str, str], name: str, where: str) -> datetime | None:
    """``YYYYMMDD[HHMM[SS]][Z]``; without Z it is this machine's local time, as in OpenSSH."""
    text = options.get(name)
    if text is None:
        return None
    digits = text.removesuffix("Z")
    try:
        if _TIME.fullmatch(text) is None:
            raise ValueError
        bare = datetime.strptime(digits, {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}[len(digits)])  # noqa: DTZ007 - zone: below
    except ValueError:
        raise Unproven(
            say("{where}: {name} is {text!r:.40}, wanted YYYYMMDD[HHMM[SS]]Z", where=where, name=name, text=text)
        ) from None
    return bare.replace(tzinfo=UTC) if text.endswith("Z") else bare.astimezone(UTC)


def _in(word: str, patterns: str) -> bool:
    """OpenSSH's pattern list: one match is enough, a match with ``!`` in front is a no."""
    hits = [one for one in patterns.split(",") if _matches(word, one.removeprefix("!"))]
    return bool(hits) and not any(one.startswith("!") for one in hits)


def _matches(word: str, pattern: str) -> bool:
    plain = pattern.replace("[", "[[]")  # OpenSSH knows * and ? only
    return re.fullmatch(translate(plain), word) is not None


def _revoked(text: str, place: str) -> tuple[frozenset[str], frozenset[str]]:
    """Public keys, ``SHA256:...`` fingerprints of keys, ``sha256:...`` digests of documents; one a line."""
    fingerprints, digests = set(), set()
    for number, line in _lines(text):
        if document := _DIGEST.fullmatch(line.split()[0]):
            digests.add(document[1])
        elif re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", line.split()[0]):
            fingerprints.add(line.split()[0])
        else:
            fingerprints.add(public_key(line, f"{place}:{number}").fingerprint)
    return frozenset(fingerprints), frozenset(digests)


def _is_key_type(word: str) -> bool:
    return word.startswith(("ssh-", "sk-ssh-", "ecdsa-sha2-", "sk-ecdsa-sha2-"))


def _words(line: str, where: str) -> list[str]:
    """Split at blanks outside quotes: options may hold blanks."""
    if line.count('"') % 2:
        raise Unproven(say("{where}: a quotation mark is missing", where=where))
    return re.findall(r'(?:[^\s"]|"[^"]*")+', line)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if line and not line.startswith("#"):
            yield number, line


def _text(path: Path) -> str:
    try:
        data = first_bytes(path, _MOST + 1)
    except OSError as error:
        raise NotAllowed(say("{path} cannot be read: {strerror}", path=str(path), strerror=because(error))) from None
    if len(data) > _MOST:
        raise Unproven(
            say("{path} has more than {what} bytes: it is no trust file or revocation list", path=str(path), what=_MOST)
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unproven(say("{path} is no text", path=str(path))) from None
