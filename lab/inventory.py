"""The order of the embedded rack, written as the inventory file that an operator would have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from ruamel.yaml import YAML

from lab.order import NQN, Ordered
from lab.serving.model import PAGE, UNITS
from lab.serving.tools import VERSIONS

_FORMS = Path(__file__).parent / "ordered"


def _form(form: str, /, **values: str) -> str:
    return Template((_FORMS / f"{form}.yaml").read_text("utf-8")).substitute(values)


#: What the array's order tells of its memory.
_CACHE = re.compile(r"^ +cache: .*\n", re.M)
#: Nodes that read the array at once, the one that serves both arms among them: as many as one array is bought for.
_TOGETHER = 8


def _serving(concurrencies: Sequence[int], driver: str, nodes: Sequence[Ordered]) -> str:
    """How models are served: on the first node, and where all read the array at once on the others too.

    A load tool asks one endpoint: with one, the shape of two instances is not ordered.
    """
    found = {"concurrencies": ", ".join(map(str, concurrencies)), "driver": "", "others": ""}
    if driver:
        tokenizer = ", tokenizer: /models/tokenizer" if driver in ("sglang-bench", "aiperf") else ""
        version = f'version: "{VERSIONS[driver]}", folder: /opt/bench'
        found["driver"] = f"  driver: {{tool: {driver}, {version}{tokenizer}}}\n"
    for port, ranks in ((8000, 8), (8000, 4), (8001, 4)):
        urls = next(unit.pages for unit in UNITS if unit.endpoint.endswith(str(port)) and unit.ranks == ranks)
        found[f"pages{port}x{ranks}"] = ", ".join(f'"{url}"' for url in urls)
    found["readers"] = "".join(
        _form("reader", n=str(one.values["n"]), name=one.name, **found) for one in nodes[1:_TOGETHER]
    )
    if not driver:
        found["others"] = _form("serving-tp4x2", **found)
    return _form("serving", **found)


def _sglang(served: str) -> str:
    """The same order for SGLang with HiCache: it has pages of 64 tokens, and one page of metrics an engine."""
    served = served.replace('engine: {kind: vllm, version: "0.20.1"}', 'engine: {kind: sglang, version: "0.5.23"}')
    store = f'store: {{kind: sglang-hicache, version: "0.5.23", chunk: {PAGE}}}'
    served = re.sub(r"store: \{kind: lmcache-fs[^}]*\}", store, served)
    served = re.sub(r'metrics: \[("[^"]+")[^]]*\]', r"metrics: [\1]", served)
    return served.replace("unit: vllm-", "unit: sglang-")


def text(
    hosts: Sequence[tuple[Ordered, int, str]],
    identity: Path | None = None,
    address: str = "127.0.0.1",
    concurrencies: Sequence[int] = (),
    driver: str = "",
    *,
    containers: bool = False,
    engine: str = "vllm",
    untold: bool = False,
) -> str:
    """Write the inventory for hosts given as (order, SSH port, host key fingerprint).

    ``concurrencies`` of the workload; without one nothing is served. ``driver`` is the load tool, empty for kvgate's own client;
    ``containers``: engines are containers of the units' names; ``engine`` is vllm or sglang; ``untold``: the
    order says nothing of the array's memory.
    """
    cards: dict[str, str] = YAML(typ="safe").load((_FORMS / "accelerators.yaml").read_text("utf-8"))
    parts = [_form("head", identity=f", identity: {identity}" if identity else "")]
    for platform in sorted({ordered.platform for ordered, _, _ in hosts if ordered.role == "node"}):
        nfs = _form("nfs") if any(ordered.nfs for ordered, _, _ in hosts) else ""
        parts.append(_form("profile", platform=platform, accelerators=cards[platform], nqn=NQN, nfs=nfs))
    parts.append("hosts:\n")
    for ordered, port, key in hosts:
        values = {name: str(value) for name, value in ordered.values.items()}
        values |= {"address": address, "port": str(port), "key": key, "platform": ordered.platform}
        written = _form(ordered.role, **values)
        parts.append(_CACHE.sub("", written) if untold else written)
    nodes = [ordered for ordered, _, _ in hosts if ordered.role == "node"]
    if concurrencies:
        served = _serving(concurrencies, driver, nodes)
        served = _sglang(served) if engine == "sglang" else served
        parts.append(re.sub(r"\{unit: (\S+)\.service\}", r"{container: \1}", served) if containers else served)
    verify = [f"{{host: {one.name}, path: /mnt/fx100, size: 20 GB, rate: 200 MB/s, every: 4 h}}" for one in nodes]
    parts.append(_form("soak", verify=", ".join(verify)))
    parts.append((_FORMS / "declared.yaml").read_text("utf-8"))
    return "".join(parts)
