"""Load leaves nothing behind: every process that a trial starts carries the trial's mark, and is found and ended by it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from checks.probe import Level, Probe, UnreadableOutput

#: Environment variable that marks whatever a trial starts; children inherit it, so none of them can hide.
MARK = "KVGATE_LOAD"

_SAFE = re.compile(r"[A-Za-z0-9_.:-]{1,80}", re.ASCII)

# Ends what carries the mark, politely first, then prints "ours N" for what still lives and "other MARK" for foreign load.
# /proc/PID/environ is what the process was started with: a program cannot lose the mark by accident.
_SWEEP = " ".join(
    (
        "mark=$1; end=$2;",
        r"""of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -n 's/^KVGATE_LOAD=//p' | head -n 1; };""",
        """marked() { grep -lsaz '^KVGATE_LOAD=' /proc/[0-9]*/environ 2>/dev/null | sed 's,^/proc/,,; s,/environ$,,'; };""",
        r"""living() { sed -n 's/^State:[[:space:]]*\([^[:space:]]\).*/\1/p' "/proc/$1/status" 2>/dev/null | grep -qv '[ZX]'; };""",
        """ours() { for pid in $(marked); do [ "$(of "$pid")" = "$mark" ] && living "$pid" && echo "$pid"; done; };""",
        'if [ "$end" = end ]; then for signal in TERM KILL; do pids=$(ours); [ -n "$pids" ] || break;',
        'kill -s "$signal" $pids 2>/dev/null;',
        'for turn in 1 2 3 4 5 6 7 8 9 10; do [ -n "$(ours)" ] || break; sleep 0.2 2>/dev/null || sleep 1; done;',
        "done; fi;",
        'echo "ours $(ours | grep -c .)";',
        'for pid in $(marked); do found=$(of "$pid");',
        '[ -n "$found" ] && [ "$found" != "$mark" ] && living "$pid" && echo "other $found"; done | sort -u;',
        "echo end",
    )
)


@dataclass(frozen=True, slots=True)
class Running:
    """Load on one host: how many processes of our mark live, and the marks of others."""

    ours: int
    others: tuple[str, ...]

    @property
    def quiet(self) -> bool:
        """No load at all."""
        return self.ours == 0 and not self.others


def marked(probe: Probe[Any], mark: str) -> Probe[Any]:
    """Return the probe with its process marked. Passive questions need no mark. Raises ValueError for a bad mark."""
    if _SAFE.fullmatch(mark) is None:
        raise ValueError(f"found mark {mark!r}, wanted letters, digits and _ . : -")
    if probe.level is Level.PASSIVE:
        return probe
    return replace(probe, argv=("env", f"{MARK}={mark}", *probe.argv))


def running(mark: str) -> Probe[Running]:
    """Look for load: ours under this mark, and anybody else's."""
    return Probe("load-running", ("sh", "-c", _SWEEP, "sh", mark, "look"), parse_running, limit=30.0)


def ended(mark: str) -> Probe[Running]:
    """End every process under this mark, TERM first and KILL after two seconds, and say what is left."""
    return Probe("load-ended", ("sh", "-c", _SWEEP, "sh", mark, "end"), parse_running, limit=60.0)


def parse_running(text: str) -> Running:
    """``ours N``, ``other MARK`` lines, ``end`` -> :class:`Running`. Raises UnreadableOutput for anything else."""
    lines = text.splitlines()
    if len(lines) < 2 or lines[-1] != "end" or (first := re.fullmatch(r"ours (\d{1,6})", lines[0])) is None:
        raise UnreadableOutput(f"found {text[:80]!r}, wanted 'ours N', the marks of others, and 'end'")
    others = []
    for line in lines[1:-1]:
        kind, _, mark = line.partition(" ")
        if kind != "other" or not mark:
            raise UnreadableOutput(f"found {line[:80]!r}, wanted 'other MARK'")
        others.append(mark)
    return Running(int(first[1]), tuple(others))
