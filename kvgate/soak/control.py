"""Start, look at, collect and stop a soak. Every verb may be repeated, and interrupted anywhere: what is done is found done."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checks.phrase import Phrase, say
from checks.soak.attempts import Remembered, Starts
from kvgate import agreement
from kvgate.errors import CannotTell, Damaged, NotAllowed
from kvgate.evidence.journal import now_utc
from kvgate.inventory.reader import Inventory
from kvgate.soak import lying, recording, remote
from kvgate.soak.lying import Lying
from kvgate.soak.package import worker_digest
from kvgate.soak.plan import plans, soaked
from kvgate.soak.remote import Place
from kvgate.soak.starts import Book
from kvgate.soak.store import Copy, Store
from kvgate.soak.told import Told
from kvgate.transport.base import Answer, Command, Transport

_STOP = 120.0
_START = 100.0


class Control:
    """One rack's soaks, by a transport to its hosts; ``root`` is where they are collected.

    ``book``: where starts, stops and removals are written down before any host hears of them; without one, nothing is begun.
    """

    def __init__(self, inventory: Inventory, transport: Transport, root: Path, book: Book | None = None) -> None:
        self.inventory, self.transport, self.root, self.book = inventory, transport, root, book
        self.asked = False  # whether any host was
        self._remembered: dict[str, list[Remembered]] = {}
        self.hosts = tuple(soaked(inventory.rack))
        soak = inventory.rack.soak
        self.place = Place(soak.folder if soak is not None else None)

    # ---- which soak

    def known(self) -> Store | None:
        """The newest soak of this rack and campaign that this machine knows."""
        mine = [one for one in Store.all(self.root) if self._mine(one.about)]
        return mine[-1] if mine else None

    def _mine(self, about: Mapping[str, Any]) -> bool:
        campaign = self.inventory.rack.campaign
        return about.get("fingerprint") == self.inventory.fingerprint and about.get("campaign", campaign) == campaign

    def found(self) -> Store | None:
        """The soak that runs on the rack, else the one that began last, known here or lying there; None where there is none.

        A host that does not answer is passed over if this machine knows of a soak. Raises CannotTell if it does not, NotAllowed for
        several that run.
        """
        rows, silent = self._lying()
        known = self.known()
        if (name := lying.active(rows)) is not None:
            return self._write_down(name, self._laid_out(name, rows), rows)
        last = lying.newest(rows)
        if last is not None and (known is None or (last.soak != known.soak and last.begun > str(known.about["begun"]))):
            return self._write_down(last.soak, self._laid_out(last.soak, rows), rows)
        if known is None and silent:
            raise silent[0]
        if known is None and self.book is not None and (left := recording.left(self.book, set())) is not None:
            return self._write_down(left, self._planned(left, None, {}))  # started, and never heard of by a host
        return known

    def named(self, name: str) -> Store:
        """The soak of that name, which lies on a host or is known here. Raises NotAllowed where none is, CannotTell."""
        rows, silent = self._lying()
        if any(one.soak == name for one in rows):
            return self._write_down(name, self._laid_out(name, rows), rows)
        if (known := next((one for one in Store.all(self.root) if one.soak == name), None)) is not None:
            return known
        if self.book is not None and not silent and self.book.starts().of(name) is not None:
            return self._write_down(name, self._planned(name, None, {}))  # started, and never heard of by a host
        if silent:
            raise silent[0]
        names = sorted({one.soak for one in rows})
        raise NotAllowed(
            say("no host has the soak {soak}; there are: {names}", soak=name, names=", ".join(names) or say("none"))
        )

    def attach(self, scale: float | None = None, *, anew: bool = False) -> tuple[Store, bool]:
        """The soak that runs, or a new one that is written down here; True where it is new. ``scale`` None: whatever runs, else 1.

        A new one is written down in the ledger before it is written here, and both before a host hears of it. Raises CannotTell where
        a host does not answer: what runs there is not known, and two soaks would load each other. Raises NotAllowed where what runs
        is another soak than is asked for, where somebody wrote down another meanwhile, and, unless ``anew``, where one that ended was
        not collected or one that ran is gone.
        """
        begins = recording.Begins(self.book)
        rows, silent = self._lying()
        if silent:
            raise silent[0]
        lying.legible(rows)
        if (name := lying.active(rows)) is not None:
            laid_out = self._laid_out(name, rows)
            wanted = self._planned(name, scale, laid_out)
            for host, text in laid_out.items():
                if found := lying.differences(text, wanted[host]):
                    raise NotAllowed(
                        say(
                            "{what}. Attach with what it was started with, or end it: `kvgate soak stop`",
                            what=lying.otherwise(host, name, found),
                        )
                    )
            begins.goes_on(name, {**wanted, **laid_out})
            return self._write_down(name, {**wanted, **laid_out}, rows), False
        last = self.known()
        if not anew:
            lying.uncollected(rows, last)
            if last is not None and not self.over(last):
                lying.lost(last, rows, self.hosts)
                begins.known(last.soak, last.about.get("plans", {}))
                return last, False
            begins.gone({one.soak for one in rows})
        soak = begins.left({one.soak for one in rows}) or self._name()
        wanted = self._planned(soak, scale, {})
        begins.start(soak, wanted)
        return self._write_down(soak, wanted), True

    def _name(self) -> str:
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return f"soak-{self.inventory.rack.rack}-{stamp}-{secrets.token_hex(2)}"[:80]

    def differs(self, store: Store) -> list[Phrase]:
        """Where a soak was planned otherwise than this inventory and this agreement would plan it now, host by host."""
        laid_out = {host: str(text) for host, text in store.about.get("plans", {}).items() if host in self.hosts}
        wanted = self._planned(store.soak, None, laid_out)
        found = {host: lying.differences(text, wanted[host]) for host, text in laid_out.items()}
        return [lying.otherwise(host, store.soak, some) for host, some in found.items() if some]

    def unwritten(self, store: Store) -> Phrase | None:
        """That the ledger does not have the start of a soak, or that it has an end which did not come, and what to do."""
        return None if self.book is None else recording.unwritten(self.book, store.soak, over=self.over(store))

    def over(self, store: Store) -> bool:
        """Whether every host's worker is known to have ended, or none ever began; of one that was given up, as far as is known."""
        states = {store.last(host).get("state") for host in self.hosts}
        one = self.book.starts().of(store.soak) if self.book is not None and None in states else None
        given_up = {None} if one is not None and (one.stopped or one.removed) else set()
        return states <= {"ended", "absent"} | given_up

    def _lying(self) -> tuple[list[Lying], list[CannotTell]]:
        """Every soak that began on a host, and why hosts did not tell."""
        found: list[Lying] = []
        silent: list[CannotTell] = []
        for host, answer in self._ask({host: remote.listing(self.place) for host in self.hosts}):
            try:
                told = remote.told(host, answer)
                found += lying.lying(self.inventory.rack, host, told.get("soaks", []))
                self._remembered[host] = lying.remembered(host, told.get("begun", []))
            except CannotTell as error:
                silent.append(error)
        return found, silent

    def remembered(self) -> tuple[Remembered, ...]:
        """Every start of a soak that the hosts wrote down, as they told when they were last asked what lies there."""
        return tuple(one for host in self.hosts for one in self._remembered.get(host, ()))

    def untold(self) -> tuple[str, ...]:
        """Hosts that did not tell what began on them, or were not asked."""
        return tuple(host for host in self.hosts if host not in self._remembered)

    def counted(self) -> Starts | None:
        """What the ledger has of soaks, beside what hosts remember; None without a ledger."""
        if self.book is None:
            return None
        return replace(self.book.starts(), remembered=self.remembered(), unasked=self.untold())

    def _laid_out(self, soak: str, rows: Sequence[Lying]) -> dict[str, str]:
        """Host -> the plan that lies there, where it can be read. Raises CannotTell."""
        hosts = [one.host for one in rows if one.soak == soak and "plan.json" not in one.damaged]
        asked = {host: remote.plan(self.place, f"{soak}/{host}") for host in hosts}
        return {host: remote.text(host, answer) for host, answer in self._ask(asked)}

    def _planned(self, soak: str, scale: float | None, laid_out: Mapping[str, str]) -> dict[str, str]:
        """What this inventory and this agreement would have each host do; ``scale`` None: that of the plans that are laid out, else 1."""
        if scale is None:
            scale = next((float(json.loads(text)["scale"]) for text in laid_out.values()), 1.0)
        rack = self.inventory.rack
        overlay = Path(self.inventory.file).parent / rack.acceptance if rack.acceptance else None
        return plans(rack, soak, scale, agreement.read(overlay).digest)

    def _write_down(self, soak: str, wanted: Mapping[str, str], rows: Sequence[Lying] = ()) -> Store:
        begun = min((one.begun for one in rows if one.soak == soak and one.begun), default=now_utc())
        told = [json.loads(text) for text in wanted.values()]
        about: dict[str, object] = {
            "inventory": self.inventory.text, "file": self.inventory.file, "fingerprint": self.inventory.fingerprint,
            "campaign": self.inventory.rack.campaign, "begun": begun, "worker": worker_digest(),
            "scale": told[0]["scale"] if told else None, "plans": dict(wanted),
        }  # fmt: skip
        return Store.create(self.root, soak, about)

    # ---- verbs

    def start(self, store: Store) -> list[Told]:
        """Install the worker where it is not, and start it where it does not run; one that vanished is resumed."""
        began = {one.host for one in self._lying()[0] if one.soak == store.soak}  # by whichever worker lies there
        wanted = {host: text for host, text in store.about.get("plans", {}).items() if host not in began}
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
        found = sorted([*told, *self._verb(store, verbs)], key=lambda one: self.hosts.index(one.host))
        if self.book is not None and all(one.state in ("running", "ended") for one in found):
            recording.begun(self.book, store.soak)
        return found

    def status(self, store: Store) -> list[Told]:
        """Ask every host what became of its worker."""
        return self._verb(
            store, {host: remote.verb(self.place, f"{store.soak}/{host}", "status") for host in self.hosts}
        )

    def stop(self, store: Store) -> list[Told]:
        """End every worker and all that it started; the journals stay on the hosts until they are collected.

        Written down first, unless it came to its end on every host by itself.
        """
        if self.book is not None and any(one.state != "ended" for one in self.status(store)):
            recording.stop(self.book, store.soak)
        return self._verb(
            store, {host: remote.verb(self.place, f"{store.soak}/{host}", "stop", limit=_STOP) for host in self.hosts}
        )

    def remove(self, store: Store, told: Sequence[Told]) -> list[Told]:
        """Remove the soak's folder where it ended and was then collected without an error; the host looks whether it holds more by now."""
        commands = {
            one.host: remote.verb(self.place, f"{store.soak}/{one.host}", "remove", *_last(one))
            for one in told
            if one.error is None and one.state == "ended"
        }
        if self.book is not None and commands:
            self.book.write("remove", store.soak, {})
        return self._verb(store, commands)

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
        whole = {host: told[host].state == "ended" for host in copies}  # nothing is added any more: all of it is here
        done = {
            host: copy.number if whole[host] else copy.number - 1
            for host, copy in copies.items()
            if told[host].error is None and (whole[host] or copy.number > 1)
        }
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
        self.asked = True
        for batch in self.transport.each({host: [command] for host, command in commands.items()}):
            yield batch.host, batch.answers[commands[batch.host].key]


def _last(told: Told) -> tuple[str, str]:
    """Number and size of the last segment on the host."""
    number, size = told.found["segments"][-1] if told.found["segments"] else (0, 0)
    return str(number), str(size)
