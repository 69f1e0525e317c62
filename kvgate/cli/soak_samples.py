"""``kvgate soak samples``: what was collected of a soak as Parquet, and what its minutes come to, on this machine or a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import click

from checks.phrase import say
from checks.probe import UnreadableOutput
from checks.soak.accounting import State
from kvgate.cli import speech
from kvgate.errors import Damaged, NotAllowed
from kvgate.gate import options as gate_options
from kvgate.soak import samples as parquet
from kvgate.soak.store import Copy


@click.command(
    "samples",
    help=speech.read(
        "Write the samples of SOAK as Parquet, one folder a host and stream, for pandas, DuckDB or Dask, and print for each host one "
        "JSON object with its minutes by state. The journal stays the evidence; the files can be made again.\n\n"
        "Example: kvgate soak samples soak-rack-a-20261129 -o samples"
    ),
)
@click.argument("soak")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help=speech.read("folder of the Parquet files"),
)
@click.option(
    "--soaks", type=click.Path(path_type=Path), default=Path(gate_options.DEFAULT_SOAKS), show_default=True,
    envvar="KVGATE_SOAKS",
    help=speech.read("where soaks are collected"),
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["here", "dask"]), default="here", show_default=True,
    help=speech.read("what reads the hosts: this process, or a Dask cluster that sees the same folder"),
)  # fmt: skip
@click.option(
    "--scheduler", metavar="ADDRESS", help=speech.read("the cluster's scheduler, such as tcp://10.0.0.1:8786")
)
def samples(soak: str, output: Path, soaks: Path, engine: str, scheduler: str | None) -> None:
    """Write samples, print accounts."""
    found = sorted(path for path in (soaks / soak).glob("*") if path.is_dir() and Copy.listed(path))
    if not found or Path(soak).name != soak:
        raise NotAllowed(
            say("found no collected journal of {soak} in {folder}: `kvgate soak collect`", soak=soak, folder=str(soaks))
        )
    if scheduler is not None and engine != "dask":
        raise NotAllowed(say("--scheduler is for --engine dask"))
    try:
        for host in found:
            parquet.write(output.absolute(), soak, host.name, (path.read_bytes() for _, path in Copy.listed(host)))
        if scheduler is not None:
            from dask.distributed import Client

            with Client(scheduler):  # type: ignore[no-untyped-call]  # distributed has no types
                read = parquet.read_all(output.absolute(), soak, [host.name for host in found], engine)
        else:
            read = parquet.read_all(output.absolute(), soak, [host.name for host in found], engine)
    except UnreadableOutput as error:
        raise Damaged(str(error)) from error
    for name, one in read.items():
        states = {state.value: one.account.minutes(state) for state in State}
        row = {
            "host": name,
            "qualified": one.account.qualified,
            "minutes": states,
            "ended": one.account.ended,
            "scale": one.plan.scale,
        }
        click.echo(json.dumps(row, sort_keys=True))
