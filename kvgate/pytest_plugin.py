"""What pytest learns from kvgate in every run: options, and that gates stay out unless one is asked for by name.

The run of a gate itself is kvgate.gate_run, loaded only then.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from checks.phrase import say
from kvgate.errors import Damaged, Refused
from kvgate.gate import options as gate_options
from kvgate.gate import outlet, signals
from kvgate.gate.options import Options

#: Seconds for one gate test where nothing else is configured: the last net below the transport's own deadlines.
_TIMEOUT = 300

#: When Python looks for garbage in a gate run: seldom, as nearly all that is made is kept; looking takes a tenth of a run.
_COLLECT = (50_000, 20, 20)


def _farewell() -> str:
    from kvgate.reports.messages import Reader, language

    read = Reader(language())
    return read("kvgate: interrupted before any host was contacted; nothing was stored")


if gate_options.typed(sys.argv[1:]):  # as early as can be: other plugins take their time, pytest remembers the streams
    outlet.unfailing()
    signals.catch(_farewell())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a gate run; the first three also as KVGATE_* and in pyproject.toml."""
    group = parser.getgroup("kvgate", "kvgate gates (pytest -m G1 --inventory FILE)")
    for name, metavar, text in (
        ("inventory", "FILE", "the rack to decide on; a gate is not collected without one"),
        ("ledger", "URL", f"results database (default {gate_options.DEFAULT_LEDGER})"),
        ("evidence", "DIR", f"where raw outputs are kept (default {gate_options.DEFAULT_EVIDENCE})"),
        ("soaks", "DIR", f"where the soak that G4 judges is collected (default {gate_options.DEFAULT_SOAKS})"),
        ("trust", "FILE", "whose signatures open gates: OpenSSH allowed_signers (default: the keys in the inventory)"),
        ("key", "FILE", "Ed25519 key that signs the start ticket; G2 to G4 need one, G1 to be certified as a PASS"),
        ("party", "NAME", "whose key that is: vendor or customer"),
    ):
        group.addoption(f"--{name}", metavar=metavar, default=None, help=f"{text}; also KVGATE_{name.upper()}")
        parser.addini(f"kvgate_{name}", text)
    group.addoption("--replay", metavar="RUN", default=None, help="judge a stored run again; no host is contacted")
    group.addoption(
        "--replay-by", choices=("stored", "installed"), default="stored",
        help="judge a stored run by the agreement it went by (default), or by the acceptance document of this installation",
    )  # fmt: skip
    group.addoption("--plan", action="store_true", help="print what is owed and every command; contact nothing")
    group.addoption("--allow-load", action="store_true", help="permit clauses that make load")
    group.addoption(
        "--allow-destructive", metavar="SERIAL", action="append", default=[], help="permit raw writes to this disk"
    )
    group.addoption(
        "--only-stale", action="store_true", help="ask again only what the last unfinished run of this gate still owes"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let a gate run be the same from every folder: nothing above the gates takes part in it, no conftest.py either."""
    known = early_config.known_args_namespace
    if (known.markexpr or "").strip() in gate_options.GATES:
        gc.set_threshold(*_COLLECT)
        known.confcutdir = str(gate_options.gates_root())


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _own_settings(config: pytest.Config) -> bool:
    """Whether pytest read the settings of the folder it was started in, or those it was told to, and not an inventory's."""
    start = config.invocation_params.dir.resolve()
    if config.getoption("inifilename", None):
        return True
    return config.inipath is not None and config.inipath.parent.resolve() in (start, *start.parents)


def _options(config: pytest.Config, gate: str) -> Options:
    project = None if _own_settings(config) else gate_options.from_project(config.invocation_params.dir)

    def value(name: str) -> str | None:
        given = config.getoption(name) or gate_options.from_environment(name)
        return given or (config.getini(f"kvgate_{name}") if project is None else project.get(f"kvgate_{name}")) or None

    inventory = value("inventory")
    return Options(
        gate=gate,
        inventory=Path(inventory) if inventory else None,
        ledger=value("ledger") or gate_options.DEFAULT_LEDGER,
        evidence=Path(value("evidence") or gate_options.DEFAULT_EVIDENCE),
        replay=config.getoption("replay"),
        replay_by=config.getoption("replay_by"),
        plan=config.getoption("plan"),
        allow_load=config.getoption("allow_load"),
        allow_destructive=tuple(config.getoption("allow_destructive")),
        only_stale=config.getoption("only_stale"),
        trust=_path(value("trust")),
        key=_path(value("key")),
        party=value("party"),
        soaks=Path(value("soaks") or gate_options.DEFAULT_SOAKS),
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Decide whether this is a gate run at all, and refuse (exit 4) what is wrong before any host is contacted."""
    for mark in gate_options.GATES:
        config.addinivalue_line("markers", f"{mark}: gate {mark} (needs --inventory)")
    config.addinivalue_line("markers", "clause(id): the clause of gates/acceptance.yaml that a gate test decides")
    if config.getoption("help", False) or config.getoption("version", 0):
        return
    try:
        gate = _gate(config)
        if gate is not None:
            _enter(config, gate)
    except Refused as error:
        from kvgate.reports import lines

        raise pytest.UsageError(lines.refusal(error)) from None
    except Damaged as error:
        pytest.exit(str(error), returncode=6)  # the run to be judged again is not what was written: nobody can tell


def _gate(config: pytest.Config) -> str | None:
    """Gate that is asked for. Raises Refused for a gate asked for in any other way than ``-m GATE``."""
    gate = gate_options.gate_of(config.getoption("markexpr") or "")
    root = gate_options.gates_root()
    named = [gate_options.path_of(str(argument), config.invocation_params.dir) for argument in config.args]
    inside = [path for path in named if path == root or root in path.parents]
    if gate is None:
        if inside:
            raise Refused(say("{path} is a gate: run it as pytest -m G1 --inventory FILE", path=str(inside[0])))
        if given := _given(config):
            gate_options.refuse_other_gate(config.getoption("markexpr") or "")
            raise Refused(
                say(
                    "found --{given} and no gate that it is for, wanted a gate: pytest -m G1 --inventory FILE",
                    given=given,
                )
            )
        return None
    folder = gate_options.folder(gate)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(folder)]
    elif outside := [path for path in named if path != folder and folder not in path.parents]:
        raise Refused(
            say(
                "{path} is no part of gate {gate}; leave the path away to run the whole gate",
                path=str(outside[0]),
                gate=gate,
            )
        )
    return gate


def _given(config: pytest.Config) -> str | None:
    """Name an option of a gate run on the command line; without a gate it would be believed to work and be ignored."""
    names = ("inventory", "replay", "plan", "only_stale", "allow_load", "allow_destructive", "ledger", "evidence")
    return next((name.replace("_", "-") for name in names if config.getoption(name)), None)


def _enter(config: pytest.Config, gate: str) -> None:
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise Refused(
            say(
                "a gate runs in one process (one connection a host, one journal) and asks all hosts at once by itself: "
                "leave -n away"
            )
        )
    from kvgate.gate import selection
    from kvgate.gate.start import prepare
    from kvgate.gate_run import GateRun
    from kvgate.reports.messages import refuse_unknown

    if config.getoption("setuponly", False) or config.getoption("setupplan", False):
        raise Refused(say("a gate has no set-up to show: --plan shows what would be asked, and asks nothing"))
    gate_options.refuse_unknown_environment()
    refuse_unknown()
    if signals.catch(_farewell()):
        config.add_cleanup(signals.release)  # the process may go on after the run: it did not begin as a gate
    prepared = prepare(_options(config, gate))
    config.option.keyword = selection.exact(config.option.keyword, prepared.agreement.acceptance.clauses)
    config.pluginmanager.register(GateRun(prepared), GateRun.NAME)
    if config.getoption("tbstyle") == "auto":
        config.option.tbstyle = "no"  # a STOP is told by its clause, not by a traceback
    config.option.reportchars = ""
    if config.pluginmanager.hasplugin("timeout") and not (config.getoption("timeout") or config.getini("timeout")):
        config.option.timeout = _TIMEOUT


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep gates out of every run that is not a gate run."""
    root = gate_options.gates_root()
    if not config.pluginmanager.hasplugin("kvgate-gate-run") and (
        collection_path == root or root in collection_path.parents
    ):
        return True
    return None
