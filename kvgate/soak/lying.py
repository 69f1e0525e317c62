"""What soaks lie on the hosts, whoever started them: the hosts carry the state, this machine may have lost or never had it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.phrase import Phrase, joined, say
from checks.soak.attempts import Remembered
from kvgate.codec import canonical
from kvgate.errors import NotAllowed
from kvgate.inventory.model import Rack
from kvgate.soak.store import Copy, Store

_NAMED = 6
_SHOWN = 60
#: Keys that plans of earlier versions do not have: what they do not say cannot differ.
_LATER = frozenset({"acceptance"})


@dataclass(frozen=True, slots=True)
class Lying:
    """One soak on one host. ``mine``: of this rack and campaign; ``unread``: bytes that nobody acknowledged, None: not told.

    ``damaged``: files of it that cannot be read there.
    """

    soak: str
    host: str
    state: str
    begun: str
    scale: float
    why: str
    ended: str
    unread: int | None
    segments: tuple[tuple[int, int], ...]
    mine: bool
    damaged: tuple[str, ...] = ()

    def collected(self, store: Store | None) -> bool:
        """Whether all of it is safe: acknowledged by whoever collected it, or here to the last byte."""
        if self.unread == 0:
            return True
        if store is None or store.soak != self.soak:
            return False
        here = {number: path.stat().st_size for number, path in Copy.listed(store.path / self.host)}
        return all(here.get(number) == size for number, size in self.segments)


def lying(rack: Rack, host: str, rows: Iterable[Mapping[str, Any]]) -> list[Lying]:
    """Read what a host lists; a worker of an earlier version does not tell whose soak it is, and may be anybody's."""
    found = []
    for row in rows:
        if row["host"] != host or row["state"] == "absent":
            continue
        done, unread = row.get("exit") or {}, row.get("unread")
        mine = all(not row.get(key) or row[key] == wanted for key, wanted in _identity(rack))
        found.append(
            Lying(
                str(row["soak"]), host, str(row["state"]), str((row.get("origin") or {}).get("utc", "")), float(row["scale"]),
                str(done.get("why", "")), str(done.get("utc", "")), unread if isinstance(unread, int) else None,
                tuple((int(number), int(size)) for number, size in row["segments"]), mine,
                tuple(map(str, row.get("damaged", ()))),
            )
        )  # fmt: skip
    return found


def remembered(host: str, rows: object) -> list[Remembered]:
    """Read the starts that a host wrote down. A line that is none is passed over: the list is of the host's disk."""
    told = [row for row in rows if isinstance(row, dict) and row.get("soak")] if isinstance(rows, list) else []
    return [Remembered(host, *(str(row.get(key, "")) for key in ("soak", "utc", "rack", "campaign"))) for row in told]


def _identity(rack: Rack) -> tuple[tuple[str, str], ...]:
    return ("rack", rack.rack), ("campaign", rack.campaign)


def active(rows: Iterable[Lying]) -> str | None:
    """The soak that runs, or was killed and can be resumed. Raises NotAllowed for several: they load each other."""
    names = sorted({one.soak for one in rows if one.state in ("running", "vanished")})
    if len(names) > 1:
        raise NotAllowed(
            say(
                "several soaks run on this rack ({names}) and load each other: `kvgate soak stop --soak NAME` ends one, until one is left",
                names=", ".join(names),
            )
        )
    return names[0] if names else None


def legible(rows: Iterable[Lying]) -> None:
    """Raises NotAllowed where the plan of a soak that has not ended cannot be read on its host: what it is cannot be compared."""
    left = [one for one in rows if "plan.json" in one.damaged and one.state != "ended"]
    if not left:
        return
    parts = [
        say("{host}: plan.json of {soak} cannot be read, it {state}", host=one.host, soak=one.soak, state=_doing(one))
        for one in left[:_NAMED]
    ]
    raise NotAllowed(
        say(
            "{what}. No soak is started beside it: `kvgate soak stop --soak {soak}` ends what runs and gives it up, its journal stays "
            "and is collected; look at the host's disk and file system (`dmesg`)",
            what=joined(parts), soak=left[0].soak,
        )
    )  # fmt: skip


