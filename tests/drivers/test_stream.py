"""The reader of streams: whatever pieces the bytes come in, whatever the bytes are."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvgate.drivers.stream import Answer, Body, Broken
from tests.drivers.served import DONE, END, HEAD, chunk, event, said, usage

TEXTS = ("a", "", "\u6570\u636e", " b\n", "\U0001f600")
STREAM = HEAD + b"".join(map(chunk, [b": hi\n\n", *map(said, TEXTS), usage(16, 5, 8), DONE])) + END
PLAIN = b"HTTP/1.1 200 OK\r\n\r\n" + b"".join(map(said, TEXTS)) + usage(16, 5) + DONE


def feed(data: bytes, cuts: list[int]) -> Answer:
    answer = Answer()
    places = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    for number, (start, end) in enumerate(pairwise(places)):
        if answer.feed(data[start:end], float(number)):
            return answer
    answer.end(99.0)
    return answer


@given(st.lists(st.integers(0, 10_000), max_size=40), st.sampled_from([STREAM, PLAIN]))
def test_the_pieces_do_not_matter(cuts: list[int], data: bytes) -> None:
    answer = feed(data, cuts)
    assert "".join(answer.texts) == "".join(TEXTS)
    assert answer.events == 4
    assert answer.usage["completion_tokens"] == 5
    assert answer.first is not None
    assert answer.last is not None
    assert answer.first <= answer.last


def test_byte_by_byte_is_the_same() -> None:
    assert feed(STREAM, list(range(len(STREAM)))).texts == feed(STREAM, []).texts


@settings(max_examples=300)
@given(st.data())
def test_damaged_bytes_are_an_answer_or_a_reason_and_never_anything_else(data: st.DataObject) -> None:
    damaged = bytearray(STREAM)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        end = at + data.draw(st.integers(0, 30))
        damaged[at:end] = data.draw(st.binary(max_size=12))
    with suppress(Broken):
        answer = feed(bytes(damaged), data.draw(st.lists(st.integers(0, 5000), max_size=5)))
        assert answer.done
        assert (answer.first is None) == (answer.events == 0)


@given(st.binary(max_size=400))
def test_noise_is_no_answer(noise: bytes) -> None:
    with pytest.raises(Broken):
        feed(noise, [7])


@given(st.integers(1, len(STREAM) - len(END) - len(chunk(DONE))))
def test_a_stream_cut_anywhere_before_its_end_is_broken(at: int) -> None:
    with pytest.raises(Broken):
        feed(STREAM[:at], [])


def test_interim_answers_are_passed_over() -> None:
    body = Body()
    assert body.feed(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore") == b"ok"
    assert (body.status, body.over) == (200, True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000, "head of the answer is longer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"),
        (HEAD + b"-4\r\nabcd", "negative"),
        (HEAD + b"2\r\nabcd\r\n", "after a chunk"),
        (HEAD + chunk(b"data: " + b"x" * (1 << 22)), "line of the stream is longer"),
        (HEAD + chunk(event(b"[" * 100_000)), "no JSON"),
        (HEAD + chunk(event({"choices": {"text": "a"}})), "choices"),
        (HEAD + chunk(event({"choices": ["a"]})), "choices"),
    ],
)
def test_what_is_out_of_bounds_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Broken, match=why):
        Answer().feed(data, 0.0)


def test_lines_of_one_event_are_joined() -> None:
    answer = feed(HEAD + chunk(b'data: {"choices":\ndata: [{"text": "a"}]}\n\n') + chunk(DONE) + END, [])
    assert answer.texts == ["a"]
