"""What a simulated engine tells of itself: process, environment, packages, files; the flaws that make arms unlike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.serving.host import ServingHost

_MODEL = "Qwen3-Coder-480B-A35B-Instruct-FP8"


def settings(host: ServingHost, given: list[str]) -> str:
    """The answer to the script ``settings``."""
    from lab.serving.host import section

    name, port = given[1], given[3]
    unit = host.unit(name)
    if unit is None or name not in host.running:
        return section("pid", "0") + "== end\n"

    def odd(kind: str, usual: str, other: str) -> str:
        return other if host.flaw(kind, unit.role) else usual

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
    text = section("pid", "41207") + section("argv", "\n".join(argv))
    text += section("environ", "\n".join(f"{key}={value}" for key, value in sorted(environment.items())))
    text += section("config", config if unit.store else "", 0 if unit.store else 1)
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
