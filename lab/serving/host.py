"""One host with engines: units, stores on its mounts, caches, counters, and the load client; all in its own made-up time."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lab.machine import Reply
from lab.serving import launcher, readback, scraped
from lab.serving.client import Served, document
from lab.serving.crowd import Crowd
from lab.serving.model import CHUNK, PAGE, TOKEN, UNITS, Flaw, Unit, noise, sglang, speed
from lab.serving.pages import Counters
from lab.serving.scraped import section

#: One prompt: seed, set, number, tokens.
Key = tuple[int, str, int, int]
_MODEL = "Qwen3-Coder-480B-A35B-Instruct-FP8"
_CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_hidden_layers": 62, "hidden_size": 6144,
    "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "torch_dtype": "bfloat16", "vocab_size": 151936,
}  # fmt: skip
_SIZES = {"/mnt/nvme0": 3_838_880_776_192, "/mnt/fx100": 15_355_523_104_768}


@lru_cache(maxsize=512)
def _words(line: str) -> tuple[str, ...]:
    """The words of a line; the same lines come in every round."""
    return tuple(shlex.split(line))


@dataclass
class Running:
    """One engine that runs: what it counted, what lies in its HBM, and which keys its store knows."""

    unit: Unit
    counters: Counters = field(default_factory=Counters)
    hbm: set[Key] = field(default_factory=set)


@dataclass
class ServingHost:
    """Answers what is asked of a host that serves. ``moved`` are the device counters that it shares with other load."""

    name: str
    boot: str
    moved: dict[str, list[float]]
    diskstats: Callable[[], str]
    flaws: tuple[Flaw, ...] = ()
    units: tuple[Unit, ...] = UNITS
    running: dict[str, Running] = field(default_factory=dict)
    stores: dict[str, dict[Key, int]] = field(default_factory=dict)
    memory: set[tuple[str, Key]] = field(default_factory=set)
    asked: dict[str, int] = field(default_factory=dict)
    windows: dict[tuple[str, int, str], int] = field(default_factory=dict)
    clock: float = 1000.0
    received: float = 0.0
    downs: int = 0
    starts: int = 0
    booted: int = 0
    left: dict[str, set[Key]] = field(default_factory=dict)
    crowd: Crowd = field(default_factory=Crowd)
    engine: str = "vllm"

    def __post_init__(self) -> None:
        if self.engine == "sglang":
            self.units = tuple(sglang(one) for one in self.units)
        self.crowd.hosts.append(self)

    def answer(self, line: str) -> Reply | None:
        """Answer one command line; None for one that is none of its own."""
        if "kvgate-client" in line[:1000]:
            return self._client(json.loads(shlex.split(line[line.rindex("'{") :])[0]))
        if (told := launcher.answer(self, line)) is not None:
            return told
        if line.startswith("cat -- /models/") and line.endswith("/config.json"):
            return Reply(self._config().encode())
        if "sh -c ': kvgate serving " not in line[:200]:
            return None
        words = list(_words(line))
        if words[0] == "env":
            words = words[2:]
        name = words[2].split()[3].rstrip(";")
        ways: dict[str, Callable[[list[str]], str]] = {
            "stop": self._stop, "start": self._start, "ready": self._ready, "empty": self._empty, "writable": self._writable,
            "kept": self._kept, "drop": self._drop, "reset": self._reset, "room": self._room, "snapshot": self._snapshot,
            "settings": lambda given: readback.settings(self, given),
        }  # fmt: skip
        return Reply(ways[name](words[4:]).encode())

    def flaw(self, kind: str, role: str = "", number: int = 0) -> Flaw | None:
        """The flaw of a kind that touches this arm now."""
        return next((one for one in self.flaws if one.hits(kind, role, number)), None)

    def unit(self, name: str) -> Unit | None:
        """Find an engine by its unit, or by its container, which bears the same name."""
        return next((one for one in self.units if name in (one.name, one.name.removesuffix(".service"))), None)

    def _stop(self, given: list[str]) -> str:
        unit = self.unit(given[1])
        if given[0] == "container" and (untold := self.flaw("runtime-untold")) is not None:
            return f"state untold: {untold.text}\nend\n"
        if unit is None or (given[0] == "container" and self.flaw("no-container", unit.role)):
            return "state absent\nend\n"
        if self.flaw("will-not-stop", unit.role) and unit.name in self.running:
            return "state deactivating\nend\n"
        gone = self.running.pop(unit.name, None)
        if gone is not None and self.flaw("hbm-survives", gone.unit.role):
            self.left[unit.name] = gone.hbm
        return f"state {'exited' if given[0] == 'container' else 'inactive'}\nend\n"

    def _start(self, given: list[str]) -> str:
        unit = self.unit(given[1])
        if given[0] == "container" and (unit is None or self.flaw("no-container", unit.role)):
            return f"said Error response from daemon: No such container: {given[1]}\nend\n"
        if unit is not None and not self.flaw("does-not-start", unit.role):
            self.starts += 1
            self.running[unit.name] = Running(unit, Counters(self.starts), self.left.pop(unit.name, set()))
            if self.flaw("index-lost", unit.role) and self.asked.get(f"start {unit.name}", 0) % 2:
                self.stores.get(unit.store, {}).clear()
            self.asked[f"start {unit.name}"] = self.asked.get(f"start {unit.name}", 0) + 1
        return "end\n"

    def _ready(self, given: list[str]) -> str:
        found = self.at(given[0])
        unit = self.unit(given[4]) if given[3] == "container" else None
        if found is None and unit is not None and self.flaw("no-container", unit.role):
            return f"over absent\nlog Error response from daemon: No such container: {given[4]}\nend\n"
        if found is None:
            return "over failed\nlog ValueError: free memory on device is less than desired utilization\nend\n"
        if self.flaw("other-model", found.unit.role):
            return "late active\nlog INFO: 127.0.0.1 - GET /v1/models HTTP/1.1 200 OK\nend\n"
        return "ready 62\nlog INFO: Application startup complete.\nend\n"

    def at(self, endpoint: str) -> Running | None:
        """Find the engine that listens there now."""
        return next((one for one in self.running.values() if one.unit.endpoint == endpoint), None)

    def _empty(self, given: list[str]) -> str:
        role = self._role(given[0])
        if self.flaw("cannot-empty", role):
            return f"said find: cannot delete {given[0]}/x: Read-only file system\nleft 17\nend\n"
        self.stores[given[0]] = {}
        return "left 0\nend\n"

    def _role(self, path: str) -> str:
        return next((one.role for one in self.units if one.store == path), "")

    def _writable(self, given: list[str]) -> str:
        if self.flaw("not-writable", self._role(given[0])):
            return f"sh: 1: cannot create {given[0]}/.kvgate-probe: Permission denied\n"
        return "kvgate\n"

    def _kept(self, given: list[str]) -> str:
        role = self._role(given[0])
        files = size = 0
        for (_, _, _, tokens), ranks in self.stores.get(given[0], {}).items():
            files += tokens // CHUNK * ranks
            size += tokens // CHUNK * CHUNK * TOKEN
        if self.flaw("never-drains", role):
            return f"moving {files} {size}\nend\n"
        return f"kept {files} {size}\nend\n"

    def _drop(self, _: list[str]) -> str:
        if self.flaw("drop-refused"):
            return "Cached 402653184\nDirty 0\nend\n"
        if not self.flaw("page-cache"):
            self.memory.clear()
        return "dropped\nDirty 0\nCached 1048576\nend\n"

    def _reset(self, given: list[str]) -> str:
        found = self.at(given[0].rpartition("/")[0])
        if found is not None and not self.flaw("reset-lies", found.unit.role):
            found.hbm.clear()
        return f"engine 200\n{''.join('store 200' + chr(10) for _ in given[1:])}end\n"

    def _room(self, given: list[str]) -> str:
        mount = given[0]
        used = sum(
            tokens * TOKEN for path, kept in self.stores.items() if path.startswith(mount) for *_, tokens in kept
        )
        free = _SIZES[mount] - used
        if self.flaw("disk-nearly-full", self._role(mount + "/kv")):
            free = 100 * 10**9
        table = (
            "Filesystem     Type     1B-blocks         Used        Avail   Inodes   IFree Mounted on\n"
            f"/dev/x xfs {_SIZES[mount]} {_SIZES[mount] - free} {free} 1875380000 1875370000 {mount}\n"
        )
        return section("df", table) + section("config", self._config()) + "== end\n"

    def _config(self) -> str:
        config = dict(_CONFIG)
        if self.flaw("sliding-window"):
            config |= {"sliding_window": 4096, "layer_types": ["sliding_attention"]}
        return json.dumps(config, indent=2)

    def _snapshot(self, given: list[str]) -> str:
        base = "/sys/class/infiniband/mlx5_0/ports/1/counters"
        boot = self.boot if not self.booted else f"{self.booted:08x}{self.boot[8:]}"
        text = section("boot", boot) + section("meminfo", "MemTotal: 1 kB")
        text += section("diskstats", self.diskstats())
        text += section("rdma", f"{base}/port_rcv_data:{int(self.received) // 4}\n{base}/link_downed:{self.downs}")
        return text + "".join(scraped.page(self, url) for url in given) + "== end\n"

    def _client(self, options: dict[str, Any]) -> Reply:
        engines = [self.at(endpoint) for endpoint in options["endpoints"]]
        first = next((one for one in engines if one is not None), None)
        role = first.unit.role if first is not None else ""
        number = 0
        crowded = "/fan-in/" in options["set"]
        if options["mode"] == "measure":
            place = (role, options["concurrency"], first.unit.store if first is not None and not crowded else "")
            number = self.windows[place] = self.windows.get(place, 0) + 1
            if crowded:
                self.clock = self.crowd.begin(self, options["set"])
        window = Window(self, options, role, number)
        off = flaw.amount if (flaw := self.flaw("clock-off", role)) is not None else 0.0
        text, seconds = document(
            options,
            (1.79e9 + self.clock + off, self.clock),
            lambda index: window.serve(engines[(index + options["shift"]) % len(engines)], index),
            0.4 if self.flaw("client-busy") and options["mode"] == "measure" else 0.003,
            0.2 if self.flaw("clock-steps") else 0.0,
            role if self.flaw("other-prompts") else "",
        )
        self.clock += seconds
        window.end(seconds)
        return Reply(text.encode())


@dataclass
class Window:
    """One run of the client on a host's engines."""

    host: ServingHost
    options: dict[str, Any]
    role: str
    number: int

    def serve(self, engine: Running | None, index: int) -> Served:
        """Answer one request and count what it moved."""
        if engine is None:
            return Served(0, 0, 0, 0, None, "", "failed", "no connection: [Errno 111] Connection refused")
        options, host = self.options, self.host
        tokens, out = options["tokens"], options["out"]
        key = (options["seed"], options["set"], index, tokens)
        if (wrong := self._broken(engine, index)) is not None:
            return wrong
        source = self._source(engine, key)
        # SGLang computes the last token anew, and with it the whole page that it lies in.
        stored = (tokens - 1) // PAGE * PAGE if host.engine == "sglang" else tokens // CHUNK * CHUNK
        engine.counters.prompt += tokens
        if source == "device":
            engine.counters.device += stored
            engine.counters.computed += tokens - stored
        elif source == "computed":
            engine.counters.computed += tokens
        else:
            dram = stored // 4 if host.flaw("dram", self.role) else 0
            engine.counters.dram += dram
            engine.counters.store += stored - dram
            engine.counters.computed += tokens - stored
            self._read(engine.unit, key, (stored - dram) * TOKEN)
        engine.hbm.add(key)
        if source == "computed":
            self._store(engine, key)
        ttft, decode = self._time(source, index)
        tokens_in = (
            tokens + 1 if host.flaw("tokenizer", self.role, self.number) and options["mode"] == "measure" else tokens
        )
        cached = (
            stored if source == "store" and not host.flaw("cached-not-told") else 0 if source == "computed" else None
        )
        return Served(ttft, decode, tokens_in, out, cached, self._text(engine, key, source))

    def _broken(self, engine: Running, index: int) -> Served | None:
        host, mode = self.host, self.options["mode"]
        if host.flaw("populate-fails", self.role) and mode == "populate" and index == 5:
            return Served(0, 0, 0, 0, None, "", "failed", "HTTP 429 Too Many Requests")
        if mode != "measure":
            return None
        for kind, status, why in (
            ("stream-dropped", "failed", "the connection ended before the answer did"),
            ("tool-zero", "failed", "Internal Server Error"),
            ("http-500", "failed", "HTTP 500 Internal Server Error"), ("empty-answer", "empty", ""),
        ):  # fmt: skip
            if host.flaw(kind, self.role, self.number) and index == 11:
                return Served(0, 0, 0, 0, None, "", status, why)
        if host.flaw("engine-dies", self.role, self.number) and index >= self.options["count"] // 2:
            host.running.pop(engine.unit.name, None)
            return Served(0, 0, 0, 0, None, "", "failed", "no connection: [Errno 111] Connection refused")
        return None

    def _source(self, engine: Running, key: Key) -> str:
        host = self.host
        if key in engine.hbm:
            return "device"
        known = host.stores.get(engine.unit.store, {})
        index = key[2]
        if host.flaw("half-cached", self.role, self.number) and self.options["mode"] == "measure" and index % 2:
            return "device"
        if host.flaw("half-recomputed", self.role, self.number) and index % 2:
            return "computed"
        if host.flaw("hash-seed", self.role) and self.options["mode"] in ("measure", "canaries"):
            return "computed"
        return "store" if key in known else "computed"

    def _store(self, engine: Running, key: Key) -> None:
        host, unit = self.host, engine.unit
        if not unit.store or host.flaw("writes-nothing", self.role):
            return
        kept = host.stores.setdefault(unit.store, {})
        if (full := host.flaw("disk-full", self.role)) and len(kept) >= full.amount:
            return
        kept[key] = unit.ranks
        host.memory.add((unit.store, key))
        host.moved.setdefault(unit.device, [0.0, 0.0])[1] += key[3] * TOKEN

    def _read(self, unit: Unit, key: Key, size: float) -> None:
        host = self.host
        if (unit.store, key) in host.memory:
            return
        if (other := host.flaw("reads-more", self.role)) is not None:
            size *= 1 + other.amount
        device = "nvme0n1" if host.flaw("wrong-device", self.role) else unit.device
        host.moved.setdefault(device, [0.0, 0.0])[0] += size
        if device == "nvme1n1" and not host.flaw("port-quiet"):
            host.received += size * 1.02

    def _time(self, source: str, index: int) -> tuple[float, float]:
        host, options = self.host, self.options
        concurrency, out = options["concurrency"], options["out"]
        ttft, rate = speed(self.role if source == "store" else "recompute", concurrency)
        whole = concurrency * 128 / rate
        if source == "device":
            ttft, whole = 0.3, 6.0
        factor = noise(self.role, concurrency, self.number, options["set"], spread=0.002)
        if (slow := host.flaw("slow", self.role, self.number)) is not None:
            factor *= 1 + slow.amount
        if (late := host.flaw("late-first-token", self.role)) is not None:
            ttft *= 1 + late.amount
        if (drift := host.flaw("drift", self.role)) is not None:
            factor *= 1 + drift.amount * self.number
        if (loose := host.flaw("restless", self.role)) is not None:
            factor *= noise("restless", self.role, concurrency, self.number, spread=loose.amount)
        each = noise(self.role, options["set"], index, spread=0.01)
        if source == "store" and self.role == "array":
            wait, crowd = ttft, host.crowd
            wait *= crowd.slowdown(concurrency * options["tokens"] * TOKEN / whole)
            if crowd.reading() > 1 and (starved := host.flaw("starved", self.role)) is not None:
                wait *= 1 + starved.amount
            ttft, whole = wait, whole + wait - ttft
        if host.flaw("first-chunk-early", self.role):
            return 0.004, (whole - 0.004) * factor
        return max(ttft * factor * each, 1e-4), max((whole - ttft) * factor * out / 128, 1e-4)

    def _text(self, engine: Running, key: Key, source: str) -> str:
        host = self.host
        text = f"The answer to prompt {key[2]} of {key[1]} is a sentence of several words that no other prompt has."
        if source == "store" and host.flaw("corrupt", self.role):
            return "\ufffd" * 12
        if source == "store" and host.flaw("others-kv", self.role) and key[2] % 8 == 0:
            return text.replace("The answer", "Another reply")
        if source == "store" and host.flaw("drifts-from-computed", self.role) and key[2] % 3 == 0:
            return text.replace("several", "many")
        if host.flaw("noisy-greedy") and (key[2] + host.asked.get("start vllm-recompute.service", 0)) % 2:
            return text.replace("several", "some")
        return text

    def end(self, seconds: float) -> None:
        """What happens once the run is over, and what others did meanwhile."""
        host = self.host
        if self.options["mode"] != "measure":
            return
        if (other := host.flaw("other-load", self.role)) is not None:
            unit = next(one for one in host.units if one.role == self.role)
            host.moved.setdefault(unit.device, [0.0, 0.0])[0] += other.amount * seconds
            host.received += other.amount * seconds * 1.02 if unit.device == "nvme1n1" else 0.0
        engines = [one for one in host.running.values() if one.unit.endpoint in self.options["endpoints"]]
        for engine in engines:
            engine.counters.preempted += 3 if host.flaw("preempted", self.role, self.number) else 0
            engine.counters.failed_loads += 2 if host.flaw("failed-loads", self.role, self.number) else 0
        host.downs += 1 if host.flaw("link-bounces", self.role, self.number) else 0
        host.booted += 1 if host.flaw("reboots", self.role, self.number) else 0
        if host.flaw("engine-restarts", self.role, self.number):
            for engine in engines:
                host.starts += 1
                engine.counters = Counters(host.starts)
