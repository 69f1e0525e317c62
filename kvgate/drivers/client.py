"""The client: streamed completions at a fixed concurrency, told request by request in one JSON document on stdout.

Sent to the load host as an argument (checks/serving/program.py holds it compressed), so it is one file, needs nothing but
Python 3.8's standard library, and imports nothing of kvgate. Usage: ``python3 client.py OPTIONS``, a JSON object:

- ``mode``: populate, warm, measure or canaries (canaries keep the text of each answer, the others its SHA-256);
- ``endpoints`` (http URLs; request i goes to endpoint ``(i + shift) % n``), ``model``;
- ``seed``, ``set``, ``count``, ``tokens``, ``ids`` [low, high): prompts are lists of token ids, so that their length is exact in
  the server's own tokens; the same seed and set are the same prompts on any machine;
- ``out``: output tokens, always generated to the last; ``concurrency``: requests under way;
- ``connect``, ``first``, ``stall``, ``limit``: deadlines in seconds for a connection, the first token, the next one, the run.

Times are seconds of this host's monotonic clock since the first of ``ends``. *sent* is taken before the request's connection
is opened and after the wait for a free slot; *first* and *last* when the bytes of an event that carries output arrived; an
event with a role, usage or [DONE] alone, an empty text and a keep-alive are none. Ends with 0 when the document is whole,
failed requests or not, with 2 for options it cannot use and with 3 for an endpoint whose name it cannot resolve.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import signal
import sys
import time
from typing import Any, Dict, List, Optional, Tuple, cast
from urllib.parse import urlsplit

from kvgate.drivers.prompts import given, instant, prompt, rounded
from kvgate.drivers.stream import Answer, Broken

VERSION = 1
COLUMNS = [
    "index", "status", "waited", "sent", "first", "last", "tokens_in", "tokens_out", "cached", "events", "finish", "output",
    "error",
]  # fmt: skip
_OPTIONS = {
    "mode": str, "endpoints": list, "model": str, "seed": int, "set": str, "count": int, "tokens": int, "ids": list,
    "out": int, "concurrency": int, "shift": int, "connect": float, "first": float, "stall": float, "limit": float,
}  # fmt: skip
_MODES = ("populate", "warm", "measure", "canaries")
_LOOK = 1.0  # seconds between two looks at a deadline, which the first token changes
_BEAT = 0.02  # seconds between two looks at whether this process still keeps up


class Exchange(asyncio.Protocol):
    """One request on one connection."""

    def __init__(self, request: bytes, answer: Answer, over: asyncio.Future[Optional[str]]) -> None:
        self.request, self.answer, self.over = request, answer, over
        self.transport: Optional[asyncio.Transport] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        self.transport = cast("asyncio.Transport", transport)  # what a TCP connection is given
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Take what arrived, at the time it arrived."""
        now = time.monotonic()
        try:
            if not self.over.done() and self.answer.feed(data, now):
                self._end(None)
        except Broken as error:
            self._end(str(error))

    def connection_lost(self, exc: Optional[Exception]) -> None:
        """Take the end of the connection."""
        if self.over.done():
            return
        try:
            self.answer.end(time.monotonic())
            self._end(None)
        except Broken as error:
            self._end(f"{error} ({exc})" if exc else str(error))

    def _end(self, error: Optional[str]) -> None:
        if not self.over.done():
            self.over.set_result(error)
        if self.transport is not None:
            self.transport.abort()


