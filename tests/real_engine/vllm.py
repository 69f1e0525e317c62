"""A real vLLM as a process of the test: started, asked, ended with everything it left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from checks.parsers import diskstats, prometheus
from checks.parsers.prometheus import Metrics

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "lab" / "real_engine"
PORT = 8137
_PATIENCE = 1200.0  # seconds: it starts in one minute on two idle cores


class Vllm:
    """Use as a context manager; it serves inside. ``folder`` holds ``venv`` and ``model``; ``kv`` the files of its tier."""

    url = f"http://127.0.0.1:{PORT}"

    def __init__(self, folder: Path, kv: Path, log: Path) -> None:
        self.folder, self.kv, self.log = folder, kv, log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Vllm:
        words = [
            "sh",
            str(RECIPE / "serve.sh"),
            str(self.folder / "venv"),
            str(self.folder / "model"),
            str(self.kv),
            str(PORT),
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            assert self._process.poll() is None, self.log.read_text("utf-8", "replace")[-3000:]
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        self.__exit__(None, None, None)
        raise AssertionError(f"not ready within {_PATIENCE:g} s; see {self.log}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(60)
                break
            except subprocess.TimeoutExpired:
                continue
        for name in set(re.findall(r"/dev/shm/vllm_offload_[0-9a-f-]*\.mmap", self.log.read_text("utf-8", "replace"))):
            Path(name).unlink(missing_ok=True)  # the host tier outlives its process

    def metrics(self) -> Metrics:
        """Scrape the page."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=30) as answer:
            return prometheus.parse(answer.read().decode())

    def reset(self) -> None:
        """Empty the engine's cache and the host tier; files stay."""
        request = urllib.request.Request(f"{self.url}/reset_prefix_cache?reset_external=true", method="POST")
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 200

    def forget(self) -> None:
        """Empty everything, files too."""
        self.reset()
        for path in self.settled():
            path.unlink()

    def settled(self, still: float = 5.0, patience: float = 300.0) -> list[Path]:
        """Files of the tier once their number stands still: they are written behind the answers."""
        until, found, since = time.monotonic() + patience, self.files(), time.monotonic()
        while time.monotonic() < min(until, since + still):
            time.sleep(0.2)
            if len(now := self.files()) != len(found):
                found, since = now, time.monotonic()
        return found

    def files(self) -> list[Path]:
        """Files of the tier."""
        return [path for path in self.kv.rglob("*") if path.is_file()]


def read_bytes(folder: Path) -> int | None:
    """Bytes that the block device below a folder has read since boot; None where there is no such device (overlay, tmpfs)."""
    number = folder.stat().st_dev
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not link.exists():
        return None
    moved = {one.device: one for one in diskstats.parse(Path("/proc/diskstats").read_text())}
    return moved[link.resolve().name].read_bytes
