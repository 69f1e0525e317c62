"""The load side of one virtual host: folders, sweeps, fio with iostat beside it, and the counters that they move."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lab.load.fabric import FabricHost
from lab.load.model import ARRAY, LOCAL, Trouble, Volume, rate
from lab.machine import Reply
from lab.serving.host import ServingHost
from lab.serving.model import Flaw

_HERE = Path(__file__).parent
_PERCENTILES = {50.0: 0.95, 90.0: 1.2, 95.0: 1.35, 99.0: 1.7, 99.9: 2.3}


@cache
def _form() -> str:
    return (_HERE / "fio-3.33.json").read_text("utf-8")


@dataclass
class LoadHost:
    """Answers what makes load; None for a command that is none of its own. ``runs`` counts fio's measured runs by file."""

    name: str
    volumes: tuple[Volume, ...] = (LOCAL, ARRAY)
    troubles: tuple[Trouble, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    moved: dict[str, list[float]] = field(default_factory=dict)
    fabric: FabricHost | None = None
    boot: str = ""
    flaws: tuple[Flaw, ...] = ()
    serving: ServingHost | None = None

    def __post_init__(self) -> None:
        self.serving = ServingHost(
            self.name, self.boot, self.moved, lambda: self._counters().stdout.decode(), self.flaws
        )

    def answer(self, line: str) -> Reply | None:
        """Answer one command line."""
        if self.serving is not None and (found := self.serving.answer(line)) is not None:
            return found
        try:
            words = shlex.split(line)
        except ValueError:
            return None
        if words[:1] == ["env"] and len(words) > 2 and words[1].startswith("KVGATE_LOAD="):
            words = words[2:]
        ways: tuple[tuple[bool, Callable[[list[str]], Reply | None]], ...] = (
            (words[:1] == ["mkdir"] or words[:1] == ["rm"], lambda _: Reply()),
            (words[:2] == ["sh", "-c"] and "KVGATE_LOAD" in words[2], lambda _: Reply(b"ours 0\nend\n")),
            (words == ["cat", "/proc/diskstats"], lambda _: self._counters()),
            (words == ["fio", "--version"], lambda _: Reply(f"{self._version()}\n".encode())),
            (words[:1] == ["fio"], self._fio),
            (words[:2] == ["sh", "-c"] and "iostat" in words[2] and "fio" in words, self._watched),
        )
        if self.fabric is not None and (reply := self.fabric.answer(words)) is not None:
            return reply
        return next((answer(words) for applies, answer in ways if applies), None)

    def _trouble(self, device: str, run: int) -> Trouble:
        return next((one for one in self.troubles if one.applies(device, run)), Trouble())

    def _version(self) -> str:
        return next((one.version for one in self.troubles), Trouble().version)

    def _volume(self, file: str) -> Volume | None:
        return next((one for one in self.volumes if file.startswith(one.path + "/")), None)

    def _counters(self) -> Reply:
        rows = []
        for number, volume in enumerate(self.volumes):
            read, written = (int(size) // 512 for size in self.moved.get(volume.device, [0, 0]))
            counts = (read // 256, 0, read, read // 900, written // 256, 0, written, written // 900, 0, read // 1800, 0)
            rows.append(f" 259 {number:7d} {volume.device} {' '.join(str(count) for count in counts)}\n")
        return Reply("".join(rows).encode())

    def _move(self, volume: Volume, way: str, size: float) -> None:
        counters = self.moved.setdefault(volume.device, [0.0, 0.0])
        counters[1 if way.endswith("write") else 0] += size

    def _fio(self, words: list[str]) -> Reply:
        options = _options(words)
        volume = self._volume(options.get("filename", ""))
        if volume is None:
            text = f"fio: failed to open {options.get('filename')}: No such file or directory\n"
            return Reply(text.encode(), status=1)
        trouble = self._trouble(volume.device, 0)
        if trouble.full:
            return Reply(
                b"fio: io_u error on file: No space left on device: write offset=0, buflen=1048576\n", status=1
            )
        size = float(options["size"])
        self._move(volume, "write", size)
        return Reply(_document(options, size / volume.write, volume.write, int(size), trouble).encode())

    def _watched(self, words: list[str]) -> Reply:
        options = _options(words[words.index("fio") :])
        volume = self._volume(options.get("filename", ""))
        if volume is None:
            return Reply(b"fio: failed to open the file: No such file or directory\n", status=1)
        run = self.runs[options["filename"]] = self.runs.get(options["filename"], 0) + 1
        trouble = self._trouble(volume.device, run)
        seconds, ramp = float(options["runtime"]), float(options["ramp_time"])
        depth = int(options["iodepth"]) * int(options["numjobs"])
        found = rate(volume, options["rw"], int(options["bs"]), depth, trouble, run)
        ran = seconds * trouble.short
        seen = found * (1 - trouble.cached)
        self._move(volume, options["rw"], seen * (ran + ramp))
        self._move(volume, options["rw"], trouble.other * (ran + ramp))
        text = "" if trouble.killed else _document(options, ran, found, int(found * ran), trouble)
        watched = (
            b"" if trouble.no_iostat else _iostat(volume, options["rw"], seen + trouble.other, int(seconds + ramp))
        )
        missing = b"sh: 1: iostat: not found\n" if trouble.no_iostat else watched
        return Reply((trouble.note + text).encode(), missing, trouble.status)


def _options(words: list[str]) -> dict[str, str]:
    found = (re.fullmatch(r"--([\w-]+)(?:=(.*))?", word, re.DOTALL) for word in words)
    return {one[1]: one[2] or "1" for one in found if one is not None}


def _document(options: dict[str, str], seconds: float, speed: float, size: int, trouble: Trouble) -> str:
    """What fio prints: a captured document with the numbers of this run."""
    document: dict[str, Any] = json.loads(_form())
    document["fio version"] = trouble.version
    job = document["jobs"][0]
    job |= {"jobname": options["name"], "error": trouble.error, "elapsed": int(seconds) + 1}
    shown = {
        key: options[key]
        for key in ("filename", "size", "rw", "bs", "iodepth", "ioengine", "runtime")
        if key in options
    }
    direct = "0" if trouble.buffered else "1"
    job["job options"] = {"name": options["name"], "direct": direct} | shown
    busy, idle = ("write", "read") if options["rw"].endswith("write") else ("read", "write")
    form = job["read"]
    job[idle] = json.loads(json.dumps(job["trim"]))
    block = int(options["bs"])
    depth = int(options["iodepth"]) * int(options.get("numjobs", "1"))
    mean = depth * block / speed * 1e9 * trouble.latency
    form |= {
        "io_bytes": size, "io_kbytes": size // 1024, "bw_bytes": int(speed), "bw": int(speed) // 1024,
        "iops": round(speed / block, 6), "runtime": int(seconds * 1000), "total_ios": size // block,
    }  # fmt: skip
    points = {f"{percent:.6f}": int(mean * share) for percent, share in _PERCENTILES.items()}
    form["clat_ns"] |= {"mean": round(mean, 6), "max": int(mean * 3), "min": int(mean / 2), "N": size // block}
    form["clat_ns"]["percentile"] = points
    form["lat_ns"] |= {"mean": round(mean * 1.01, 6), "max": int(mean * 3.1), "N": size // block}
    job[busy] = form
    cpu = trouble.cpu if trouble.cpu is not None else min(70.0, speed / block / 4000 + speed / 4e8)
    job |= {"usr_cpu": round(cpu * 0.2, 6), "sys_cpu": round(cpu * 0.8, 6)}
    return json.dumps(document, indent=2) + "\n"


def _iostat(volume: Volume, way: str, seen: float, seconds: int) -> bytes:
    rows: list[dict[str, Any]] = []
    for second in range(seconds):
        share = seen * (1 + 0.004 * ((second * 7) % 5 - 2))
        reading, writing = (0.0, share) if way.endswith("write") else (share, 0.0)
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
