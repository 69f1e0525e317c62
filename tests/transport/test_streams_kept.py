"""How the host half keeps streams: straight into files for commands that only read, through a reader a stream for others."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.transport.base import Answer, Batch, Command
from tests.transport.server import Sshd
from tests.transport.test_commands import told

KB = 1024


@pytest.fixture(params=[True, False], ids=["reads", "writes"])
def reads(request: pytest.FixtureRequest) -> bool:
    """Both ways of keeping streams."""
    return bool(request.param)


@pytest.fixture(scope="module")
def small() -> str:
    """What makes a login's private directory lie on a file system of 128 KB."""
    scratch = "mount -t tmpfs -o size=128k kvgate /dev/shm"
    for unshare in ("unshare -m", "unshare -rm"):
        if subprocess.run([*unshare.split(), "sh", "-c", scratch], capture_output=True, check=False).returncode == 0:
            return f"exec {unshare} sh -c '{scratch} && exec sh -s'\n"
    pytest.skip("this machine makes no mount namespaces")


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox ash", "ksh"])
def test_a_child_that_goes_on_writing_garbles_nothing(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], shell: str
) -> None:
    line = "{ for i in 1 2 3 4 5 6 7 8 9 0; do echo more; echo more >&2; sleep 0.05; done; } & echo x"
    batch = ask(sshd(force=f"exec {shell} -s\n").host(), *[line, "echo next"] * 3)
    assert all(told(batch, str(2 * n)).stdout.startswith((b"x\n", b"more\n")) for n in range(3))
    assert [told(batch, str(2 * n + 1)).stdout for n in range(3)] == [b"next\n"] * 3


def test_output_that_found_no_room_is_cut_and_said_so(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], small: str
) -> None:
    careless = (
        f"head -c {400 * KB} /dev/zero 2>/dev/null; exit 0"  # as tools end that never look whether they could print
    )
    batch = ask(sshd(force=small).host(), "echo before", Command("", careless, limit=5), "echo after")
    whole = {"0": b"before\n", "1": None, "2": b"after\n"}  # the neighbours may have found no room either
    assert len(batch.answers) == len(whole)
    for key, answer in batch.answers.items():
        assert not isinstance(answer, Answer) or answer.truncated or answer.stdout == whole[key]


def test_a_lower_limit_of_the_host_is_a_cut_too(sshd: Callable[..., Sshd], ask: Callable[..., Batch]) -> None:
    batch = ask(sshd(force="ulimit -f 8; exec sh -s\n").host(), f"head -c {64 * KB} /dev/zero; exit 0", "echo next")
    assert told(batch, "0").truncated
    assert len(told(batch, "0").stdout) <= 4 * KB
    assert told(batch, "1").stdout == b"next\n"


PLAIN = {
    "echo -n a  b": (0, b"a b"),
    "test -e /etc/passwd": (0, b""),
    "false": (1, b""),
    "command -v sh": (0, b"/bin/sh"),
    "A=1": (0, b""),
    "cat /etc/passwd": (0, b"root:"),
    "  uname  -s ": (0, b"Linux"),
    "nosuchtool --json": (127, b""),
    ": nothing": (0, b""),
    "exit 7": (7, b""),
    "cd /": (0, b""),
    "! true": (1, b""),
    "/nosuch/tool": (127, b""),
    "/etc": (126, b""),
}


def test_plain_words_are_run_as_a_shell_would(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), *PLAIN)
    for key, (status, said) in enumerate(PLAIN.values()):
        answer = told(batch, str(key))
        assert (answer.status, answer.truncated) == (status, False), answer
        assert said in answer.stdout


def test_a_command_that_writes_may_write_more_than_its_streams_may_hold(
    plain: Sshd, ask: Callable[..., Batch], tmp_path: Path, reads: bool
) -> None:
    line = f"head -c {64 * KB} /dev/zero >{tmp_path}/file"
    answer = told(ask(plain.host(), Command("", line, cap=KB)))
    assert (answer.status == 0) is not reads
    assert ((tmp_path / "file").stat().st_size == 64 * KB) is not reads
