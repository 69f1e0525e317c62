"""Settings read back: what makes arms unlike is seen, what is secret is not, what is missing is not told."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from checks.serving.comparable import REQUIRED
from checks.serving.readback import Settings, compared, ordered, parse, settings
from checks.serving.sections import Section
from checks.serving.site import Server
from tests.serving.experiment import site

ARGV = [
    "/opt/python3", "/opt/vllm", "serve", "/models/Qwen3-Coder-480B-A35B-Instruct-FP8", "--port", "8000", "--host=0.0.0.0", "--seed", "7",
]  # fmt: skip
CONFIG = 'chunk_size: 256\nremote_url: "fs://localhost:0/mnt/x/kv"\n'


def told(**changes: str | None) -> Settings:
    usual: dict[str, str | None] = {
        "argv": "\n".join(ARGV), "environ": "HIP_VISIBLE_DEVICES=0\nPYTHONHASHSEED=0", "config": CONFIG,
        "packages": json.dumps({"vllm": ["0.20.1", ""], "lmcache": ["0.4.4", "abc"]}), "kernel": "Linux 6.8", "driver": "6.12",
        "runtime": "7.0", "model": "aa  config.json",
    }  # fmt: skip
    kept = {**usual, **changes}
    return Settings(41, {name: Section(0, f"{text}\n") for name, text in kept.items() if text is not None})


def test_everything_that_is_required_is_told() -> None:
    found = compared(told(), site())
    assert all(found[name] for name in REQUIRED)
    assert found["engine.arguments"] == " ".join([*ARGV[:4], "--seed", "7"])
    assert found["store.version"] == "0.4.4 abc"
    assert found["kv.chunk"] == "256"
    assert not ordered(found, site())


def test_the_name_of_the_stores_file_is_no_setting_where_its_text_is_compared() -> None:
    name = "environment.LMCACHE_CONFIG_FILE"
    environ = "LMCACHE_CONFIG_FILE=/etc/lmcache/array.yaml\nPYTHONHASHSEED=0"
    assert name not in compared(told(environ=environ), site())
    assert compared(told(environ=environ, config=None), site())[name] == "/etc/lmcache/array.yaml"
    assert (
        compared(told(environ=environ), replace(site(), environment=("LMCACHE_CONFIG_FILE",)))[name]
        == "/etc/lmcache/array.yaml"
    )


@pytest.mark.parametrize(
    ("section", "setting"),
    [
        ("argv", "engine.arguments"), ("packages", "engine.version"), ("packages", "store.version"), ("kernel", "host.kernel"),
        ("driver", "host.driver"), ("model", "model.digest"), ("environ", "kv.hash_seed"), ("config", "store.backend"),
    ],
)  # fmt: skip
def test_what_is_missing_is_not_told(section: str, setting: str) -> None:
    assert compared(told(**{section: None}), site())[setting] is None


def test_sglang_with_a_folder_for_its_storage_tells_all_that_is_required() -> None:
    """Its file backend is configured by a variable alone, and no seed of Python's enters its keys."""
    where = site(engine="sglang", kind="sglang-hicache", engine_version="0.5.23", store_version="0.5.23", chunk=64)
    argv = ["/opt/python3", "-m", "sglang.launch_server", "--model-path", where.model_path, "--page-size", "64"]
    served = told(
        argv="\n".join([*argv, "--served-model-name", where.model, "--hicache-storage-backend", "file"]),
        environ="SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR=/mnt/fx100/kv",
        packages=json.dumps({"sglang": ["0.5.23", ""]}),
        config=None,
    )
    found = compared(served, where)
    assert [name for name in REQUIRED if not found[name]] == []
    assert found["store.configuration"] == "SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR=/mnt/fx100/kv"
    assert found["kv.hash_seed"] == "sha256"
    assert not ordered(found, where)


def test_a_process_that_does_not_run_tells_nothing() -> None:
    found = compared(Settings(None, told().sections), site())
    assert found["engine.arguments"] is None
    assert found["kv.dtype"] is None


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"packages": '{"vllm": ["0.20.2", ""], "lmcache": ["0.4.4", ""]}'}, "engine.version"),
        ({"packages": '{"vllm": ["0.20.1", ""], "lmcache": ["0.4.5", ""]}'}, "store.version"),
        ({"config": CONFIG.replace("256", "512")}, "kv.chunk"),
        ({"argv": "\n".join([*ARGV, "--kv-cache-dtype", "fp8"])}, "kv.dtype"),
    ],
)
def test_what_is_not_as_ordered_is_named(changes: dict[str, str | None], setting: str) -> None:
    (fault,) = ordered(compared(told(**changes), site()), site())
    assert setting in str(fault)


def test_an_ordered_fp8_is_not_answered_by_auto() -> None:
    where = site(kv_dtype="fp8")
    assert any("kv.dtype" in str(fault) for fault in ordered(compared(told(), where), where))


def read_back(python: str, folder: Path, environment: dict[str, str]) -> tuple[str, int]:
    """What the script tells of a process that listens, and the process's id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [python, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        server = Server(f"http://127.0.0.1:{port}", (), "command")
        line = settings(server, site(model_path=str(folder))).command()
        text = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    finally:
        process.kill()
        process.wait()
    return text, process.pid


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_script_reads_a_process_and_leaves_secrets_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    config = tmp_path / "lmcache.yaml"
    config.write_text("chunk_size: 256\naccess_key: hush-3\n")
    environment = {**os.environ, "HF_TOKEN": "hush-1", "PYTHONHASHSEED": "0", "LMCACHE_CONFIG_FILE": str(config)}
    text, pid = read_back(sys.executable, tmp_path, environment)
    found = parse(text)
    if found.pid is None:
        pytest.skip("no ss on this machine to find the process by its port")
    assert found.pid == pid
    assert "hush" not in text
    assert "HF_TOKEN=(secret)" in found.sections["environ"].text
    assert "access_key: (secret)" in found.sections["config"].text
    assert found.sections["argv"].text.splitlines()[1:3] == ["-m", "http.server"]
    assert compared(found, site())["kv.hash_seed"] == "0"


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ss"), reason="needs root, nsenter and ss"
)
@pytest.mark.parametrize("argument", ["python3", "env/bin/python3", "{folder}/env/bin/python3"])
def test_versions_are_those_of_the_environment_that_runs_the_engine(tmp_path: Path, argument: str) -> None:
    """Not those of the interpreter that the environment links to, which may have another engine, or none."""
    environment = tmp_path / "env"
    venv.create(environment, symlinks=True)
    (packages,) = (environment / "lib").glob("*/site-packages")
    (packages / "vllm-0.20.1.dist-info").mkdir()
    (packages / "vllm-0.20.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.20.1\n")
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    text, _ = read_back(argument.format(folder=tmp_path), tmp_path, {"PATH": path})
    assert compared(parse(text), site())["engine.version"] == "0.20.1", text
