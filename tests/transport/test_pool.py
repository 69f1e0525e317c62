"""The pool, this machine as a host, and the OpenSSH program as a way to one."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kvgate.errors import HostKeyRefused, LinkLost, PermissionDenied, TimedOut, Unreachable
from kvgate.transport.base import Answer, Batch, Command
from kvgate.transport.fan_out import FanOut
from kvgate.transport.link import Deadlines
from kvgate.transport.local import LocalTransport
from kvgate.transport.ssh import SshTransport
from tests.transport.server import ADDRESS, USER, Sshd, fingerprint, free_port, once

Ask = Callable[..., Batch]
Start = Callable[..., Sshd]
Keys = Mapping[str, Path]


def test_the_pool_is_bounded_and_gives_results_as_they_come() -> None:
    busy, most, lock = 0, 0, threading.Lock()

    def work(item: int) -> int:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.3 if item == 0 else 0.02)
        with lock:
            busy -= 1
        return item * 2

    pool: FanOut[int, int] = FanOut(work, workers=3, limit=lambda _: 60.0, overdue=lambda _: -1)
    found = list(pool.run(range(10)))
    assert sorted(found) == [(i, i * 2) for i in range(10)]
    assert found[-1] == (0, 0)
    assert most <= 3


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_the_pool_gives_up_on_what_hangs_and_goes_on_with_the_rest() -> None:
    def work(item: int) -> str:
        time.sleep(30 if item < 2 else 0)
        return "done"

    pool: FanOut[int, str] = FanOut(work, workers=2, limit=lambda _: 0.3, overdue=lambda _: "overdue")
    found = dict(pool.run(range(6)))
    assert found == {i: "overdue" if i < 2 else "done" for i in range(6)}


def test_the_pool_raises_what_work_raises() -> None:
    pool: FanOut[int, float] = FanOut(lambda i: 1 / i, workers=2, limit=lambda _: 9.0, overdue=lambda _: 0.0)
    with pytest.raises(ZeroDivisionError):
        list(pool.run([1, 0]))


def test_this_machine_answers_as_a_host_would() -> None:
    seen: list[str] = []
    transport = LocalTransport()
    batches = transport.run(
        {"a": [Command("x", "echo x"), Command("y", "exec sleep 9", limit=1)], "b": [Command("x", "exit 3")]},
        lambda batch: seen.append(batch.host),
    )
    transport.close()
    first, second = batches["a"].answers["x"], batches["a"].answers["y"]
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert (first.stdout, second.status) == (b"x\n", 124)
    assert seen == ["a", "b"]
    assert batches["a"].boot_id
    assert batches["a"].clock is not None
    assert -1 < batches["a"].clock.low <= 0 <= batches["a"].clock.high


def test_openssh_pins_the_key_and_answers(sshd: Start, ask: Ask, keys: Keys) -> None:
    server = sshd(host_keys=(keys["host"], keys["ecdsa"], keys["rsa"]))
    for pinned in ("host", "ecdsa", "rsa"):
        batch = ask(
            server.host(ssh="openssh", host_key=fingerprint(keys[pinned])),
            "printf 'a\\0\\377'; echo e >&2; exit 5",
            "echo next",
        )
        answer = batch.answers["0"]
        assert isinstance(answer, Answer), answer
        assert (answer.stdout, answer.stderr, answer.status) == (b"a\0\xff", b"e\n", 5)
        assert batch.host_key == fingerprint(keys[pinned])
        assert batch.clock is not None


def test_openssh_refuses_another_host_key_before_login(sshd: Start, ask: Ask, keys: Keys) -> None:
    server = sshd()
    error = ask(server.host(ssh="openssh", host_key=fingerprint(keys["other"])), "echo x").answers["0"]
    assert isinstance(error, HostKeyRefused), error
    assert error.presented == fingerprint(keys["host"])
    assert fingerprint(keys["other"]) in str(error)
    assert "Accepted" not in server.log


def test_openssh_tells_a_denied_login_from_no_way(sshd: Start, ask: Ask, keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("IdentitiesOnly yes\nIdentityAgent none\n")
    denied = ask(sshd().host(ssh="openssh"), "echo x", identity=keys["other"], config=tmp_path / "config").answers["0"]
    assert isinstance(denied, Unreachable)
    assert f"denied the login of user {USER}" in str(denied)
    refused = ask(sshd().host(ssh="openssh", port=free_port()), "echo x").answers["0"]
    assert isinstance(refused, Unreachable)
    assert "refused" in str(refused)


def test_openssh_with_a_link_that_breaks_or_a_sudo_that_refuses(
    sshd: Start, transport: Callable[..., SshTransport], ask: Ask, tmp_path: Path
) -> None:
    server = sshd()
    wanted = transport(server.host(ssh="openssh"))
    once(tmp_path / "on", lambda: server.signal(signal.SIGKILL))
    commands = [Command("0", "echo first"), Command("1", f"touch {tmp_path}/on; exec sleep 9")]
    batch = wanted.run({"node-01": commands})["node-01"]
    assert isinstance(batch.answers["0"], Answer)
    assert isinstance(batch.answers["1"], LinkLost)
    (tmp_path / "sudo").write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    (tmp_path / "sudo").chmod(0o755)
    error = ask(sshd(path=f"{tmp_path}:/usr/bin:/bin").host(ssh="openssh", become="sudo"), "id").answers["0"]
    assert isinstance(error, PermissionDenied)


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_openssh_to_a_frozen_host_is_bounded(sshd: Start, ask: Ask) -> None:
    server = sshd()
    server._process.send_signal(signal.SIGSTOP)  # type: ignore[union-attr]
    error = ask(
        server.host(ssh="openssh"), Command("", "echo x", limit=1), deadlines=Deadlines(connect=1, margin=1.0)
    ).answers["0"]
    server._process.send_signal(signal.SIGCONT)  # type: ignore[union-attr]
    assert isinstance(error, TimedOut), error


def test_a_proxy_command_goes_through_openssh_by_itself(plain: Sshd, ask: Ask, tmp_path: Path) -> None:
    bridge = tmp_path / "bridge.py"
    bridge.write_text(
        "import os, socket, sys, threading\n"
        f"s = socket.create_connection(('{ADDRESS}', {plain.port}))\n"
        "def up():\n"
        "    while piece := os.read(0, 65536): s.sendall(piece)\n"
        "threading.Thread(target=up, daemon=True).start()\n"
        "while piece := s.recv(65536): os.write(1, piece)\n"
    )
    (tmp_path / "config").write_text(f"Host gpu-*\n ProxyCommand {shutil.which('python3')} {bridge}\n")
    batch = ask(plain.host(address="gpu-1", port=22), "echo x", config=tmp_path / "config")
    assert isinstance(batch.answers["0"], Answer), batch.answers["0"]
    assert any("ProxyCommand" in note for note in batch.notes)


def test_many_logins_at_once_do_not_disturb_one_another(plain: Sshd, transport: Callable[..., SshTransport]) -> None:
    hosts = {f"n{number}": plain.host() for number in range(40)}
    patience = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        batches = transport(hosts, workers=40).run({name: [Command("a", "true")] for name in hosts})
    finally:
        sys.setswitchinterval(patience)
    assert [str(a) for batch in batches.values() for a in batch.answers.values() if isinstance(a, Exception)] == []
