"""The ``kvgate`` command. One module a command group; data on stdout, talk on stderr."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from kvgate.cli import speech
from kvgate.errors import KvgateError, Refused, Unproven, because
from kvgate.reports.messages import Reader, language, refuse_unknown

#: Command -> the module that holds it; loaded when it is called, so that none pays for the others' imports.
_WHERE = {
    "demo": "demo",
    "rack": "demo",
    "inventory": "inventory",
    "doctor": "doctor",
    "runs": "runs",
    "show": "runs",
    "status": "status",
    "explain": "clauses",
    "runbook": "clauses",
    "judge": "judge",
    "report": "report",
    "certify": "certify",
    "cosign": "certify",
    "verify": "verify",
    "stamp": "verify",
    "waive": "deviation",
    "reopen": "deviation",
    "close": "close",
    "ticket": "ticket",
    "sheet": "verify",
    "soak": "soak",
    "ledger": "ledger",
    "audit": "audit",
    "parse": "parse",
    "figures": "figures",
    "reference": "reference",
}

#: Commands that contact hosts: only of these it is worth saying that they did not yet.
_HOSTS = frozenset({"demo", "rack", "inventory", "doctor", "soak"})

#: What a shell shows for a program that wrote into a pipe nobody reads.
_PIPE_CLOSED = 128 + signal.SIGPIPE


class _Group(click.Group):
    """Turns kvgate's own errors into one clear message and an exit status; a user's mistake is never a traceback."""

    context_class = speech.Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command."""
        return list(_WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command, in the reader's language."""
        if cmd_name not in _WHERE:
            return None
        commands: tuple[click.Command, ...] = importlib.import_module(f"kvgate.cli.{_WHERE[cmd_name]}").COMMANDS
        found = next(command for command in commands if command.name == cmd_name)
        return speech.translated(found, Reader(language()))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read the command line; the language first, so that what is wrong with it is told in that language."""
        _streams()
        speech.listen(args)
        spoken = speech.translated(self, Reader(language()))
        with _told():
            refuse_unknown()
            return click.Group.make_context(spoken, info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _told(ctx):
            return super().invoke(ctx)


@contextmanager
def _told(ctx: click.Context | None = None) -> Iterator[None]:
    """Let every end of a command be one message and one exit status, as the README says."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # a full disk or a closed pipe is noticed here, not when the interpreter has ended
    except click.ClickException as error:
        error.show()
        sys.exit(4)
    except BrokenPipeError:
        _hush()
        sys.exit(_PIPE_CLOSED)
    except KeyboardInterrupt:
        read = Reader(language())
        click.echo(read("kvgate: interrupted"), err=True)
        sys.exit(2)
    except (
        click.Abort
    ) as error:  # a question that nobody answered: click would say "Aborted!" and end with 1, which means STOP
        read = Reader(language())
        if isinstance(error.__context__, KeyboardInterrupt):
            click.echo(read("kvgate: interrupted"), err=True)
            sys.exit(2)
        text = read(
            "kvgate: the input ended where an answer was wanted, so nothing was done: start it at a terminal; or let ssh-agent hold "
            "the key (ssh-add), and confirm beforehand where the command takes --yes"
        )
        click.echo(text, err=True)
        sys.exit(4)
    except Refused as error:
        from kvgate.reports import lines

        hosts = ctx is not None and ctx.invoked_subcommand in _HOSTS and not isinstance(error, Unproven)
        read = Reader(language())
        click.echo(lines.refusal(error) if hosts else f"kvgate: {read.phrase(error.phrase)}", err=True)
        sys.exit(4)
    except KvgateError as error:
        click.echo(f"kvgate: {Reader(language()).phrase(error.phrase)}", err=True)
        sys.exit(6)
    except OSError as error:
        words = Reader(language()).phrase(because(error))
        click.echo(f"kvgate: {error.filename}: {words}" if error.filename else f"kvgate: {words}", err=True)
        sys.exit(4)


def _streams() -> None:
    """Let streams take every text: none at all (``>&-``), one that is not UTF-8, a file name that is no text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _hush() -> None:
    """Nobody reads stdout any more: let what is still in its buffer go nowhere, without a word at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=speech.read(
        "Decide, by gates agreed between vendor and customer, whether an array may carry a KV cache.\n\n"
        "The gates themselves are pytest suites: pytest -m G1 --inventory inventories/rack-a.yaml"
    ),
)
@click.version_option(package_name="kvgate", message="kvgate %(version)s")
def main() -> None:
    """Decide by gates whether an array may carry a KV cache."""
