"""Connections that break, freeze, idle out or are too many: bounded in time, and never an answer that was not given."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kvgate.errors import CannotTell, LinkLost, TimedOut, Unreachable
from kvgate.transport.base import Answer, Batch, Command
from kvgate.transport.link import Deadlines
from kvgate.transport.ssh import SshTransport
from tests.transport.server import ADDRESS, Sshd, Wire, free_port, once

Build = Callable[..., SshTransport]
Ask = Callable[..., Batch]


@contextlib.contextmanager
def listener(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """Something that listens on a port and is no sshd."""
    server = socket.create_server((ADDRESS, 0))

    def accept() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=behave, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


def run(transport: SshTransport, *lines: str, limit: float = 10.0) -> Batch:
    return transport.run({"node-01": [Command(str(i), line, limit) for i, line in enumerate(lines)]})["node-01"]


def reason(batch: Batch, key: str = "0") -> CannotTell:
    answer = batch.answers[key]
    assert isinstance(answer, CannotTell), answer
    return answer


def test_refused(plain: Sshd, ask: Ask) -> None:
    batch = ask(plain.host(port=free_port()), "echo x")
    assert isinstance(reason(batch), Unreachable)
    assert "refused" in str(reason(batch))


def test_name_not_known(plain: Sshd, ask: Ask) -> None:
    batch = ask(plain.host(address="no-such-host.invalid"), "echo x")
    assert isinstance(reason(batch), Unreachable)
    assert "not known" in str(reason(batch))


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_a_silent_port_times_out_and_names_the_banner(plain: Sshd, ask: Ask) -> None:
    with listener(lambda client: time.sleep(30)) as port:
        batch = ask(plain.host(port=port), "echo x", deadlines=Deadlines(connect=1.0, login=2.0))
    assert isinstance(reason(batch), TimedOut)
    assert "no SSH banner within 1 s" in str(reason(batch))


def test_a_port_that_speaks_something_else(plain: Sshd, ask: Ask) -> None:
    def http(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n" * 120)
        time.sleep(1)
        client.close()

    with listener(http) as port:
        batch = ask(plain.host(port=port), "echo x")
    assert isinstance(reason(batch), Unreachable)
    assert "does not speak SSH" in str(reason(batch))


def test_a_server_that_hangs_up_before_login_is_tried_again_then_named(plain: Sshd, ask: Ask) -> None:
    calls = []

    def drop(client: socket.socket) -> None:
        calls.append(1)
        client.sendall(b"Exceeded MaxStartups\r\n")
        client.close()

    with listener(drop) as port:
        batch = ask(plain.host(port=port), "echo x")
    assert len(calls) == 4
    for word in ("MaxStartups", "penalty", "4 times", "saying 'Exceeded MaxStartups'"):
        assert word in str(reason(batch))
    assert len(batch.notes) == 3


def test_a_server_that_hangs_up_once_is_asked_all_the_same(plain: Sshd, ask: Ask) -> None:
    calls = []

    def first_not(client: socket.socket) -> None:
        calls.append(1)
        if len(calls) == 1:
            client.close()
            return
        with socket.create_connection((ADDRESS, plain.port)) as server:
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)

    with listener(first_not) as port:
        batch = ask(plain.host(port=port), "echo x")
    assert isinstance(batch.answers["0"], Answer)
    assert any("tried again" in note for note in batch.notes)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)


def test_a_server_with_the_usual_max_startups_answers_two_dozen_hosts(
    sshd: Callable[..., Sshd], transport: Build
) -> None:
    server = sshd(options=("MaxStartups 10:30:100",))
    hosts = {f"gpu-{i:02}": server.host() for i in range(24)}
    batches = transport(hosts).run({name: [Command("a", "echo x")] for name in hosts})
    assert list(batches) == list(hosts)
    assert not [str(batch.answers["a"]) for batch in batches.values() if not isinstance(batch.answers["a"], Answer)]


def test_a_link_cut_in_the_middle_keeps_what_had_arrived(plain: Sshd, transport: Build, tmp_path: Path) -> None:
    with Wire(plain.port) as wire:
        wanted = transport(plain.host(port=wire.port))
        once(tmp_path / "on", wire.cut)
        batch = run(wanted, "echo first", f"touch {tmp_path}/on; exec sleep 9", "echo last")
    assert isinstance(batch.answers["0"], Answer)
    assert isinstance(reason(batch, "1"), LinkLost)
    assert isinstance(reason(batch, "2"), LinkLost)
    assert "1 of 3 answers" in str(reason(batch, "1"))


@pytest.mark.parametrize("after", [4000, 40_000, 400_000])
def test_a_link_cut_in_the_data_gives_no_answer_from_half_of_it(plain: Sshd, transport: Build, after: int) -> None:
    with Wire(plain.port, cut_after=after) as wire:
        batch = run(transport(plain.host(port=wire.port)), "seq 100000", "seq 100000 >&2")
    assert all(isinstance(reason(batch, key), LinkLost) for key in "01")


def test_sshd_killed_in_the_middle(plain: Sshd, transport: Build, tmp_path: Path) -> None:
    once(tmp_path / "on", lambda: plain.signal(signal.SIGKILL))
    batch = run(transport(plain.host()), "echo first", f"touch {tmp_path}/on; exec sleep 9")
    assert isinstance(batch.answers["0"], Answer)
    assert isinstance(reason(batch, "1"), LinkLost)


def test_a_killed_shell_is_a_lost_link_not_an_answer(plain: Sshd, transport: Build) -> None:
    climb = "p=$PPID; while [ $p -gt 1 ]; do grep -qz -- '^-s$' /proc/$p/cmdline && top=$p; p=$(cut -d' ' -f4 /proc/$p/stat); done"
    batch = run(transport(plain.host()), "echo first", f"sleep 1.5; {climb}; kill -9 $top; sleep 5", "echo last")
    assert isinstance(batch.answers["0"], Answer)
    assert isinstance(reason(batch, "1"), LinkLost)
    assert isinstance(reason(batch, "2"), LinkLost)


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_a_frozen_sshd_is_bounded_and_names_what_ran(
    sshd: Callable[..., Sshd], transport: Build, tmp_path: Path
) -> None:
    server = sshd()
    wanted = transport(server.host(), deadlines=Deadlines(connect=2.0, login=2.0, channel=2.0, margin=-5.5))
    once(tmp_path / "on", lambda: server.signal(signal.SIGSTOP))
    batch = run(wanted, "echo first", f"touch {tmp_path}/on; sleep 4", "echo last", limit=4.0)
    assert isinstance(batch.answers["0"], Answer)
    assert isinstance(reason(batch, "1"), TimedOut)
    assert "sleep 4" in str(reason(batch, "1"))
    assert "never came to its turn" in str(reason(batch, "2"))


def test_a_frozen_idle_connection_is_given_up_and_made_again(plain: Sshd, transport: Build) -> None:
    with Wire(plain.port) as wire:
        wanted = transport(plain.host(port=wire.port), deadlines=Deadlines(connect=2.0, login=2.0, channel=1.0))
        assert isinstance(run(wanted, "echo x").answers["0"], Answer)
        wire.stopped = True
        batch = run(wanted, "echo x")  # the new connection freezes as well
        assert isinstance(reason(batch), TimedOut)
        wire.stopped = False
        assert isinstance(run(wanted, "echo x").answers["0"], Answer)


def test_one_connection_serves_many_runs(plain: Sshd, transport: Build) -> None:
    with Wire(plain.port) as wire:
        wanted = transport(plain.host(port=wire.port))
        for _ in range(5):
            assert isinstance(run(wanted, "echo x").answers["0"], Answer)
        assert wire.connections == 1


def test_an_idle_connection_closed_by_the_host_is_made_again_once(plain: Sshd, transport: Build) -> None:
    with Wire(plain.port) as wire:
        wanted = transport(plain.host(port=wire.port))
        first = run(wanted, "echo x")
        plain.signal(signal.SIGKILL)
        time.sleep(0.3)
        batch = run(wanted, "echo y")
        assert isinstance(batch.answers["0"], Answer)
        assert any("connected again" in note for note in batch.notes)
        assert batch.host_key == first.host_key
        assert wire.connections == 2


def test_a_host_that_allows_no_session_is_named(sshd: Callable[..., Sshd], ask: Ask) -> None:
    batch = ask(sshd(options=("MaxSessions 0",)).host(), "echo x")
    assert isinstance(reason(batch), Unreachable)
    assert "MaxSessions" in str(reason(batch))


def test_a_host_with_one_session_answers_run_after_run(sshd: Callable[..., Sshd], transport: Build) -> None:
    wanted = transport(sshd(options=("MaxSessions 1",)).host())
    for _ in range(2):
        assert isinstance(run(wanted, "sleep 5 & echo x").answers["0"], Answer)


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_closing_does_not_wait_for_a_frozen_host(sshd: Callable[..., Sshd], transport: Build) -> None:
    server = sshd()
    wanted = transport({f"n{i}": server.host() for i in range(4)})
    wanted.run({f"n{i}": [Command("a", "true")] for i in range(4)})
    server.signal(signal.SIGSTOP)
    wanted.close()


def test_dead_hosts_do_not_hold_up_the_others(plain: Sshd, transport: Build) -> None:
    seen: list[str] = []
    with listener(lambda client: time.sleep(30)) as port:
        hosts = {"dead": plain.host(port=port), "good": plain.host(), "down": plain.host(port=free_port())}
        wanted = transport(hosts, deadlines=Deadlines(connect=2.0, login=2.0))
        batches = wanted.run({name: [Command("a", "echo x")] for name in hosts}, lambda batch: seen.append(batch.host))
    assert set(seen) == set(hosts)
    assert seen[-1] == "dead"
    assert isinstance(batches["good"].answers["a"], Answer)


def test_commands_that_cannot_be_sent_are_refused_before_anything_is(plain: Sshd, transport: Build) -> None:
    wanted = transport(plain.host())
    for line in ("echo a\necho b", "echo \0", " "):
        with pytest.raises(ValueError, match="found"):
            run(wanted, line)
    with pytest.raises(KeyError):
        wanted.run({"stranger": []})
