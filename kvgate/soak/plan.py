"""What is to be done on each host: the soak's plan, from the inventory alone. Its form: runbooks/soak-journal.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from checks.accelerator.ascend import EACH
from checks.phrase import say
from kvgate.codec import canonical
from kvgate.errors import NotAllowed
from kvgate.inventory.model import Host, Rack
from kvgate.inventory.soak import Program, Soak, Verify
from kvgate.soak import serving

#: Seconds between two samples of a stream that reads /proc and /sys (measurement practice: device and fabric 10 s, host 30 s).
EVERY = {
    "disk": 10, "net": 10, "rdma": 10, "nvme": 10, "kernel": 10, "pressure": 30, "memory": 30, "load": 30, "thermal": 30,
    "throttle": 30, "edac": 30, "space": 30, "aer": 60, "worker": 60, "process": 60, "clock": 60, "metrics": 15,
    "accelerator": 300, "ethtool": 300, "smart": 600,  # tools: a second of a processor, tens of kilobytes each
}  # fmt: skip

#: However much time is scaled, no stream is sampled more often than so many real seconds.
_SOONEST = 0.05

#: What tells an accelerator's counters, temperatures and throttling; npu-smi tells errors chip by chip, one call each.
ACCELERATOR: dict[str, dict[str, tuple[str, ...]]] = {
    "rocm": {"amd-smi": ("amd-smi", "metric", "--json")},
    "nvidia": {"nvidia-smi": ("nvidia-smi", "-q", "-x")},
    "ascend": {"npu-smi": ("npu-smi", "info"), "npu-smi-ecc": ("sh", "-c", EACH, "sh", "ecc")},
}
#: Folder below a mount that the soak's own loads make and remove.
FOLDER = ".kvgate-soak"

_SEGMENT = 8 * 2**20
_MEMORY = 512 * 2**20
_SOAK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}", re.ASCII)


def soaked(rack: Rack) -> dict[str, Host]:
    """Hosts that a worker can run on. Raises NotAllowed where the inventory says nothing of a soak, or none can."""
    if rack.soak is None:
        raise NotAllowed(
            say("the inventory says nothing of a soak: add `soak` (inventories/README.md has every field)")
        )
    found = {name: host for name, host in rack.hosts.items() if host.access == "shell"}
    if not found:
        raise NotAllowed(say("no host of the inventory has access: shell, so that no worker can run"))
    return found


def plans(rack: Rack, soak: str, scale: float = 1.0, acceptance: str = "") -> dict[str, str]:
    """Host -> its plan as canonical JSON; ``acceptance`` is the digest of the agreement by which it will be judged.

    Raises NotAllowed; a scale that is not 1 is for simulated racks alone.
    """
    if _SOAK.fullmatch(soak) is None:
        raise NotAllowed(say("found soak name {name!r}, wanted letters, digits and _ . -", name=soak))
    if scale != 1 and not rack.simulated:
        raise NotAllowed(say("--scale is for the embedded rack: hours of a real one are hours"))
    if not 1 <= scale <= 20_000:
        raise NotAllowed(say("found --scale {scale:g}, wanted 1 to 20000", scale=scale))
    hosts = soaked(rack)
    assert rack.soak is not None  # noqa: S101 - soaked() has refused it
    found = {name: _plan(rack, rack.soak, name, host, soak, scale) for name, host in hosts.items()}
    more = {"acceptance": acceptance} if acceptance else {}
    return {name: canonical({**one, **more}) for name, one in found.items()}


def _plan(rack: Rack, soak: Soak, name: str, host: Host, ident: str, scale: float) -> dict[str, Any]:
    return {
        "form": 1, "soak": ident, "host": name, "role": host.role, "rack": rack.rack, "campaign": rack.campaign,
        "scale": int(scale) if scale == int(scale) else scale,
        "seconds": soak.duration + soak.spare, "wanted": soak.duration,
        "streams": _streams(rack, soak, name, host, scale),
        "loads": [*_loads(soak, name, host), *serving.loads(rack, name)],
        "cleanup": [list(_removed(path)) for path in _folders(soak, name)],
        "policy": soak.policy.model_dump(),
        "bounds": {"segment_bytes": _SEGMENT, "journal_bytes": soak.journal, "free_bytes": soak.free, "memory_bytes": _MEMORY},
    }  # fmt: skip


def _streams(rack: Rack, soak: Soak, name: str, host: Host, scale: float) -> dict[str, dict[str, Any]]:
    more: dict[str, dict[str, Any]] = {
        "space": {"paths": ["/", *(mount.path for mount in host.mounts)]},
        "clock": _tools({"chronyc": ("chronyc", "-c", "tracking")}, 20),
    }
    if host.disks:
        smart = ("nvme", "smart-log", "{controller}", "-o", "json")
        more["smart"] = _tools({disk.serial: smart for disk in host.disks}, 60)
    if host.nics:
        more["ethtool"] = _tools({nic.name: ("ethtool", "-S", nic.name) for nic in host.nics}, 60)
    if host.accelerators is not None:
        more["accelerator"] = _tools(
            ACCELERATOR[host.accelerators.platform], 60 if host.accelerators.platform == "ascend" else 25
        )
    if units := soak.units.get(name) or _units(rack, name):
        more["process"] = {"units": dict(units)}
    if pages := soak.pages[name] if name in soak.pages else _pages(rack, name):
        more["metrics"] = {"limit": 5, "pages": list(pages), "names": list(soak.metrics)}
    alone = ("smart", "ethtool", "accelerator", "process", "metrics")
    return {
        stream: {"every": max(every, scale * _SOONEST), **more.get(stream, {})}
        for stream, every in EVERY.items()
        if stream not in alone or stream in more
    }


def _tools(commands: Mapping[str, tuple[str, ...]], limit: float) -> dict[str, Any]:
    return {"limit": limit, "commands": {subject: list(words) for subject, words in commands.items()}}


def _units(rack: Rack, name: str) -> dict[str, str]:
    """Units of the engines of that host, as ``serving`` has them."""
    if rack.serving is None or rack.soak is None or rack.soak.serve is None:
        return {}
    arms = [
        one
        for one in rack.serving.shapes[rack.serving.primary].arms.values()
        if one.host == name and one.role == "array"
    ]
    units = [instance.control.unit for arm in arms for instance in arm.instances if instance.control.unit]
    return {f"engine{number or ''}": unit for number, unit in enumerate(units)}


def _pages(rack: Rack, name: str) -> list[str]:
    """Pages of the engines of that host, as ``serving`` has them: on the arms of the primary shape that keep KV on the array."""
    if rack.serving is None:
        return []
    arms = rack.serving.shapes[rack.serving.primary].arms.values()
    return [
        page
        for arm in arms
        if arm.host == name and arm.role == "array"
        for one in arm.instances
        for page in one.metrics
    ]


def _loads(soak: Soak, name: str, host: Host) -> list[dict[str, Any]]:
    mine = [one for one in soak.verify if one.host == name]
    found = [_verify(one, number, _mount(host, one.path)) for number, one in enumerate(mine)]
    for number, fill in enumerate(soak.fill):
        if fill.host == name:
            words = ["fill", _folder(fill.path), str(fill.low), str(fill.high), str(fill.rate)]
            place = {"folder": _folder(fill.path), "mount": _mount(host, fill.path)}
            found.append(_own(f"fill{number or ''}", words, place, soak))
    for number, keeper in enumerate(soak.janitor):
        if keeper.host == name:
            words = ["janitor", keeper.path, str(keeper.low), str(keeper.high), str(keeper.every)]
            found.append(_own(f"janitor{number or ''}", words, {"mount": _mount(host, keeper.path)}, soak))
    return found + [_program(one) for one in soak.programs if one.host == name]


def _mount(host: Host, path: str) -> str:
    """The mount that a path is below: without it the load would write on the disk of the system."""
    inside = [one.path for one in host.mounts if PurePosixPath(path).is_relative_to(one.path)]
    return max(inside, key=len)


def _own(name: str, words: list[str], place: Mapping[str, str], soak: Soak) -> dict[str, Any]:
    """A load that the worker itself knows; ``{worker}`` is how it is called there."""
    return {
        "name": name, "argv": ["{worker}", *words], "again": True, "limit": soak.duration + soak.spare, "output": "lines",
        **place,
    }  # fmt: skip


def _verify(one: Verify, number: int, mount: str) -> dict[str, Any]:
    """Write the file and read it all back, every block against its checksum; the first that is wrong ends it."""
    folder = _folder(one.path)
    file = f"{folder}/verify-{one.host}{number or ''}"
    words = [
        "fio", "--name=verify", f"--filename={file}", f"--size={one.size}", f"--bs={one.block}", "--rw=write", "--ioengine=libaio",
        "--iodepth=4", "--direct=1", f"--rate={one.rate}", "--verify=crc32c", "--do_verify=1", "--verify_fatal=1",
        "--verify_dump=0", "--randrepeat=0", "--fallocate=none", "--end_fsync=1", "--group_reporting", "--output-format=json",
    ]  # fmt: skip
    limit = max(one.every - 60.0, 60.0)
    place = {"folder": folder, "mount": mount, "needs": one.size + one.size // 10}
    return {"name": f"verify{number or ''}", "argv": words, "first": 0, "every": one.every, "limit": limit, **place}


def _program(one: Program) -> dict[str, Any]:
    words: dict[str, Any] = (
        {"argv": list(one.argv)} if one.argv else {"rota": [list(each) for each in one.rota], "turn": one.turn}
    )
    rhythm = {"again": True} if one.again else {} if one.every is None else {"every": one.every}
    return {
        "name": one.name, **words, "first": one.first, **rhythm, "limit": one.limit, "output": one.output, "cap": 16 * 2**20,
        **({"scheduled": True, "within": one.within, "mark": False} if one.scheduled else {}),
    }  # fmt: skip


def _folder(path: str) -> str:
    return f"{path.rstrip('/')}/{FOLDER}"


def _folders(soak: Soak, name: str) -> list[str]:
    placed = [(one.host, one.path) for one in soak.verify] + [(one.host, one.path) for one in soak.fill]
    return sorted({_folder(path) for host, path in placed if host == name})


def _removed(folder: str) -> tuple[str, ...]:
    return ("rm", "-rf", "--one-file-system", "--", folder)
