"""The hosts of a draft as named on the command line, and the host keys that a person has verified: none is trusted on first use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from checks.phrase import say
from kvgate.errors import NotAllowed
from kvgate.transport.hostkeys import KnownHosts
from kvgate.transport.ssh_config import Resolver, hop

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)
_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}", re.ASCII)
_ROLES = ("array", "node")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One host to look at. ``name`` becomes its name in the inventory; ``role`` None is guessed."""

    name: str
    role: str | None
    address: str
    port: int | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """A verified host key, and who verified it."""

    fingerprint: str
    how: str


def hosts(words: Sequence[str], port: int | None = None) -> tuple[Wanted, ...]:
    """``[array:|node:][NAME=][USER@]ADDRESS[:PORT]`` a word. Raises NotAllowed for one that reads otherwise, or a name used twice."""
    found: list[Wanted] = []
    for word in words:
        role, _, rest = word.partition(":") if word.partition(":")[0] in _ROLES else ("", "", word)
        name, equals, place = rest.rpartition("=")
        address, own_port, user = hop(place)
        if not equals:
            name = address if own_port is None else f"{address}-{own_port}"
        if not address or address.startswith("-") or re.search(r"\s", address):
            raise NotAllowed(
                say("found host {word!r}, wanted {form}", word=word, form="[array:|node:][NAME=][USER@]ADDRESS[:PORT]")
            )
        name = name if equals else name.replace(":", "-")
        if _NAME.fullmatch(name) is None:
            raise NotAllowed(
                say(
                    "found the name {name!r} for host {word!r}, wanted letters, digits and _ . -: NAME=ADDRESS",
                    name=name,
                    word=word,
                )
            )
        if any(other.name == name for other in found):
            raise NotAllowed(
                say("two hosts are called {name}: name them apart, as in array-1={place}", name=name, place=place)
            )
        if any((other.address, other.port) == (address, own_port or port) for other in found):
            raise NotAllowed(say("host {place} is named twice: name it once", place=place))
        found.append(Wanted(name, role or None, address, own_port or port, user))
    return tuple(found)


def pins(wanted: Sequence[Wanted], given: Sequence[str], resolver: Resolver, user: str | None = None) -> dict[str, Pin]:
    """Host name -> verified key: one given by hand, else the one in the operator's known_hosts.

    Raises NotAllowed naming every host that is unknown to both, and how a person verifies its key. Contacts nothing.
    """
    by_hand = _given(wanted, given)
    known, strange = KnownHosts(), []
    found: dict[str, Pin] = {}
    for host in wanted:
        if host.name in by_hand:
            found[host.name] = Pin(by_hand[host.name], "given by --host-key")
            continue
        endpoint = resolver.resolve(host.address, host.port, host.user or user)
        if (fingerprint := known.pin(endpoint)) is not None:
            found[host.name] = Pin(fingerprint, f"from the operator's known_hosts, entry {endpoint.place}")
        else:
            strange.append(f"  {host.name} ({endpoint.place}): --host-key {host.name}=SHA256:...")
    if strange:
        raise NotAllowed(
            say(
                "no verified host key, and none is trusted on first use:\n{hosts}\nread the fingerprint on the host's console "
                "(not over the network): ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\nthen give it as above, or log in "
                "once with ssh, compare what it shows, and answer yes: known_hosts is read too",
                hosts="\n".join(strange),
            )
        )
    return found


def _given(wanted: Sequence[Wanted], given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    addresses = [host.address for host in wanted]
    names = {host.address: host.name for host in wanted if addresses.count(host.address) == 1}
    names |= {host.name: host.name for host in wanted}
    for word in given:
        name, _, key = word.rpartition("=")
        if _KEY.fullmatch(key) is None:
            raise NotAllowed(
                say(
                    "found --host-key {word!r}, wanted HOST=SHA256:... with 43 characters, as ssh-keygen -lf prints it",
                    word=word,
                )
            )
        if not name and len(wanted) > 1:
            raise NotAllowed(
                say(
                    "found --host-key {key} for {count} hosts, wanted to know whose: HOST={key}",
                    key=key,
                    count=len(wanted),
                )
            )
        host = names.get(name) if name else wanted[0].name
        if host is None or found.get(host, key) != key:
            raise NotAllowed(
                say(
                    "found --host-key {word!r}, wanted one key for one of: {hosts}",
                    word=word,
                    hosts=", ".join(one.name for one in wanted),
                )
            )
        found[host] = key
    return found
