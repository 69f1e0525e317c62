"""One signal or many, at any moment: the run ends in one way. Each test is a small process that signals itself."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAD = """
import os, signal, sys, time
from kvgate.gate import signals
def send(name="SIGINT", times=1):
    for _ in range(times):
        os.kill(os.getpid(), getattr(signal, name))
"""


def ended(body: str, **more: object) -> tuple[int, str]:
    """Exit status and everything said by a process with that body."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(body)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_before_anything_is_stored_the_process_ends_at_once_and_says_so(name: str) -> None:
    status, said = ended(f"signals.catch('nothing was stored'); send({name!r}); print('went on')")
    assert (status, said.strip()) == (2, "nothing was stored")


def test_the_last_words_are_heard_although_pytest_has_captured_standard_error() -> None:
    status, said = ended("signals.catch('bye'); os.dup2(os.open(os.devnull, os.O_WRONLY), 2); send()")
    assert (status, said.strip()) == (2, "bye")


def test_what_is_being_stored_is_stored_whole_and_the_wait_after_it_is_broken_off() -> None:
    body = """
        signals.catch("bye"); signals.hold()
        send("SIGTERM", 3)
        print("stored")
        try:
            with signals.waiting():
                print("asked")
        except signals.Interrupted as error:
            print("ended by", error, signals.told())
    """
    assert ended(body) == (0, "stored\nended by SIGTERM SIGTERM\n")


def test_a_wait_ends_in_its_middle_and_only_once() -> None:
    body = """
        signals.catch("bye"); signals.hold()
        try:
            with signals.waiting():
                send("SIGINT"); time.sleep(60)
        except KeyboardInterrupt as error:
            send("SIGHUP", 2); print("ended by", error)
    """
    assert ended(body) == (0, "ended by SIGINT\n")


def test_once_the_run_is_concluded_nothing_changes_its_exit_status() -> None:
    status, said = ended("signals.catch('bye'); signals.hold(); signals.conclude(); send('SIGTERM', 5); sys.exit(6)")
    assert (status, said) == (6, "")


def test_a_job_that_ignores_a_signal_goes_on_ignoring_it() -> None:
    status, said = ended("signals.catch('bye'); send('SIGHUP'); print('went on')", preexec_fn=_nohup)
    assert (status, said) == (0, "went on\n")


def _nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_a_process_that_goes_on_has_its_own_handlers_back() -> None:
    body = """
        own = signal.getsignal(signal.SIGINT)
        print(signals.catch("bye"), signals.catch("again"))
        signals.hold(); send(); signals.conclude(); signals.release()
        print(signal.getsignal(signal.SIGINT) is own, signals.told() == "")
    """
    assert ended(body) == (0, "True False\nTrue True\n")
