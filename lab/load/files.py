"""Whole files on a virtual host: written with checksums and verified, summed, loaded cold and saved until durable."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.load.document import document, options
from lab.load.model import Volume
from lab.machine import Reply

_ENGINE = (
    "INFO 11-29 10:22:20 [default_loader.py:272] Loading weights took 63.22 seconds\n"
    "INFO 11-29 10:22:21 [gpu_model_runner.py:1801] Model loading took 56.2488 GiB and 65.173644 seconds\n"
)


@dataclass(frozen=True)
class Upset:
    """What is wrong with whole files on a device (empty: all). ``corrupt``: what comes back differs. ``kept``: memory answers.

    ``load`` slows reading, ``save`` durable writing; ``unsteady`` is the relative deviation of loads. ``across`` makes the verify
    say that versions differ, ``io`` that the device gives an I/O error, ``broken`` the same of reading a model; ``short`` verifies
    that share only. ``full``: no space. ``laid`` is the share of a model's files that is written when they are laid out.
    ``anew`` is how letting a volume go and taking it again ends, ``forgets`` loses with the connection what was written before.
    """

    on: str = ""
    corrupt: bool = False
    sums: bool = False
    torn: bool = False
    kept: bool = False
    load: float = 1.0
    save: float = 1.0
    unsteady: float = 0.003
    across: bool = False
    io: bool = False
    short: float = 1.0
    full: bool = False
    laid: float = 1.0
    no_drop: bool = False
    killed: bool = False
    empty: bool = False
    torn_save: bool = False
    broken: bool = False
    anew: str = ""
    forgets: bool = False


@dataclass
class FilesHost:
    """Answers about whole files. ``move`` tells the counters of the device what was read.

    ``server`` is what the server of network filesystems keeps: one host writes it and another reads it back.
    """

    volumes: tuple[Volume, ...]
    move: Callable[[Volume, str, float], None]
    upsets: tuple[Upset, ...] = ()
    runs: dict[str, int] = field(default_factory=dict)
    uptime: float = 86400.0
    server: dict[str, int] = field(default_factory=dict)
    laid: dict[str, int] = field(default_factory=dict)  # bytes of files that stand for a model, by folder

    def answer(self, words: list[str]) -> Reply | None:
        """Answer one command; None for what is none of its own."""
        text = words[2] if words[:2] == ["sh", "-c"] else ""
        if "drop_caches" in text:
            if any(one.no_drop for one in self.upsets):
                return Reply(stderr=b"sh: 1: cannot create /proc/sys/vm/drop_caches: Read-only file system\n", status=2)
            return Reply(b"dropped\n")
        if "anew: kept" in text:
            return self._anew(words[4])
        if "Loading weights took" in text:
            return Reply(_ENGINE.encode())
        if "sha256sum" in text:
            return self._sums(words, writing="urandom" in text)
        if "of=/dev/null bs=4M" in text:
            return self._load(words)
        if "durable $start $end" in text:
            return self._save(words)
        if words[:1] == ["fio"] and "--verify=crc32c" in words:
            return self._verify(words) if "--rw=read" in words else self._write(words)
        if words[:1] == ["fio"] and "--name=shards" in words:
            given = options(words)
            self.laid[given["directory"]] = int(given["numjobs"]) * int(given["size"])
            return self._write(words)
        return None

    def _volume(self, path: str) -> Volume | None:
        return next((one for one in self.volumes if path.startswith(one.path + "/")), None)

    def _upset(self, volume: Volume) -> Upset:
        return next((one for one in self.upsets if one.on in ("", volume.device)), Upset())

    def _run(self, key: str, noise: float) -> float:
        run = self.runs[key] = self.runs.get(key, 0) + 1
        return 1 + random.Random(f"{key} {run}").gauss(0.0, noise)

    def _sums(self, words: list[str], *, writing: bool) -> Reply:
        volume = self._volume(words[4])
        if volume is None:
            return Reply(stderr=b"sh: 1: cannot open: No such file\n", status=2)
        upset, count = self._upset(volume), int(words[5])
        if writing and upset.full:
            return Reply(stderr=b"tee: write error: No space left on device\n", status=1)
        key, kept = f"sums {words[4]}", self.server if volume.network else self.runs
        kept[key] = kept.get(key, 0) + (1 if writing else 0)
        if writing:
            kept[f"size {words[4]}"] = int(words[6])
        size = kept.get(f"size {words[4]}", 0)
        if not writing:
            self.move(volume, "read", 0.0 if upset.kept else count * size)
        rows = []
        for number in range(count):
            other = not writing and upset.sums and number == 1
            digest = hashlib.sha256(f"{key} {kept[key]} {number} {other}".encode()).hexdigest()
            found = size // 2 if upset.torn and number == 0 else size
            rows.append(f"file {number} {found} {digest}\n")
        return Reply("".join(rows).encode())

    def _anew(self, path: str) -> Reply:
        volume = self._volume(f"{path}/")
        if volume is None:
            return Reply(f"anew: kept findmnt finds nothing mounted at {path}\n".encode())
        upset = self._upset(volume)
        if upset.forgets:
            self.runs[f"forgot {path}"] = 1
        return Reply(f"anew: {upset.anew or ('done 0' if volume.network else 'done 1')}\n".encode())

    def _write(self, words: list[str]) -> Reply:
        given = options(words)
        volume = self._volume(given.get("filename", given.get("directory", "")) + "/")
        if volume is None:
            return Reply(b"fio: failed to open the file: No such file or directory\n", status=1)
        if self._upset(volume).full:
            return Reply(
                b"fio: io_u error on file: No space left on device: write offset=0, buflen=1048576\n", status=1
            )
        self.runs.pop(f"forgot {volume.path}", None)
        size = int(given["size"]) * int(given.get("numjobs", "1"))
        size = int(size * self._upset(volume).laid) if given["name"] == "shards" else size
        return Reply(document(given, size / volume.write, volume.write, size).encode())

    def _verify(self, words: list[str]) -> Reply:
        given = options(words)
        volume = self._volume(given.get("filename", given.get("directory", "")) + "/")
        if volume is None:
            return Reply(b"fio: failed to open the file: No such file or directory\n", status=1)
        upset = self._upset(volume)
        saved = "directory" in given
        if upset.killed:
            return Reply(b"", status=137)
        size = int(int(given["size"]) * int(given.get("numjobs", "1")) * upset.short)
        bad = upset.torn_save if saved else upset.corrupt or f"forgot {volume.path}" in self.runs
        error = 84 if bad or upset.across else 5 if upset.io else 0
        said = ""
        if bad:
            said = "crc32c: verify failed at file integrity offset 2424832, length 1048576\n       Expected CRC: 5a2bcc38\n"
            size = 2424832
        if upset.across:
            said = "verify: unsupported header version 5, wanted 81. Are you trying to verify across versions of fio? at file x\n"
        self.move(volume, "read", 0.0 if upset.kept else size)
        text = document(given, size / volume.read, volume.read, size, error=error)
        return Reply(text.encode(), said.encode(), 1 if error else 0)

    def _load(self, words: list[str]) -> Reply:
        folder = words[4]
        volume = self._volume(folder + "/")
        if volume is None:
            return Reply(stderr=b"find: No such file or directory\n", status=1)
        upset = self._upset(volume)
        if upset.broken:  # as xargs ends where one of its commands failed
            return Reply(stderr=f"dd: error reading '{folder}/shard-3': Input/output error\n".encode(), status=123)
        count, size = (0, 0) if upset.empty else (8, self.laid.get(folder, 8 * 4 * 2**30))
        seconds = size / (volume.read * 0.93 * upset.load * self._run(f"load {folder}", upset.unsteady))
        self.move(volume, "read", 0.0 if upset.kept else size)
        start, self.uptime = self.uptime, self.uptime + seconds
        return Reply(f"files {count} bytes {size} start {start:.2f} end {self.uptime:.2f}\n".encode())

    def _save(self, words: list[str]) -> Reply:
        reply = self._write(words[words.index("fio") :])
        volume = self._volume(words[4] + "/")
        if volume is None or reply.status:
            return Reply(reply.stdout, reply.stderr, 1)
        upset, given = self._upset(volume), options(words)
        size = int(given["size"]) * int(given["numjobs"])
        seconds = size / (volume.write * 0.92 * upset.save * self._run(f"save {words[4]}", 0.003))
        start, self.uptime = self.uptime, self.uptime + seconds
        return Reply(reply.stdout + f"\ndurable {start:.2f} {self.uptime:.2f}\n".encode())
