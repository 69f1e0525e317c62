"""The ``kvgate`` command. One module a command group; data on stdout, talk on stderr."""

from __future__ import annotations

import os
import sys

import click

from kvgate.errors import KvgateError, Refused
from kvgate.reports import terminal


class _Group(click.Group):
    """Turns kvgate's own errors into one clear message and an exit status; a user's mistake is never a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Refused as error:
            click.echo(terminal.refusal(error), err=True)
            sys.exit(4)
        except KvgateError as error:
            click.echo(f"kvgate: {error}", err=True)
            sys.exit(6)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(141)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kvgate", message="kvgate %(version)s")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="language of what people read (default: the locale)")
def main(lang: str | None) -> None:
    """Decide, by gates agreed between vendor and customer, whether an array may carry a KV cache.

    The gates themselves are pytest suites: pytest -m G1 --inventory inventories/rack-a.yaml
    """
    if lang:
        os.environ["KVGATE_LANG"] = lang


def _register() -> None:
    from kvgate.cli import clauses, demo, doctor, inventory, judge, parse, runs

    for module in (demo, inventory, doctor, runs, clauses, judge, parse):
        for command in module.COMMANDS:
            main.add_command(command)


_register()
