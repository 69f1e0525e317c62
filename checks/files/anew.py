"""A volume let go and taken again: unmounted, its connections made anew, mounted as it was; or left as it is, with the reason.

Only what nobody uses is touched. ``umount`` is asked plainly, never forced and never lazily, so that the kernel refuses while
anything is open; then the device must let itself be claimed exclusively, which it does not while a container, a bind mount or
another stack still stands on it; only then are its controllers reset: the kernel connects them anew with the words it has, so that
no secret and no option is lost. Whatever goes wrong in between, the volume is mounted again. From the unmount on the script is in a
session of its own and without the mark of the load: neither a lost link nor the sweep that ends load stops it half way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks import io_errors
from checks.phrase import Phrase, say
from checks.probe import AnsweredWithError, Level, Probe, UnreadableOutput

_OUTSIDE = " ".join(
    (
        'path=$1; inner=$2; sys=$3; wait=$4; shift 4; keep() { echo "anew: kept $*"; exit 0; };',
        'for one in "$@"; do name=${one#*:}; case $one in',
        'unit:*) systemctl is-active --quiet -- "$name" 2>/dev/null && keep "$name is running";;',
        '*) [ "$("${one%%:*}" inspect -f "{{.State.Running}}" -- "$name" 2>/dev/null)" = true ] && keep "$name is running";; esac; done;',
        'source=$(findmnt -n -o SOURCE --mountpoint "$path") && kind=$(findmnt -n -o FSTYPE --mountpoint "$path") &&',
        'words=$(findmnt -n -o OPTIONS --mountpoint "$path") || keep "findmnt finds nothing mounted at $path";',
        '[ "$(echo "$source" | wc -l)" = 1 ] || keep "several filesystems are mounted at $path";',
        'case $source in *[*) keep "only a part of $source is mounted at $path";; esac;',
        'command -v setsid >/dev/null 2>&1 || keep "there is no setsid to do it apart with";',
        'exec env -u KVGATE_LOAD setsid sh -c "$inner" sh "$path" "$source" "$kind" "$words" "$sys" "$wait"',
    )
)
_INSIDE = " ".join(
    (
        "trap '' HUP INT TERM PIPE; path=$1; source=$2; kind=$3; words=$4; sys=$5; wait=$6; cd /;",
        'number=$(findmnt -n -o MAJ:MIN --mountpoint "$path" | tr -d " ");',
        'said=$(umount -- "$path" 2>&1) || { echo "anew: kept $(echo $said)"; exit 0; };',
        'again() { for turn in 1 2 3; do said=$(mount -t "$kind" -o "$words" -- "$source" "$path" 2>&1) && return 0; sleep 2; done;',
        'mount -- "$path" 2>/dev/null || mount -t "$kind" -- "$source" "$path" 2>/dev/null; };',
        'same() { [ "$(findmnt -n -o SOURCE,FSTYPE,OPTIONS --mountpoint "$path" | tr -s \' \')" = "$source $kind $words" ]; };',
        'ended() { again; if same; then echo "anew: $*"; elif findmnt -n --mountpoint "$path" >/dev/null;',
        'then echo "anew: back it is mounted otherwise than before: $(findmnt -n -o OPTIONS --mountpoint "$path")";',
        'else echo "anew: lost $(echo $said): mount -t $kind -o $words $source $path"; fi; exit 0; };',
        'if [ -b "$source" ]; then if command -v perl >/dev/null 2>&1; then',
        "perl -e 'use Fcntl; sysopen(F, shift, O_RDONLY | O_EXCL) or exit 1' \"$source\"; else",
        "python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)' \"$source\" 2>/dev/null; fi ||",
        'ended "back $source is in use elsewhere: a container, a bind mount, a stack above it";',
        "elif awk -v n=\"$number\" '$3 == n {found = 1} END {exit !found}' /proc/[0-9]*/mountinfo 2>/dev/null; then",
        'ended "back $source is mounted elsewhere too"; fi;',
        "count=0; at=$sys/class/block/${source#/dev/}/device;",
        'if [ -b "$source" ] && [ -e "$at" ]; then heads=0;',
        'for one in "$at"/nvme*n[0-9]*; do case ${one##*/} in *c[0-9]*n*) ;; nvme*) [ -e "$one" ] && heads=$((heads + 1));; esac; done;',
        '[ "$heads" = 1 ] || ended "back $heads namespaces share its connections, wanted this one alone";',
        'for one in "$at" "$at"/nvme[0-9]*; do [ -e "$one/reset_controller" ] || continue;',
        'read -r way <"$one/transport"; case $way in rdma|tcp) ;; *) ended "back $source comes over $way, which is no fabric";; esac;',
        'echo 1 >"$one/reset_controller" 2>/dev/null || ended "back the reset of ${one##*/} was refused"; state=;',
        'for turn in $(seq "$wait"); do read -r state <"$one/state"; [ "$state" != live ] || break; sleep 1; done;',
        '[ "$state" = live ] || ended "back a controller is $state after its reset, wanted live"; count=$((count + 1)); done; fi;',
        'ended "done $count"',
    )
)
_SAID = re.compile(r"^anew: (kept|back|lost|done) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Anew:
    """What came of it: kept (untouched), back (mounted again, no new connection), lost (not mounted any more; ``why``), done."""

    how: str
    connections: int = 0
    why: str = ""


def anew(path: str, users: tuple[str, ...] = (), root: str = "/sys", wait: int = 60) -> Probe[Anew]:
    """Let the volume mounted at ``path`` go and take it again; a controller is given ``wait`` seconds to be live again.

    ``users`` are services that keep files there, as ``unit:NAME`` or ``RUNTIME:CONTAINER``: while one runs nothing is touched.
    """
    argv = ("sh", "-c", _OUTSIDE, "sh", path, _INSIDE, root, str(wait), *users)
    return Probe("volume-anew", argv, parse, 300.0, level=Level.LOAD)


def parse(text: str) -> Anew:
    """``anew: HOW WORDS`` -> :class:`Anew`. Raises UnreadableOutput for anything else, AnsweredWithError for a filesystem that is gone."""
    found = _SAID.findall(text)
    if len(found) != 1 or (found[0][0] == "done" and not found[0][1].isdecimal()):
        raise UnreadableOutput(f"found {text[:120]!r}, wanted one line 'anew: kept|back|lost WHY' or 'anew: done N'")
    how, rest = found[0]
    # Nobody can read any more what was written: that is found, and not untold.
    if how == "lost" and io_errors.named(rest):
        raise AnsweredWithError(f"the volume was let go and cannot be mounted again: {rest.strip()}")
    return Anew(how, int(rest)) if how == "done" else Anew(how, 0, rest.strip())


def taken(found: Anew) -> Phrase | None:
    """Say why a round may not go on, or None: what a step must show before data is read back."""
    if found.how == "done":
        return None
    if found.how == "lost":
        return say("THE VOLUME IS NOT MOUNTED ANY MORE; mount it by hand: {why}", why=found.why)
    if found.how == "back":
        return say("it was unmounted and is mounted again, but not anew: {why}", why=found.why)
    return say("it was left as it is: {why}", why=found.why)
