"""What fio prints: a captured document with the numbers of a run, and the options that it was called with."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from lab.load.model import Trouble

_HERE = Path(__file__).parent
_PERCENTILES = {50.0: 0.95, 90.0: 1.2, 95.0: 1.35, 99.0: 1.7, 99.9: 2.3}


@cache
def _form() -> str:
    return (_HERE / "fio-3.33.json").read_text("utf-8")


def options(words: list[str]) -> dict[str, str]:
    """Options of a command line by name; those without a value are ``1``."""
    found = (re.fullmatch(r"--([\w-]+)(?:=(.*))?", word, re.DOTALL) for word in words)
    return {one[1]: one[2] or "1" for one in found if one is not None}


def document(
    options: dict[str, str], seconds: float, speed: float, size: int, trouble: Trouble | None = None, error: int = 0
) -> str:
    """Return what fio prints of a run that moved ``size`` bytes at ``speed`` in ``seconds``."""
    trouble = trouble or Trouble()
    document: dict[str, Any] = json.loads(_form())
    document["fio version"] = trouble.version
    job = document["jobs"][0]
    job |= {"jobname": options["name"], "error": error or trouble.error, "elapsed": int(seconds) + 1}
    shown = {
        key: options[key]
        for key in ("filename", "directory", "size", "rw", "bs", "iodepth", "ioengine", "runtime", "numjobs", "verify")
        if key in options
    }
    direct = "0" if trouble.buffered else "1"
    job["job options"] = {"name": options["name"], "direct": direct} | shown
    busy, idle = ("write", "read") if options["rw"].endswith("write") else ("read", "write")
    form = job["read"]
    job[idle] = json.loads(json.dumps(job["trim"]))
    block = int(options["bs"])
    depth = int(options.get("iodepth", "1")) * int(options.get("numjobs", "1"))
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
