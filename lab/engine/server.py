"""The engine on a port: streamed completions, health, version, metrics, and the interfaces that evict; time may run faster."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from lab.engine import pages
from lab.engine.core import Ask, Engine, Served
from lab.engine.prompts import chunked

#: aiohttp 3.9 and newer take it so; 3.8 (Debian 12) at each port.
_BY_RUNNER = "shutdown_timeout" in inspect.signature(web.BaseRunner.__init__).parameters
_STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


class Server:
    """Serves one engine on loopback. ``pace``: a second of the engine takes so many real ones.

    ``port`` and ``first_worker`` 0 take free ports; else the workers' pages are on ``first_worker`` and those after it.
    """

    def __init__(
        self, engine: Engine, pace: float = 1.0, port: int = 0, vocabulary: int = 151_936, first_worker: int = 0
    ) -> None:
        self.first_worker = first_worker
        self.engine, self.pace, self.port, self.vocabulary = engine, pace, port, vocabulary
        self.worker_ports: list[int] = []
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds of the engine's clock."""
        return (time.monotonic() - self._began) / self.pace

    @property
    def url(self) -> str:
        """Endpoint of the engine."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def metrics(self) -> list[str]:
        """The engine's page, then every worker's."""
        return [f"{self.url}/metrics", *(f"http://127.0.0.1:{port}/metrics" for port in self.worker_ports)]

    @property
    def cache(self) -> list[str]:
        """Pages that clear each worker's cache in DRAM."""
        return [f"http://127.0.0.1:{port}/cache/clear?locations=LocalCPUBackend" for port in self.worker_ports]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Server]:
        """Start the process and listen: each worker, then the engine, so that who reaches it reaches all."""
        self.engine.start(self.now)
        workers = self.engine.shape.ranks if self.engine.shape.kind.startswith("lmcache") else 0
        runners = [
            await self._listen(self._worker(rank), self.first_worker and self.first_worker + rank)
            for rank in range(workers)
        ]
        self.worker_ports = [runner.addresses[0][1] for runner in runners]
        runners.append(await self._listen(self._engine(), self.port))
        self.port = runners[-1].addresses[0][1]
        try:
            yield self
        finally:
            for runner in runners:
                await runner.cleanup()

    async def _listen(self, app: web.Application, port: int) -> web.AppRunner:
        ending: dict[str, Any] = {"shutdown_timeout": 0.5}
        runner = web.AppRunner(app, access_log=None, **(ending if _BY_RUNNER else {}))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, **({} if _BY_RUNNER else ending)).start()
        return runner

    def _engine(self) -> web.Application:
        app = web.Application(client_max_size=256 * 2**20)
        app.add_routes(
            [
                web.post("/v1/completions", self._complete),
                web.get("/v1/models", self._models),
                web.get("/health", self._health),
                web.get("/version", self._version),
                web.get("/metrics", self._metrics),
                web.post("/reset_prefix_cache", self._reset),
            ]
        )
        return app

    def _worker(self, rank: int) -> web.Application:
        async def page(_: web.Request) -> web.Response:
            if self.engine.knobs.worker_silent and rank == self.engine.shape.ranks - 1:
                return web.Response(status=503, text="starting\n")
            return web.Response(text=pages.worker(self.engine, rank))

        async def clear(_: web.Request) -> web.Response:
            self.engine.tiers.clear_host()
            return web.json_response({"status": "success", "num_removed": 0})

        app = web.Application()
        app.add_routes([web.get("/metrics", page), web.delete("/cache/clear", clear)])
        return app

    async def _models(self, _: web.Request) -> web.StreamResponse:
        if self.engine.knobs.never_ready:
            return web.json_response({"error": "loading"}, status=503)
        return web.json_response({"object": "list", "data": [{"id": self.engine.shape.model, "object": "model"}]})

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self.engine.knobs.never_ready else 200)

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self.engine.knobs.version or self.engine.shape.version})

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(text=pages.engine(self.engine))

    async def _reset(self, _: web.Request) -> web.Response:
        self.engine.tiers.reset()
        return web.Response()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        ids = body.get("prompt")
        if not isinstance(ids, list) or not all(isinstance(one, int) and 0 <= one < self.vocabulary for one in ids):
            return web.json_response({"error": {"message": "prompt must be token ids of the vocabulary"}}, status=400)
        name, keys = chunked(ids, self.engine.shape.chunk)
        served = self.engine.serve(Ask(name, tuple(keys), len(ids), int(body["max_tokens"])), self.now)
        if served.trouble in ("429", "500"):
            return web.json_response({"error": {"message": served.trouble}}, status=int(served.trouble))
        if served.trouble == "dead":
            return _hang_up(request)
        return await self._stream(request, body, served)

    async def _stream(self, request: web.Request, body: dict[str, Any], served: Served) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM)
        await response.prepare(request)
        knobs = self.engine.knobs
        usage = {"prompt_tokens": served.tokens_in, "completion_tokens": served.tokens_out}
        if knobs.role_first:
            await _send(
                response,
                _event(body, {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}),
            )
        if knobs.usage_first:
            await _send(
                response, {"object": "text_completion", "choices": [], "usage": {"prompt_tokens": served.tokens_in}}
            )
        for place, word in enumerate(served.words):
            await self._until(served.first + served.gap * place)
            if place and place >= len(served.words) // 2 and served.trouble in ("dropped", "error", "stalled"):
                return await self._broken(request, response, served.trouble)
            finish = "length" if place == len(served.words) - 1 else None
            text = "" if served.trouble == "empty" else word + ("" if finish else " ")
            await _send(response, _event(body, {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}))
        if served.tokens_in is not None and (body.get("stream_options") or {}).get("include_usage"):
            if served.cached:
                usage |= {"prompt_tokens_details": {"cached_tokens": served.cached}}  # type: ignore[dict-item]
            await _send(response, {"object": "text_completion", "choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _broken(self, request: web.Request, response: web.StreamResponse, trouble: str) -> web.StreamResponse:
        if trouble == "stalled":
            await asyncio.sleep(3600)
        if trouble == "error":
            await _send(response, {"error": {"message": "engine error", "type": "InternalServerError", "code": 500}})
            return response
        return _hang_up(request, response)

    async def _until(self, instant: float) -> None:
        left = (instant - self.now) * self.pace
        if left > 0:
            await asyncio.sleep(left)


def _event(body: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1_795_960_000,
        "model": body.get("model"),
        "choices": [choice],
    }


async def _send(response: web.StreamResponse, table: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(table).encode() + b"\n\n")


def _hang_up(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return response or web.Response(status=500)
