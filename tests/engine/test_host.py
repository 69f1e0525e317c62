"""The embedded rack with engines that listen: over SSH the client is a real process, and nothing but the client is executed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checks.parsers import prometheus
from checks.probe import Probe
from checks.serving import sources
from checks.serving.client import COMMAND, client
from checks.serving.work import Mode, Work
from kvgate.inventory import reader
from kvgate.transport.base import Answer, Command
from kvgate.transport.ssh import SshTransport
from lab.engine.host import EngineHost, Unit, fingerprint
from lab.rack import EmbeddedRack, build
from tests.engine.serving import serving
from tests.transport.server import make_key

ENDPOINT = "http://127.0.0.1:8000"
PAGES = (f"{ENDPOINT}/metrics", "http://127.0.0.1:7001/metrics", "http://127.0.0.1:7002/metrics")
UNIT = "vllm-local.service"
STORE = "/mnt/nvme0/kv"


class Rack:
    """One way to ask node-01, and what it executed."""

    def __init__(self, transport: SshTransport, host: EngineHost) -> None:
        self.transport, self.host = transport, host

    def ask(self, *lines: str, limit: float = 30.0) -> list[Answer]:
        commands = [Command(str(number), line, limit) for number, line in enumerate(lines)]
        answers = self.transport.run({"node-01": commands})["node-01"].answers
        found = [answers[command.key] for command in commands]
        assert all(isinstance(one, Answer) for one in found), found
        return [one for one in found if isinstance(one, Answer)]


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Rack]:
    key = make_key(tmp_path / "key")
    hosts = build(1)
    with serving(tmp_path / "kv") as server:
        node = next(host for host in hosts if host.name == "node-01")
        unit = Unit(UNIT, server, ENDPOINT, PAGES, STORE, tmp_path / "kv")
        node.machine.computed = found = EngineHost([unit], fingerprint(COMMAND), node.machine.computed)
        with EmbeddedRack(hosts) as running:
            inventory = reader.parse(running.inventory(key)).rack
            transport = SshTransport(inventory.hosts, inventory.defaults)
            yield Rack(transport, found)
            transport.close()


def work(mode: Mode) -> Work:
    out = 1 if mode is Mode.POPULATE else 8
    return Work(mode, (ENDPOINT,), "tiny", 11, "c4/1", 12, 200, out, 4, (4096, 24576), first=10.0, limit=30.0)


def marked(probe: Probe[object]) -> str:
    return f"env KVGATE_LOAD=kvgate:test {probe.command()}"


def test_a_cell_over_ssh_with_a_real_client_and_a_real_engine(rack: Rack) -> None:
    populate, measure = client(work(Mode.POPULATE)), client(work(Mode.MEASURE))
    stored = rack.ask(marked(populate))[0]
    assert {one.status for one in populate.parse(stored.stdout.decode()).requests} == {"completed"}
    listed, size = rack.ask(f"find {STORE} -type f", f"du -sb {STORE}")
    assert len(listed.stdout.splitlines()) == 12 * 3 * 2
    assert size.stdout.decode() == f"{12 * 3 * 2 * 512}\t{STORE}\n"
    stopped = rack.ask(f"systemctl stop {UNIT}", f"systemctl is-active {UNIT}", f"curl -sS -f {PAGES[0]}")
    assert [(one.stdout, one.status) for one in stopped] == [(b"", 0), (b"inactive\n", 3), (b"", 7)]
    rack.ask(f"systemctl start {UNIT}")
    before = rack.ask(f"curl -sS -f {PAGES[0]}")[0]
    run = measure.parse(rack.ask(marked(measure))[0].stdout.decode())
    after, worker = rack.ask(*(f"curl -sS -f {url}" for url in PAGES[:2]))
    told = sources.vllm(prometheus.parse(before.stdout.decode()), prometheus.parse(after.stdout.decode()))
    assert (told.device, told.store) == (0, 12 * 192)
    assert {one.cached for one in run.requests} == {192}
    assert b"lmcache:num_hit_tokens_total" in worker.stdout
    rack.ask(f"rm -rf -- {STORE}")
    assert rack.ask(f"find {STORE} -type f")[0].stdout == b""


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'import os; os._exit(0)'",
        "python3 -c 'print(1)' {digest} {payload} '{{}}'",
        "env KVGATE_LOAD=kvgate:test python3 /tmp/anything.py",
    ],
)
def test_nothing_but_the_client_is_executed(rack: Rack, line: str) -> None:
    words = line.format(digest=COMMAND[3], payload=COMMAND[4])
    assert rack.ask(words)[0].status == 127
    assert rack.host.executed == []


def test_a_stopped_engine_refuses_the_client(rack: Rack) -> None:
    rack.ask(f"systemctl stop {UNIT}")
    probe = client(work(Mode.MEASURE))
    found = probe.parse(rack.ask(marked(probe))[0].stdout.decode())
    assert {one.status for one in found.requests} == {"failed"}
