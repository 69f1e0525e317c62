"""A bounded pool of daemon threads: asks many hosts at once, hands results back as they come, never waits for one that hangs."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_TURN = 0.5  # seconds between looks for overdue items


class FanOut(Generic[Item, Result]):
    """Runs ``work`` for every item on at most ``workers`` threads.

    An item that takes longer than ``limit(item)`` seconds gets ``overdue(item)``; its thread is left alone and replaced.
    """

    def __init__(
        self,
        work: Callable[[Item], Result],
        *,
        workers: int,
        limit: Callable[[Item], float],
        overdue: Callable[[Item], Result],
    ) -> None:
        self._work, self._workers, self._limit, self._overdue = work, workers, limit, overdue
        self._todo: queue.SimpleQueue[tuple[int, Item]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Result | BaseException]] = queue.SimpleQueue()
        self._started: dict[int, float] = {}

    def run(self, items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result in the order they come; an exception of ``work`` is raised here."""
        everything = dict(enumerate(items))
        for pair in everything.items():
            self._todo.put(pair)
        for _ in range(min(self._workers, len(everything))):
            self._hire()
        waiting = dict(everything)
        while waiting:
            try:
                index, result = self._done.get(timeout=_TURN)
            except queue.Empty:
                for index in self._late(waiting):
                    self._hire()
                    yield waiting[index], self._overdue(waiting.pop(index))
                continue
            if index not in waiting:
                continue  # it came back after all, too late
            if isinstance(result, BaseException):
                raise result
            yield waiting.pop(index), result

    def _late(self, waiting: dict[int, Item]) -> list[int]:
        now = time.monotonic()
        return [i for i in waiting if i in self._started and now - self._started[i] > self._limit(waiting[i])]

    def _hire(self) -> None:
        threading.Thread(target=self._labour, name="kvgate-host", daemon=True).start()

    def _labour(self) -> None:
        while True:
            try:
                index, item = self._todo.get_nowait()
            except queue.Empty:
                return
            self._started[index] = time.monotonic()
            try:
                self._done.put((index, self._work(item)))
            except BaseException as error:  # carried to the thread that asked
                self._done.put((index, error))
