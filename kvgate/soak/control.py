"""Start, look at, collect and stop a soak. Every verb may be repeated, and interrupted anywhere: what is done is found done."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checks.phrase import Phrase, say
from kvgate.errors import CannotTell, Damaged, NotAllowed
from kvgate.evidence.journal import now_utc
from kvgate.inventory.reader import Inventory
from kvgate.soak import remote
from kvgate.soak.package import worker_digest
from kvgate.soak.plan import plans, soaked
from kvgate.soak.remote import Place
from kvgate.soak.store import Copy, Store
from kvgate.transport.base import Answer, Command, Transport

_STOP = 120.0
_START = 100.0


@dataclass(frozen=True)
class Told:
    """What one host answered (``found``), or why it did not."""

    host: str
    found: Mapping[str, Any] = field(default_factory=dict)
    error: CannotTell | Damaged | None = None

    @property
    def state(self) -> str:
        """running, ended, vanished, absent; unknown where the host did not answer."""
        return str(self.found.get("state", "unknown")) if self.error is None else "unknown"


class Control:
    """One rack's soaks, by a transport to its hosts; ``root`` is where they are collected."""

    def __init__(self, inventory: Inventory, transport: Transport, root: Path) -> None:
        self.inventory, self.transport, self.root = inventory, transport, root
        self.hosts = tuple(soaked(inventory.rack))
        soak = inventory.rack.soak
        self.place = Place(soak.folder if soak is not None else None)

    # ---- which soak

    def known(self) -> Store | None:
        """The newest soak of this rack that this machine knows."""
        mine = [one for one in Store.all(self.root) if one.about.get("fingerprint") == self.inventory.fingerprint]
        return mine[-1] if mine else None

    def running(self) -> dict[str, list[Mapping[str, Any]]]:
        """Host -> its soaks that run or vanished, whoever started them. Raises CannotTell for a host that does not answer."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for host, answer in self._ask({host: remote.listing(self.place) for host in self.hosts}):
            rows = remote.told(host, answer).get("soaks", [])
            found[host] = [row for row in rows if row["host"] == host and row["state"] in ("running", "vanished")]
        return found

    def attach(self, scale: float = 1.0) -> tuple[Store, bool]:
        """The soak that runs, or a new one that is written down here; True where it is new.

        Raises CannotTell where a host does not answer: what runs there is not known, and two soaks would load each other.
        """
        running = {str(row["soak"]) for rows in self.running().values() for row in rows}
        if len(running) > 1:
            raise NotAllowed(
                say("several soaks run on this rack ({names}): stop all but one", names=", ".join(sorted(running)))
            )
        if running:
            return self._write_down(running.pop(), None), False
        last = self.known()
        if last is not None and not self.over(last):
            return last, False
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return self._write_down(f"soak-{self.inventory.rack.rack}-{stamp}-{secrets.token_hex(2)}"[:80], scale), True

    def over(self, store: Store) -> bool:
        """Whether every host's worker is known to have ended, or none ever began."""
        states = [store.last(host).get("state") for host in self.hosts]
        return all(state in ("ended", "absent") for state in states)

    def _write_down(self, soak: str, scale: float | None) -> Store:
        about: dict[str, object] = {
            "inventory": self.inventory.text, "file": self.inventory.file, "fingerprint": self.inventory.fingerprint,
            "begun": now_utc(), "worker": worker_digest(),
        }  # fmt: skip
        if scale is not None:
            about |= {"scale": scale, "plans": plans(self.inventory.rack, soak, scale)}
        return Store.create(self.root, soak, about)

    # ---- verbs

    def start(self, store: Store) -> list[Told]:
        """Install the worker where it is not, and start it where it does not run; one that vanished is resumed."""
        about = store.about
        wanted = about.get("plans", {})
        ready: list[str] = []
        told: list[Told] = []
        lines = {
            host: remote.install(self.place, f"{store.soak}/{host}", str(wanted[host]))
            for host in self.hosts
            if host in wanted
        }
        for host, answer in self._ask(lines):
            try:
                remote.installed(host, answer)
                ready.append(host)
            except CannotTell as error:
                told.append(Told(host, error=error))
        ready += [host for host in self.hosts if host not in wanted]
        verbs = {host: remote.verb(self.place, f"{store.soak}/{host}", "start", limit=_START) for host in ready}
        return sorted([*told, *self._verb(store, verbs)], key=lambda one: self.hosts.index(one.host))

    def status(self, store: Store) -> list[Told]:
        """Ask every host what became of its worker."""
        return self._verb(
            store, {host: remote.verb(self.place, f"{store.soak}/{host}", "status") for host in self.hosts}
        )

    def stop(self, store: Store) -> list[Told]:
        """End every worker and all that it started; the journals stay on the hosts until they are collected."""
        return self._verb(
            store, {host: remote.verb(self.place, f"{store.soak}/{host}", "stop", limit=_STOP) for host in self.hosts}
        )

    def remove(self, store: Store, hosts: list[str]) -> list[Told]:
        """Remove the soak's folder on hosts where it has ended and all of it is here."""
        return self._verb(store, {host: remote.verb(self.place, f"{store.soak}/{host}", "remove") for host in hosts})

    def collect(self, store: Store, progress: Callable[[str, int], None] | None = None) -> list[Told]:
        """Fetch all lines that are not here yet, of all hosts at once, and tell each which segments it may let go.

        ``progress`` hears of each host how many bytes came.
        """
        with store.locked():
            told = {one.host: one for one in self.status(store)}
            copies: dict[str, Copy] = {}
            for host, one in told.items():
                if one.error is None and one.state != "absent" and one.found["segments"]:
                    try:
                        copies[host] = store.copy(host)
                    except Damaged as error:
                        told[host] = Told(host, one.found, error)
            left = dict(copies)
            while left:
                for host, answer in self._ask({host: self._piece(store, host, copy) for host, copy in left.items()}):
                    try:
                        more = self._take(host, copies[host], answer, progress)
                    except (CannotTell, Damaged) as error:
                        told[host], more = Told(host, told[host].found, error), False
                    if not more:
                        del left[host]
            self._acknowledge(store, told, copies)
        return list(told.values())

    def _piece(self, store: Store, host: str, copy: Copy) -> Command:
        return remote.piece(self.place, f"{store.soak}/{host}", max(copy.number, 1), copy.size)

    def _take(
        self, host: str, copy: Copy, answer: Answer | CannotTell, progress: Callable[[str, int], None] | None
    ) -> bool:
        """Keep what came; whether there is more."""
        found = remote.pieces(host, answer)
        if found is None:
            raise Damaged(
                say(
                    "{host}: segment {number} is no more on the host and was never collected",
                    host=host,
                    number=max(copy.number, 1),
                )
            )
        for number, data in found[0]:
            copy.add(number, data)
            if progress is not None:
                progress(host, len(data))
        return found[1] and bool(found[0])

    def _acknowledge(self, store: Store, told: dict[str, Told], copies: Mapping[str, Copy]) -> None:
        done = {host: copy.number - 1 for host, copy in copies.items() if copy.number > 1 and told[host].error is None}
        commands = {
            host: remote.verb(self.place, f"{store.soak}/{host}", "acknowledge", str(number))
            for host, number in done.items()
        }
        for host, answer in self._ask(commands):
            try:
                remote.told(host, answer)
            except CannotTell as error:
                told[host] = Told(host, told[host].found, error)

    def _verb(self, store: Store, commands: Mapping[str, Command]) -> list[Told]:
        told: list[Told] = []
        for host, answer in self._ask(commands):
            try:
                found = remote.told(host, answer)
                told.append(Told(host, found))
                store.poll(host, found)
            except CannotTell as error:
                told.append(Told(host, error=error))
                store.poll(host, {"error": str(error)})
        return sorted(told, key=lambda one: self.hosts.index(one.host))

    def _ask(self, commands: Mapping[str, Command]) -> Iterator[tuple[str, Answer | CannotTell]]:
        for batch in self.transport.each({host: [command] for host, command in commands.items()}):
            yield batch.host, batch.answers[commands[batch.host].key]


def elapsed(found: Mapping[str, Any]) -> float | None:
    """Seconds of the soak since its begin, as a host that answers tells it; None where it cannot be told."""
    origin = found.get("origin")
    if not isinstance(origin, Mapping) or not origin or found.get("boot") != origin.get("boot"):
        return None
    return (float(found["mono"]) - float(origin["mono"])) * float(found["scale"])


def described(told: Told) -> Phrase:
    """What became of the worker, for people."""
    found, done = told.found, told.found.get("exit") or {}
    if told.error is not None:
        return told.error.phrase
    if told.state == "running":
        return say("runs (process {pid}, {unit})", pid=found["started"]["pid"], unit=found["started"]["unit"])
    if told.state == "ended":
        return say("ended: {why}, status {status}", why=str(done.get("why")), status=str(done.get("status")))
    if told.state == "vanished":
        if found.get("rebooted"):
            return say("gone: the host was booted since; `kvgate soak start` resumes it")
        return say("gone without a word: it was killed; `kvgate soak start` resumes it")
    return say("never began here")
