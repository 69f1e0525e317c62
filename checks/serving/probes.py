"""What a serving host is asked and told around a cell: engines started and stopped, stores emptied and counted, caches dropped.

Every script is constant and begins with its name (``: kvgate serving NAME``); what varies follows as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from checks.lexing import integer
from checks.parsers import df, model_config
from checks.parsers.df import Space
from checks.parsers.model_config import ModelConfig
from checks.probe import Level, Probe, UnreadableOutput
from checks.serving import sections
from checks.serving.sections import SHOW
from checks.serving.site import Server

Fact = TypeVar("Fact")

#: Says what a container's runtime calls its state. Only a runtime that answered that there is none makes one absent: one that
#: does not run, or lets nobody ask, tells nothing, and its engines may well be up.
BECOME = (
    """become() { out=$("$runtime" container inspect -f '{{.State.Status}}' "$name" 2>&1) && """
    """{ printf '%s\\n' "$out" | tail -n 1; return; }; """
    'case $out in *[Nn]"o such container"*|*[Nn]"o such object"*) echo absent;; '
    """*) echo "untold: $(printf '%s\\n' "$out" | grep . | tail -n 1 | cut -c 1-200)";; esac; }; """
)

# An engine that is told to stop may need to be told twice; whoever still listens on its port is no engine of ours.
_STOP = (
    f": kvgate serving stop; way=$1; name=$2; runtime=$3; {BECOME}"
    'case $way in unit) systemctl stop -- "$name"; systemctl is-active -- "$name" | sed "s/^/state /";; '
    'container) "$runtime" stop -t 120 "$name" >/dev/null 2>&1; echo "state $(become)";; esac; echo end'
)
_START = (
    ": kvgate serving start; way=$1; name=$2; runtime=$3; "
    'case $way in unit) systemctl reset-failed -- "$name" 2>/dev/null; systemctl start --no-block -- "$name";; '
    'container) "$runtime" start "$name";; esac 2>&1 | tail -n 3 | sed "s/^/said /"; echo end'
)
# Ready is who names the model on its own page; a unit that failed meanwhile is not waited for.
_READY = (
    f": kvgate serving ready; url=$1; model=$2; limit=$3; way=$4; name=$5; runtime=$6; waited=0; {BECOME}"
    'while :; do models=$(curl -sS -f -m 5 --url "$url/v1/models" 2>&1); '
    'case $models in *"\\"$model\\""*) echo "ready $waited"; break;; esac; state=; '
    'case $way in unit) state=$(systemctl is-active -- "$name");; '
    "container) state=$(become);; esac; "
    'case $state in failed|exited|dead|stopped|created|absent|untold*) echo "over $state"; break;; esac; '
    '[ "$waited" -lt "$limit" ] || { echo "late ${state:-running}"; break; }; sleep 2; waited=$((waited + 2)); done; '
    'case $way in unit) journalctl -u "$name" -n 4 -o cat --no-pager;; container) "$runtime" logs --tail 4 "$name";; esac '
    '2>&1 | cut -c 1-200 | sed "s/^/log /"; echo end'
)
_EMPTY = (
    ': kvgate serving empty; [ -d "$1" ] && find "$1" -xdev -mindepth 1 -delete 2>&1 | head -n 3 | sed \'s/^/said /\'; '
    """echo "left $(find "$1" -xdev -mindepth 1 2>/dev/null | wc -l)"; echo end"""
)
_WRITABLE = (
    ': kvgate serving writable; script=\'f=$1/.kvgate-probe; echo kvgate >"$f" && cat -- "$f" && rm -- "$f"\'; '
    'if [ -n "$2" ]; then runuser -u "$2" -- sh -c "$script" sh "$1"; else sh -c "$script" sh "$1"; fi 2>&1'
)
# Put queues have drained when files and bytes stand still for a pause; then everything is on the device.
_KEPT = (
    ": kvgate serving kept; limit=$2; pause=$3; waited=0; before=; "
    """count() { find "$1" -xdev -type f -printf '%s\\n' | awk '{ n += 1; s += $1 } END { printf "%d %.0f", n, s }'; }; """
    'while :; do now=$(count "$1"); [ "$now" = "$before" ] && { echo "kept $now"; break; }; before=$now; '
    '[ "$waited" -lt "$limit" ] || { echo "moving $now"; break; }; sleep "$pause"; waited=$((waited + pause)); done; '
    'sync -f -- "$1"; echo end'
)
_DROP = (
    ": kvgate serving drop; sync; echo 3 >/proc/sys/vm/drop_caches && echo dropped; "
    "sed -n 's/^\\(Cached\\|Dirty\\): *\\([0-9]*\\) kB$/\\1 \\2/p' /proc/meminfo; echo end"
)
# An engine may say 200 and, in its answer, that it did not succeed.
_RESET = (
    ": kvgate serving reset; url=$1; shift; "
    """status() { curl -sS -m 60 -w ' %{http_code}' -X "$1" --url "$2" 2>/dev/null | """
    """{ out=$(cat); printf '%s' "${out##*[!0-9]}"; case $out in *'"success"'*false*) printf ' false';; esac; }; }; """
    'echo "engine $(status POST "$url")"; '
    'for one in "$@"; do echo "store $(status DELETE "$one")"; done; echo end'
)
#: Where each engine takes the order to forget what it keeps in accelerators and host memory.
_RESETS = {"vllm": "/reset_prefix_cache", "sglang": "/flush_cache"}
_ROOM = (
    f": kvgate serving room; {SHOW}"
    'show df df -B1 --output=source,fstype,size,used,avail,itotal,iavail,target "$1"; show config cat -- "$2"; echo "== end"'
)


@dataclass(frozen=True, slots=True)
class State:
    """What became of an engine that was told to stop or start: its state as systemd or the runtime calls it, and what was said."""

    state: str
    said: str


@dataclass(frozen=True, slots=True)
class Ready:
    """After how many seconds an engine answered with its model; None where it did not, with its state and its last words."""

    seconds: int | None
    state: str
    log: str


@dataclass(frozen=True, slots=True)
class Count:
    """Files and bytes in a store's folder. ``still`` says whether they had stopped changing."""

    files: int
    size: int
    still: bool


