"""Whose signatures count in a campaign: the verifier's own trust file, or else the keys that the inventory names for its parties."""

from __future__ import annotations

from pathlib import Path

from checks.phrase import plain, say
from kvgate.certificates import trust
from kvgate.certificates.keys import AskPassphrase, Signer, public_key, signer
from kvgate.certificates.trust import PARTIES, Trust, Trusted
from kvgate.errors import NotAllowed, Unproven, because
from kvgate.inventory.reader import Inventory


def trusted(inventory: Inventory | None, file: Path | None) -> Trust | None:
    """Return what to trust: ``file``, else the parties' keys beside the inventory; None when neither has a key.

    Raises NotAllowed for a key file that cannot be read, Unproven for one that is no key or stands for both parties.
    """
    if file is not None:
        return trust.load(file)
    return None if inventory is None else of_inventory(inventory)


def of_inventory(inventory: Inventory) -> Trust | None:
    """Return the keys that stand in the inventory; None where one of them is not there yet: then nobody can have signed."""
    folder = Path(inventory.file).parent
    keys: dict[bytes, tuple[Trusted, ...]] = {}
    for party in PARTIES:
        listed = inventory.rack.parties.get(party)
        path = None if listed is None else folder / Path(listed.key).expanduser()
        if path is None or not path.is_file():
            return None
        try:
            key = public_key(path.read_text("utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise NotAllowed(
                say("key {path} of {party} cannot be read: {error}", path=str(path), party=party, error=because(error))
            ) from None
        if key.raw in keys:
            raise NotAllowed(
                say("{path}: vendor and customer have the same key: one key is one party's", path=str(path))
            )
        keys[key.raw] = (Trusted(party, key, None, None, str(path)),)
    return Trust(f"the parties of {inventory.file}", keys)


def signer_of(path: Path, party: str, trust: Trust | None, ask: AskPassphrase) -> Signer:
    """Return what signs for a party; where it is known whose keys count, the key must be that party's.

    Raises NotAllowed for another party's name, Unproven for another's key.
    """
    if party not in PARTIES:
        raise NotAllowed(say("found party {party!r}, wanted {names}", party=party, names=" or ".join(PARTIES)))
    found = signer(path, ask)
    lines = () if trust is None else trust.keys.get(found.public.raw, ())
    if trust is not None and party not in {line.party for line in lines}:
        raise Unproven(
            say(
                "key {fingerprint} is {whose}'s in {place}, not {party}'s: nothing was signed; give the key of {party}, or the party "
                "whose key it is (--party); where another key counts for you since, name your own trust file: --trust FILE",
                fingerprint=found.public.fingerprint,
                whose=plain(lines[0].party) if lines else say("nobody"),
                place=trust.place,
                party=party,
            )
        )
    return found
