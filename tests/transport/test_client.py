"""kvgate's client over a real SSH server: one command line of ten kilobytes in, thousands of requests told."""

from __future__ import annotations

from collections.abc import Callable

from checks.serving.client import client
from checks.serving.work import Mode, Work
from kvgate.transport.base import Answer, Batch, Command
from tests.drivers.served import DONE, END, HEAD, Served, chunk, said, usage, whole
from tests.transport.server import Sshd


def work(url: str, count: int, limit: float = 30.0) -> Work:
    return Work(
        Mode.MEASURE, (url,), "tiny", 7, "c8/1", count, 16, 2, 8, (100, 900), first=20.0, stall=20.0, limit=limit
    )


def test_a_thousand_requests_come_back_whole(plain: Sshd, ask: Callable[..., Batch]) -> None:
    with Served(lambda _, __: whole(said("a"), said("b", "length"), usage(16, 2), DONE)) as server:
        probe = client(work(server.url, 1000))
        answer = ask(plain.host(), Command("", probe.command(), probe.limit)).answers["0"]
    assert isinstance(answer, Answer)
    run = probe.parse(answer.stdout.decode())
    assert [one.status for one in run.requests] == ["completed"] * 1000
    assert len(answer.stdout) < 250 * 1000


def test_a_client_that_outlives_the_limit_of_its_command_still_gives_its_document(
    plain: Sshd, ask: Callable[..., Batch]
) -> None:
    """The host ends it with SIGTERM, as it ends any command; what was under way then is unfinished, not lost."""
    with Served(lambda _, __: [HEAD, chunk(said("a")), 5.0, END]) as server:
        probe = client(work(server.url, 16))
        answer = ask(plain.host(), Command("", probe.command(), 2.0)).answers["0"]
    assert isinstance(answer, Answer)
    assert answer.status == 124
    assert {one.status for one in probe.parse(answer.stdout.decode()).requests} == {"unfinished"}
