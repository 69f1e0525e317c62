"""An engine on a port of its own thread, for whoever has no event loop: tests, the embedded rack."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType

from lab.engine.server import Server


class Started:
    """Use as a context manager: the server listens inside it, and its ports are known."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Server:
        self._thread.start()
        self._up.wait(20)
        if self._error is not None:
            raise self._error
        return self.server

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except OSError as error:
            self._error = error
        finally:
            self._up.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        async with self.server.served():
            self._up.set()
            await self._over.wait()
        left = asyncio.all_tasks() - {asyncio.current_task()}  # streams that stand still for ever
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
