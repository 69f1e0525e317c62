"""The load side of one virtual host: folders, sweeps, fio with iostat beside it, and the counters that they move."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lab.load.document import document, options
from lab.load.fabric import FabricHost
from lab.load.files import FilesHost, Upset
from lab.load.model import ARRAY, LOCAL, Trouble, Volume, rate
from lab.load.network import mountstats
from lab.machine import Reply
from lab.serving.crowd import Crowd
from lab.serving.host import ServingHost
from lab.serving.model import Flaw
from lab.soak.worker import SoakHost

#: Where the kernel counts what devices and mounts move.
_COUNTED = ("/proc/diskstats", "/proc/self/mountstats")
#: Seconds between two looks at a device that nobody loads yet.
_IDLE = 2


@lru_cache(maxsize=512)
def _words(line: str) -> tuple[str, ...]:
    """The words of a line; the same lines come in every round."""
    return tuple(shlex.split(line))


@dataclass
class LoadHost:
    """Answers what makes load; None for a command that is none of its own. ``runs`` counts fio's measured runs by file."""

    name: str
    volumes: tuple[Volume, ...] = (LOCAL, ARRAY)
    troubles: tuple[Trouble, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    moved: dict[str, list[float]] = field(default_factory=dict)
    laid: dict[str, int] = field(default_factory=dict)  # length of every file that was laid out
    fabric: FabricHost | None = None
    upsets: tuple[Upset, ...] = ()
    files: FilesHost = field(init=False)
    boot: str = ""
    looks: int = 0  # at what stands around a round
    unused: set[str] = field(default_factory=set)  # devices that nothing on this host stands on
    server: dict[str, int] = field(default_factory=dict)  # what the NFS server keeps of files, the same for all nodes
    flaws: tuple[Flaw, ...] = ()
    crowd: Crowd = field(default_factory=Crowd)  # what the serving hosts of the rack share
    engine: str = "vllm"
    serving: ServingHost | None = None
    soak: SoakHost | None = None

    def __post_init__(self) -> None:
        self.files = FilesHost(self.volumes, self._move, self.upsets, server=self.server)
        self.serving = ServingHost(
            self.name,
            self.boot,
            self.moved,
            lambda: self._counters().stdout.decode(),
            self.flaws,
            crowd=self.crowd,
            engine=self.engine,
        )

    def answer(self, line: str) -> Reply | None:
        """Answer one command line."""
        if self.soak is not None and (asked := self.soak.answer(line)) is not None:
            return asked
        if self.serving is not None and (found := self.serving.answer(line)) is not None:
            return found
        try:
            words = list(_words(line))
        except ValueError:
            return None
        if words[:1] == ["env"] and len(words) > 2 and words[1].startswith("KVGATE_LOAD="):
            words = words[2:]
        ways: tuple[tuple[bool, Callable[[list[str]], Reply | None]], ...] = (
            (words[:1] == ["mkdir"] or words[:1] == ["rm"], lambda _: Reply()),
            (words[:2] == ["sh", "-c"] and "guard: refused" in words[2], self._guard),
            (words[:2] == ["sh", "-c"] and "KVGATE_LOAD" in words[2], lambda _: Reply(b"ours 0\nend\n")),
            (words[:2] == ["sh", "-c"] and words[-1] in _COUNTED, lambda _: self._idle(words[-1])),
            (words[:1] == ["stat"] and "/.kvgate-load/" in words[-1], self._extent),
            (words == ["cat", "/proc/diskstats"], lambda _: self._counters()),
            (words == ["cat", "/proc/self/mountstats"], lambda _: Reply(mountstats(self.volumes, self.moved).encode())),
            (words[:2] == ["grep", "-EHs"] and "scaling_cur_freq" in line, lambda _: self._around()),
            (words == ["fio", "--version"], lambda _: Reply(f"{self._version()}\n".encode())),
            (words[:1] == ["fio"], self._fio),
            (words[:2] == ["sh", "-c"] and "iostat" in words[2] and "fio" in words, self._watched),
        )
        if self.fabric is not None and (reply := self.fabric.answer(words)) is not None:
            return reply
        if (found := self.files.answer(words)) is not None:
            return found
        return next((answer(words) for applies, answer in ways if applies), None)

    def _guard(self, words: list[str]) -> Reply:
        """Whoever would write a disk raw is told who holds it; one that is unused is written, and is busy for as long."""
        volume = next((one for one in self.volumes if words[4] == f"/dev/{one.device}"), None)
        if volume is not None and volume.device in self.unused:
            place = f"{words[9]} {volume.device}\n"
            return Reply(f"guard: clear {place}{self._raw(volume, words[11:], place)}".encode())
        said = (
            "absent it is no block device" if volume is None else f"claim {words[4]} is in use: Device or resource busy"
        )
        return Reply(f"guard: refused: {said}\n".encode(), status=9)

    def _raw(self, volume: Volume, words: list[str], place: str) -> str:
        if not words:
            return ""
        given = options(words)
        run = self.runs[volume.device] = self.runs.get(volume.device, 0) + 1
        trouble = self._trouble(volume.device, run)
        depth = int(given["iodepth"]) * int(given.get("numjobs", "1"))
        found = rate(volume, given["rw"], int(given["bs"]), depth, trouble, run)
        size = (
            int(given["size"]) * int(given.get("loops", "1"))
            if "runtime" not in given
            else int(found * int(given["runtime"]))
        )
        self._move(volume, given["rw"], size)
        return f"{document(given, size / found, found, size, trouble)}guard: held {place}"

    def _trouble(self, device: str, run: int) -> Trouble:
        return next((one for one in self.troubles if one.applies(device, run)), Trouble())

    def _version(self) -> str:
        return next((one.version for one in self.troubles if not one.runs), Trouble().version)

    def _volume(self, file: str) -> Volume | None:
        return next((one for one in self.volumes if file.startswith(one.path + "/")), None)

    def _counters(self) -> Reply:
        rows = []
        for number, volume in enumerate(one for one in self.volumes if not one.network):
            read, written = (int(size) // 512 for size in self.moved.get(volume.device, [0, 0]))
            counts = (read // 256, 0, read, read // 900, written // 256, 0, written, written // 900, 0, read // 1800, 0)
            rows.append(f" 259 {number:7d} {volume.device} {' '.join(str(count) for count in counts)}\n")
        return Reply("".join(rows).encode())

    def _idle(self, file: str) -> Reply:
        """Two looks at what is counted, with whatever others move in between."""
        network = file == _COUNTED[1]

        def look() -> str:
            return mountstats(self.volumes, self.moved) if network else self._counters().stdout.decode()

        first = look()
        for volume in self.volumes:
            if volume.network == network:
                self._move(volume, "read", self._trouble(volume.device, 0).other * _IDLE)
        return Reply(f"{first}\n--- later\n{look()}".encode())

    def _extent(self, words: list[str]) -> Reply:
        """How long a file is that was laid out here, and how much of it lies on the device."""
        size = self.laid.get(words[-1])
        volume = self._volume(words[-1])
        if size is None or volume is None:
            return Reply(stderr=f"stat: cannot statx '{words[-1]}': No such file or directory\n".encode(), status=1)
        blocks = int(size * (1 - self._trouble(volume.device, 0).holes)) // 512
        return Reply(f"{size} {blocks} 512\n".encode())

    def _around(self) -> Reply:
        """What stands around a round, looked at before and after it: as ordered, or as a trouble leaves it a little more each time.

        Each processor counts the events of its package, and the package that is hot is the second: the first counted more before.
        """
        self.looks += 1
        trouble = next((one for one in self.troubles if one.around), Trouble())
        rounds = self.looks // 2
        clock = int(3_700_000 * trouble.clock ** (rounds % 3))
        rows = [
            "/proc/stat:cpu  "
            + " ".join(str(self.looks * ticks) for ticks in (900, 0, 300, 8500, 200, 0, 100, 0, 0, 0))
        ]
        for cpu in range(4):
            at, package = f"/sys/devices/system/cpu/cpu{cpu}", cpu // 2
            rows += [
                f"{at}/cpufreq/scaling_cur_freq:{clock}", f"{at}/topology/physical_package_id:{package}",
                f"{at}/topology/core_id:{cpu % 2}",
                f"{at}/thermal_throttle/package_throttle_count:{2 + rounds * trouble.throttled if package else 90}",
                f"{at}/thermal_throttle/core_throttle_count:{cpu}",
            ]  # fmt: skip
        rows.append(f"/sys/class/net/ens1f0np0/carrier_changes:{2 + rounds * trouble.flaps}")
        rows += [f"/sys/class/net/ens1f0np0/statistics/{name}:0" for name in ("rx_errors", "tx_errors")]
        port = "/sys/class/infiniband/mlx5_0/ports/1"
        rows += [f"{port}/counters/symbol_error:0", f"{port}/hw_counters/lifespan:10"]
        rows.append(f"{port}/hw_counters/out_of_sequence:{2 + rounds * trouble.lost}")
        rows.append(f"/sys/class/nvme/nvme0/hwmon3/temp1_input:{39850 + trouble.warmer * 1000 * rounds}")
        return Reply("".join(f"{row}\n" for row in rows).encode())

    def _move(self, volume: Volume, way: str, size: float) -> None:
        counters = self.moved.setdefault(volume.device, [0.0, 0.0])
        counters[1 if way.endswith("write") else 0] += size

    def _fio(self, words: list[str]) -> Reply:
        given = options(words)
        volume = self._volume(given.get("filename", ""))
        if volume is None:
            text = f"fio: failed to open {given.get('filename')}: No such file or directory\n"
            return Reply(text.encode(), status=1)
        trouble = self._trouble(volume.device, 0)
        if trouble.full:
            return Reply(
                b"fio: io_u error on file: No space left on device: write offset=0, buflen=1048576\n", status=1
            )
        size = int(float(given["size"]) * int(given.get("loops", "1")) * trouble.laid)
        self.laid[given["filename"]] = int(given["size"])
        self._move(volume, "write", size)
        return Reply(document(given, size / volume.write, volume.write, size, trouble).encode())

    def _watched(self, words: list[str]) -> Reply:
        given = options(words[words.index("fio") :])
        volume = self._volume(given.get("filename", ""))
        if volume is None:
            return Reply(b"fio: failed to open the file: No such file or directory\n", status=1)
        run = self.runs[given["filename"]] = self.runs.get(given["filename"], 0) + 1
        trouble = self._trouble(volume.device, run)
        seconds, ramp = float(given["runtime"]), float(given["ramp_time"])
        depth = int(given["iodepth"]) * int(given["numjobs"])
        found = rate(volume, given["rw"], int(given["bs"]), depth, trouble, run)
        ran = seconds * trouble.short
        seen = found * (1 - trouble.cached)
        self._move(volume, given["rw"], seen * (ran + ramp))
        self._move(volume, given["rw"], trouble.other * (ran + ramp))
        self._move(volume, "read" if given["rw"].endswith("write") else "write", trouble.across * (ran + ramp))
        if trouble.jobs:
            given["numjobs"] = str(trouble.jobs)
        text = "" if trouble.killed else document(given, ran, found, int(found * ran), trouble)
        watched = (
            b""
            if trouble.no_iostat
            else _iostat(volume, given["rw"], seen + trouble.other, trouble.across, int(seconds + ramp))
        )
        missing = b"sh: 1: iostat: not found\n" if trouble.no_iostat else watched
        return Reply((trouble.note + text).encode(), missing, trouble.status)


def _iostat(volume: Volume, way: str, seen: float, across: float, seconds: int) -> bytes:
    rows: list[dict[str, Any]] = []
    for second in range(seconds):
        share = seen * (1 + 0.004 * ((second * 7) % 5 - 2))
        reading, writing = (across, share) if way.endswith("write") else (share, across)
        rows.append(
            {
                "disk": [
                    {
                        "disk_device": volume.device, "r/s": round(reading / 2**18, 2), "w/s": round(writing / 2**18, 2),
                        "rkB/s": round(reading / 1024, 2), "wkB/s": round(writing / 1024, 2), "r_await": 0.31, "w_await": 0.4,
                        "aqu-sz": 7.9, "util": 99.2,
                    }
                ]
            }
        )  # fmt: skip
    hosts = [
        {"nodename": "node", "sysname": "Linux", "release": "6.8.0-60-generic", "machine": "x86_64", "statistics": rows}
    ]
    return json.dumps({"sysstat": {"hosts": hosts}}).encode() + b"\n"
