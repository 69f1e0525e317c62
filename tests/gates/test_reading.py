"""One answer to a fact or the reason why not: exit status first, then the text, nothing by default."""

from __future__ import annotations

import pytest

from checks.probe import NotOffered, Probe, Streams, UnreadableOutput
from kvgate.errors import (
    CannotTell,
    CommandFailed,
    PermissionDenied,
    TimedOut,
    ToolMissing,
    Truncated,
    Unreadable,
    Unsupported,
)
from kvgate.gate.reading import read
from kvgate.transport.base import Answer


def parse(text: str) -> str:
    if text == "no":
        raise UnreadableOutput("what is no")
    if text == "never":
        raise NotOffered("what is never there")
    return text


def said(status: int = 0, out: bytes = b"fine", err: bytes = b"", truncated: bool = False) -> Answer:
    return Answer("", out, err, status, 0.1, truncated=truncated)


def probe(*accepted: int, streams: Streams = Streams.STDOUT) -> Probe[str]:
    return Probe("tool", ("tool",), parse, accepted=frozenset(accepted or (0,)), streams=streams)


@pytest.mark.parametrize(
    ("kept", "accepted", "why"),
    [
        (said(truncated=True), (0,), Truncated),
        (said(124), (0,), TimedOut),
        (said(137), (0,), TimedOut),
        (said(127, b"", b"tool: not found"), (0,), ToolMissing),
        (said(127, b"", b"permission denied"), (0,), ToolMissing),
        (said(126, b"", b"tool: cannot execute"), (0,), PermissionDenied),
        (said(1, b"", b"Operation not permitted"), (0,), PermissionDenied),
        (said(1, b"", b"tool: you must be root"), (0,), PermissionDenied),
        (said(1, b"", b"netlink error: Operation not supported"), (0,), Unsupported),
        (said(1, b"Operation not supported", b""), (0,), Unsupported),
        (said(1, b"Operation not supported", b"another word"), (0,), CommandFailed),
        (said(1, b"x" * 600 + b"not supported", b""), (0,), CommandFailed),
        (said(1, b"", b"no such device"), (0,), CommandFailed),
        (said(125), (0,), CommandFailed),
        (said(128), (0,), CommandFailed),
        (said(0), (1,), CommandFailed),
        (said(0, b"no"), (0,), Unreadable),
        (said(0, b"never"), (0,), Unsupported),
    ],
)
def test_each_way_of_not_telling_is_a_reason_of_its_own(
    kept: Answer, accepted: tuple[int, ...], why: type[CannotTell]
) -> None:
    with pytest.raises(CannotTell) as refused:
        read("node-01", probe(*accepted), kept)
    assert type(refused.value) is why
    assert "node-01" in str(refused.value)


@pytest.mark.parametrize("status", [0, 124, 127, 126, 1])
def test_an_accepted_status_is_read_whatever_it_is(status: int) -> None:
    assert read("node-01", probe(status), said(status, b"fine", b"not supported")) == "fine"


def test_the_streams_that_the_probe_names_are_read() -> None:
    assert read("node-01", probe(), said(0, b"out", b"err")) == "out"
    assert read("node-01", probe(streams=Streams.BOTH), said(0, b"out", b"err")) == "outerr"


def test_bytes_that_are_no_text_are_shown_and_not_lost() -> None:
    assert read("node-01", probe(), said(0, b"\xff")) == "\\xff"
