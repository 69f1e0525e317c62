"""``kvgate demo`` and ``kvgate rack serve``: the embedded rack, and the gates on it. Everything it writes lies in var/."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from checks.phrase import say
from kvgate.certificates.trust import VENDOR
from kvgate.cli import complete, speech
from kvgate.cli.demo_parties import go_on
from kvgate.cli.demo_signing import certify_newest, make_keys, make_pairs
from kvgate.cli.demo_soak import soaked
from kvgate.cli.speech import near
from kvgate.errors import NotAllowed, because
from kvgate.gate import options as gate_options
from kvgate.ledger.repository import Ledger
from kvgate.reports import terminal
from kvgate.reports.messages import Reader, language
from lab import order
from lab.faults import chinese, every
from lab.rack import SOAKED, EmbeddedRack, break_until, build
from lab.serving.tools import VERSIONS
from lab.soak.faults import EMBEDDED

#: Gates that this version runs.
GATES = tuple(gate for gate, folder in gate_options.GATES.items() if (gate_options.gates_root() / folder).is_dir())

#: Exit status of a demo whose gate passed and whose certificate could not be made: what it was to show was not shown.
UNCERTIFIED = 6


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


@contextmanager
def _rack(
    nodes: int, platform: str, faults: Sequence[str], port: int = 0, *, nfs: bool, engine: str, driver: str
) -> Iterator[EmbeddedRack]:
    if port and port + nodes > 65535:
        raise NotAllowed(
            say(
                "found port {port} for {count} hosts, wanted one with as many ports after it (to 65535)",
                port=port,
                count=nodes + 1,
            )
        )
    known = [*every(), *(one.name for one in EMBEDDED)]
    if (stranger := next((name for name in faults if name not in known), None)) is not None:
        raise NotAllowed(
            say(
                "found fault {name!r}, wanted one that `kvgate demo --list-faults` names{near}",
                name=stranger,
                near=near(stranger, known),
            )
        )
    try:
        tool = "" if driver == "own" else driver
        rack = EmbeddedRack(build(nodes, platform, faults, nfs=nfs, engine=engine, tool=tool), port)
    except ValueError as error:
        raise NotAllowed(str(error)) from None
    try:
        rack.__enter__()
    except OSError as error:
        raise NotAllowed(
            say("the embedded rack cannot listen ({why}): name another --port", why=because(error))
        ) from None
    try:
        yield rack
    finally:
        rack.__exit__()


def _made(folder: Path) -> Path:
    """Make the folder that everything goes to, before a rack is started for it. Raises NotAllowed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotAllowed(
            say(
                "{path} could not be created: {why}; name a folder that you may write to with --var",
                path=str(folder),
                why=because(error),
            )
        ) from None
    return folder


