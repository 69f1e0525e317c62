"""The ``kvgate`` command. One module a command group; data on stdout, talk on stderr."""

from __future__ import annotations

import importlib
import os
import sys

import click

from kvgate.errors import KvgateError, Refused, Unproven
from kvgate.reports import lines

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
    "certify": "certify",
    "cosign": "certify",
    "verify": "verify",
    "stamp": "verify",
    "waive": "deviation",
    "reopen": "deviation",
    "close": "close",
    "ledger": "ledger",
    "audit": "audit",
    "parse": "parse",
    "reference": "reference",
}


#: Commands that never contact a host, so that nobody needs to be told so.
_NO_HOSTS = frozenset({"certify", "cosign", "verify", "stamp", "waive", "reopen", "close", "status"})


class _Group(click.Group):
    """Turns kvgate's own errors into one clear message and an exit status; a user's mistake is never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command."""
        return list(_WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in _WHERE:
            return None
        commands: tuple[click.Command, ...] = importlib.import_module(f"kvgate.cli.{_WHERE[cmd_name]}").COMMANDS
        return next(command for command in commands if command.name == cmd_name)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Refused as error:
            hosts = ctx.invoked_subcommand not in _NO_HOSTS and not isinstance(error, Unproven)
            click.echo(lines.refusal(error) if hosts else f"kvgate: {error}", err=True)
            sys.exit(4)
        except KvgateError as error:
            click.echo(f"kvgate: {error}", err=True)
            sys.exit(6)
        except BrokenPipeError:
            _hush()
            sys.exit(141)
        except KeyboardInterrupt:
            click.echo("kvgate: interrupted", err=True)
            sys.exit(2)
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
            click.echo(f"kvgate: {what}", err=True)
            sys.exit(4)


def _hush() -> None:
    """Nobody reads stdout any more: let what is still in its buffer go nowhere, without a word at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kvgate", message="kvgate %(version)s")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="language of what people read (default: the locale)")
def main(lang: str | None) -> None:
    """Decide, by gates agreed between vendor and customer, whether an array may carry a KV cache.

    The gates themselves are pytest suites: pytest -m G1 --inventory inventories/rack-a.yaml
    """
    if lang:
        os.environ["KVGATE_LANG"] = lang