@dataclass(frozen=True, slots=True)
class Room:
    """Space on the mount of an arm, and the model's shape: together they tell whether the working set fits."""

    space: tuple[Space, ...]
    config: ModelConfig


@dataclass(frozen=True, slots=True)
class Reset:
    """HTTP statuses of an eviction without a restart: the engine's own cache, then every control page of the store.

    ``refused``: one of them answered that it did not succeed, whatever its status.
    """

    engine: int
    store: tuple[int, ...]
    refused: bool = False


def stopped(server: Server) -> Probe[State]:
    """Stop one engine and say what state it is in then."""
    if server.way == "command":
        return Probe("serving-stop", server.stop, _said, 300.0, level=Level.LOAD)
    return _script("serving-stop", _STOP, (server.way, server.target, server.runtime), _state, 300.0)


def started(server: Server, limit: float) -> Probe[State]:
    """Start one engine; whether it serves is asked by :func:`ready`."""
    if server.way == "command":
        return Probe("serving-start", server.start, _said, limit, level=Level.LOAD)
    return _script("serving-start", _START, (server.way, server.target, server.runtime), _state, 120.0)


def ready(server: Server, model: str, seconds: float) -> Probe[Ready]:
    """Wait until the engine answers with its model, fails, or the time is over."""
    words = (server.endpoint, model, str(int(seconds)), server.way, server.target, server.runtime)
    return _script("serving-ready", _READY, words, _ready, seconds + 60.0)


def emptied(store: str) -> Probe[int]:
    """Remove everything below the store's folder, the folder stays; answers how many entries are left."""
    return _script("serving-empty", _EMPTY, (store,), _left, 1800.0)


