"""What to ask about model loads that nobody makes here: the engine's own log of its last start."""

from __future__ import annotations

from checks.parsers import vllm_log
from checks.parsers.vllm_log import ModelLoad
from checks.probe import Probe

_LINES = 'grep -aE "Loading weights took|Model loading took" | tail -n 256'
#: The journal of this start alone: an earlier start may have found its files in memory, or another model.
_UNIT = (
    'id=$(systemctl show -p InvocationID --value -- "$1"); '
    '[ -n "$id" ] || { echo "$1 has not been started since this host booted" >&2; exit 1; }; '
    'journalctl "_SYSTEMD_INVOCATION_ID=$id" -o cat --no-pager | ' + _LINES
)
_CONTAINER = '"$1" logs --tail 50000 "$2" 2>&1 | ' + _LINES
_FILE = 'tail -n 50000 -- "$1" | ' + _LINES


def engine_log(unit: str | None, container: tuple[str, str] | None, file: str | None) -> Probe[ModelLoad] | None:
    """Ask for the load times in the log of a unit, a container (runtime, name) or a file; None where there is none."""
    if unit:
        argv: tuple[str, ...] = ("sh", "-c", _UNIT, "sh", unit)
    elif container:
        argv = ("sh", "-c", _CONTAINER, "sh", *container)
    elif file:
        argv = ("sh", "-c", _FILE, "sh", file)
    else:
        return None
    return Probe("engine-log", argv, vllm_log.parse, limit=60.0)
