"""One host's commands over one link: sends the batch, reads what came back, and gives every command an answer or a reason."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from checks.phrase import say
from kvgate.errors import CannotTell, LinkLost, NotAskable, TimedOut, Truncated
from kvgate.transport import batch, reasons
from kvgate.transport.base import Answer, Batch, Clock, Command
from kvgate.transport.link import Bounds, Deadlines, Ending, Link, Outcome
from kvgate.transport.script import NO_DIRECTORY

_OVERTIME = 6  # seconds past its limit until the script leaves a command behind
_NOISE = 1 << 20  # bytes that a login may print before the batch begins
_SUDO = "sudo -n -- "


@dataclass(slots=True)
class _Told:
    answers: dict[str, Answer | CannotTell]
    boot_id: str = ""
    clock: Clock | None = None
    notes: list[str] = field(default_factory=list)


class _Watch:
    """Tells from stdout that the batch has ended, and keeps what was parsed."""

    def __init__(self, nonce: str, commands: Sequence[Command]) -> None:
        self.nonce, self.caps = nonce, [command.cap for command in commands]
        self.reply: batch.Reply | None = None

    def __call__(self, stdout: bytearray) -> bool:
        if not batch.finished(self.nonce, bytes(stdout[-256:])):
            return False
        self.reply = batch.parse(stdout, self.nonce, self.caps)
        return self.reply.complete

    def read(self, stdout: bytearray) -> batch.Reply:
        if self.reply is None or not self.reply.complete:
            self.reply = batch.parse(stdout, self.nonce, self.caps)
        return self.reply


def shell(
    link: Link, host: str, commands: Sequence[Command], *, become: bool, deadlines: Deadlines, notes: Sequence[str] = ()
) -> Batch:
    """Run all commands as one ``sh -s`` batch. Raises CannotTell when the host never took the batch.

    ``notes`` may grow while the batch runs and goes into it as it is at the end.
    """
    begun = time.monotonic(), datetime.now(UTC)
    nonce = secrets.token_hex(16)
    script = batch.build(nonce, commands)
    watch = _Watch(nonce, commands)
    outcome = link.execute((_SUDO if become else "") + "sh -s", script, bounds(commands, deadlines), watch)
    reply = watch.read(outcome.stdout)
    told = _read(host, commands, outcome, reply, become)
    if not reply.began and outcome.status == NO_DIRECTORY:
        told = _one_by_one(link, host, commands, deadlines, _bare(become))
        told.notes.append("the host has no private temporary directory: commands were run one by one")
    told.notes[:0] = [*notes, *outcome.notes]
    return _batch(link, host, told, begun)


def single(
    link: Link,
    host: str,
    commands: Sequence[Command],
    *,
    tools: Sequence[str],
    become: bool,
    deadlines: Deadlines,
    notes: Sequence[str] = (),
) -> Batch:
    """Run each command by itself, as devices without a POSIX shell want it; tools that are not named are not asked."""
    begun = time.monotonic(), datetime.now(UTC)
    told = _one_by_one(link, host, commands, deadlines, lambda command: (_SUDO if become else "") + command.line, tools)
    told.notes[:0] = notes
    return _batch(link, host, told, begun)


def refused(
    host: str, commands: Sequence[Command], error: CannotTell, notes: Sequence[str] = (), host_key: str = ""
) -> Batch:
    """Build the batch of a host that answered nothing: the same reason stands for every command."""
    return Batch(
        host,
        {command.key: error for command in commands},
        host_key=host_key,
        started_utc=datetime.now(UTC).isoformat(),
        started_monotonic=time.monotonic(),
        notes=tuple(notes),
    )


def bounds(commands: Sequence[Command], deadlines: Deadlines) -> Bounds:
    """What a batch may take: silence for the longest command, in all the sum, bytes as capped; each with its margin."""
    limits = [batch.seconds(command.limit) + _OVERTIME for command in commands] or [0]
    silence = max(limits) + deadlines.margin
    return Bounds(
        silence=silence,
        total=max(silence, min(sum(limits) + deadlines.margin, deadlines.longest)),
        most=_NOISE + sum(2 * command.cap + 1024 for command in commands),
    )


def _batch(link: Link, host: str, told: _Told, begun: tuple[float, datetime]) -> Batch:
    return Batch(
        host,
        told.answers,
        host_key=link.host_key,
        boot_id=told.boot_id,
        clock=told.clock,
        started_utc=begun[1].isoformat(),
        started_monotonic=begun[0],
        seconds=time.monotonic() - begun[0],
        notes=tuple(told.notes),
    )


def _read(host: str, commands: Sequence[Command], outcome: Outcome, reply: batch.Reply, become: bool) -> _Told:
    answers: dict[str, Answer | CannotTell] = {}
    for index, command in enumerate(commands):
        if index in reply.frames:
            answers[command.key] = _answer(command, reply.frames[index])
    missing = [command for command in commands if command.key not in answers]
    if missing:
        answers |= reasons.unanswered(host, commands, missing, outcome, reply, become)
    told = _Told({command.key: answers[command.key] for command in commands}, reply.boot_id)
    told.clock = _clock(outcome, reply)
    if told.clock is not None and told.clock.low > told.clock.high:
        told.clock = None
        told.notes.append("a clock was set during the batch: the host's offset cannot be told")
    if reply.complete and missing:
        told.notes.append("left running on the host: " + "; ".join(command.line for command in missing))
    return told


def _answer(command: Command, frame: batch.Frame) -> Answer:
    """Read one frame. A command that needed SIGKILL, or a ``timeout`` that knows no 124, ran into its limit all the same."""
    seconds = frame.milliseconds / 1000
    status = frame.status
    if status in (137, 143) and seconds >= batch.seconds(command.limit) - 0.02:
        status = 124
    return Answer(command.key, frame.stdout, frame.stderr, status, seconds, frame.truncated)


def _clock(outcome: Outcome, reply: batch.Reply) -> Clock | None:
    """Bound host clock minus operator clock: a stamp was made after the script went out and before it arrived here."""
    low, high = [], []
    for stamp, at in ((reply.began, reply.began_at), (reply.ended, reply.ended_at)):
        received = next((when for size, when in outcome.arrivals if size >= at), None)
        if stamp and received is not None:
            low.append(float(stamp) - received)
            high.append(float(stamp) + 10.0 ** -len(stamp.partition(".")[2]) - outcome.sent)
    return Clock(max(low), min(high)) if low else None


def _bare(become: bool) -> Callable[[Command], str]:
    def line(command: Command) -> str:
        limit, text = batch.seconds(command.limit), shlex.quote(command.line)
        body = (
            "LC_ALL=C TERM=dumb NO_COLOR=1 PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL TERM NO_COLOR PATH; "
            f"if timeout -k 2 5 true 2>/dev/null; then exec timeout -k 2 {limit} sh -c {text}; else exec sh -c {text}; fi"
        )
        return (_SUDO if become else "") + f"sh -c {shlex.quote(body)}"

    return line


def _one_by_one(
    link: Link,
    host: str,
    commands: Sequence[Command],
    deadlines: Deadlines,
    line: Callable[[Command], str],
    tools: Sequence[str] | None = None,
) -> _Told:
    answers: dict[str, Answer | CannotTell] = {}
    notes: list[str] = []
    lost: CannotTell | None = None
    for command in commands:
        if tools is not None and not allowed(command.line, tools):
            answers[command.key] = NotAskable(
                say(
                    "{host} answers only {what}: {tool} is not among the commands that its inventory entry allows",
                    host=host,
                    what=", ".join(tools) or "no tool at all",
                    tool=command.line.split()[0],
                )
            )
        elif lost is not None:
            answers[command.key] = lost
        else:
            try:
                outcome = link.execute(line(command), b"", _bounds_of(command, deadlines))
            except CannotTell as error:
                answers[command.key] = lost = error
                continue
            notes += outcome.notes
            answers[command.key] = told = _lone(host, command, outcome)
            lost = told if isinstance(told, LinkLost) else None
    return _Told(answers, notes=notes)


def _bounds_of(command: Command, deadlines: Deadlines) -> Bounds:
    total = batch.seconds(command.limit) + _OVERTIME + deadlines.margin
    return Bounds(silence=total, total=total, most=2 * command.cap)


def _lone(host: str, command: Command, outcome: Outcome) -> Answer | CannotTell:
    if outcome.ending is Ending.LOST or (outcome.ending is Ending.EXITED and outcome.status is None):
        return LinkLost(
            say(
                "{host}: the connection ended, or the command was killed, without an exit status: {line}",
                host=host,
                line=command.line,
            )
        )
    if outcome.ending is Ending.FLOODED:
        return Truncated(
            say("{host}: more than {what} bytes came from: {line}", host=host, what=2 * command.cap, line=command.line)
        )
    if outcome.ending is not Ending.EXITED or outcome.status is None:
        return TimedOut(
            say(
                "{host}: no end within {seconds:.0f} s (limit {limit:g} s) of: {line}",
                host=host,
                seconds=outcome.seconds,
                limit=command.limit,
                line=command.line,
            )
        )
    cut = len(outcome.stdout) >= command.cap or len(outcome.stderr) >= command.cap
    stdout, stderr = bytes(outcome.stdout[: command.cap]), bytes(outcome.stderr[: command.cap])
    return Answer(command.key, stdout, stderr, outcome.status, outcome.seconds, cut)


def allowed(line: str, tools: Sequence[str]) -> bool:
    """Tell whether a line begins with the words of one of the tools that may be asked."""
    words = line.split()
    return any(words[: len(tool.split())] == tool.split() for tool in tools)
