"""The guard before a raw disk: claimed exclusively, read back, and written by the same command; or refused with the condition that failed.

The device is opened with O_EXCL and held open while everything else happens: from then on the kernel lets nobody mount it,
swap to it or build an array, a volume or a filesystem on it, and its name cannot pass to another disk that is plugged in.
Only then is it read back, and what writes runs as a child of the claim with the checked name as its last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from checks.phrase import Phrase, say
from checks.probe import Device, Level, Probe, UnreadableOutput, Word

Fact = TypeVar("Fact")

#: Exit status of a refusal.
REFUSED = 9

_REFUSE = f'refuse() {{ echo "guard: refused: $*"; exit {REFUSED}; }};'

# A symbolic link is refused before it is followed; the claim is taken by whichever of two interpreters the host has.
_CLAIM = " ".join(
    (
        "dev=$1; inner=$2; perl=$3; python=$4; shift 4;",
        _REFUSE,
        '[ ! -L "$dev" ] || refuse "link $dev is a symbolic link to $(readlink -f -- "$dev")";',
        '[ -b "$dev" ] || refuse "absent $dev is no block device";',
        'command -v perl >/dev/null 2>&1 && exec perl -e "$perl" "$dev" sh -c "$inner" sh "$dev" "$@";',
        'command -v python3 >/dev/null 2>&1 && exec python3 -c "$python" "$dev" sh -c "$inner" sh "$dev" "$@";',
        'refuse "claim neither perl nor python3 is there to claim $dev with"',
    )
)
_PERL = (
    "use Fcntl qw(O_RDWR O_EXCL O_NOFOLLOW); $^F = 255; my $dev = shift @ARGV; "
    "sysopen(HELD, $dev, O_RDWR | O_EXCL | O_NOFOLLOW) or "
    f'do {{ print "guard: refused: claim $dev is in use: $!\\n"; exit {REFUSED} }}; exec {{ $ARGV[0] }} @ARGV or exit 127'
)
_LINES = "\n".join(
    (
        "import os, sys",
        "try:",
        "    held = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL | os.O_NOFOLLOW)",
        "except OSError as error:",
        "    print(f'guard: refused: claim {sys.argv[1]} is in use: {error.strerror}')",
        f"    sys.exit({REFUSED})",
        "os.set_inheritable(held, True)",
        "os.execvp(sys.argv[2], sys.argv[2:])",
    )
)
#: A command is one line: the breaks stand in a literal.
_PYTHON = f"exec({_LINES!r})"

# Runs while the claim is held.
_CHECK = " ".join(
    (
        "dev=$1; serial=$2; sys=$3; shift 3; nvmet=$sys/kernel/config/nvmet;",
        _REFUSE,
        "name=${dev#/dev/}; at=$sys/class/block/$name;",
        """case $name in */*|''|*[!A-Za-z0-9]*) refuse "name $dev is no kernel name of a disk";; esac;""",
        '[ -e "$at/dev" ] || refuse "name the kernel knows no disk $name";',
        'read -r number <"$at/dev"; node=$(stat -c "%t %T" -- "$dev") || refuse "absent $dev cannot be looked at";',
        """node=$(printf '%d:%d' "0x${node% *}" "0x${node#* }");""",
        '[ "$node" = "$number" ] || refuse "name $dev is device $node and the disk $name is $number";',
        '[ ! -e "$at/partition" ] || refuse "partition $dev is a partition, not a whole disk";',
        'same() { found=; read -r found <"$at/device/serial" || [ -n "$found" ] || refuse "serial $dev tells no serial";',
        '[ "$found" = "$serial" ] || refuse "serial $dev carries $found, wanted $serial"; };',
        "same;",
        'for one in "$at/$name"*; do [ ! -e "$one/partition" ] || refuse "partitions $dev has partition ${one##*/}"; done;',
        'for one in "$at"/slaves/*; do [ ! -e "$one" ] || refuse "stacked $dev stands on ${one##*/}"; done;',
        'for one in "$at"/holders/*; do [ ! -e "$one" ] || refuse "holder $dev is held by ${one##*/}"; done;',
        'for one in /sys/class/block/loop*/loop/backing_file; do [ -e "$one" ] && read -r below <"$one" || continue;',
        '[ "$below" != "$dev" ] || refuse "holder $dev is read by a loop device"; done;',
        # A target's export claims nothing, and neither does a program that opens the disk without O_EXCL (a virtual machine, a
        # database): both are looked for by number. What udev opens for a moment is gone at the next look.
        'for one in "$nvmet"/subsystems/*/namespaces/*/device_path; do [ -e "$one" ] && read -r below <"$one" || continue;',
        """[ "$(stat -L -c '%t %T' -- "$below" 2>/dev/null)" != "$(stat -c '%t %T' -- "$dev")" ] ||""",
        'refuse "holder $dev is exported as NVMe-oF namespace ${one%/device_path}"; done;',
        'of() { sed -n "s/^PPid:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null; };',
        'ours() { up=$1; while [ "${up:-0}" -gt 1 ]; do [ "$up" != $$ ] || return 0; up=$(of "$up"); done; return 1; };',
        # a mode of 6... is a block device, in every language
        """users() { find /proc/[0-9]*/fd -lname '/dev/*' -exec stat -L -c '%f:%t %T:%n' {} + 2>/dev/null |""",
        """awk -F : -v d="$(stat -c '%t %T' -- "$dev")" '$1 ~ /^6...$/ && $2 == d {split($3, at, "/");""",
        """if (!seen[at[3]]++) print at[3]}'; };""",
        'for turn in 1 2 3; do seen=$(users); other=; for pid in $seen; do [ ! -d "/proc/$pid" ] || ours "$pid" || other=$pid; done;',
        '[ -n "$other" ] || break; sleep 1; done;',
        # this shell holds the claim: who does not see it here sees nobody
        '[ -z "$other" ] || { read -r who <"/proc/$other/comm"; refuse "open $dev is open in process $other (${who:-gone})"; };',
        'echo " "$seen" " | awk -v p=" $$ " \'{exit !index(" " $0 " ", p)}\' || refuse "open cannot see who has $dev open";',
        # every mount namespace: a container may have mounted what this one does not see
        """place=$(cat /proc/[0-9]*/mountinfo 2>/dev/null | awk -v n="$number" -v d="$dev" """,
        """'{for (i = 7; i < NF; i++) if ($i == "-") break; if ($3 == n || $(i + 2) == d) {print $5; exit}}');""",
        '[ -z "$place" ] || refuse "mount $dev is mounted at $place";',
        """awk -v d="$dev" '$1 == d {found = 1} END {exit !found}' /proc/swaps && refuse "swap $dev is swapped to";""",
        'signs=$(wipefs -n -i --noheadings -- "$dev" 2>&1) || refuse "signature wipefs cannot look: $signs";',
        '[ -z "$signs" ] || refuse "signature $dev carries $(echo $signs)";',
        'kinds=$(blkid -p -o export -- "$dev" 2>&1); status=$?;',
        '[ "$status" = 2 ] && [ -z "$kinds" ] || refuse "signature blkid does not find $dev empty: $(echo $kinds)";',
        'echo "guard: clear $serial $name";',
        '[ "$#" -gt 0 ] || exit 0;',
        '"$@" "--filename=$dev"; status=$?; same; echo "guard: held $serial $name"; exit "$status"',
    )
)

