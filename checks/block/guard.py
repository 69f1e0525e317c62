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

from checks import io_errors
from checks.phrase import Phrase, say
from checks.probe import AnsweredWithError, Device, Level, Probe, UnreadableOutput, Word

Fact = TypeVar("Fact")

#: Exit status of a refusal.
REFUSED = 9

_REFUSE = f'refuse() {{ echo "guard: refused: $*"; exit {REFUSED}; }};'

# What stands on a disk, by its own name: an array, a volume, paths of multipathd, another target of the device mapper.
_HOLDERS = " ".join(
    (
        'held() { for one in "$1"/holders/*; do [ -e "$one" ] || continue; by=${one##*/}; kind=; below=; what="is held by $by";',
        '[ ! -d "$one/md" ] || { kind=md; what="is a member of the array $by"; };',
        '[ ! -e "$one/dm/uuid" ] || { kind=dm; read -r below <"$one/dm/uuid"; what="is below $by, a target of the device mapper"; };',
        'case $below in LVM-*) kind=lvm; what="is a physical volume below $by";;',
        'mpath-*) kind=multipath; what="is a path of $by (multipathd)";; esac;',
        'refuse "${kind:-holder} $dev $what"; done; };',
    )
)

# Why nobody may claim it: whoever holds it is named where the kernel tells; reading this decides nothing any more.
_WHY = " ".join(
    (
        "dev=$1; sys=$2; error=$3;",
        _REFUSE,
        _HOLDERS,
        'at=$sys/class/block/${dev#/dev/}; number=; [ ! -e "$at/dev" ] || read -r number <"$at/dev"; held "$at";',
        """place=$(awk -v n="${number:-none}" '$3 == n {print $5; exit}' /proc/self/mountinfo 2>/dev/null);""",
        '[ -z "$place" ] || refuse "mount $dev is mounted at $place";',
        'refuse "claim $dev is in use: $error"',
    )
)

# A symbolic link is refused before it is followed; the claim is taken by whichever of two interpreters the host has.
_CLAIM = " ".join(
    (
        "dev=$1; inner=$2; why=$3; perl=$4; python=$5; serial=$6; sys=$7; shift 5;",
        _REFUSE,
        '[ ! -L "$dev" ] || refuse "link $dev is a symbolic link to $(readlink -f -- "$dev")";',
        '[ -b "$dev" ] || refuse "absent $dev is no block device";',
        'command -v perl >/dev/null 2>&1 && exec perl -e "$perl" "$dev" "$why" "$sys" sh -c "$inner" sh "$dev" "$@";',
        'command -v python3 >/dev/null 2>&1 && exec python3 -c "$python" "$dev" "$why" "$sys" sh -c "$inner" sh "$dev" "$@";',
        'refuse "claim neither perl nor python3 is there to claim $dev with"',
    )
)
_PERL = (
    "use Fcntl qw(O_RDWR O_EXCL O_NOFOLLOW); $^F = 255; my ($dev, $why, $sys) = splice(@ARGV, 0, 3); "
    "sysopen(HELD, $dev, O_RDWR | O_EXCL | O_NOFOLLOW) or "
    'do { exec("sh", "-c", $why, "sh", $dev, $sys, "$!") or exit 127 }; exec { $ARGV[0] } @ARGV or exit 127'
)
_LINES = "\n".join(
    (
        "import os, sys",
        "try:",
        "    held = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL | os.O_NOFOLLOW)",
        "except OSError as error:",
        "    os.execvp('sh', ['sh', '-c', sys.argv[2], 'sh', sys.argv[1], sys.argv[3], error.strerror])",
        "os.set_inheritable(held, True)",
        "os.execvp(sys.argv[4], sys.argv[4:])",
    )
)
#: A command is one line: the breaks stand in a literal.
_PYTHON = f"exec({_LINES!r})"