def writable(store: str, user: str) -> Probe[str]:
    """Write, read and remove a file in the store as the serving user."""
    return Probe(
        "serving-writable",
        ("sh", "-c", _WRITABLE, "sh", store, user),
        str.strip,
        60.0,
        frozenset(range(126)),
        level=Level.LOAD,
    )


def count(store: str, limit: float, pause: int = 10) -> Probe[Count]:
    """Wait until the store's files stand still, bring them to the device, and count them."""
    return _script("serving-kept", _KEPT, (store, str(int(limit)), str(pause)), _count, limit + 300.0)


def dropped() -> Probe[int]:
    """Drop the page cache; answers the bytes of it that are left."""
    return _script("serving-drop", _DROP, (), _dropped, 600.0)


def reset(server: Server, engine: str) -> Probe[Reset]:
    """Evict by the engine's (``vllm`` or ``sglang``) and the store's own interfaces."""
    words = (server.endpoint.rstrip("/") + _RESETS[engine], *server.cache)
    return _script("serving-reset", _RESET, words, _reset, 120.0 + 60.0 * len(server.cache))


def room(mount: str, config: str) -> Probe[Room]:
    """Space on the mount and the model's config.json."""
    return Probe("serving-room", ("sh", "-c", _ROOM, "sh", mount, config), _room, 30.0)


def _script(name: str, script: str, words: tuple[str, ...], parse: Callable[[str], Fact], limit: float) -> Probe[Fact]:
    return Probe(name, ("sh", "-c", script, "sh", *words), parse, limit, level=Level.LOAD)


def _rows(text: str) -> list[str]:
    rows = text.splitlines()
    if not rows or rows[-1] != "end":
        raise UnreadableOutput(f"the answer is cut short: it ends {text[-60:]!r}")
    return rows[:-1]


def _after(rows: list[str], word: str) -> list[str]:
    return [row[len(word) + 1 :] for row in rows if row.startswith(word + " ")]


def _said(text: str) -> State:
    return State("", text.strip()[-200:])


def _state(text: str) -> State:
    rows = _rows(text)
    return State(" ".join(_after(rows, "state")), " ".join(_after(rows, "said"))[:200])


def _ready(text: str) -> Ready:
    rows = _rows(text)
    log = " | ".join(_after(rows, "log"))[-300:]
    if told := _after(rows, "ready"):
        return Ready(integer(told[0], "seconds"), "ready", log)
    if ended := [*_after(rows, "over"), *_after(rows, "late")]:
        return Ready(None, ended[0], log)
    raise UnreadableOutput(f"found {text[:80]!r}, wanted ready, over or late")


def _one(text: str, pattern: str) -> re.Match[str]:
    found = [hit for row in _rows(text) if (hit := re.fullmatch(pattern, row))]
    if len(found) != 1:
        raise UnreadableOutput(f"found {text[:120]!r}, wanted one line as {pattern}")
    return found[0]


def _left(text: str) -> int:
    return int(_one(text, r"left (\d{1,12})")[1])


def _count(text: str) -> Count:
    found = _one(text, r"(kept|moving) (\d{1,12}) (\d{1,18})")
    return Count(int(found[2]), int(found[3]), found[1] == "kept")


def _dropped(text: str) -> int:
    if "dropped" not in _rows(text):
        raise UnreadableOutput(f"the page cache was not dropped: {text[:120]!r}")
    return int(_one(text, r"Cached (\d{1,15})")[1]) * 1024


def _reset(text: str) -> Reset:
    engine = _one(text, r"engine (\d{3})( false)?")
    store = _after(_rows(text), "store")
    statuses = tuple(integer(word.removesuffix(" false"), "status") for word in store)
    return Reset(int(engine[1]), statuses, bool(engine[2]) or any(word.endswith(" false") for word in store))


def _room(text: str) -> Room:
    found = sections.parse(text)
    for name in ("df", "config"):
        if name not in found or not found[name].good:
            raise UnreadableOutput(f"{name}: {found[name].text[:160] if name in found else 'not answered'}")
    return Room(df.parse(found["df"].text), model_config.parse(found["config"].text))
