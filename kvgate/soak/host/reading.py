"""Cheap readings of /proc and /sys: subject -> field -> number or word, as the kernel prints them. A file that is not there is left out."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict

from .times import started

Values = Dict[str, Dict[str, Any]]
Config = Dict[str, Any]

_DISK = (
    "reads", "read_merges", "read_sectors", "read_ms", "writes", "write_merges", "write_sectors", "write_ms", "in_flight",
    "io_ms", "weighted_ms", "discards", "discard_merges", "discard_sectors", "discard_ms", "flushes", "flush_ms",
)  # fmt: skip
_NO_DISK = re.compile(r"(loop|ram|sr|fd|zram|nbd)\d+")
_NO_PORT = re.compile(
    r"lo|(veth|docker|br-|cali|virbr|tap|flannel|cni|ifb|dummy|sit|tunl|ip6tnl|gre|erspan|ip_vti|ip6_vti).*"
)


def text(path: str) -> str | None:
    """Contents of a small file without its last newline; None where there is none. Raises OSError for one that cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return os.read(descriptor, 65536).decode("utf-8", "backslashreplace").rstrip("\n")
    finally:
        os.close(descriptor)


def scalar(word: str) -> int | str:
    """A whole number as a number, anything else as it is."""
    return int(word) if re.fullmatch(r"-?\d{1,20}", word, re.ASCII) else word


