"""Runs environments in threads: for steps that wait, for a network or a process."""

import queue
import threading
import time
from collections.abc import Iterable
from typing import Any

from gem_core.errors import ConfigError
from gem_core.vector.executor import QueueExecutor, Request

__all__ = ["ThreadsExecutor"]

PATIENCE = 0.002
"""Seconds in which no task is begun, though some wait, after which one more thread is started."""


class ThreadsExecutor(QueueExecutor):
    """A pool that grows only while tasks wait and none is begun.

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
        self._tasks: queue.SimpleQueue[tuple[int, str, Any] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._begun = 0
        self._work_came = threading.Event()
        self._closing = False

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Put the requests into the pool's queue."""
        for index, argument in requests:
            self._tasks.put((index, method, argument))
        if not self._threads:
            self._add_thread(self._supervise)
            self._add_thread(self._work)
        self._work_came.set()

    def _add_thread(self, target: Any) -> None:
        name = f"gem-vector-{len(self._threads)}"
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _supervise(self) -> None:
        """Start another worker whenever tasks wait and none is begun for a while."""
        while True:
            self._work_came.wait()
            self._work_came.clear()
            while not self._closing and not self._tasks.empty():
                begun = self._begun
                time.sleep(PATIENCE)
                if self._closing or self._tasks.empty() or self._begun != begun:
                    continue
                if len(self._threads) > (self._max_workers or len(self._slots)):
                    break
                self._add_thread(self._work)
            if self._closing:
                return

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._begun += 1
            self._perform(*task)

    def close(self) -> None:
        """End the threads, after the steps that they are in, and close the slots."""
        self._closing = True
        self._work_came.set()
        for thread in self._threads[:1]:
            thread.join()
        for _ in self._threads[1:]:
            self._tasks.put(None)
        for thread in self._threads[1:]:
            thread.join()
        self._threads = []
        super().close()
