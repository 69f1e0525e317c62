"""One kept answer of a host as people and programs read it: who was asked what, how it ended, and the bytes as they were kept."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence

from checks.decision import Owed
from checks.verdict import Verdict
from kvgate.evidence.record import Stored, StoredAnswer, StoredFailure, label
from kvgate.reports.messages import Reader

#: Everything that would move a terminal's cursor, colour it or write its title; line ends and tabs stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

Rests = Sequence[tuple[Owed, Verdict]]


def told(kept: StoredAnswer | StoredFailure, rests: Rests, read: Reader) -> Iterator[str]:
    """Yield the lines of one question; ``rests`` are the verdicts that stand on it. Raises Damaged for bytes that changed."""
    yield read(
        "{id}: asked of {host} at {time} UTC, level {level}, reading {number}",
        id=label(kept.seq),
        host=kept.host,
        time=kept.utc[:19].replace("T", " "),
        level=read.word(kept.level),
        number=kept.sample,
    )
    yield read("command: {command}", command=_plain(kept.line))
    if isinstance(kept, StoredFailure):
        yield read("no answer: {reason}: {message}", reason=kept.reason, message=_plain(kept.message))
    else:
        yield read("exit status {status} after {seconds} s", status=kept.status, seconds=f"{kept.seconds:.3f}")
        if kept.truncated:
            yield read("the output was longer than kvgate takes; what follows is its beginning")
    for item, verdict in rests:
        yield read(
            "{outcome} of {clause} on {subject} rests on it",
            outcome=verdict.outcome.value,
            clause=item.clause,
            subject=item.subject,
        )
    if isinstance(kept, StoredAnswer):
        for name, raw in (("stdout", kept.stdout), ("stderr", kept.stderr)):
            yield ""
            yield read("{stream}, {count} bytes as kept (secrets masked):", stream=name, count=len(raw))
            if raw:
                yield _plain(raw.decode("utf-8", "backslashreplace").removesuffix("\n"))


def _plain(text: str) -> str:
    """Text of a host that cannot play with the terminal: control characters are spelled out."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def as_json(kept: StoredAnswer | StoredFailure, rests: Rests) -> dict[str, object]:
    """Return the same with stable keys; bytes that are no UTF-8 in base64."""
    return {
        **_question(kept),
        **_ending(kept),
        "verdicts": [
            {"clause": item.clause, "subject": item.subject, "outcome": verdict.outcome.value}
            for item, verdict in rests
        ],
    }


def _question(kept: Stored) -> dict[str, object]:
    return {
        "id": label(kept.seq), "host": kept.host, "host_key": kept.host_key, "utc": kept.utc, "probe": kept.probe,
        "command": kept.line, "level": kept.level, "sample": kept.sample,
    }  # fmt: skip


def _ending(kept: StoredAnswer | StoredFailure) -> dict[str, object]:
    if isinstance(kept, StoredFailure):
        nothing = _stream("stdout", None) | _stream("stderr", None)
        return {
            "status": None, "seconds": None, "truncated": False, "reason": kept.reason, "message": kept.message, **nothing,
        }  # fmt: skip
    streams = _stream("stdout", kept.stdout) | _stream("stderr", kept.stderr)
    return {
        "status": kept.status, "seconds": kept.seconds, "truncated": kept.truncated, "reason": "", "message": "", **streams,
    }  # fmt: skip


def _stream(name: str, raw: bytes | None) -> dict[str, object]:
    if raw is None:
        return {name: None, f"{name}_form": None, f"{name}_sha256": None}
    try:
        text, form = raw.decode(), "text"
    except UnicodeDecodeError:
        text, form = base64.b64encode(raw).decode(), "base64"
    return {name: text, f"{name}_form": form, f"{name}_sha256": hashlib.sha256(raw).hexdigest()}