def names(path: str) -> list[str]:
    """What a folder holds, sorted; nothing where there is none."""
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _files(folder: str, wanted: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in wanted:
        try:
            value = text(f"{folder}/{name}")
        except OSError:
            continue  # a port that is down refuses some of its files
        if value is not None:
            found[name] = scalar(value)
    return found


def controller(serial: str) -> str:
    """Today's name of the NVMe controller with a serial. Raises OSError where not exactly one has it."""
    found = [one for one in names("/sys/class/nvme") if (text(f"/sys/class/nvme/{one}/serial") or "").strip() == serial]
    local = [one for one in found if text(f"/sys/class/nvme/{one}/transport") == "pcie"]
    if len(local) != 1:
        raise OSError(f"{len(local)} local controllers have serial {serial}")
    return f"/dev/{local[0]}"


def disk(config: Config, tick: int) -> Values:
    """Counters of every block device."""
    found: Values = {}
    for name in config.get("names") or [one for one in names("/sys/block") if not _NO_DISK.fullmatch(one)]:
        line = text(f"/sys/block/{name}/stat")
        found[name] = {"error": "not there"} if line is None else dict(zip(_DISK, map(scalar, line.split())))
    return found


def net(config: Config, tick: int) -> Values:
    """State and counters of every port."""
    found: Values = {}
    for name in config.get("names") or [one for one in names("/sys/class/net") if not _NO_PORT.fullmatch(one)]:
        base = f"/sys/class/net/{name}"
        if not os.path.isdir(f"{base}/statistics"):
            found[name] = {"error": "not there"}
            continue
        found[name] = _files(base, ["operstate", "carrier", "carrier_changes"])
        found[name].update(_files(f"{base}/statistics", names(f"{base}/statistics")))
    return found


def rdma(config: Config, tick: int) -> Values:
    """State and counters of every RDMA port."""
    found: Values = {}
    for device in names("/sys/class/infiniband"):
        for port in names(f"/sys/class/infiniband/{device}/ports"):
            base = f"/sys/class/infiniband/{device}/ports/{port}"
            fields = {key: str(word).rpartition(": ")[2] for key, word in _files(base, ["state", "phys_state"]).items()}
            for folder in ("counters", "hw_counters"):
                fields.update(_files(f"{base}/{folder}", names(f"{base}/{folder}")))
            found[f"{device}/{port}"] = fields
    return found


def nvme(config: Config, tick: int) -> Values:
    """State of every controller and of every path of a shared namespace."""
    found: Values = {}
    for name in names("/sys/class/nvme"):
        base = f"/sys/class/nvme/{name}"
        inside = names(base)
        counts = [one for one in inside if one.endswith("_count")]
        # Who it is stands in every sample: the last one is compared with the first, and a name may come back as another.
        found[name] = _files(base, ["state", "transport", "serial", "address", "subsysnqn", "cntrltype", *counts])
        for path in inside:
            if re.fullmatch(r"nvme\d+c\d+n\d+", path):
                found[path] = _files(f"{base}/{path}", ["ana_state"])
    return found


def pressure(config: Config, tick: int) -> Values:
    """How long work waited for processors, memory and disks."""
    found: Values = {}
    for name in names("/proc/pressure"):
        fields: dict[str, Any] = {}
        for line in (text(f"/proc/pressure/{name}") or "").splitlines():
            kind, *pairs = line.split()
            table = dict(pair.split("=") for pair in pairs)
            fields[f"{kind}_avg10"], fields[f"{kind}_total"] = float(table["avg10"]), int(table["total"])
        found[name] = fields
    return found


def memory(config: Config, tick: int) -> Values:
    """/proc/meminfo in bytes."""
    fields: dict[str, Any] = {}
    for line in (text("/proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        number, _, unit = rest.strip().partition(" ")
        fields[name] = int(number) * (1024 if unit == "kB" else 1)
    return {"host": fields}


def load(config: Config, tick: int) -> Values:
    """Load averages, processes, open files."""
    words = (text("/proc/loadavg") or "").split()
    running, _, processes = words[3].partition("/")
    files = (text("/proc/sys/fs/file-nr") or "").split()
    return {
        "host": {
            "load1": float(words[0]), "load5": float(words[1]), "load15": float(words[2]), "running": int(running),
            "processes": int(processes), "files": int(files[0]), "files_max": int(files[2]),
        }
    }  # fmt: skip


def space(config: Config, tick: int) -> Values:
    """Room on every planned mount; may hang with a file system that hangs."""
    mounts = {line.split()[1] for line in (text("/proc/mounts") or "").splitlines()}
    found: Values = {}
    for path in config["paths"]:
        try:
            one = os.statvfs(path)
        except OSError as error:
            found[path] = {"error": error.strerror or str(error)}
            continue
        found[path] = {
            "size": one.f_blocks * one.f_frsize, "free": one.f_bfree * one.f_frsize, "available": one.f_bavail * one.f_frsize,
            "inodes": one.f_files, "inodes_free": one.f_favail, "read_only": bool(one.f_flag & os.ST_RDONLY),
            "mounted": path in mounts,
        }  # fmt: skip
    return found


def thermal(config: Config, tick: int) -> Values:
    """Every sensor of hwmon and every thermal zone."""
    found: Values = {}
    for monitor in names("/sys/class/hwmon"):
        base = f"/sys/class/hwmon/{monitor}"
        device = os.path.basename(os.path.realpath(f"{base}/device"))
        owner = device if device.startswith("nvme") else f"{_files(base, ['name']).get('name', 'hwmon')}.{monitor[5:]}"
        for sensor in [one[:-6] for one in names(base) if re.fullmatch(r"temp\d+_input", one)]:
            one = _files(base, [f"{sensor}_{what}" for what in ("input", "label", "max", "crit")])
            if isinstance(one.get(f"{sensor}_input"), int):
                fields = {"celsius": one[f"{sensor}_input"] / 1000}
                for what, key in (("max", "max"), ("crit", "critical")):
                    if isinstance(one.get(f"{sensor}_{what}"), int):
                        fields[key] = one[f"{sensor}_{what}"] / 1000
                found[f"{owner}/{one.get(f'{sensor}_label', sensor)}"] = fields
    for zone in [one for one in names("/sys/class/thermal") if one.startswith("thermal_zone")]:
        one = _files(f"/sys/class/thermal/{zone}", ["type", "temp"])
        if isinstance(one.get("temp"), int):
            found[f"zone{zone[12:]}/{one.get('type', '')}"] = {"celsius": one["temp"] / 1000}
    return found


def throttle(config: Config, tick: int) -> Values:
    """How often each processor package was slowed for heat: its own count, and those of its CPUs together."""
    found: Values = {}
    for cpu in [one for one in names("/sys/devices/system/cpu") if re.fullmatch(r"cpu\d+", one)]:
        base = f"/sys/devices/system/cpu/{cpu}"
        one = _files(f"{base}/thermal_throttle", ["core_throttle_count", "package_throttle_count"])
        if len(one) == 2:
            package = f"package{text(f'{base}/topology/physical_package_id')}"
            fields = found.setdefault(package, {"core_throttle_count": 0, "package_throttle_count": 0})
            fields["core_throttle_count"] += one["core_throttle_count"]
            fields["package_throttle_count"] = max(fields["package_throttle_count"], one["package_throttle_count"])
    return found


def edac(config: Config, tick: int) -> Values:
    """Errors of main memory, a controller a subject."""
    base = "/sys/devices/system/edac/mc"
    return {
        one: _files(f"{base}/{one}", ["ce_count", "ue_count"]) for one in names(base) if re.fullmatch(r"mc\d+", one)
    }


def aer(config: Config, tick: int) -> Values:
    """Totals of PCI Express errors of every device that counts them."""
    found: Values = {}
    for device in names("/sys/bus/pci/devices"):
        fields: dict[str, Any] = {}
        for kind, word in (("correctable", "COR"), ("nonfatal", "NONFATAL"), ("fatal", "FATAL")):
            try:
                total = re.search(
                    rf"TOTAL_ERR_{word} (\d+)", text(f"/sys/bus/pci/devices/{device}/aer_dev_{kind}") or ""
                )
            except OSError:
                total = None
            if total:
                fields[kind] = int(total[1])
        if fields:
            found[device] = fields
    return found


def process(config: Config, tick: int) -> Values:
    """What the processes of planned units hold: all of a unit's control group together."""
    found: Values = {}
    for name, unit in config.get("units", {}).items():
        places = (
            "/sys/fs/cgroup/system.slice/",
            "/sys/fs/cgroup/systemd/system.slice/",
            "/sys/fs/cgroup/unified/system.slice/",
        )
        listed = next(
            (one for place in places for one in [text(f"{place}{unit}/cgroup.procs")] if one is not None), None
        )
        found[name] = _held(listed.split()) if listed else {"processes": 0, "why": f"{unit} does not run"}
    for name, path in config.get("pids", {}).items():
        listed = text(path)
        found[name] = _held(listed.split()) if listed else {"processes": 0, "why": f"{path} is not there"}
    return found


def _held(pids: list[str]) -> dict[str, Any]:
    """Together, and which is the oldest of them: where another one is, everything was begun anew between two samples."""
    fields = {"processes": 0, "rss_bytes": 0, "fds": 0, "threads": 0}
    oldest: tuple[int, int] | None = None
    for pid in pids:
        status = dict(line.partition(":")[::2] for line in (text(f"/proc/{pid}/status") or "").splitlines())
        start = started(int(pid)) if pid.isdigit() else None
        if "VmRSS" in status and start is not None:
            fields["processes"] += 1
            fields["rss_bytes"] += int(status["VmRSS"].split()[0]) * 1024
            fields["threads"] += int(status["Threads"])
            fields["fds"] += len(names(f"/proc/{pid}/fd"))
            oldest = min(oldest or (int(start), int(pid)), (int(start), int(pid)))
    if oldest is None:
        return {"processes": 0, "why": f"none of {len(pids)} processes lives"}
    return {**fields, "start": oldest[0], "pid": oldest[1]}


#: Stream -> what reads it at once. Readings that may hang with a device run beside the loop: see :mod:`apart`.
READERS: dict[str, Callable[[Config, int], Values]] = {
    "disk": disk, "net": net, "rdma": rdma, "nvme": nvme, "pressure": pressure, "memory": memory, "load": load,
    "space": space, "thermal": thermal, "throttle": throttle, "edac": edac, "aer": aer, "process": process,
}  # fmt: skip
