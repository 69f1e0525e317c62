"""Who has signed an envelope: distinct keys of distinct parties, as the verifier's own trust file says. Key ids never count."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from checks.phrase import Phrase, joined, say
from kvgate.certificates.envelope import Envelope, Signature, pae
from kvgate.certificates.trust import PARTIES, Trust, Trusted
from kvgate.errors import Unproven


class State(StrEnum):
    """How far a document has come. Only FINAL opens anything."""

    UNSIGNED = "UNSIGNED"
    DRAFT = "DRAFT"  # some of the parties
    FINAL = "FINAL"  # all of them
    REFUSED = "REFUSED"  # a signature that must not be there


@dataclass(frozen=True, slots=True)
class Endorsement:
    """Result of weighing: the lines that signed, the parties still missing, and every signature that is refused, with why."""

    state: State
    signed: tuple[Trusted, ...]
    missing: tuple[str, ...]
    problems: tuple[Phrase, ...]

    def require(self, what: str, *, final: bool = True) -> None:
        """Raise Unproven unless all parties (``final=False``: at least one) have signed and nothing is refused."""
        if self.problems:
            raise Unproven(say("{what}: {problems}", what=what, problems=joined(self.problems)))
        if self.state is State.UNSIGNED or (final and self.state is not State.FINAL):
            raise Unproven(
                say(
                    "{what} is {state}: {names} must sign it (kvgate cosign)",
                    what=what,
                    state=self.state,
                    names=" and ".join(self.missing),
                )
            )


def _unknown(number: int, signature: Signature, trust: Trust) -> Phrase:
    """Why no key verifies a signature. A key id proves nothing, but one that is known says where to look first."""
    keyid = printable(signature.keyid) or "-"
    if any(lines[0].key.fingerprint == signature.keyid for lines in trust.keys.values()):
        return say(
            "signature {number} is not over this text by {keyid} of {place}, as it calls itself: the text was changed after it was "
            "signed, or another key signed; ask for the file as it was signed",
            number=number, keyid=keyid, place=trust.place,
        )  # fmt: skip
    return say(
        "signature {number} was made by no key of {place} (it calls itself {keyid})",
        number=number, place=trust.place, keyid=keyid,
    )  # fmt: skip


def weigh(envelope: Envelope, trust: Trust, at: datetime, parties: Collection[str] = PARTIES) -> Endorsement:
    """Weigh every signature at a moment (UTC). Each must be by one trusted key, that counts then, of another party.

    Raises ValueError when no party is asked for: nothing would then be proven by nobody.
    """
    if not parties or len(set(parties)) != len(tuple(parties)):
        raise ValueError(f"found parties {sorted(parties)}, wanted one or more, each once")
    message = pae(envelope.payload)
    signed: dict[str, Trusted] = {}
    problems: list[Phrase] = []
    if envelope.digest in trust.revoked_documents:
        problems.append(say("the document itself was revoked: sha256:{digest}", digest=envelope.digest))
    for number, signature in enumerate(envelope.signatures, start=1):
        lines = next((found for found in trust.keys.values() if found[0].key.verifies(signature.sig, message)), None)
        if lines is None:
            problems.append(_unknown(number, signature, trust))
        elif (flaw := _flaw(lines, trust, at)) is not None:
            problems.append(flaw)
        elif (party := lines[0].party) not in parties:
            problems.append(
                say("signature {number} is by {party}, who is no party to this", number=number, party=party)
            )
        elif party in signed:
            problems.append(say("{party} has signed twice: the other party's signature is another key's", party=party))
        else:
            signed[party] = lines[0]
    missing = tuple(party for party in parties if party not in signed)
    return Endorsement(_state(signed, missing, problems), tuple(signed.values()), missing, tuple(problems))


def _state(signed: Collection[str], missing: Collection[str], problems: Collection[Phrase]) -> State:
    if problems:
        return State.REFUSED
    if not signed:
        return State.UNSIGNED
    return State.DRAFT if missing else State.FINAL


def _flaw(lines: tuple[Trusted, ...], trust: Trust, at: datetime) -> Phrase | None:
    """Why a key that signed does not count; one line of the file under which it does is enough."""
    party, name = lines[0].party, lines[0].key.fingerprint
    if name in trust.revoked_keys:
        return say("key {key} of {party} was revoked", key=name, party=party)
    flaws = [flaw for line in lines if (flaw := line.flaw(at)) is not None]
    if len(flaws) < len(lines):
        return None
    return say("key {key} of {party} does not count: {why}", key=name, party=party, why=flaws[0])


def printable(text: str) -> str:
    """Return a text of a stranger so that no terminal obeys it."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:80]
