"""The launcher: runs a load tool of the host on prompts of kvgate's own seed, and tells in one JSON document what it wrote.

Sent to the load host as an argument (checks/serving/launcher.py holds it compressed), so it needs nothing but Python 3.8's
standard library. Usage: ``python3 launch.py OPTIONS``, a JSON object:

- ``version``: the words that print the tool's version; ``argv``: the tool's words, run without a shell, ``{dataset}`` in them
  standing for the file of prompts and ``{folder}`` for the folder of results; ``environment`` is added to its environment;
- ``seed``, ``set``, ``count``, ``tokens``, ``ids`` [low, high): the prompts, the same lists of token ids as kvgate's client's;
  each stands in a copy of the object ``row`` as its ``prompt``; the dataset has one such object a line (``form`` lines), or one
  session with one payload each (``form`` sessions, the inputs.json of aiperf);
- ``results``: names of the files that the tool writes; ``limit``: seconds after which it is ended.

The document tells both clocks before and after the tool, its exit status and last words, processor time, and how late this
process came to what was due. Dataset and results are removed from the host. Ends with 0 when the document is whole, with 2
for options that it cannot use.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional

from kvgate.drivers.prompts import given, instant, prompt, rounded

VERSION = 1
_OPTIONS = {
    "version": list, "argv": list, "environment": dict, "seed": int, "set": str, "count": int, "tokens": int, "ids": list,
    "row": dict, "form": str, "results": list, "limit": float,
}  # fmt: skip
# Before the first prompt, between two of them, after the last.
_FORMS = {
    "lines": ("", "\n", "\n"),
    "sessions": (
        '{"data":[{"session_id":"p0","payloads":[', ']},{"session_id":"pNUMBER","payloads":[', "]}]}\n"
    ),
}  # fmt: skip
_BEAT = 0.02  # seconds between two looks at the tool, and at whether this process still keeps up
_POLITE = 10.0  # seconds that the tool has to end after it was told to
_SAID = 2000  # characters of its last words


class Launch:
    """One run of the tool."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options
        self.lags: List[float] = []
        self.ended = False  # told to end, by a signal or by the limit
        self.folder = tempfile.mkdtemp(prefix="kvgate-tool-")

    def run(self) -> Dict[str, Any]:
        """Make the run and return its document."""
        try:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, self._signalled)
            prompts = self._dataset()
            version = self._version()
            used, ends = _used(), [instant()]
            status = self._tool()
            ends.append(instant())
            return self._document(prompts, version, ends, status, _used() - used)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _signalled(self, number: int, frame: Any) -> None:
        self.ended = True

    def _dataset(self) -> str:
        """Write the dataset and return the SHA-256 of its prompts."""
        options, digest = self.options, hashlib.sha256()
        before, between, after = _FORMS[options["form"]]
        with open(self._dataset_name(), "w", encoding="utf-8") as file:
            for index in range(options["count"]):
                ids = prompt(options["seed"], options["set"], index, options["tokens"], *options["ids"])
                digest.update(json.dumps(ids, separators=(",", ":")).encode() + b"\n")
                row = json.dumps(dict(options["row"], prompt=ids), separators=(",", ":"))
                file.write((between if index else before).replace("NUMBER", str(index)) + row)
            file.write(after)
        return digest.hexdigest()

    def _dataset_name(self) -> str:
        return os.path.join(self.folder, "prompts.json" + ("l" if self.options["form"] == "lines" else ""))

    def _version(self) -> str:
        try:
            done = subprocess.run(
                self.options["version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=120
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode("utf-8", "replace").strip()[:80] if done.returncode == 0 else ""

    def _tool(self) -> Optional[int]:
        """Run the tool to its end or to the limit; its exit status, None where it could not be started."""
        argv = [
            word.replace("{dataset}", self._dataset_name()).replace("{folder}", self.folder)
            for word in self.options["argv"]
        ]
        with open(self._said_name(), "wb") as said:
            try:
                tool = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=self.folder, start_new_session=True,
                    env=dict(os.environ, **self.options["environment"]),
                )  # fmt: skip
            except OSError as error:
                said.write(str(error).encode())
                return None
            return self._watched(tool)

    def _said_name(self) -> str:
        return os.path.join(self.folder, "said")

    def _watched(self, tool: subprocess.Popen[bytes]) -> int:
        until = time.monotonic() + self.options["limit"]
        killed = 0.0
        while tool.poll() is None:
            before = time.monotonic()
            time.sleep(_BEAT)
            now = time.monotonic()
            self.lags.append(now - before - _BEAT)
            if now > until:
                self.ended = True
            if self.ended and not killed:
                killed = now + _POLITE
                _end(tool, signal.SIGTERM)
            elif killed and now > killed:
                _end(tool, signal.SIGKILL)
        return tool.returncode

    def _document(
        self, prompts: str, version: str, ends: List[List[float]], status: Optional[int], used: float
    ) -> Dict[str, Any]:
        lags = sorted(self.lags) or [0.0]
        return {
            "kvgate_tool": VERSION,
            "python": ".".join(map(str, sys.version_info[:3])),
            "options": self.options,
            "prompts": prompts,
            "version": version,
            "status": status,
            "cut": self.ended,
            "said": (self._read(self._said_name()) or "")[-_SAID:],
            "ends": ends,
            "cpu": {
                "seconds": rounded(used), "beats": len(self.lags), "lag_p99": rounded(lags[len(lags) * 99 // 100]),
                "lag_max": rounded(lags[-1]),
            },
            "results": {name: self._read(os.path.join(self.folder, name)) for name in self.options["results"]},
            "complete": True,
        }  # fmt: skip

    def _read(self, path: str) -> Optional[str]:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None


def _used() -> float:
    """Processor seconds of all programs that this one started and that are over."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _end(tool: subprocess.Popen[bytes], number: int) -> None:
    """Signal the tool and what it started; a tool that is over by now is no error."""
    with contextlib.suppress(OSError):
        os.killpg(tool.pid, number)


def options(text: str) -> Dict[str, Any]:
    """Read the options. Raises ValueError with what is wrong."""
    table = given(text, _OPTIONS)
    low, high = table["ids"]
    words = [*table["version"], *table["argv"], *table["results"], *table["environment"].values()]
    if (
        table["form"] not in _FORMS
        or not table["argv"]
        or not table["version"]
        or not all(isinstance(word, str) for word in words)
    ):
        raise ValueError("form is unknown, or version, argv, results or environment are no words")
    if any(os.path.basename(name) != name for name in table["results"]):
        raise ValueError(f"results {table['results']}, wanted names of files in the folder")
    if min(table[name] for name in ("count", "tokens", "limit")) <= 0 or not 0 <= low < high <= 1 << 32:
        raise ValueError("numbers or ids out of range")
    return table


def main(words: List[str]) -> int:
    """Run once. ``words``: the options."""
    try:
        launch = Launch(options(words[0]))
    except (ValueError, IndexError, TypeError) as error:
        sys.stderr.write(f"kvgate launcher: {error}\n")
        return 2
    sys.stdout.write(json.dumps(launch.run(), separators=(",", ":")) + "\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
