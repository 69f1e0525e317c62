"""Runs one command over an open paramiko transport: both streams drained in one loop, every wait with a deadline."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import paramiko

from checks.phrase import say
from kvgate.errors import LinkLost, TimedOut, Unreachable
from kvgate.transport.link import LINGER, Bounds, Deadlines, Ending, Outcome

_WINDOW = 1 << 24  # bytes in flight; paramiko's 2 MiB slow one stream down on a long link
_PIECE = 1 << 18
_TURN = 0.5  # seconds between looks at stderr while stdout is quiet


class NotStarted(LinkLost):
    """The connection was already gone: the command was never sent, so it may be sent again over a new one."""


@contextlib.contextmanager
def watchdog(transport: paramiko.Transport, seconds: float) -> Iterator[threading.Event]:
    """Close the transport when the body takes longer: some waits of paramiko know no timeout. The event tells that it did."""
    fired = threading.Event()

    def bark() -> None:
        fired.set()
        transport.close()

    timer = threading.Timer(seconds, bark)
    timer.daemon = True
    timer.start()
    try:
        yield fired
    finally:
        timer.cancel()


def open_session(transport: paramiko.Transport, where: str, seconds: float) -> tuple[paramiko.Channel, list[str]]:
    """Open a session; a host at its MaxSessions frees them late, so that answer is asked again for a short while."""
    pause, tries, until = 0.05, 0, time.monotonic() + seconds
    while True:
        try:
            channel = transport.open_session(window_size=_WINDOW, timeout=max(0.1, until - time.monotonic()))
        except paramiko.ChannelException as error:
            tries += 1
            if time.monotonic() + pause > until or pause > 2:
                raise Unreachable(
                    say(
                        "{where} opens no session on a connection that works ({what}): look at MaxSessions in "
                        "its sshd_config, or close other sessions",
                        where=where,
                        what=error.text or error.code,
                    )
                ) from error
            time.sleep(pause)
            pause *= 2
        except (paramiko.SSHException, EOFError, OSError) as error:
            why = say(
                "{where} ended the connection before a command was sent ({why})", where=where, why=str(error or "EOF")
            )
            raise NotStarted(why) from error
        else:
            return channel, [f"session opened at try {tries + 1}"] if tries else []


def execute(
    transport: paramiko.Transport,
    where: str,
    command: str,
    stdin: bytes,
    bounds: Bounds,
    deadlines: Deadlines,
    finished: Callable[[bytearray], bool] | None = None,
) -> Outcome:
    """Run ``command`` on a session of its own.

    Raises NotStarted when the connection was gone before, TimedOut when the host did not take the command.
    """
    channel, notes = open_session(transport, where, deadlines.channel)
    outcome = Outcome(notes=notes)
    begun = time.monotonic()
    try:
        with watchdog(transport, deadlines.channel) as late:
            try:
                outcome.sent = time.time()
                channel.exec_command(command)
                channel.settimeout(deadlines.channel)
                if stdin:
                    channel.sendall(stdin)
                channel.shutdown_write()
            except (paramiko.SSHException, EOFError, OSError) as error:
                if late.is_set() or isinstance(error, TimeoutError):
                    raise TimedOut(
                        say(
                            "{where} took no command for {channel:g} s on an open connection: its sshd is "
                            "stopped or overloaded; look at the host's load and log in by hand",
                            where=where,
                            channel=deadlines.channel,
                        )
                    ) from error
                if channel.exit_status < 0:  # else it ended without reading its input: what it said tells why
                    raise LinkLost(
                        say(
                            "{where} ended the connection while the batch was handed over ({why})",
                            where=where,
                            why=str(error or "EOF"),
                        )
                    ) from error
        outcome.ending, said = _drain(channel, bounds, outcome, finished, begun)
    finally:
        with watchdog(transport, deadlines.channel):
            channel.close()
    outcome.status = channel.exit_status if channel.exit_status >= 0 else None
    if outcome.ending is Ending.EXITED and outcome.status is None and not said:
        outcome.ending = Ending.LOST  # paramiko reports a dead link as exit status -1
    outcome.seconds = time.monotonic() - begun
    return outcome


def _drain(
    channel: paramiko.Channel,
    bounds: Bounds,
    outcome: Outcome,
    finished: Callable[[bytearray], bool] | None,
    begun: float,
) -> tuple[Ending, bool]:
    heard, ended = time.monotonic(), 0.0
    while True:
        closed = channel.closed or channel.eof_received
        arrived = _receive(channel, outcome, begun + bounds.total)
        now = time.monotonic()
        if arrived:
            heard = now
            if len(outcome.stdout) + len(outcome.stderr) > bounds.most:
                return Ending.FLOODED, False
            if finished is not None and finished(outcome.stdout):
                return Ending.EXITED, True
            continue
        if channel.exit_status >= 0 and not ended:
            ended = now
        if closed and (ended or channel.closed):
            return Ending.EXITED, False
        if ended and now - max(ended, heard) > LINGER:
            return Ending.EXITED, False
        if now - begun > bounds.total:
            return Ending.LATE, False
        if now - heard > bounds.silence:
            return Ending.SILENT, False


def _receive(channel: paramiko.Channel, outcome: Outcome, until: float) -> bool:
    """Take what there is from both streams, waiting a moment for stdout; tell whether anything arrived."""
    arrived = False
    while channel.recv_stderr_ready():
        outcome.stderr += channel.recv_stderr(_PIECE)
        arrived = True
        if len(outcome.stderr) > _PIECE * 64:
            break
    channel.settimeout(0.0 if arrived else max(0.01, min(_TURN, until - time.monotonic())))
    try:
        piece = channel.recv(_PIECE)
    except TimeoutError:
        return arrived
    if piece:
        outcome.stdout += piece
        outcome.arrivals.append((len(outcome.stdout), time.time()))
        return True
    if not arrived and not channel.closed:
        channel.status_event.wait(0.02)
    return arrived
