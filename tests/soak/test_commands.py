"""The commands over real SSH servers: started twice, looked at, collected and stopped; no answer is no success."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.certificates.trust import PARTIES
from kvgate.inventory import reader
from kvgate.soak.store import Copy, Store
from tests.certificates.conftest import Keys
from tests.soak.hosted import ask, until
from tests.soak.rack import inventory
from tests.transport.server import USER, Sshd, fingerprint, make_key

Kvgate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[tuple[Path, tuple[Sshd, Sshd]]]:
    """An inventory, and the two servers that it names."""
    user = make_key(tmp_path / "user")
    keys = [make_key(tmp_path / f"host{number}") for number in (1, 2)]
    base = tmp_path / "hosts"
    with ExitStack() as stack:
        servers = tuple(
            stack.enter_context(
                Sshd(
                    tmp_path / f"sshd{at}",
                    (key,),
                    user.with_suffix(".pub"),
                    options=("ListenAddress 127.0.0.1", "ListenAddress 127.0.0.2"),
                )
            )
            for at, key in enumerate(keys)
        )
        ports, prints = (servers[0].port, servers[1].port), (fingerprint(keys[0]), fingerprint(keys[1]))
        for party in PARTIES:
            Keys(Ed25519PrivateKey.generate()).write(tmp_path / party)
        file = tmp_path / "rack.yaml"
        file.write_text(inventory(base, ports=ports, keys=prints, login=f"user: {USER}, identity: {user}"))
        yield file, (servers[0], servers[1])
        for place in base.glob("*/*/worker.pyz"):
            ask(place.parent, "stop")


@pytest.fixture
def kvgate(rack: tuple[Path, tuple[Sshd, Sshd]], tmp_path: Path) -> Kvgate:
    key = tmp_path / "customer"

    def run(verb: str, *words: str, signs: bool = True) -> subprocess.CompletedProcess[str]:
        argv = [
            sys.executable,
            "-m",
            "kvgate",
            "soak",
            verb,
            *words,
            "--inventory",
            str(rack[0]),
            "--soaks",
            str(tmp_path / "soaks"),
        ]
        said_in = {"LC_ALL": "C", "KVGATE_LANG": "en", "KVGATE_LEDGER": f"sqlite:///{tmp_path / 'kvgate.db'}"}
        signed = {"KVGATE_KEY": str(key), "KVGATE_PARTY": "customer"} if signs else {}
        return subprocess.run(
            argv, capture_output=True, text=True, check=False, env={**os.environ, **said_in, **signed}
        )

    return run


def states(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    return {host["host"]: host["state"] for host in json.loads(done.stdout)["hosts"]}


def test_from_start_to_stop(kvgate: Kvgate, rack: tuple[Path, tuple[Sshd, Sshd]], tmp_path: Path) -> None:
    nothing = kvgate("status")
    assert (nothing.returncode, "refused: no soak of this rack" in nothing.stderr) == (4, True), "hosts were asked"
    refused = kvgate("start", "--scale", "60")
    assert (refused.returncode, "--allow-load" in refused.stderr) == (4, True)
    unsigned = kvgate("start", "--scale", "60", "--allow-load", signs=False)
    assert (unsigned.returncode, "nobody would sign the start of this soak" in unsigned.stderr) == (4, True)
    assert not list((tmp_path / "hosts").glob("*/*"))
    first = kvgate("start", "--scale", "60", "--allow-load", "--json")
    assert (first.returncode, json.loads(first.stdout)["new"]) == (0, True), first.stderr
    again = json.loads(kvgate("start", "--scale", "60", "--allow-load", "--json", signs=False).stdout)
    assert again["new"] is False
    assert [host["did"] for host in again["hosts"]] == ["attached", "attached"]
    assert again["scale"] == 60

    for server in rack[1]:
        server.signal(9)  # every connection ends: to the soak that is nothing
    seen = kvgate("watch", "--once")
    assert seen.returncode == 0, seen.stderr
    assert "it certifies nothing" in " ".join(seen.stdout.split())
    assert "node-01" in seen.stdout

    stopped = kvgate("stop", "--remove", "--json")
    assert stopped.returncode == 0, stopped.stderr
    assert (
        set(states(stopped).values()) == {"absent"}
        or [one["did"] for one in json.loads(stopped.stdout)["hosts"]] == ["removed"] * 2
    )
    [store] = Store.all(tmp_path / "soaks")
    for host in ("array-a", "node-01"):
        last = Copy.listed(store.path / host)[-1][1].read_bytes().splitlines()[-1]
        assert json.loads(last)["values"]["end"]["why"] == "stopped"
    assert list((tmp_path / "hosts").glob("*/*")) == []


def test_a_host_that_does_not_answer_starts_nothing(
    kvgate: Kvgate, rack: tuple[Path, tuple[Sshd, Sshd]], tmp_path: Path
) -> None:
    rack[1][1].__exit__()
    done = kvgate("start", "--allow-load")
    assert done.returncode == 6
    assert "node-01" in done.stderr
    assert not list((tmp_path / "hosts").glob("*/*"))


def test_a_host_that_goes_away_is_no_end_of_the_others(kvgate: Kvgate, rack: tuple[Path, tuple[Sshd, Sshd]]) -> None:
    assert kvgate("start", "--scale", "60", "--allow-load").returncode == 0
    rack[1][0].__exit__()
    done = kvgate("collect", "--json")
    assert done.returncode == 6
    assert states(done) == {"array-a": "unknown", "node-01": "running"}
    assert json.loads(done.stdout)["hosts"][1]["collected"] > 0


def test_what_was_never_started_is_said_with_what_to_do(kvgate: Kvgate) -> None:
    done = kvgate("status")
    assert done.returncode == 4
    assert "kvgate soak start" in done.stderr


def test_hours_are_hours_on_a_real_rack(kvgate: Kvgate, rack: tuple[Path, tuple[Sshd, Sshd]], tmp_path: Path) -> None:
    from kvgate.errors import NotAllowed
    from kvgate.soak.plan import plans

    real = reader.read(rack[0]).rack.model_copy(update={"simulated": False})
    with pytest.raises(NotAllowed, match="hours of a real one are hours"):
        plans(real, "soak-t", 2)


#: Stand in for a machine's systemd: they write down what they are told, and run the command as the manager would.
SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >>{log}
case "$*" in *is-system-running*) echo running ;; *stop*) kill "$(cat {log}.pid)" ;; esac
"""
SYSTEMD_RUN = """#!/bin/sh
echo "systemd-run $*" >>{log}
while [ "$1" != -- ]; do case "$1" in --setenv=*) export "${{1#--setenv=}}" ;; esac; shift; done
shift
INVOCATION_ID=0123456789abcdef setsid "$@" </dev/null >/dev/null 2>&1 &
echo $! >{log}.pid
"""


