"""A program that stands for ``vllm bench serve`` 0.20.1: it really asks an engine, and writes its detailed result.

It knows the words that kvgate gives the tool, and refuses others. Run as a program it needs nothing but Python; ``install`` lays it
out as the tool's environment on a load host would be.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

VERSION = "0.20.1"


def install(folder: Path, version: str = VERSION) -> Path:
    """Lay out ``bin/vllm``, ``bin/python3`` and the package's metadata below a folder; return it."""
    site, programs = folder / "site", folder / "bin"
    information = site / f"vllm-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", "utf-8")
    programs.mkdir()
    script = "import sys; sys.path.insert(0, sys.argv[1]); exec(sys.argv[2])"
    lines = {
        "python3": f"shift 2\nexec '{sys.executable}' -I -c '{script}' '{site}' \"$1\"",
        "vllm": f"exec '{sys.executable}' '{Path(__file__).resolve()}' \"$@\"",
    }
    for name, text in lines.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (programs / name).chmod(0o755)
    return folder


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", nargs=2)
    for name in (
        "backend", "base-url", "endpoint", "model", "dataset-name", "dataset-path", "extra-body", "percentile-metrics",
        "metric-percentiles", "result-dir", "result-filename", "temperature", "ready-check-timeout-sec",
    ):  # fmt: skip
        parser.add_argument(f"--{name}", required=True)
    for name in ("num-prompts", "max-concurrency", "num-warmups"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in (
        "skip-tokenizer-init", "disable-shuffle", "no-oversample", "ignore-eos", "disable-tqdm", "save-result", "save-detailed",
    ):  # fmt: skip
        parser.add_argument(f"--{name}", action="store_true", required=True)
    return parser.parse_args()


class Load:
    """All requests of one run: every slot takes the next prompt as soon as its last answer is over."""

    def __init__(self, words: argparse.Namespace) -> None:
        self.words, self.extra = words, json.loads(words.extra_body)
        with Path(words.dataset_path).open(encoding="utf-8") as file:
            self.prompts = [json.loads(line)["prompt"] for line in file][: words.num_prompts]
        self.rows: list[dict[str, Any]] = [{} for _ in self.prompts]
        self.next, self.lock = iter(range(len(self.prompts))), threading.Lock()

    def run(self) -> float:
        """Ask everything; return the seconds that it took."""
        began = time.perf_counter()
        slots = [threading.Thread(target=self._slot) for _ in range(self.words.max_concurrency)]
        for slot in slots:
            slot.start()
        for slot in slots:
            slot.join()
        return time.perf_counter() - began

    def _slot(self) -> None:
        while True:
            with self.lock:
                index = next(self.next, None)
            if index is None:
                return
            self.rows[index] = self._ask(self.prompts[index])

    def _ask(self, prompt: list[int]) -> dict[str, Any]:
        body = {
            "model": self.words.model, "prompt": prompt, "temperature": float(self.words.temperature), "max_tokens": 1,
            "stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True, **self.extra,
        }  # fmt: skip
        row: dict[str, Any] = {"in": len(prompt), "out": 0, "ttft": 0.0, "itl": [], "text": "", "error": ""}
        row["start"] = last = time.perf_counter()
        try:
            for event in self._events(body):
                if event.get("choices"):
                    now = time.perf_counter()
                    if row["ttft"]:
                        row["itl"].append(now - last)
                    else:
                        row["ttft"] = now - row["start"]
                    last = now
                    row["text"] += event["choices"][0]["text"]
                if usage := event.get("usage"):
                    row["in"], row["out"] = usage["prompt_tokens"], usage["completion_tokens"]
            if not row["ttft"]:
                row["error"] = "Never received a valid chunk to calculate TTFT."
        except (OSError, http.client.HTTPException, ValueError) as error:
            row["error"] = str(error) or type(error).__name__
        return row if not row["error"] else {**row, "out": 0, "ttft": 0.0, "itl": [], "text": ""}

    def _events(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        url = urlsplit(self.words.base_url)
        link = http.client.HTTPConnection(url.hostname or "", url.port, timeout=600)
        try:
            link.request("POST", self.words.endpoint, json.dumps(body), {"Content-Type": "application/json"})
            answer = link.getresponse()
            if answer.status != 200:
                raise ValueError(answer.reason)
            for line in answer:
                text = line.decode().strip().removeprefix("data: ")
                if text and text != "[DONE]":
                    yield json.loads(text)
        finally:
            link.close()


def result(load: Load, seconds: float) -> dict[str, Any]:
    """The document of ``--save-result --save-detailed`` without a tokenizer."""
    rows, words = load.rows, load.words
    done = [row for row in rows if not row["error"]]
    tokens = sum(row["out"] for row in done)
    latencies = [(row["ttft"] + sum(row["itl"])) * 1000 for row in done] or [0.0]
    return {
        "date": time.strftime("%Y%m%d-%H%M%S"), "endpoint_type": words.backend, "backend": words.backend, "label": None,
        "model_id": words.model, "tokenizer_id": None, "num_prompts": len(rows), "request_rate": "inf", "burstiness": 1.0,
        "max_concurrency": words.max_concurrency, "duration": seconds, "completed": len(done), "failed": len(rows) - len(done),
        "total_input_tokens": sum(row["in"] for row in done), "total_output_tokens": tokens,
        "request_throughput": len(done) / seconds, "request_goodput": None, "output_throughput": tokens / seconds,
        "total_token_throughput": (tokens + sum(row["in"] for row in done)) / seconds,
        "input_lens": [row["in"] for row in rows], "output_lens": [row["out"] for row in rows],
        "ttfts": [row["ttft"] for row in rows], "itls": [row["itl"] for row in rows],
        "start_times": [row["start"] for row in rows], "generated_texts": [row["text"] for row in rows],
        "errors": [row["error"] for row in rows], "max_output_tokens_per_s": 0.0,
        "max_concurrent_requests": words.max_concurrency, "rtfx": 0.0, "mean_e2el_ms": statistics.fmean(latencies),
        "median_e2el_ms": statistics.median(latencies), "std_e2el_ms": statistics.pstdev(latencies),
        "p50_e2el_ms": statistics.median(latencies),
    }  # fmt: skip


def main() -> None:
    """Run once and write the result."""
    words = _words()
    if words.command != ["bench", "serve"] or words.num_warmups or words.backend != "openai":
        raise SystemExit(f"vllm: {words.command}: this stands for `vllm bench serve --backend openai` only")
    load = Load(words)
    seconds = load.run()
    Path(words.result_dir, words.result_filename).write_text(json.dumps(result(load, seconds)), "utf-8")


if __name__ == "__main__":
    main()
