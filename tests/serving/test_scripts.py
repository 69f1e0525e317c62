"""The scripts that serving hosts are sent, run for real: against pages on loopback, and against stand-ins of the host's own tools."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest

from checks.probe import Probe
from checks.serving import probes
from checks.serving.probes import Reset
from checks.serving.procedure import quiet
from checks.serving.readback import compared, settings
from checks.serving.site import Server
from tests.serving.experiment import site

Fact = TypeVar("Fact")

#: systemd for one unit, as far as it is asked.
_SYSTEMD = """#!/bin/sh
for last in "$@"; do :; done
state=$KVGATE_STATE/$last
case $1 in
start) [ -f "$state" ] && echo active >"$state" || { echo "Failed to start $last: Unit $last not found." >&2; exit 5; };;
stop) [ -f "$state" ] && echo inactive >"$state";;
is-active) cat "$state" 2>/dev/null || echo inactive;;
esac
"""


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """Stand-ins first on the path, with the folder of their states."""
    runtime = f"#!{sys.executable}\n" + Path(__file__).with_name("runtime.py").read_text("utf-8")
    for name, text in (
        ("docker", runtime),
        ("podman", runtime),
        ("nerdctl", runtime),
        ("systemctl", _SYSTEMD),
        ("journalctl", "#!/bin/sh\necho started\n"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "KVGATE_STATE": str(tmp_path)}


def run(probe: Probe[Fact], tools: Mapping[str, str] | None = None) -> Fact:
    done = subprocess.run(
        ["sh", "-c", probe.command()], capture_output=True, text=True, env={**os.environ, **(tools or {})}, timeout=60
    )
    return probe.parse(done.stdout)


@contextmanager
def pages(answers: Mapping[tuple[str, str], tuple[int, str]]) -> Iterator[str]:
    """A server on loopback that answers by method and path."""

    class Pages(BaseHTTPRequestHandler):
        def answer(self) -> None:
            status, text = answers.get((self.command, self.path), (404, ""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 - http.server finds them by these names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


CLEAR = ("DELETE", "/cache/clear?locations=LocalCPUBackend")
ENGINE = ("POST", "/reset_prefix_cache")
DONE = '{"status": "success", "num_removed": 3}'


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({ENGINE: (200, ""), CLEAR: (200, DONE)}, Reset(200, (200,))),
        ({ENGINE: (200, '{"success": true}'), CLEAR: (200, DONE)}, Reset(200, (200,))),
        ({ENGINE: (200, '{"success": false}'), CLEAR: (200, DONE)}, Reset(200, (200,), refused=True)),
        ({ENGINE: (404, '{"detail": "Not Found"}'), CLEAR: (200, DONE)}, Reset(404, (200,))),
        ({ENGINE: (200, ""), CLEAR: (500, "worker 3: timeout after 10 s")}, Reset(200, (500,))),
    ],
)
def test_a_reset_is_what_every_page_says(answers: dict[tuple[str, str], tuple[int, str]], found: Reset) -> None:
    with pages(answers) as url:
        server = Server(url, (f"{url}/metrics",), "unit", "vllm.service", cache=(url + CLEAR[1],))
        assert run(probes.reset(server, "vllm")) == found


def test_an_engine_that_does_not_listen_was_not_reset() -> None:
    with pages({}) as url:
        pass
    found = run(probes.reset(Server(url, (), "unit", "vllm.service"), "vllm"))
    assert (found.engine, found.store) == (0, ())


RUNTIMES = ("docker", "podman", "nerdctl")


def server(way: str, url: str = "http://127.0.0.1:1", runtime: str = "podman") -> Server:
    return Server(url, (), way, "vllm-a" if way == "container" else "vllm-a.service", runtime)


@pytest.mark.parametrize(("way", "off", "on"), [("container", "exited", "running"), ("unit", "inactive", "active")])
def test_engines_are_stopped_and_started_however_they_are_run(
    tools: dict[str, str], tmp_path: Path, way: str, off: str, on: str
) -> None:
    one = server(way)
    state = tmp_path / one.target
    state.write_text(f"{on}\n", "utf-8")
    assert run(probes.stopped(one), tools).state == off
    assert state.read_text("utf-8").strip() == off
    assert run(probes.started(one, 60.0), tools).said in ("", one.target)
    assert state.read_text("utf-8").strip() == on


@pytest.mark.parametrize("way", ["container", "unit"])
def test_an_engine_is_ready_when_it_names_its_model(tools: dict[str, str], tmp_path: Path, way: str) -> None:
    (tmp_path / server(way).target).write_text("running\n" if way == "container" else "active\n", "utf-8")
    with pages({("GET", "/v1/models"): (200, '{"data": [{"id": "model-a"}]}')}) as url:
        found = run(probes.ready(server(way, url), "model-a", 10.0), tools)
        assert (found.state, found.seconds) == ("ready", 0)
        assert found.log
        late = run(probes.ready(server(way, url), "model-b", 0.0), tools)
        assert late.seconds is None


@pytest.mark.parametrize(("way", "state"), [("container", "exited"), ("unit", "failed")])
def test_an_engine_that_failed_is_not_waited_for(tools: dict[str, str], tmp_path: Path, way: str, state: str) -> None:
    (tmp_path / server(way).target).write_text(f"{state}\n", "utf-8")
    found = run(probes.ready(server(way), "model-a", 600.0), tools)
    assert (found.seconds, found.state) == (None, state)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_container_that_is_not_there_is_absent_and_nobody_waits_for_it(tools: dict[str, str], runtime: str) -> None:
    one = server("container", runtime=runtime)
    assert run(probes.stopped(one), tools).state == "absent"
    assert "no such container" in run(probes.started(one, 60.0), tools).said.lower()
    found = run(probes.ready(one, "model-a", 600.0), tools)
    assert (found.seconds, found.state) == (None, "absent")


@pytest.mark.parametrize(
    ("runtime", "wrong", "said"),
    [
        ("docker", "down", "Is the docker daemon running?"), ("docker", "denied", "permission denied"),
        ("nerdctl", "down", "cannot access containerd socket"), ("podman", "denied", "permission denied"),
    ],
)  # fmt: skip
def test_a_runtime_that_tells_nothing_makes_no_container_absent(
    tools: dict[str, str], tmp_path: Path, runtime: str, wrong: str, said: str
) -> None:
    one = server("container", runtime=runtime)
    (tmp_path / one.target).write_text("running\n", "utf-8")
    broken = {**tools, "KVGATE_RUNTIME": wrong}
    state = run(probes.stopped(one), broken).state
    assert state.startswith("untold: ")
    assert said in state
    found = run(probes.ready(one, "model-a", 600.0), broken)
    assert found.seconds is None
    assert said in found.state
    (stop,) = quiet(site(sides=(replace(site().local, servers=(one,)),), busy=()), "x")[0]
    assert stop.must is not None
    assert said in str(stop.must(run(probes.stopped(one), broken)))


def test_a_runtime_that_is_not_installed_is_named(tools: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "docker").unlink()
    state = run(
        probes.stopped(server("container", runtime="docker")), {**tools, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    ).state
    if not state.startswith("untold: "):
        pytest.skip("this machine has a docker of its own")
    assert "not found" in state


@pytest.mark.parametrize(
    ("runtime", "image", "digest"),
    [
        ("docker", f"sha256:{'ab' * 32}", f"sha256:{'ab' * 32}"), ("podman", "cd" * 32, f"sha256:{'cd' * 32}"),
        ("nerdctl", f"docker.io/vllm/vllm-openai@sha256:{'ef' * 32}", f"sha256:{'ef' * 32}"),
        ("nerdctl", "docker.io/vllm/vllm-openai:v0.20.1", None), ("docker", "", None),
    ],
)  # fmt: skip
def test_an_image_is_its_digest_and_a_name_is_none(
    tools: dict[str, str], tmp_path: Path, runtime: str, image: str, digest: str | None
) -> None:
    one = server("container", runtime=runtime)
    for suffix, text in (("", "running"), (".pid", str(os.getpid())), (".image", image)):
        (tmp_path / (one.target + suffix)).write_text(f"{text}\n", "utf-8")
    told = run(settings(one, site()), tools)
    assert told.pid == os.getpid()
    assert compared(told, site())["engine.image"] == digest


def test_a_container_that_will_not_stop_is_seen_to_run(tools: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "vllm-a").write_text("stuck\n", "utf-8")
    assert run(probes.stopped(server("container")), tools).state == "stuck"


def test_engines_that_are_run_by_commands_are_started_by_their_words_alone(tmp_path: Path) -> None:
    file = tmp_path / "it; touch x"
    one = Server("http://127.0.0.1:1", (), "command", start=("touch", str(file)), stop=("rm", "--", str(file)))
    run(probes.started(one, 60.0))
    assert file.exists()
    run(probes.stopped(one))
    assert not list(tmp_path.iterdir())
