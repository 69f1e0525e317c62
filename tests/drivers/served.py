"""A server on loopback that answers each request with the pieces of bytes it was told, pauses between them included."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

Piece = bytes | float
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def event(table: Any) -> bytes:
    return b"data: " + (table if isinstance(table, bytes) else json.dumps(table).encode()) + b"\n\n"


def said(text: str, finish: str | None = None) -> bytes:
    return event({"object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": finish}]})


def usage(tokens_in: int, tokens_out: int, cached: int | None = None) -> bytes:
    table: dict[str, Any] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
    if cached is not None:
        table["prompt_tokens_details"] = {"cached_tokens": cached}
    return event({"object": "text_completion", "choices": [], "usage": table})


DONE = event(b"[DONE]")
END = b"0\r\n\r\n"


def whole(*events: bytes) -> list[Piece]:
    return [HEAD, *(chunk(one) for one in events), END]


class Served:
    """Use as a context manager. ``behave`` gets the request's number and JSON body; ``asked`` keeps the bodies."""

    def __init__(self, behave: Callable[[int, dict[str, Any]], Iterable[Piece]]) -> None:
        self.behave = behave
        self.asked: list[dict[str, Any]] = []
        self.together = self.most = 0
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=200)
        self._over = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Served:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over = True
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept; closing alone would leave the port open until then
        self._socket.close()

    def _accept(self) -> None:
        while not self._over:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                data += connection.recv(65536)
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(
                next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split()[1]
            )
            while len(body) < length:
                body += connection.recv(65536)
            with self._lock:
                number = len(self.asked)
                self.asked.append(json.loads(body))
                self.together += 1
                self.most = max(self.most, self.together)
            pieces = list(self.behave(number, self.asked[number]))
            last = next((i for i, one in enumerate(pieces) if isinstance(one, bytes) and b"[DONE]" in one), len(pieces))
            with contextlib.suppress(OSError):
                _send(connection, pieces[:last])
            with self._lock:  # before the client can know that it is answered, and ask the next
                self.together -= 1
            with contextlib.suppress(OSError):
                _send(connection, pieces[last:])


def _send(connection: socket.socket, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, float):
            time.sleep(piece)
        else:
            connection.sendall(piece)