def test_where_systemd_runs_the_worker_is_a_unit_of_it(tmp_path: Path) -> None:
    from tests.soak.hosted import lay_out, lines, plan

    if os.geteuid() != 0:
        pytest.skip("system units are root's")
    tools, log = tmp_path / "bin", tmp_path / "log"
    tools.mkdir()
    for name, text in (("systemctl", SYSTEMCTL), ("systemd-run", SYSTEMD_RUN)):
        (tools / name).write_text(text.format(log=log))
        (tools / name).chmod(0o755)
    folder = lay_out(tmp_path / "soak", plan())
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}

    def told(verb: str) -> dict[str, object]:
        argv = [sys.executable, str(folder / "worker.pyz"), verb, str(folder)]
        found = json.loads(subprocess.run(argv, env=environment, capture_output=True, text=True, check=True).stdout)
        assert isinstance(found, dict)
        return found

    begun = told("start")
    assert begun["did"] == "started"
    assert begun["started"]["unit"] == "system"  # type: ignore[index]
    assert begun["started"]["invocation"] == "0123456789abcdef"  # type: ignore[index]
    until(lambda: len(lines(folder)) > 3)
    (folder / "state.json").write_text("")  # its processes tell what it no longer does
    found = told("status")["started"]
    assert (found["unit"], found["invocation"]) == ("system", "0123456789abcdef")  # type: ignore[index]
    ended = told("stop")
    assert ended["exit"]["why"] == "stopped"  # type: ignore[index]
    assert ended["exit"]["invocation"] == "0123456789abcdef"  # type: ignore[index]
    said = log.read_text()
    assert "--unit=kvgate-soak-test-here.service --collect" in said
    assert "systemctl stop kvgate-soak-test-here.service" in said
