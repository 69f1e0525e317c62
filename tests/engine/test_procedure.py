"""G3's procedure of a cell with nothing simulated but the model: its own scripts in a shell, engines that are processes, real files.

Left out is only what touches the whole machine: dropping its page cache.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checks.parsers.kvgate_client import ClientRun
from checks.phrase import say
from checks.serving import snapshot
from checks.serving.procedure import Asked, bytes_of, cell, ended
from checks.serving.site import Server, Side, Site, kept
from checks.serving.snapshot import Window, traffic
from checks.trial import Step, Trial
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.transport.local import LocalTransport
from tests.engine.test_process import free

TOOLS = ("curl", "findmnt", "runuser", "ss", "nsenter")
COUNT, TOKENS = 12, 200  # three chunks of 64 tokens and eight tokens
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 2, "torch_dtype": "bfloat16", "vocab_size": 151_936,
}  # fmt: skip


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One load at a time on this machine, as tests/gates/test_trials.py has it."""
    with (Path(tempfile.gettempdir()) / "kvgate-tests-load.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def mount(path: Path) -> tuple[str, str]:
    """Mount point below which a path lies, and its filesystem."""
    while not os.path.ismount(path):
        path = path.parent
    rows = [row.split() for row in Path("/proc/self/mounts").read_text().splitlines()]
    return str(path), next(row[2] for row in reversed(rows) if row[1] == str(path))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    port, worker = free(), 0
    while not worker or worker == port:
        worker = free()
    (tmp_path / "kv").mkdir()
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    engine = (sys.executable, "-m", "lab.engine")
    server = Server(
        endpoint=f"http://127.0.0.1:{port}",
        metrics=tuple(f"http://127.0.0.1:{one}/metrics" for one in (port, worker, worker + 1)),
        way="command",
        start=(
            *engine, "--port", str(port), "--worker-port", str(worker), "--store", str(tmp_path / "kv"), "--rank-bytes", "8",
            "--chunk", "64", "--pace", "0.02", "--start", str(tmp_path / "pid"),
        ),
        stop=(*engine, "--stop", str(tmp_path / "pid")),
    )  # fmt: skip
    place, filesystem = mount(tmp_path)
    side = Side("local", "local", "here", (server,), mount=place, filesystem=filesystem, store=str(tmp_path / "kv"))
    return Site(
        shape="tp2", engine="vllm", engine_version="0.20.1", kind="lmcache-fs", store_version="0.4.4", chunk=64, header=0,
        model="tiny", model_path=str(tmp_path), config=str(tmp_path / "config.json"), kv_dtype="bf16", tensor_parallel=2,
        load_host="here", user="", evict="restart", ready=60.0, free=1.3, environment=("PYTHONHASHSEED",), may_differ=(),
        prompt_tokens=TOKENS, output_tokens=8, requests=COUNT, rounds=1,
        more_rounds=0, canaries=0, seed=11, sides=(side,),
    )  # fmt: skip


def procedure(site: Site) -> Trial[Mapping[str, Any]]:
    stages = cell(site, site.local, Asked("c4/1", COUNT, 4, TOKENS, 8)) + ended(site, site.local)
    gentle: list[tuple[Step, ...]] = [
        kept for stage in stages if (kept := tuple(step for step in stage if not step.name.endswith("drop caches")))
    ]
    return Trial("g3.cell", say("a cell"), tuple(gentle), dict, rounds=1)


needs_tools = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS) or os.geteuid() != 0, reason=f"needs root and {', '.join(TOOLS)}"
)


def with_fault(site: Site, *names: str) -> Site:
    """The same site, with an engine that is wrong."""
    server = site.local.servers[0]
    words = tuple(word for name in names for word in ("--fault", name))
    wrong = replace(server, start=(*server.start[:3], *words, *server.start[3:]))
    return replace(site, sides=(replace(site.local, servers=(wrong,)),))


@needs_tools
def test_a_cell_proves_its_tier_with_real_scripts_processes_and_files(tmp_path: Path, site: Site) -> None:
    trial = procedure(site)
    with Evidence.create(tmp_path / "evidence", "run-1", {"gate": "G3"}) as evidence:
        facts = Trials([trial], LocalTransport(), Answers(evidence), "kvgate:test-cell").run().measured(trial).facts[0]
    layout = bytes_of(site, facts["local: room"].config)
    stored, wanted = facts["local: kept"], kept(site, layout, COUNT)
    assert (stored.files, stored.size, stored.still) == (wanted.files, wanted.size, True)
    run: ClientRun = facts["local: measure"]
    assert {one.status for one in run.requests} == {"completed"}
    assert {one.cached for one in run.requests} == {192}
    window = Window(facts["local: before"], facts["local: after"], None, None)
    assert snapshot.silent(window) == ()
    told = traffic(window, site.local, site, layout, run.seconds)
    assert (told.prompt, told.computed, told.device, told.host, told.store) == (2400, 96, 0, 0, 2304)
    assert (told.store_own, told.store_failures) == (2304, 0)
    assert facts["local: settings 1"].pid is not None
    assert list((tmp_path / "kv").iterdir()) == []
    assert not (tmp_path / "pid").exists()


@needs_tools
def test_a_store_that_loses_its_writes_ends_the_round_before_anything_is_measured(tmp_path: Path, site: Site) -> None:
    trial = procedure(with_fault(site, "kv-write-lost"))
    with Evidence.create(tmp_path / "evidence", "run-1", {"gate": "G3"}) as evidence:
        tried = Trials([trial], LocalTransport(), Answers(evidence), "kvgate:test-lost").run()
        with pytest.raises(CannotTell, match="stored nothing"):
            tried.measured(trial)
        asked = " ".join(one.key for one in evidence.answers())
    assert "local: populate" in asked
    assert "local: measure" not in asked
    assert not (tmp_path / "pid").exists()
