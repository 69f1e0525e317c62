"""What one streamed answer says, from the bytes of its connection: HTTP/1.1, server-sent events, the events of completions.

First half of the client that is sent to the load host: nothing but Python 3.8's standard library, and nothing is read here but
what it is fed.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

_HEAD = 65536  # bytes of a response's head
_LINE = 1 << 22  # bytes of one line of a stream


class Broken(Exception):
    """A response that is none; the message says what was found."""


class Body:
    """Takes the bytes of one HTTP/1.1 response and gives those of its content, whatever pieces they come in."""

    def __init__(self) -> None:
        self.status = 0
        self.over = False
        self._buffer = b""
        self._chunked = False
        self._left: Optional[int] = None  # bytes of the content or chunk still to come; None: until the connection ends
        self._state = "head"

    def feed(self, data: bytes) -> bytes:
        """Return the content in these bytes. Raises Broken."""
        self._buffer += data
        content = b""
        while not self.over:
            before = (self._state, len(self._buffer))
            if self._state == "head":
                self._head()
            elif self._state == "size":
                self._size()
            elif self._state == "trailer":
                self._trailer()
            else:
                content += self._content()
            if (self._state, len(self._buffer)) == before:
                break
        return content

    def end(self) -> None:
        """Say that the connection ended. Raises Broken where more was promised."""
        if self.over or (self._state == "content" and self._left is None):
            self.over = True
            return
        raise Broken("the connection ended in the middle of the answer" if self.status else "closed without an answer")

    def _line(self, most: int) -> Optional[bytes]:
        at = self._buffer.find(b"\n")
        if at < 0:
            if len(self._buffer) > most:
                raise Broken(f"a line of HTTP is longer than {most} bytes")
            return None
        line, self._buffer = self._buffer[:at], self._buffer[at + 1 :]
        return line.rstrip(b"\r")

    def _head(self) -> None:
        end = self._buffer.replace(b"\r\n", b"\n").find(b"\n\n")
        if end < 0:
            if len(self._buffer) > _HEAD:
                raise Broken(f"the head of the answer is longer than {_HEAD} bytes")
            return
        line = self._line(_HEAD) or b""
        words = line.split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise Broken(f"not HTTP: {line[:60]!r}")
        self.status = int(words[1])
        fields: Dict[bytes, bytes] = {}
        while field := self._line(_HEAD):
            name, _, value = field.partition(b":")
            fields[name.strip().lower()] = value.strip().lower()
        if 100 <= self.status < 200:
            return
        self._chunked = fields.get(b"transfer-encoding", b"").endswith(b"chunked")
        length = fields.get(b"content-length")
        if self._chunked:
            self._state = "size"
        elif length is not None:
            if not length.isdigit():
                raise Broken(f"Content-Length {length[:40]!r}")
            self._left = int(length)
            self._state = "content"
            self.over = self._left == 0
        else:
            self._state = "content"

    def _size(self) -> None:
        line = self._line(1024)
        if line is None:
            return
        try:
            self._left = int(line.split(b";")[0].strip(), 16)
        except ValueError:
            raise Broken(f"found {line[:40]!r}, wanted the size of a chunk") from None
        if self._left < 0:
            raise Broken("a chunk of negative size")
        self._state = "content" if self._left else "trailer"

    def _trailer(self) -> None:
        line = self._line(_HEAD)
        if line is not None and not line:
            self.over = True

    def _content(self) -> bytes:
        if self._left is None:
            found, self._buffer = self._buffer, b""
            return found
        if self._left == 0:  # the line end after a chunk
            line = self._line(2)
            if line:
                raise Broken(f"found {line[:40]!r} after a chunk")
            if line is not None:
                self._state = "size"
            return b""
        found, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
        self._left -= len(found)
        if self._left == 0 and not self._chunked:
            self.over = True
        return found


class Answer:
    """What the events of one stream said."""

    def __init__(self) -> None:
        self.body = Body()
        self.first: Optional[float] = None
        self.last: Optional[float] = None
        self.events = 0
        self.done = False
        self.finish: Optional[str] = None
        self.usage: Dict[str, Any] = {}
        self.texts: List[str] = []
        self._rest = b""
        self._data: List[bytes] = []
        self._refusal = b""

    def feed(self, data: bytes, now: float) -> bool:
        """Take bytes that arrived at ``now``; True once the stream has said all. Raises Broken."""
        content = self.body.feed(data)
        if self.body.status and self.body.status != 200:
            self._refusal = (self._refusal + content)[:2000]
            if self.body.over:
                self._refuse()
            return False
        self._rest += content
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            self._take(line.rstrip(b"\r"), now)
        if len(self._rest) > _LINE:
            raise Broken(f"a line of the stream is longer than {_LINE} bytes")
        if self.body.over and not self.done:
            self._tail(now)
        return self.done

    def end(self, now: float) -> None:
        """Say that the connection ended. Raises Broken where the stream had not said all."""
        if self.body.status not in (0, 200):
            self._refuse()
        self.body.end()
        self._tail(now)

    def _tail(self, now: float) -> None:
        self._take(self._rest.rstrip(b"\r"), now)
        self._take(b"", now)
        self._rest = b""
        if not self.done:
            raise Broken("the stream ended without [DONE]")

    def _refuse(self) -> None:
        said = self._refusal.decode("utf-8", "replace").strip()
        raise Broken(f"HTTP {self.body.status}: {' '.join(said.split())[:300]}")

    def _take(self, line: bytes, now: float) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            self._event(data, now)

    def _event(self, data: bytes, now: float) -> None:
        if self.done or not data:
            return
        if data == b"[DONE]":
            self.done = True
            return
        try:
            event = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            raise Broken(f"an event that is no JSON: {data[:80]!r}") from None
        if not isinstance(event, dict):
            raise Broken(f"an event that is no object: {data[:80]!r}")
        if event.get("error") or event.get("object") == "error":
            raise Broken(f"error in the stream: {json.dumps(event.get('error') or event)[:300]}")
        if isinstance(event.get("usage"), dict):
            self.usage = event["usage"]
        choices = event.get("choices") or []
        if not isinstance(choices, list) or not all(isinstance(one, dict) for one in choices):
            raise Broken(f"choices that are no list of objects: {data[:80]!r}")
        for choice in choices:
            self._choice(choice, now)

    def _choice(self, choice: Dict[str, Any], now: float) -> None:
        text, carries = _output(choice)
        if carries:
            self.events += 1
            self.texts.append(text)
            self.first = now if self.first is None else self.first
            self.last = now
        finish = choice.get("finish_reason")
        if finish is not None:
            self.finish = str(finish)[:40]
            if self.finish in ("abort", "error"):
                raise Broken(f"the server ended the answer: finish_reason {self.finish}")


def _output(choice: Dict[str, Any]) -> Tuple[str, bool]:
    """Text of a choice, and whether it carries generated output: text, reasoning or a tool call."""
    delta = choice.get("delta")
    source = delta if isinstance(delta, dict) else {}
    parts = [choice.get("text")] + [source.get(key) for key in ("reasoning_content", "reasoning", "content")]
    text = "".join(part for part in parts if isinstance(part, str))
    calls = source.get("tool_calls")
    if calls:
        text += json.dumps(calls, sort_keys=True)
    return text, bool(text)
