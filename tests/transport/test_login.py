"""Who is let in and how: host keys, user keys, agents, aliases, jump hosts, sudo, and hosts that answer little or nothing."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kvgate.errors import CannotTell, HostKeyRefused, NotAskable, PermissionDenied, Unreachable
from kvgate.transport.base import Answer, Batch, Command
from kvgate.transport.ssh import SshTransport
from tests.transport.server import ADDRESS, USER, Sshd, fingerprint, free_port, make_key

Ask = Callable[..., Batch]
Start = Callable[..., Sshd]
Keys = Mapping[str, Path]


def reason(batch: Batch, key: str = "0") -> CannotTell:
    answer = batch.answers[key]
    assert isinstance(answer, CannotTell), answer
    return answer


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    sock = tmp_path / "agent.sock"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    while not sock.exists():
        time.sleep(0.02)
    yield sock
    process.kill()
    process.wait()


def add(agent: Path, *keys: Path) -> None:
    environment = os.environ | {"SSH_AUTH_SOCK": str(agent)}
    subprocess.run(["ssh-add", "-q", *map(str, keys)], env=environment, check=True)


def config(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "ssh_config"
    file.write_text(text)
    return file


def test_another_host_key_is_refused_before_login(sshd: Start, ask: Ask, keys: Keys) -> None:
    server = sshd()
    batch = ask(server.host(host_key=fingerprint(keys["other"])), "echo x")
    error = reason(batch)
    assert isinstance(error, HostKeyRefused)
    assert error.presented == batch.host_key == fingerprint(keys["host"])
    for word in (fingerprint(keys["host"]), fingerprint(keys["other"]), "console"):
        assert word in str(error)
    assert "Accepted" not in server.log
    assert "Failed publickey" not in server.log


@pytest.mark.parametrize("pinned", ["host", "ecdsa", "rsa"])
def test_a_pinned_key_of_any_type_is_found_among_several(sshd: Start, ask: Ask, keys: Keys, pinned: str) -> None:
    server = sshd(host_keys=(keys["host"], keys["ecdsa"], keys["rsa"]))
    batch = ask(server.host(host_key=fingerprint(keys[pinned])), "echo x")
    assert isinstance(batch.answers["0"], Answer)
    assert batch.host_key == fingerprint(keys[pinned])


def test_a_server_with_only_an_old_key_type(sshd: Start, ask: Ask, keys: Keys) -> None:
    assert isinstance(ask(sshd(host_keys=(keys["rsa"],)).host(), "echo x").answers["0"], Answer)


def test_a_key_changed_between_two_batches_is_refused(
    sshd: Start, transport: Callable[..., SshTransport], keys: Keys
) -> None:
    port = free_port()
    first = sshd(port=port)
    wanted = transport(first.host())
    assert isinstance(wanted.run({"node-01": [Command("0", "echo x")]})["node-01"].answers["0"], Answer)
    first.__exit__()
    sshd(port=port, host_keys=(keys["other"],))
    time.sleep(0.2)
    assert isinstance(reason(wanted.run({"node-01": [Command("0", "echo x")]})["node-01"]), HostKeyRefused)


def test_a_denied_login_names_user_and_keys_and_is_not_tried_again(sshd: Start, ask: Ask, keys: Keys) -> None:
    server = sshd()
    error = reason(ask(server.host(), "echo x", identity=keys["other"]))
    assert isinstance(error, Unreachable)
    for word in (f"user {USER}", fingerprint(keys["other"]), "authorized_keys"):
        assert word in str(error)
    assert server.log.count("Connection from") <= 1 or server.log.count("Connection closed by authenticating") == 1


def test_a_key_with_a_passphrase_is_named(plain: Sshd, ask: Ask, keys: Keys, tmp_path: Path) -> None:
    only = config(tmp_path, f"IdentitiesOnly yes\nIdentityFile {keys['locked']}\nIdentityAgent none\n")
    error = reason(ask(plain.host(), "echo x", identity=None, config=only))
    assert "has a passphrase" in str(error)
    assert "ssh-add" in str(error)


def test_a_host_is_logged_in_to_with_the_key_that_its_own_entry_names(plain: Sshd, ask: Ask, keys: Keys) -> None:
    """Whatever key the others use: a good host must not look unreachable because its entry was passed over."""
    for defaults in (None, keys["other"]):
        batch = ask(plain.host(identity=str(keys["user"])), "echo x", identity=defaults)
        assert isinstance(batch.answers["0"], Answer), batch.answers["0"]
    wrong = ask(plain.host(identity=str(keys["other"])), "echo x", identity=keys["user"])
    assert "denied" in str(reason(wrong))


def test_a_host_that_wants_a_password_says_so(sshd: Start, ask: Ask) -> None:
    error = reason(ask(sshd(options=("PubkeyAuthentication no", "PasswordAuthentication yes")).host(), "echo x"))
    assert "password" in str(error)
    assert "never asks" in str(error)


def test_identity_agent_signs_for_a_locked_key_among_many(
    plain: Sshd, ask: Ask, keys: Keys, agent: Path, tmp_path: Path
) -> None:
    many = [make_key(tmp_path / f"spare{i}") for i in range(8)]
    open_copy = tmp_path / "locked"
    open_copy.write_bytes(keys["locked"].read_bytes())
    open_copy.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "a passphrase", "-N", "", "-f", str(open_copy)], check=True)
    add(agent, *many, open_copy)
    picked = config(tmp_path, f"IdentityAgent {agent}\nIdentityFile {keys['locked']}\n")
    assert isinstance(ask(plain.host(), "echo x", identity=None, config=picked).answers["0"], Answer)


def test_an_agent_that_is_gone_is_named(plain: Sshd, ask: Ask, tmp_path: Path) -> None:
    gone = config(tmp_path, f"IdentityAgent {tmp_path}/gone.sock\nIdentityFile /nonexistent\n")
    error = reason(ask(plain.host(), "echo x", identity=None, config=gone))
    assert "gone.sock does not answer" in str(error)
    assert "no key at all" in str(error)


def test_an_alias_with_include_port_and_user(plain: Sshd, ask: Ask, tmp_path: Path) -> None:
    included = tmp_path / "more"
    included.write_text(f"Host rack-*\n HostName {ADDRESS}\n Port {plain.port}\n User {USER}\n")
    batch = ask(
        plain.host(address="rack-7", port=22, user=None), "echo x", config=config(tmp_path, f"Include {included}\n")
    )
    assert isinstance(batch.answers["0"], Answer)


def test_a_broken_ssh_configuration_is_named(plain: Sshd, ask: Ask, tmp_path: Path) -> None:
    error = reason(ask(plain.host(), "echo x", config=config(tmp_path, "Nonsense yes\n")))
    assert isinstance(error, Unreachable)
    assert "Nonsense" in str(error) or "nonsense" in str(error)


def test_works_without_an_ssh_program(plain: Sshd, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    host = plain.host()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert isinstance(ask(host, "echo x").answers["0"], Answer)


class Jump:
    """A jump host of its own, known to the operator or not, in front of a target."""

    def __init__(self, start: Start, keys: Keys, folder: Path) -> None:
        self.start, self.keys, self.folder = start, keys, folder

    def config(self, jump_port: int, known: Path | None, target: int) -> Path:
        hosts = self.folder / "known_hosts"
        if known is not None:
            hosts.write_text(f"[{ADDRESS}]:{jump_port} {known.with_suffix('.pub').read_text()}")
        text = (
            f"Host bastion-1\n HostName {ADDRESS}\n Port {jump_port}\n User {USER}\n IdentityFile {self.keys['user']}\n"
            f" UserKnownHostsFile {hosts}\n GlobalKnownHostsFile none\n"
            f"Host gpu-*\n HostName {ADDRESS}\n Port {target}\n ProxyJump bastion-1\n"
        )
        return config(self.folder, text)


@pytest.fixture
def jump(sshd: Start, keys: Keys, tmp_path: Path) -> Jump:
    return Jump(sshd, keys, tmp_path)


def test_two_dozen_hosts_behind_a_jump_host_with_the_usual_limits(
    jump: Jump, plain: Sshd, keys: Keys, transport: Callable[..., SshTransport]
) -> None:
    bastion = jump.start(options=("MaxStartups 10:30:100",), host_keys=(keys["jump"],))
    hosts = {f"gpu-{i:02}": plain.host(address=f"gpu-{i:02}", port=22) for i in range(24)}
    wanted = transport(hosts, config=jump.config(bastion.port, keys["jump"], plain.port))
    batches = wanted.run({name: [Command("a", "echo x")] for name in hosts})
    assert not [str(batch.answers["a"]) for batch in batches.values() if not isinstance(batch.answers["a"], Answer)]
    assert len(re.findall(r"Accepted publickey", bastion.log)) == 1


def test_a_jump_host_that_drops_logins_is_blamed_and_not_the_host_behind(
    jump: Jump, plain: Sshd, keys: Keys, transport: Callable[..., SshTransport]
) -> None:
    bastion = jump.start(options=("MaxStartups 1:100:1",), host_keys=(keys["jump"],))
    time.sleep(0.3)
    with socket.create_connection((ADDRESS, bastion.port)) as held:
        assert held.recv(64).startswith(b"SSH-")  # its one place is taken
        hosts = {f"gpu-{i:02}": plain.host(address=f"gpu-{i:02}", port=22) for i in range(4)}
        wanted = transport(hosts, config=jump.config(bastion.port, keys["jump"], plain.port))
        batches = wanted.run({name: [Command("0", "echo x")] for name in hosts})
    for name, batch in batches.items():
        assert isinstance(reason(batch), Unreachable)
        for word in ("jump host bastion-1", "before login", "MaxStartups", name, "itself was never asked"):
            assert word in str(reason(batch))


def test_a_host_behind_a_jump_host_that_refuses(jump: Jump, plain: Sshd, keys: Keys, ask: Ask) -> None:
    bastion = jump.start(host_keys=(keys["jump"],))
    error = reason(
        ask(
            plain.host(address="gpu-09", port=22), "echo x", config=jump.config(bastion.port, keys["jump"], free_port())
        )
    )
    assert isinstance(error, Unreachable)
    assert re.search(r"node-01.* refused the connection", str(error))
    assert "bastion-1, which itself answers" in str(error)


def test_a_jump_host_that_may_not_forward(jump: Jump, plain: Sshd, keys: Keys, ask: Ask) -> None:
    bastion = jump.start(host_keys=(keys["jump"],), options=("AllowTcpForwarding no",))
    error = reason(
        ask(plain.host(address="gpu-1", port=22), "echo x", config=jump.config(bastion.port, keys["jump"], plain.port))
    )
    assert "AllowTcpForwarding" in str(error)


@pytest.mark.parametrize("known, word", [(None, "does not know that host"), ("other", "known_hosts has")])
def test_an_unknown_or_changed_jump_host_is_refused(
    jump: Jump, plain: Sshd, keys: Keys, ask: Ask, known: str | None, word: str
) -> None:
    bastion = jump.start(host_keys=(keys["jump"],))
    chosen = jump.config(bastion.port, keys[known] if known else None, plain.port)
    batch = ask(plain.host(address="gpu-1", port=22), "echo x", config=chosen)
    error = reason(batch)
    assert isinstance(error, HostKeyRefused)
    assert error.presented == fingerprint(keys["jump"])
    assert batch.host_key == ""
    assert word in str(error)
    assert "Accepted" not in bastion.log


def test_a_revoked_jump_host_key_is_refused(jump: Jump, plain: Sshd, keys: Keys, ask: Ask) -> None:
    bastion = jump.start(host_keys=(keys["jump"],))
    chosen = jump.config(bastion.port, keys["jump"], plain.port)
    with (jump.folder / "known_hosts").open("a") as file:
        file.write(f"@revoked * {keys['jump'].with_suffix('.pub').read_text()}")
    error = reason(ask(plain.host(address="gpu-1", port=22), "echo x", config=chosen))
    assert isinstance(error, HostKeyRefused)
    assert "revoked" in str(error)


def test_the_host_behind_a_jump_host_is_pinned_as_well(jump: Jump, plain: Sshd, keys: Keys, ask: Ask) -> None:
    bastion = jump.start(host_keys=(keys["jump"],))
    host = plain.host(address="gpu-1", port=22, host_key=fingerprint(keys["other"]))
    error = reason(ask(host, "echo x", config=jump.config(bastion.port, keys["jump"], plain.port)))
    assert isinstance(error, HostKeyRefused)
    assert error.presented == fingerprint(keys["host"])


needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="the real sudo lets root in without a password, and nobody not at all"
)


@needs_root
def test_sudo_without_a_password_works(sshd: Start, ask: Ask) -> None:
    batch = ask(sshd().host(become="sudo"), "id -u; echo $SUDO_USER")
    answer = batch.answers["0"]
    assert isinstance(answer, Answer), answer
    assert answer.stdout.decode().split() == ["0", USER]


@needs_root
def test_sudo_that_asks_for_a_password_is_named(sshd: Start, ask: Ask) -> None:
    server = sshd(force='exec setpriv --reuid=nobody --clear-groups sh -c "$SSH_ORIGINAL_COMMAND"\n')
    error = reason(ask(server.host(become="sudo"), "id -u"))
    assert isinstance(error, PermissionDenied)
    assert "NOPASSWD" in str(error)
    assert "a password is required" in str(error)


@pytest.mark.parametrize(
    "words, advice",
    [
        ("sudo: sorry, you must have a tty to run sudo", "!requiretty"),
        ("ops is not in the sudoers file.  This incident will be reported.", "NOPASSWD: ALL"),
        ("Sorry, user ops is not allowed to execute '/usr/bin/sh -s' as root on gpu-01.", "NOPASSWD: ALL"),
        ("sudo: 需要密码", "sudo refused"),
    ],
)
def test_refusals_of_sudo_say_what_to_do(sshd: Start, ask: Ask, tmp_path: Path, words: str, advice: str) -> None:
    (tmp_path / "sudo").write_text(f'#!/bin/sh\necho "{words}" >&2\nexit 1\n')
    (tmp_path / "sudo").chmod(0o755)
    error = reason(ask(sshd(path=f"{tmp_path}:/usr/bin:/bin").host(become="sudo"), "id -u"))
    assert isinstance(error, PermissionDenied)
    assert advice in str(error)
    assert words.split(".")[0] in str(error)


def test_a_host_without_sudo(sshd: Start, ask: Ask) -> None:
    error = reason(ask(sshd(path="/nonexistent").host(become="sudo"), "id -u"))
    assert isinstance(error, PermissionDenied)
    assert "there is no sudo" in str(error)


def test_a_host_that_may_be_asked_nothing_is_not_contacted(ask: Ask, plain: Sshd) -> None:
    batch = ask(plain.host(access="none", port=free_port()), "echo x")
    assert isinstance(reason(batch), NotAskable)
    assert batch.host_key == ""


def test_a_device_without_a_shell_runs_only_its_commands_one_by_one(sshd: Start, ask: Ask) -> None:
    device = 'case "$SSH_ORIGINAL_COMMAND" in "show version"*) printf "v1\\377"; echo w >&2; exit 7;; big*) exec yes;; esac; exit 1\n'
    host = sshd(force=device).host(access="commands", commands=("show version", "big", "hang"))
    batch = ask(host, "show version --all", "reboot", "show", Command("", "big", cap=1000))
    answer = batch.answers["0"]
    assert isinstance(answer, Answer), answer
    assert (answer.stdout, answer.stderr, answer.status) == (b"v1\xff", b"w\n", 7)
    assert isinstance(reason(batch, "1"), NotAskable)
    assert isinstance(reason(batch, "2"), NotAskable)
    assert "reboot" in str(reason(batch, "1"))
    assert not isinstance(batch.answers["3"], Answer) or batch.answers["3"].truncated
    assert batch.host_key == host.host_key
