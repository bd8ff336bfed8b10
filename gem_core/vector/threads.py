"""Runs environments in threads: for steps that wait, for a network or a process."""

import queue
import threading
import time
from collections.abc import Iterable
from typing import Any

from gem_core.errors import ConfigError
from gem_core.vector.executor import QueueExecutor, Request, Result

__all__ = ["ThreadsExecutor"]

PATIENCE = 0.002
"""Seconds without any result after which one more thread is started."""


class ThreadsExecutor(QueueExecutor):
    """A pool that grows only while work waits and nothing comes back.

    Cheap environments so keep a few threads that hardly ever switch; environments that wait soon
    have a thread each.

    Args:
        max_workers: Most threads at once; None for as many as environments.

    Raises:
        ConfigError: ``max_workers`` is not positive.
    """

    def __init__(self, *, max_workers: int | None = None) -> None:
        super().__init__()
        if max_workers is not None and max_workers < 1:
            raise ConfigError(f"max_workers must be at least 1; got {max_workers}.")
        self._max_workers = max_workers
        self._tasks: queue.SimpleQueue[tuple[int, str, tuple[Any, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._threads: list[threading.Thread] = []

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Put the requests into the pool's queue."""
        for index, args in requests:
            self._tasks.put((index, method, args))
        if not self._threads:
            self._add_thread()

    def _wait(self, timeout: float | None) -> Result:
        deadline = None if timeout is None else time.monotonic() + timeout
        limit = self._max_workers or len(self._slots)
        while len(self._threads) < limit and not (deadline and time.monotonic() > deadline):
            try:
                return self._results.get(timeout=PATIENCE)
            except queue.Empty:
                if not self._tasks.empty():
                    self._add_thread()
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        return self._results.get(timeout=left)

    def _add_thread(self) -> None:
        name = f"gem-vector-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            index, method, args = task
            self._perform(index, method, args)

    def close(self) -> None:
        """End the threads, after the steps that they are in, and close the slots."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        super().close()
