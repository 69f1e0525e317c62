"""What a simulated engine tells of itself: process, environment, packages, files; the flaws that make arms unlike."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.serving.model import PAGE, Unit
from lab.serving.scraped import section

if TYPE_CHECKING:
    from lab.serving.host import ServingHost

#: Arguments, environment, configuration of the store, packages.
Told = tuple[list[str], dict[str, str], str, dict[str, list[str]]]
#: What a setting is: as usual, or another where a flaw of that kind touches the arm.
Odd = Callable[[str, str, str], str]

_MODEL = "Qwen3-Coder-480B-A35B-Instruct-FP8"


def settings(host: ServingHost, given: list[str]) -> str:
    """The answer to the script ``settings``."""
    name, port = given[1], given[3]
    unit = host.unit(name)
    if unit is None or unit.name not in host.running:
        return section("pid", "0") + "== end\n"

    def odd(kind: str, usual: str, other: str) -> str:
        return other if host.flaw(kind, unit.role) else usual

    argv, environment, config, packages = (_sglang if host.engine == "sglang" else _vllm)(unit, port, odd)
    text = section("pid", "41207")
    if given[0] == "container":
        text += section("image", f"sha256:{odd('other-image', 'a1b2c3d4', '0f1e2d3c') * 8}")
    text += section("argv", "\n".join(argv))
    text += section("environ", "\n".join(f"{key}={value}" for key, value in sorted(environment.items())))
    text += section("config", config, 0 if config else 1)
    text += section("packages", json.dumps(packages)) + section("version", '{"version":"0.20.1"}')
    text += section("kernel", "Linux 6.8.0-60-generic")
    if host.flaw("driver-untold", unit.role):
        text += section("driver", "cat: /usr/local/Ascend/driver/version.info: No such file or directory", 1)
    else:
        text += section("driver", "6.12.12")
    digest = odd("other-model-files", "3f0c", "9a41")
    text += section("runtime", "7.0.0-38") + section(
        "model", f"{digest * 16}  config.json\n4999000000 model-00001.safetensors"
    )
    return text + "== end\n"


def _vllm(unit: Unit, port: str, odd: Odd) -> Told:
    """Arguments, environment, configuration of the store, packages: vLLM with LMCache."""
    argv = [
        "/opt/vllm/bin/python3", "/opt/vllm/bin/vllm", "serve", f"/models/{_MODEL}", "--served-model-name", _MODEL, "--port", port,
        "--tensor-parallel-size", str(unit.ranks), "--max-num-batched-tokens", odd("other-arguments", "8192", "16384"),
        "--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}',
    ]  # fmt: skip
    environment = {
        "LMCACHE_CONFIG_FILE": f"/etc/lmcache/{unit.role}.yaml", "PYTHONHASHSEED": odd("hash-seed-differs", "0", "42"),
        "VLLM_API_KEY": "(secret)", "HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
    }  # fmt: skip
    config = (
        f"chunk_size: {odd('other-chunk', '256', '512')}\nlocal_cpu: {odd('hot-cache-on', 'false', 'true')}\n"
        f'remote_url: "fs://localhost:0{unit.store}"\nremote_serde: naive\n'
    )
    packages = {
        "vllm": [odd("other-version", "0.20.1", "0.20.2"), ""], "lmcache": [odd("other-commit", "0.4.4", "0.4.4.dev3"), ""],
        "torch": ["2.9.0+rocm7.0", ""],
    }  # fmt: skip
    return argv, environment, config if unit.store else "", packages


def _sglang(unit: Unit, port: str, odd: Odd) -> Told:
    """The same of SGLang with HiCache, whose storage is a folder."""
    argv = [
        "/opt/sglang/bin/python3", "-m", "sglang.launch_server", "--model-path", f"/models/{_MODEL}", "--served-model-name",
        _MODEL, "--port", port, "--tp-size", str(unit.ranks), "--page-size", odd("other-chunk", str(PAGE), "128"),
        "--chunked-prefill-size", odd("other-arguments", "8192", "16384"), "--enable-metrics", "--enable-cache-report",
    ]  # fmt: skip
    environment = {"HIP_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}
    if unit.store:
        argv += ["--enable-hierarchical-cache", "--hicache-storage-backend", "file"]
        environment["SGLANG_HICACHE_FILE_BACKEND_STORAGE_DIR"] = unit.store
    packages = {"sglang": [odd("other-version", "0.5.23", "0.5.22"), ""], "torch": ["2.9.0+rocm7.0", ""]}
    return argv, environment, "", packages
