"""The worker as one file: a zip of kvgate.soak.host that Python runs, the same bytes wherever it is made."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from importlib.resources import files

from kvgate.codec import digest

_MAIN = """import sys
if sys.version_info < (3, 8):
    sys.exit("found Python %d.%d, wanted 3.8 or newer" % sys.version_info[:2])
from kvgate_worker.main import main
sys.exit(main(sys.argv[1:]))
"""
_WHEN = (1980, 1, 1, 0, 0, 0)


@cache
def worker() -> bytes:
    """Bytes of ``worker.pyz``."""
    folder = files("kvgate.soak.host")
    texts = {"__main__.py": _MAIN}
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.name.endswith(".py"):
            texts[f"kvgate_worker/{one.name}"] = one.read_text("utf-8")
    texts["kvgate_worker/mask.py"] = (files("kvgate") / "mask.py").read_text("utf-8")
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, text in texts.items():
            file.writestr(zipfile.ZipInfo(name, _WHEN), text.encode(), zipfile.ZIP_DEFLATED, 9)
    return raw.getvalue()


def worker_digest() -> str:
    """SHA-256 of the worker, as the hosts verify it and the journal carries it."""
    return digest(worker())