def _write(path: Path, text: str) -> None:
    """Write the rack's inventory; only one of an embedded rack is ever replaced."""
    if path.exists() and not (path.is_file() and "\nsimulated: true\n" in path.read_text("utf-8", "replace")):
        raise NotAllowed(
            say("{path} is there already and is no inventory of an embedded rack: name another file", path=str(path))
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def list_faults(as_json: bool) -> None:
    """Print every fault with what must notice it."""
    read = Reader(language())
    if as_json:
        faults = [
            {
                "fault": fault.name, "on": fault.on, "platform": fault.platform or None, "stops": sorted(fault.stops),
                "undecided": sorted(fault.undecided), "text": fault.text,
            }
            for fault in every().values()
        ] + [
            {
                "fault": one.name, "on": SOAKED, "platform": one.platform or None, "stops": sorted(one.stops),
                "undecided": sorted(one.undecided), "text": one.text,
            }
            for one in EMBEDDED
        ]  # fmt: skip
        click.echo(json.dumps(faults, ensure_ascii=False))
        return
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
    rows += [
        (
            one.name,
            SOAKED,
            one.platform or "-",
            " ".join(sorted(one.stops)),
            " ".join(sorted(one.undecided)),
            one.zh if read.lang == "zh" else one.text,
        )
        for one in EMBEDDED
    ]
    heads = (read("fault"), read("breaks"), read("platform"), "STOP", "UNDECIDED", read("what is wrong"))
    terminal.console(sys.stdout).print(terminal.listing(rows, *heads))


_PLATFORM = click.option(
    "--platform", type=click.Choice(order.PLATFORMS), default="rocm", show_default=True, help=speech.read("node type")
)
_NODES = click.option(
    "--nodes", type=click.IntRange(1, 512), default=2, show_default=True, help=speech.read("nodes beside the array")
)
_NFS = click.option(
    "--nfs", is_flag=True, help=speech.read("the nodes mount an NFS export of the array beside its volume")
)
_ENGINE = click.option(
    "--engine",
    type=click.Choice(("vllm", "sglang")),
    default="vllm",
    show_default=True,
    help=speech.read("what serves the model"),
)
_DRIVER = click.option(
    "--driver", type=click.Choice(("own", *VERSIONS)), default="own", show_default=True,
    help=speech.read("what asks the arms while G3 measures them"),
)  # fmt: skip
_VAR = click.option(
    "--var", type=click.Path(path_type=Path, file_okay=False), default=Path("var"), show_default=True,
    help=speech.read("where ledger, evidence and keys go"),
)  # fmt: skip
_FAULTS = click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    shell_complete=complete.faults,
    help=speech.read("break something; repeatable"),
)


@click.command(
    "demo",
    help=speech.read(
        "Run GATES (default: all of this version) on the embedded rack: real SSH servers on loopback, "
        "captured answers. The soak of G4 is time-scaled: 72 hours pass in seconds, and it says so.\n\n"
        "Example: kvgate demo G1 --fault disk-media-errors"
    ),
)
@click.argument("gates", nargs=-1, shell_complete=complete.gates)
@_FAULTS
@_PLATFORM
@_NODES
@_NFS
@_ENGINE
@_DRIVER
@click.option(
    "--list-faults", "list_", is_flag=True, help=speech.read("name every fault and the clauses that notice it")
)
@click.option("--json", "as_json", is_flag=True, help=speech.read("with --list-faults: as JSON"))
@_VAR
def demo(
    gates: tuple[str, ...],
    faults: tuple[str, ...],
    platform: str,
    nodes: int,
    nfs: bool,
    engine: str,
    driver: str,
    list_: bool,
    as_json: bool,
    var: Path,
) -> None:
    """Run the gates on the embedded rack."""
    if list_:
        list_faults(as_json)
        return
    chosen = gates or GATES
    if unknown := sorted(set(chosen) - set(GATES)):
        raise NotAllowed(say("found gate {name!r}, wanted one of: {known}", name=unknown[0], known=", ".join(GATES)))
    read = Reader(language())
    var = var.absolute()
    folder = _made(var / "demo")
    status = 0
    with _alone(folder), _rack(nodes, platform, faults, nfs=nfs, engine=engine, driver=driver) as rack:
        inventory = folder / "inventory.yaml"
        make_keys(folder)
        _write(inventory, rack.inventory(login_key(folder).absolute()))
        click.echo(
            read(
                "embedded rack: {hosts} hosts on loopback ({platform}); inventory {path}",
                hosts=len(rack.hosts),
                platform=platform,
                path=str(inventory),
            ),
            err=True,
        )
        go_on(f"sqlite:///{var / 'kvgate.db'}", inventory)
        for place, gate in enumerate(chosen, start=1):
            if gate == "G4" and _ran("G3", var):
                soaked(inventory, var / "soak", f"sqlite:///{var / 'kvgate.db'}", read)
            break_until(rack.hosts, faults, gate)
            ended = _gate(gate, inventory, var)
            status = max(status, ended, key=(0, 6, 4, 2, 1).index)
            if ended in (0, 1) and not certify_newest(var, gate, read):
                ended = ended or UNCERTIFIED
                status = status or UNCERTIFIED
            if ended == 4 and gate != "G1":  # the rack ends with the demo: what was refused cannot be mended by hand
                click.echo(read("of the demo: kvgate demo runs all gates in their order from G1"), err=True)
            if ended != 0:  # the next gate opens on a PASS only
                if left := chosen[place:]:
                    click.echo(read("{gate} did not pass; not run: {left}", gate=gate, left=", ".join(left)), err=True)
                break
    sys.exit(status)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One demo at a time in a folder: the next one's inventory would take the place of this one's. Raises NotAllowed."""
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise NotAllowed(
                say("another demo runs in {folder}: wait for its end, or give --var FOLDER", folder=str(folder))
            ) from None
        yield


def _ran(gate: str, var: Path) -> bool:
    """Whether a gate was ever run here: without, the next one is refused, and nothing is soaked for that."""
    with contextlib.closing(Ledger.open(f"sqlite:///{var / 'kvgate.db'}")) as book:
        return bool(book.runs(gate=gate))


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
        *(["--allow-load"] if gate != "G1" else []),
        *("--key", str(var / "demo" / "keys" / VENDOR), "--party", VENDOR),
    ]
    command += ["--ledger", f"sqlite:///{var / 'kvgate.db'}", "--evidence", str(var / "evidence")]
    command += ["--soaks", str(var / "soak")] if gate == "G4" else []
    status = _to_its_end(subprocess.Popen(command, cwd=_home()))
    return status if status in (0, 1, 2, 4, 6) else 6


def _to_its_end(gate: subprocess.Popen[bytes]) -> int:
    """Exit status of a gate. Ctrl-C is the gate's to answer: it stores what it has, and needs the rack until then."""
    while True:
        try:
            return gate.wait()
        except KeyboardInterrupt:
            gate.send_signal(signal.SIGINT)  # where the signal came to this process alone


