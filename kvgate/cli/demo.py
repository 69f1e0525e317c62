"""``kvgate demo`` and ``kvgate rack serve``: the embedded rack, and the gates on it. Everything it writes lies in var/."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from kvgate.errors import NotAllowed
from kvgate.gate import options as gate_options
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from lab import order
from lab.faults import chinese, every
from lab.rack import EmbeddedRack, build

GATES = ("G1",)  # gates that this version runs


def login_key(folder: Path) -> Path:
    """Private key that the demo logs in with, made on first use, readable by its owner only."""
    path = folder / "id_ed25519"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        key = Ed25519PrivateKey.generate()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        path.with_suffix(".pub").write_bytes(public + b" kvgate demo\n")
    return path


def _rack(nodes: int, platform: str, faults: Sequence[str], port: int = 0) -> EmbeddedRack:
    known = every()
    if (stranger := next((name for name in faults if name not in known), None)) is not None:
        near = ", ".join(get_close_matches(stranger, known, n=5, cutoff=0.5))
        raise NotAllowed(
            f"found fault {stranger!r}, wanted a name that kvgate demo --list-faults shows"
            + (f": {near}?" if near else "")
        )
    try:
        return EmbeddedRack(build(nodes, platform, faults), port)
    except ValueError as error:
        raise NotAllowed(str(error)) from None


def list_faults() -> None:
    """Print every fault with what must notice it."""
    read = Reader(language())
    said = chinese() if read.lang == "zh" else {}
    rows = [
        (
            fault.name,
            fault.on,
            fault.platform or "-",
            " ".join(sorted(fault.stops)),
            " ".join(sorted(fault.undecided)),
            said.get(fault.name, fault.text),
        )
        for fault in every().values()
    ]
    heads = (read("fault"), read("breaks"), read("platform"), "STOP", "UNDECIDED", read("what is wrong"))
    terminal.console(sys.stdout).print(terminal.listing(rows, *heads))


_PLATFORM = click.option(
    "--platform", type=click.Choice(order.PLATFORMS), default="rocm", show_default=True, help="node type"
)
_FAULTS = click.option("--fault", "faults", multiple=True, metavar="NAME", help="break something; repeatable")


@click.command("demo")
@click.argument("gates", nargs=-1)
@_FAULTS
@_PLATFORM
@click.option("--nodes", type=click.IntRange(1, 512), default=2, show_default=True)
@click.option("--list-faults", "list_", is_flag=True, help="name every fault and the clauses that notice it")
@click.option("--var", type=click.Path(path_type=Path), default=Path("var"), help="where ledger, evidence and keys go")
def demo(gates: tuple[str, ...], faults: tuple[str, ...], platform: str, nodes: int, list_: bool, var: Path) -> None:
    """Run GATES (default: all of this version) on the embedded rack: real SSH servers on loopback, captured answers.

    Example: kvgate demo G1 --fault disk-media-errors
    """
    if list_:
        list_faults()
        return
    chosen = gates or GATES
    if unknown := sorted(set(chosen) - set(GATES)):
        raise NotAllowed(f"found gate {unknown[0]!r}, wanted one of: {', '.join(GATES)}")
    read = Reader(language())
    var = var.absolute()
    folder = var / "demo"
    status = 0
    with _rack(nodes, platform, faults) as rack:
        inventory = folder / "inventory.yaml"
        folder.mkdir(parents=True, exist_ok=True)
        inventory.write_text(rack.inventory(login_key(folder).absolute()), "utf-8")
        click.echo(
            read(
                "embedded rack: {hosts} hosts on loopback ({platform}); inventory {path}",
                hosts=len(rack.hosts),
                platform=platform,
                path=str(inventory),
            ),
            err=True,
        )
        for gate in chosen:
            status = max(status, _gate(gate, inventory, var), key=(0, 6, 4, 2, 1).index)
    sys.exit(status)


def _gate(gate: str, inventory: Path, var: Path) -> int:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "kvgate.pytest_plugin",
        "-q",
        "-m",
        gate,
        "--inventory",
        str(inventory),
    ]
    command += ["--ledger", f"sqlite:///{var / 'kvgate.db'}", "--evidence", str(var / "evidence")]
    status = subprocess.run(command, check=False, cwd=_home()).returncode
    return status if status in (0, 1, 2, 4, 6) else 6


def _home() -> Path | None:
    """The checkout, when kvgate runs from one: pytest then reads its configuration there."""
    root = gate_options.gates_root().parent
    return root if (root / "pyproject.toml").is_file() else None


@click.group("rack")
def rack_group() -> None:
    """The embedded rack, kept up."""


@rack_group.command("serve")
@click.option("--nodes", type=click.IntRange(1, 512), default=2, show_default=True)
@_PLATFORM
@_FAULTS
@click.option("--port", type=click.IntRange(0, 65000), default=0, help="first port; 0 takes free ones")
@click.option("--inventory-out", type=click.Path(path_type=Path), required=True, help="where its inventory is written")
def serve(nodes: int, platform: str, faults: tuple[str, ...], port: int, inventory_out: Path) -> None:
    """Serve until Ctrl-C; an inventory for the rack is written first."""
    read = Reader(language())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with _rack(nodes, platform, faults, port) as rack:
        inventory_out.parent.mkdir(parents=True, exist_ok=True)
        key = login_key(inventory_out.parent.absolute() / "keys")
        inventory_out.write_text(rack.inventory(key), "utf-8")
        click.echo(
            read("{count} hosts up; inventory {path}; Ctrl-C ends them", count=len(rack.hosts), path=str(inventory_out))
        )
        stop.wait()


COMMANDS = (demo, rack_group)
