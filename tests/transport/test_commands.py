"""What commands may do on a real host without spoiling the batch or one another."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kvgate.errors import CommandFailed, TimedOut, Truncated
from kvgate.transport.base import Answer, Batch, Command
from tests.transport.server import Sshd

MB = 10**6


@pytest.fixture(params=[True, False], ids=["reads", "writes"])
def reads(request: pytest.FixtureRequest) -> bool:
    """Both ways of keeping streams must survive everything here."""
    return bool(request.param)


def told(batch: Batch, key: str = "0") -> Answer:
    answer = batch.answers[key]
    assert isinstance(answer, Answer), answer
    return answer


def test_returns_bytes_status_and_both_streams_apart(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), r"printf 'a\0\377\nb'; printf 'e' >&2; exit 3")
    answer = told(batch)
    assert (answer.stdout, answer.stderr, answer.status, answer.truncated) == (b"a\0\xff\nb", b"e", 3, False)


def test_tells_key_boot_id_clock_and_time(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), "true")
    assert batch.host_key == plain.host().host_key
    assert batch.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert batch.clock is not None
    assert batch.clock.low <= 0 <= batch.clock.high
    assert batch.clock.high - batch.clock.low < 5
    assert batch.notes == ()
    assert batch.started_utc.endswith("+00:00")


def test_an_empty_batch_still_tells_key_and_clock(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host())
    assert batch.answers == {}
    assert batch.host_key
    assert batch.clock is not None


@pytest.mark.parametrize(
    "line, status",
    [
        ("exit 0", 0),
        ("exit 255", 255),
        ("nosuchtool", 127),
        ("/etc/passwd", 126),
        ("exit 124", 124),
        ("kill -9 $$", 137),
    ],
)
def test_keeps_exit_statuses(plain: Sshd, ask: Callable[..., Batch], line: str, status: int) -> None:
    batch = ask(plain.host(), line, "echo next")
    assert told(batch).status == status
    assert told(batch, "1").stdout == b"next\n"


def test_ten_megabytes_on_both_streams_at_once(plain: Sshd, ask: Callable[..., Batch]) -> None:
    line = f"head -c {10 * MB} /dev/zero >&2 & head -c {10 * MB} /dev/zero; wait"
    answer = told(ask(plain.host(), line))
    assert (len(answer.stdout), len(answer.stderr), answer.truncated) == (10 * MB, 10 * MB, False)


def test_fifty_megabytes_within_the_cap(plain: Sshd, ask: Callable[..., Batch]) -> None:
    answer = told(ask(plain.host(), f"head -c {50 * MB} /dev/zero"))
    assert (len(answer.stdout), answer.truncated) == (50 * MB, False)


def test_output_over_the_cap_is_cut_and_said_so(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(
        plain.host(),
        Command("", f"head -c {50 * MB} /dev/zero; echo late >&2", cap=5001),
        Command("", "yes", cap=100),
        "echo next",
    )
    assert (len(told(batch).stdout), told(batch).truncated) == (5001, True)
    assert (told(batch, "1").stdout, told(batch, "1").truncated) == (b"y\n" * 50, True)
    assert told(batch, "2").stdout == b"next\n"


def test_endless_stderr_is_cut_too(plain: Sshd, ask: Callable[..., Batch]) -> None:
    answer = told(ask(plain.host(), Command("", "yes >&2", cap=1000)))
    assert (len(answer.stderr), answer.truncated) == (1000, True)


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_a_command_that_never_ends_loses_no_other(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), "echo before", Command("", "echo some; exec sleep 60", limit=1), "echo after")
    assert told(batch).stdout == b"before\n"
    assert (told(batch, "1").status, told(batch, "1").stdout) == (124, b"some\n")
    assert told(batch, "2").stdout == b"after\n"


def test_a_command_that_ignores_sigterm_counts_as_run_into_its_limit(plain: Sshd, ask: Callable[..., Batch]) -> None:
    line = "trap '' TERM; while :; do sleep 0.2; done"
    assert told(ask(plain.host(), Command("", line, limit=1))).status == 124


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_a_command_that_sigkill_does_not_end_is_left_behind_and_named(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], tmp_path: Path
) -> None:
    stuck = tmp_path / "timeout"  # what a driver that hangs in the kernel looks like: the runner's child never returns
    stuck.write_text('#!/bin/sh\ncase "$*" in *hangs*) exec sleep 30;; esac\nexec /usr/bin/timeout "$@"\n')
    stuck.chmod(0o755)
    server = sshd(path=f"{tmp_path}:/usr/bin:/bin")
    batch = ask(server.host(), "echo before", Command("", "echo hangs", limit=1), "echo after")
    assert (told(batch).stdout, told(batch, "2").stdout) == (b"before\n", b"after\n")
    reason = batch.answers["1"]
    assert isinstance(reason, TimedOut)
    assert "not even when killed" in str(reason)
    assert "echo hangs" in str(reason)
    assert any("left running" in note for note in batch.notes)


@pytest.mark.timeout(40)  # bounded by its own deadlines; unbounded it would stand for minutes
def test_a_background_child_that_holds_stdout_is_not_waited_for(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), "sleep 30 & echo x", "echo next")
    assert (told(batch).stdout, told(batch).status, told(batch, "1").stdout) == (b"x\n", 0, b"next\n")


@pytest.mark.parametrize(
    "line", ["kill -9 $PPID", "kill 0", "cat", "read x; echo $x", "set -e; false", "echo 'open", "exec >&-; echo x"]
)
def test_no_command_can_end_the_batch(plain: Sshd, ask: Callable[..., Batch], line: str) -> None:
    batch = ask(plain.host(), line, "echo next")
    assert isinstance(batch.answers["0"], Answer)
    assert told(batch, "1").stdout == b"next\n"


def test_commands_cannot_read_the_nonce_or_fake_a_frame(plain: Sshd, ask: Callable[..., Batch]) -> None:
    fake = 'echo "KVGATE ${kvg_nonce:-none} R 0 0 1 0 0 1"; echo "KVGATE ${kvg_nonce:-none} END 1 1"; echo fake >&3'
    answer = told(ask(plain.host(), fake + "; env"))
    assert b"KVGATE none R" in answer.stdout
    assert b"kvg_" not in answer.stdout
    assert answer.stderr  # descriptor 3 is closed


def test_runs_with_a_fixed_environment(plain: Sshd, ask: Callable[..., Batch]) -> None:
    lines = told(ask(plain.host(), "echo $LC_ALL $TERM $NO_COLOR; umask; echo $PATH; pwd")).stdout.decode().splitlines()
    assert lines[:2] == ["C dumb 1", "0077"]
    assert {"/usr/sbin", "/sbin", "/usr/local/sbin"} <= set(lines[2].split(":"))


def test_leaves_nothing_behind(sshd: Callable[..., Sshd], ask: Callable[..., Batch], tmp_path: Path) -> None:
    (tmp_path / "mktemp").write_text(f"#!/bin/sh\nexec /bin/mktemp -d {tmp_path}/kvgate.XXXXXX\n")
    (tmp_path / "mktemp").chmod(0o755)
    batch = ask(
        sshd(path=f"{tmp_path}:/usr/bin:/bin").host(), f"ls -d {tmp_path}/kvgate.*", Command("", "sleep 9", limit=1)
    )
    assert told(batch).stdout.count(b"kvgate.") == 1
    until = time.monotonic() + 5
    while list(tmp_path.glob("kvgate.*")) and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(tmp_path.glob("kvgate.*"))


def test_a_limit_below_a_second_and_awkward_words_arrive(plain: Sshd, ask: Callable[..., Batch]) -> None:
    line = """printf '%s|' "it's" 'a"b' '$HOME' '\\' '日本' "$(echo sub)" *nosuch* ; echo "!" `echo tick`"""
    answer = told(ask(plain.host(), Command("", line, limit=0.2)))
    assert answer.stdout.decode() == "it's|a\"b|$HOME|\\|日本|sub|*nosuch*|! tick\n"


def test_a_hundred_commands_in_one_batch(plain: Sshd, ask: Callable[..., Batch]) -> None:
    batch = ask(plain.host(), *(f"echo {i}; : {'x' * 2000}" for i in range(100)))
    assert [told(batch, str(i)).stdout for i in range(100)] == [f"{i}\n".encode() for i in range(100)]


LOGIN = {
    "csh": 'exec csh -c "$SSH_ORIGINAL_COMMAND"\n',
    "ksh": 'exec ksh -c "$SSH_ORIGINAL_COMMAND"\n',
    "busybox ash": 'exec busybox ash -c "$SSH_ORIGINAL_COMMAND"\n',
    "bash with aliases": "exec bash -O expand_aliases -c \"alias ls='ls --color'; $SSH_ORIGINAL_COMMAND\"\n",
    "noise": "printf 'Welcome\\377 KVGATE 0 BEGIN\\nno newline at the end'; echo more >&2; exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
    "a lot of noise": 'head -c 500000 /dev/urandom; exec sh -c "$SSH_ORIGINAL_COMMAND"\n',
    "noise after": 'sh -c "$SSH_ORIGINAL_COMMAND"; echo bye; exit 9\n',
}


@pytest.mark.parametrize("shell", LOGIN)
def test_works_with_login_shells_of_any_kind(sshd: Callable[..., Sshd], ask: Callable[..., Batch], shell: str) -> None:
    batch = ask(sshd(force=LOGIN[shell]).host(), "echo one; echo two >&2", "exit 5", "kill -9 $$")
    assert (told(batch).stdout, told(batch).stderr) == (b"one\n", b"two\n")
    assert (told(batch, "1").status, told(batch, "2").status) == (5, 137)


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox ash", "ksh"])
def test_the_script_itself_runs_under_every_posix_shell(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], shell: str
) -> None:
    batch = ask(
        sshd(force=f"exec {shell} -s\n").host(),
        "printf 'a\\0b'",
        "kill -9 $$",
        Command("", "yes", cap=600),
    )
    assert told(batch).stdout == b"a\0b"
    assert told(batch, "1").status == 137
    assert (len(told(batch, "2").stdout), told(batch, "2").truncated) == (600, True)


def test_without_timeout_and_without_nanoseconds(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], tmp_path: Path
) -> None:
    for name in ("timeout", "date"):
        (tmp_path / name).write_text(
            '#!/bin/sh\n[ "$1" = +%s.%N ] && { echo 12.%N; exit; }\n'
            + ("exec /bin/date +%s\n" if name == "date" else "exit 127\n")
        )
        (tmp_path / name).chmod(0o755)
    batch = ask(
        sshd(path=f"{tmp_path}:/usr/bin:/bin").host(), "echo x", Command("", "exec sleep 20", limit=1), "echo y"
    )
    assert (told(batch).stdout, told(batch, "2").stdout) == (b"x\n", b"y\n")
    assert told(batch, "1").status == 124
    assert batch.clock is not None
    assert batch.clock.low <= 0 <= batch.clock.high


def test_without_a_private_directory_commands_run_one_by_one(
    sshd: Callable[..., Sshd], ask: Callable[..., Batch], tmp_path: Path
) -> None:
    (tmp_path / "mktemp").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mktemp").chmod(0o755)
    batch = ask(
        sshd(path=f"{tmp_path}:/usr/bin:/bin").host(),
        "echo x; echo $TERM >&2",
        Command("", "sleep 9", limit=1),
        "exit 4",
    )
    assert (told(batch).stdout, told(batch).stderr) == (b"x\n", b"dumb\n")
    assert (told(batch, "1").status, told(batch, "2").status) == (124, 4)
    assert any("one by one" in note for note in batch.notes)


def test_a_host_without_a_posix_shell_says_so(sshd: Callable[..., Sshd], ask: Callable[..., Batch]) -> None:
    batch = ask(sshd(force="echo 'Invalid command: sh'; exit 1\n").host(), "echo x")
    reason = batch.answers["0"]
    assert isinstance(reason, CommandFailed)
    assert "Invalid command: sh" in str(reason)
    assert "access: commands" in str(reason)


def test_a_host_that_floods_is_cut_off(sshd: Callable[..., Sshd], ask: Callable[..., Batch]) -> None:
    batch = ask(sshd(force="exec yes\n").host(), Command("", "echo x", cap=1000))
    assert isinstance(batch.answers["0"], Truncated)