def _home() -> Path | None:
    """The checkout, when kvgate runs from one: pytest then reads its configuration there."""
    root = gate_options.gates_root().parent
    return root if (root / "pyproject.toml").is_file() else None


@click.group("rack", help=speech.read("The embedded rack, kept up."))
def rack_group() -> None:
    """Hold the commands of the embedded rack."""


@rack_group.command(
    "serve",
    help=speech.read(
        "Serve until Ctrl-C or SIGTERM; an inventory for the rack and a key to log in with are written first.\n\n"
        "With --port 42200 the shipped inventories/demo.yaml fits (two nodes, started in the same folder as "
        "the gate).\n\n"
        "Example: kvgate rack serve --nodes 2 --port 42200"
    ),
)
@_NODES
@_NFS
@_ENGINE
@_DRIVER
@_PLATFORM
@_FAULTS
@click.option("--port", type=click.IntRange(0, 65535), default=0, help=speech.read("first port; 0 takes free ones"))
@click.option(
    "--inventory-out",
    type=click.Path(path_type=Path),
    help=speech.read("where its inventory is written  [default: VAR/demo/inventory.yaml]"),
)
@_VAR
def serve(
    nodes: int,
    nfs: bool,
    engine: str,
    driver: str,
    platform: str,
    faults: tuple[str, ...],
    port: int,
    inventory_out: Path | None,
    var: Path,
) -> None:
    """Serve the embedded rack."""
    read = Reader(language())
    file = inventory_out or var / "demo" / "inventory.yaml"
    keys = var / "demo" if inventory_out is None else inventory_out.parent / "keys"
    stop = threading.Event()
    _made(keys)
    with _rack(nodes, platform, faults, port, nfs=nfs, engine=engine, driver=driver) as rack:
        _write(file, rack.inventory(login_key(keys.absolute())))
        make_pairs(file.parent / "keys")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        click.echo(read("{count} hosts up; inventory {path}; Ctrl-C ends them", count=len(rack.hosts), path=str(file)))
        stop.wait()


COMMANDS = (demo, rack_group)