def _doing(one: Lying) -> Phrase:
    return say("runs") if one.state == "running" else say("does not run")


def newest(rows: Iterable[Lying]) -> Lying | None:
    """The soak of this rack and campaign that began last."""
    return max((one for one in rows if one.mine), key=lambda one: (one.begun, one.soak), default=None)


def uncollected(rows: Iterable[Lying], store: Store | None) -> None:
    """Raises NotAllowed where a soak of this rack ended and its journal was not brought in whole: it would be forgotten there."""
    left = [one for one in rows if one.mine and one.state == "ended" and not one.collected(store)]
    if not left:
        return
    parts = [
        say(
            "{host} keeps {soak}, which ended ({why}, {utc}) and was not collected to its end",
            host=one.host, soak=one.soak, why=ending(one.why), utc=one.ended[:19],
        )
        for one in left[:_NAMED]
    ]  # fmt: skip
    raise NotAllowed(
        say(
            "{what}. `kvgate soak collect` brings it here, pytest -m G4 judges it; `kvgate soak start --anew` leaves it where it is "
            "and begins another",
            what=joined(parts),
        )
    )


def lost(store: Store, rows: Sequence[Lying], hosts: Iterable[str]) -> None:
    """Raises NotAllowed where a host has lost a soak that is not over: another one under its name would not follow."""
    known = {(one.soak, one.host) for one in rows}
    gone = [host for host in hosts if (store.soak, host) not in known and Copy.listed(store.path / host)]
    if gone:
        raise NotAllowed(
            say(
                "{hosts} no longer has {soak}: its folder was removed there, or the host was set up anew. What was collected is here and "
                "can be judged (pytest -m G4); `kvgate soak start --anew` begins another",
                hosts=", ".join(gone), soak=store.soak,
            )
        )  # fmt: skip


def ending(why: str) -> Phrase:
    """Why a worker ended, for people."""
    return {
        "planned": say("as planned"), "stopped": say("stopped by a person"), "full": say("no room for its journal"),
        "vanished": say("killed, and given up"),
    }.get(why, Phrase("{why}", (("why", why),)))  # fmt: skip


def differences(running: str, asked: str) -> list[Phrase]:
    """What a plan that was laid out says otherwise than the one that is asked for now, both sides of each."""
    there, here = json.loads(running), json.loads(asked)
    if there.get("scale") != here.get("scale"):  # how often is sampled follows from it
        there.pop("streams", None)
        here.pop("streams", None)
    return list(_differ("", there, {key: one for key, one in here.items() if key in there or key not in _LATER}))


def _differ(path: str, there: Any, here: Any) -> Iterable[Phrase]:
    if there == here:
        return
    if path.count(".") < 2 and isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            yield from _differ(f"{path}.{key}" if path else key, there.get(key), here.get(key))
    elif path == "loads":
        mine, yours = ({one["name"]: one for one in plan} for plan in (there, here))
        yield from _differ("loads", mine, yours)
    else:
        yield say("{what}: {there} there, {here} asked for", what=path, there=_brief(there), here=_brief(here))


def _brief(value: object) -> Phrase | str:
    if value is None:
        return say("nothing")
    text = value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else canonical(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def otherwise(host: str, soak: str, found: Sequence[Phrase]) -> Phrase:
    """The sentence that names the differences."""
    parts = list(found[:_NAMED])
    if len(found) > _NAMED:
        parts.append(say("and {more} more", more=len(found) - _NAMED))
    return say(
        "{host}: {soak} was planned otherwise than what is asked for now: {differences}",
        host=host, soak=soak, differences=joined(parts),
    )  # fmt: skip