class Client:
    """One run: prompts, the requests under way, and what became of each."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options
        self.rows: List[List[Any]] = [[index, "unfinished"] + [None] * 10 + [""] for index in range(options["count"])]
        self.lags: List[float] = []
        self.prompts = hashlib.sha256()
        self.requests: List[bytes] = []
        self.addresses: List[Tuple[Any, ...]] = []
        self.start = 0.0

    def prepare(self) -> None:
        """Write every request before the first is sent: none of it takes time from the others then."""
        options = self.options
        fixed = {
            "model": options["model"], "max_tokens": options["out"], "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True},
        }  # fmt: skip
        start = json.dumps(fixed)[:-1].encode() + b', "prompt": '
        for index in range(options["count"]):
            ids = prompt(options["seed"], options["set"], index, options["tokens"], *options["ids"])
            text = json.dumps(ids, separators=(",", ":")).encode()
            self.prompts.update(text + b"\n")
            url = urlsplit(self._endpoint(index))
            head = (
                f"POST {url.path.rstrip('/')}/v1/completions HTTP/1.1\r\nHost: {url.netloc}\r\n"
                "Content-Type: application/json\r\nAccept: text/event-stream\r\nConnection: close\r\n"
                f"Content-Length: {len(start) + len(text) + 1}\r\n\r\n"
            )
            self.requests.append(head.encode() + start + text + b"}")

    def _endpoint(self, index: int) -> str:
        endpoints = self.options["endpoints"]
        return str(endpoints[(index + self.options["shift"]) % len(endpoints)])

    async def run(self) -> Dict[str, Any]:
        """Make the run and return its document."""
        loop = asyncio.get_running_loop()
        for endpoint in self.options["endpoints"]:
            url = urlsplit(endpoint)
            found = await loop.getaddrinfo(url.hostname, url.port or 80, type=1)
            self.addresses.append((found[0][0], found[0][4]))
        gc.collect()
        gc.disable()
        ends = [instant()]
        self.start = ends[0][1]
        began = time.process_time()
        slots = asyncio.Semaphore(self.options["concurrency"])
        beat = asyncio.ensure_future(self._beat())
        tasks = [asyncio.ensure_future(self._request(index, slots)) for index in range(self.options["count"])]
        ended = asyncio.ensure_future(self._signalled(loop))
        everything = asyncio.ensure_future(asyncio.wait(tasks))
        await asyncio.wait([everything, ended], timeout=self.options["limit"], return_when=asyncio.FIRST_COMPLETED)
        for task in [*tasks, everything, ended, beat]:
            task.cancel()
        await asyncio.gather(*tasks, everything, ended, beat, return_exceptions=True)
        ends.append(instant())
        return self._document(ends, time.process_time() - began)

    async def _signalled(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, asked.set)
        await asked.wait()

    async def _beat(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(_BEAT)
            self.lags.append(time.monotonic() - before - _BEAT)

    async def _request(self, index: int, slots: asyncio.Semaphore) -> None:
        row, made = self.rows[index], time.monotonic()
        async with slots:
            sent = time.monotonic()
            row[2], row[3] = rounded(sent - made), rounded(sent - self.start)
            answer = Answer()
            error = await self._exchange(index, answer, sent)
            if error is not None:
                row[1], row[12] = "failed", error
            else:
                row[1] = "completed" if answer.first is not None else "empty"
            self._tell(row, answer)
            self.requests[index] = b""

    async def _exchange(self, index: int, answer: Answer, sent: float) -> Optional[str]:
        loop, options = asyncio.get_running_loop(), self.options
        over: asyncio.Future[Optional[str]] = loop.create_future()
        exchange = Exchange(self.requests[index], answer, over)
        family, address = self.addresses[(index + options["shift"]) % len(self.addresses)]
        try:
            opening = loop.create_connection(lambda: exchange, address[0], address[1], family=family)
            await asyncio.wait_for(opening, options["connect"])
            while not over.done():
                due = sent + options["first"] if answer.last is None else answer.last + options["stall"]
                left = due - time.monotonic()
                if left <= 0:
                    what = "first" if answer.last is None else "stall"
                    return f"no {'first' if answer.last is None else 'further'} token for {options[what]:g} s"
                await asyncio.wait([over], timeout=min(left, _LOOK))
            return over.result()
        except asyncio.TimeoutError:
            return f"no connection for {options['connect']:g} s"
        except OSError as error:
            return f"no connection: {error}"
        finally:
            if not over.done():
                over.cancel()
            if exchange.transport is not None:
                exchange.transport.abort()

    def _tell(self, row: List[Any], answer: Answer) -> None:
        text = "".join(answer.texts)
        details = answer.usage.get("prompt_tokens_details")
        row[4] = None if answer.first is None else rounded(answer.first - self.start)
        row[5] = None if answer.last is None else rounded(answer.last - self.start)
        row[6], row[7] = _count(answer.usage.get("prompt_tokens")), _count(answer.usage.get("completion_tokens"))
        row[8] = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
        row[9], row[10] = answer.events, answer.finish
        if answer.first is not None:
            keeps = self.options["mode"] == "canaries"
            row[11] = text if keeps else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _document(self, ends: List[List[float]], cpu: float) -> Dict[str, Any]:
        lags = sorted(self.lags) or [0.0]
        return {
            "kvgate_client": VERSION,
            "python": ".".join(map(str, sys.version_info[:3])),
            "options": self.options,
            "prompts": self.prompts.hexdigest(),
            "ends": ends,
            "cpu": {
                "seconds": rounded(cpu), "beats": len(self.lags), "lag_p99": rounded(lags[len(lags) * 99 // 100]),
                "lag_max": rounded(lags[-1]),
            },
            "columns": COLUMNS,
            "requests": self.rows,
            "complete": True,
        }  # fmt: skip


def _count(value: Any) -> Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def options(text: str) -> Dict[str, Any]:
    """Read the options. Raises ValueError with what is wrong."""
    table = given(text, _OPTIONS)
    low, high = table["ids"]
    least = [table[name] for name in ("count", "tokens", "out", "concurrency", "connect", "first", "stall", "limit")]
    if table["mode"] not in _MODES or not table["endpoints"] or min(least) <= 0 or not 0 <= low < high <= 1 << 32:
        raise ValueError("mode, endpoints, numbers or ids out of range")
    if any(urlsplit(one).scheme != "http" or not urlsplit(one).hostname for one in table["endpoints"]):
        raise ValueError(f"endpoints {table['endpoints']}, wanted http://HOST[:PORT]")
    return table


def main(words: List[str]) -> int:
    """Run once. ``words``: the options."""
    try:
        client = Client(options(words[0]))
    except (ValueError, IndexError, TypeError) as error:
        sys.stderr.write(f"kvgate client: {error}\n")
        return 2
    client.prepare()
    try:
        document = asyncio.run(client.run())
    except OSError as error:  # the name of an endpoint; whatever happens to a request stands in its row
        sys.stderr.write(f"kvgate client: {error}\n")
        return 3
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