_CLEAR = re.compile(r"^guard: clear (\S+) (\S+)$", re.MULTILINE)
_HELD = re.compile(r"^guard: held (\S+) (\S+)$", re.MULTILINE)
_REFUSAL = re.compile(r"^guard: refused: (\w+) (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Guarded(Generic[Fact]):
    """What came of it: why the disk was refused (None: it was clear), and what was written said (None: nothing was to be)."""

    refused: Phrase | None
    said: Fact | None


def look(serial: str, device: Word | None = None, root: str = "/sys") -> Probe[Guarded[str]]:
    """Claim and read back, write nothing. ``device`` and ``root`` are for disks that have no serial in sysfs."""
    return Probe(
        "guard-look", _argv(serial, device, root), _looked, 60.0, frozenset({0, REFUSED}), level=Level.DESTRUCTIVE
    )


def write(
    serial: str,
    words: tuple[str, ...],
    parse: Callable[[str], Fact],
    limit: float,
    device: Word | None = None,
    root: str = "/sys",
) -> Probe[Guarded[Fact]]:
    """Claim, read back, and run fio's ``words`` on that device and no other: its name is added by the guard.

    Raises ValueError for words that are not fio's or that name a file of their own.
    """
    if words[:1] != ("fio",) or any(re.match(r"--(filename|directory|opendir)", word) for word in words):
        raise ValueError(f"found {words!r}, wanted words of fio without a file: the guard names the device")
    argv = _argv(serial, device, root, *words)
    return Probe("guard-write", argv, _written(parse), limit, frozenset({0, REFUSED}), level=Level.DESTRUCTIVE)


def clear(found: Guarded[object]) -> Phrase | None:
    """Say why the trial may not go on, or None: what a step must show before and while it writes."""
    return found.refused


def _argv(serial: str, device: Word | None, root: str, *words: str) -> tuple[Word, ...]:
    place = Device("namespace", serial) if device is None else device
    return ("sh", "-c", _CLAIM, "sh", place, _CHECK, _PERL, _PYTHON, serial, root, *words)


def _refusal(text: str) -> Phrase | None:
    found = _REFUSAL.search(text)
    if found is None:
        return None
    return say("not written: {why} (condition: {condition})", why=found[2].strip(), condition=found[1])


def _looked(text: str) -> Guarded[str]:
    refused = _refusal(text)
    if refused is None and len(_CLEAR.findall(text)) != 1:
        raise UnreadableOutput(f"found {text[:80]!r}, wanted 'guard: clear' or a refusal")
    return Guarded(refused, None)


@cache
def _written(parse: Callable[[str], Fact]) -> Callable[[str], Guarded[Fact]]:
    def read(text: str) -> Guarded[Fact]:
        if (refused := _refusal(text)) is not None:
            return Guarded(refused, None)
        if _CLEAR.findall(text) != _HELD.findall(text) or len(_CLEAR.findall(text)) != 1:
            raise UnreadableOutput("the guard does not say that the disk was the same before and after")
        return Guarded(None, parse(_HELD.sub("", _CLEAR.sub("", text))))

    return read
