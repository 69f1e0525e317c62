"""The client as the load host runs it: one command line, a server on loopback, and what its document says of every request."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from checks.parsers.kvgate_client import ClientRun
from checks.probe import UnreadableOutput
from checks.serving.client import Mode, Reading, Work, client, ordinary
from checks.serving.figures import figures
from checks.serving.readings import from_client
from checks.serving.records import Status
from checks.serving.validity import Planned, faults
from tests.drivers.served import DONE, END, HEAD, Piece, Served, chunk, event, said, usage, whole

GOOD = whole(said("a"), said("b", "length"), usage(16, 2, 8), DONE)


def work(url: str, **more: Any) -> Work:
    asked = Work(
        Mode.MEASURE, (url,), "tiny", 7, "test", 6, 16, 2, 3, (100, 900), connect=5.0, first=5.0, stall=2.0, limit=20.0
    )
    return replace(asked, **more)


def shell(asked: Work, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    line = client(asked).command()
    assert "\n" not in line
    assert len(line) < 100_000
    line = line.replace("python3", python, 1)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def run(behave: Callable[[int, dict[str, Any]], Iterable[Piece]], **more: Any) -> ClientRun:
    with Served(behave) as server:
        asked = work(server.url, **more)
        done = shell(asked)
    assert done.returncode == 0, done.stderr
    return client(asked).parse(done.stdout)


def one(*pieces: Piece, **more: Any) -> Any:
    found = run(lambda _, __: pieces, count=1, **more)
    return found.requests[0]


def test_every_request_tells_its_times_tokens_and_answer() -> None:
    found = run(lambda _, __: GOOD)
    assert [one.status for one in found.requests] == ["completed"] * 6
    assert {(one.tokens_in, one.tokens_out, one.cached, one.events, one.finish) for one in found.requests} == {
        (16, 2, 8, 2, "length")
    }
    assert {one.output for one in found.requests} == {hashlib.sha256(b"ab").hexdigest()}
    counted = figures(from_client(found), 3)
    assert counted.tokens_out == 12
    assert 0 < counted.ttft_p50 < counted.window


def test_prompts_are_token_ids_of_the_range_unlike_one_another_and_the_same_each_time() -> None:
    with Served(lambda _, __: GOOD) as server:
        for _ in range(2):
            shell(work(server.url, concurrency=1))
        shell(work(server.url, concurrency=1, prompt_set="other"))
    prompts = [tuple(body["prompt"]) for body in server.asked]
    assert prompts[:6] == prompts[6:12]
    assert len(set(prompts)) == 12
    assert all(len(prompt) == 16 and all(100 <= number < 900 for number in prompt) for prompt in prompts)
    body = server.asked[0]
    assert (body["temperature"], body["ignore_eos"], body["stream"], body["max_tokens"]) == (0, True, True, 2)
    assert body["stream_options"] == {"include_usage": True}


def test_the_digest_of_the_prompts_is_that_of_what_was_sent() -> None:
    with Served(lambda _, __: GOOD) as server:
        asked = work(server.url, concurrency=1)
        found = client(asked).parse(shell(asked).stdout)
    sent = "".join(json.dumps(body["prompt"], separators=(",", ":")) + "\n" for body in server.asked)
    assert found.prompts == hashlib.sha256(sent.encode()).hexdigest()


def test_as_many_requests_are_under_way_as_asked_and_never_more() -> None:
    slow = [HEAD, 0.05, chunk(said("a")), chunk(said("b", "length") + usage(16, 2) + DONE), END]
    with Served(lambda _, __: slow) as server:
        asked = work(server.url, count=30, concurrency=5)
        found = from_client(client(asked).parse(shell(asked).stdout))
    assert server.most == 5
    assert faults(found, Planned(5, 16, 2, least_requests=30, waves=6, occupied_percent=15.0)) == ()


def test_a_role_usage_and_keep_alives_are_no_first_token() -> None:
    role = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
    empty = said("")
    found = one(
        HEAD, chunk(b": keep-alive\n\n"), chunk(role), chunk(empty), chunk(usage(16, 0)), 0.3, chunk(said("a")),
        chunk(said("b", "length")), chunk(usage(16, 2)), chunk(DONE), END,
    )  # fmt: skip
    assert found.first_s - found.sent_s >= 0.3
    assert found.events == 2


def test_usage_and_end_after_the_last_token_do_not_prolong_the_answer() -> None:
    found = one(HEAD, chunk(said("a")), chunk(said("b", "length")), 0.3, chunk(usage(16, 2)), chunk(DONE), END)
    assert found.last_s - found.sent_s < 0.3


@pytest.mark.parametrize(
    "delta", [{"content": "x"}, {"reasoning_content": "x"}, {"reasoning": "x"}, {"tool_calls": [{"id": "1"}]}]
)
def test_content_reasoning_and_tool_calls_are_tokens(delta: dict[str, Any]) -> None:
    found = one(*whole(event({"choices": [{"index": 0, "delta": delta}]}), usage(16, 1), DONE))
    assert (found.status, found.events) == ("completed", 1)


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ([b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 9\r\n\r\nslow down"], "HTTP 429: slow down"),
        ([b"HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n", chunk(b"boom"), END], "HTTP 500: boom"),
        ([b"HTTP/1.1 503 Service Unavailable\r\n\r\nloading"], "HTTP 503: loading"),
        ([HEAD, chunk(said("a"))], "middle of the answer"),
        ([HEAD, chunk(said("a")), END], "without [DONE]"),
        ([HEAD, chunk(said("a"))[:-9]], "middle of the answer"),
        ([], "closed without an answer"),
        ([b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], "not HTTP"),
        (whole(said("a"), event({"error": {"message": "engine died", "code": 500}}), DONE), "engine died"),
        (whole(said("a"), event({"object": "error", "message": "out of memory"})), "out of memory"),
        (whole(said("a"), event(b"{half"), DONE), "no JSON"),
        (whole(said("a", "abort"), DONE), "finish_reason abort"),
        (whole(event(b"[1]"), DONE), "no object"),
        ([HEAD, b"zz\r\n"], "size of a chunk"),
    ],
)  # fmt: skip
def test_a_request_that_fails_says_why(pieces: list[Piece], error: str) -> None:
    found = one(*pieces)
    assert found.status == "failed"
    assert error in found.error


def test_failed_requests_have_no_times_and_make_the_run_invalid() -> None:
    found = from_client(run(lambda number, _: GOOD if number else [b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"]))
    assert [one.status for one in found.requests].count(Status.FAILED) == 1
    assert all(one.sent is None for one in found.requests if one.status is Status.FAILED)
    assert any("1 of 6 requests failed" in str(why) for why in faults(found, Planned(3, 16, 2, 6, 1)))


def test_an_answer_without_text_is_empty() -> None:
    assert one(*whole(said("", "length"), usage(16, 2), DONE)).status == "empty"


def test_a_server_that_never_begins_or_stops_in_the_middle_is_left_after_its_deadline() -> None:
    assert one(HEAD, 3.0, first=0.3).error == "no first token for 0.3 s"
    assert one(HEAD, chunk(said("a")), 3.0, stall=0.3).error == "no further token for 0.3 s"


def test_keep_alives_do_not_hide_a_stall() -> None:
    alive: list[Piece] = [chunk(b": ping\n\n"), 0.1]
    assert one(HEAD, chunk(said("a")), *(alive * 12), stall=0.3).error == "no further token for 0.3 s"


def test_nobody_listening_fails_each_request_and_the_document_is_whole() -> None:
    with Served(lambda _, __: GOOD) as server:
        url = server.url
    found = client(work(url)).parse(shell(work(url)).stdout)
    assert {one.status for one in found.requests} == {"failed"}
    assert all(one.error.startswith("no connection") for one in found.requests)


def test_the_limit_of_the_run_leaves_requests_unfinished_and_the_document_whole() -> None:
    found = run(lambda number, _: GOOD if number < 2 else [HEAD, 5.0], limit=1.0)
    assert [one.status for one in found.requests].count("unfinished") == 4


def test_a_signal_ends_the_run_with_its_document() -> None:
    with Served(lambda _, __: [HEAD, 30.0]) as server:
        asked = work(server.url, first=60.0, limit=60.0)
        words = [str(word) for word in client(asked).argv]
        process = subprocess.Popen([sys.executable, *words[1:]], stdout=subprocess.PIPE, text=True)
        while not server.asked:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=20)
    assert {one.status for one in client(asked).parse(told).requests} == {"unfinished"}


def test_canaries_keep_their_text() -> None:
    found = run(lambda _, __: GOOD, mode=Mode.CANARIES, concurrency=1)
    assert {one.output for one in found.requests} == {"ab"}
    assert from_client(found).requests[0].output == hashlib.sha256(b"ab").hexdigest()


def test_requests_go_round_the_endpoints_and_a_shift_asks_another() -> None:
    with Served(lambda _, __: GOOD) as first, Served(lambda _, __: GOOD) as second:
        both = (first.url, second.url)
        shell(work("", endpoints=both, count=2, concurrency=1))
        shell(work("", endpoints=both, count=2, concurrency=1, shift=1))
    assert [body["prompt"] for body in first.asked] == [body["prompt"] for body in reversed(second.asked)]


def test_the_client_tells_what_it_cost() -> None:
    found = run(lambda _, __: [HEAD, 0.2, *GOOD[1:]])
    assert 0 < found.cpu_s < found.seconds
    assert 0 < found.cpu_percent < 100
    assert found.lag_p99_s <= found.lag_max_s


def test_another_program_than_the_digest_names_is_not_run() -> None:
    words = [str(word) for word in client(work("http://127.0.0.1:9")).argv]
    words[3] = "0" * 64
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the program is" in done.stderr
    assert not done.stdout


def test_options_it_cannot_use_are_named() -> None:
    words = [str(word) for word in client(work("ftp://127.0.0.1")).argv]
    done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "wanted http://HOST" in done.stderr


def test_the_document_of_another_run_is_refused() -> None:
    with Served(lambda _, __: GOOD) as server:
        told = shell(work(server.url)).stdout
        with pytest.raises(UnreadableOutput, match="another run"):
            Reading(work(server.url, prompt_set="other"))(told)
        cut = told[: len(told) // 2]
        with pytest.raises(UnreadableOutput):
            Reading(work(server.url))(cut)


def test_ordinary_ids_leave_out_both_ends_of_the_vocabulary() -> None:
    assert ordinary(151_936) == (18_992, 113_952)
    with pytest.raises(ValueError, match="at least 1024"):
        ordinary(1000)