# Runs while the claim is held.
_CHECK = " ".join(
    (
        "dev=$1; serial=$2; sys=$3; shift 3; nvmet=$sys/kernel/config/nvmet;",
        _REFUSE,
        _HOLDERS,
        "name=${dev#/dev/}; at=$sys/class/block/$name;",
        """case $name in nvme*c*n*) refuse "multipath $dev is one path of a namespace, not the namespace";; esac;""",
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
        # A namespace that is reached over several paths, or over a fabric, is nobody's own disk: others may be at it too.
        'paths=; count=0; for one in "$sys/class/block/${name%n*}"c*"n${name##*n}"; do [ ! -e "$one" ] ||',
        '{ paths="$paths ${one##*/}"; count=$((count + 1)); }; done;',
        '[ "$count" -le 1 ] || refuse "multipath $dev is reached over $count paths:$paths";',
        'for one in "$at"/device/transport "$at"/device/nvme*/transport; do [ -e "$one" ] && read -r way <"$one" || continue;',
        '[ "$way" = pcie ] || refuse "fabric $dev comes over $way: it is no disk of this host alone"; done;',
        'for one in "$at"/slaves/*; do [ ! -e "$one" ] || refuse "stacked $dev stands on ${one##*/}"; done;',
        'held "$at";',
        'for one in /sys/class/block/loop*/loop/backing_file; do [ -e "$one" ] && read -r below <"$one" || continue;',
        '[ "$below" != "$dev" ] || refuse "holder $dev is read by a loop device"; done;',
        # A target's export claims nothing, and neither does a program that opens the disk without O_EXCL (a virtual machine, a
        # database): both are looked for by number. What udev opens for a moment is gone at the next look.
        'for one in "$nvmet"/subsystems/*/namespaces/*/device_path; do [ -e "$one" ] && read -r below <"$one" || continue;',
        """[ "$(stat -L -c '%t %T' -- "$below" 2>/dev/null)" != "$(stat -c '%t %T' -- "$dev")" ] ||""",
        'refuse "holder $dev is exported as NVMe-oF namespace ${one%/device_path}"; done;',
        # The other way to export it: its whole controller, passed through.
        'for one in "$nvmet"/subsystems/*/passthru/device_path; do [ -e "$one" ] && read -r below <"$one" || continue;',
        """node=$(stat -L -c '%t %T' -- "$below" 2>/dev/null) || continue; node=$(printf '%d:%d' "0x${node% *}" "0x${node#* }");""",
        'for number in "$at"/device/dev "$at"/device/nvme*/dev; do [ -e "$number" ] && read -r found <"$number" || continue;',
        '[ "$found" != "$node" ] || refuse "holder $dev is exported with its controller as ${one%/passthru/*}"; done; done;',
        'read -r number <"$at/dev";',
        'of() { sed -n "s/^PPid:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null; };',
        'ours() { up=$1; while [ "${up:-0}" -gt 1 ]; do [ "$up" != $$ ] || return 0; up=$(of "$up"); done; return 1; };',
        # Wherever its node lies: a store of Ceph and a container's volume have theirs in a folder of their own, not in /dev. A mode
        # of 6... is a block device, in every language.
        """users() { find /proc/[0-9]*/fd -type l ! -lname 'socket:*' ! -lname 'pipe:*' ! -lname 'anon_inode:*' """,
        """-exec stat -L -c '%f:%t %T:%n' {} + 2>/dev/null |""",
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
        "case $signs in *_raid_member*) kind=md;; *LVM[12]_member*) kind=lvm;; *mpath_member*) kind=multipath;;",
        "*) kind=signature;; esac;",
        '[ -z "$signs" ] || refuse "$kind $dev carries $(echo $signs)";',
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
    return ("sh", "-c", _CLAIM, "sh", place, _CHECK, _WHY, _PERL, _PYTHON, serial, root, *words)


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
            # Refused after it was written: the disk went away under the load, and what the load said of it comes first.
            if _CLEAR.search(text) and (line := io_errors.said(text)) is not None:
                raise AnsweredWithError(line)
            return Guarded(refused, None)
        if _CLEAR.findall(text) != _HELD.findall(text) or len(_CLEAR.findall(text)) != 1:
            raise UnreadableOutput("the guard does not say that the disk was the same before and after")
        return Guarded(None, parse(_HELD.sub("", _CLEAR.sub("", text))))

    return read
