"""Runs environments in threads: for steps that wait, for a network or a process."""

import queue
import threading
from collections.abc import Iterable
from typing import Any

from gem_core.errors import ConfigError
from gem_core.vector.executor import QueueExecutor, Request

__all__ = ["ThreadsExecutor"]


class ThreadsExecutor(QueueExecutor):
    """A pool of threads; one is added for each request that finds none idle.

    Not ``concurrent.futures.ThreadPoolExecutor``: the interpreter waits for its threads at exit,
    so that a step that hangs would keep the program from ending after Ctrl-C.

    Args:
        max_workers: Most threads; None for as many as environments.

    Raises:
        ConfigError: ``max_workers`` is not positive.
    """

    def __init__(self, *, max_workers: int | None = None) -> None:
        super().__init__()
        if max_workers is not None and max_workers < 1:
            raise ConfigError(f"max_workers must be at least 1, or None; got {max_workers}.")
        self._max_workers = max_workers
        self._tasks: queue.SimpleQueue[tuple[int, str, Any] | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def submit(self, method: str, requests: Iterable[Request]) -> None:
        """Put the requests into the queue of the pool."""
        for index, argument in requests:
            self._tasks.put((index, method, argument))
            is_full = len(self._threads) >= (self._max_workers or len(self._slots))
            if not is_full and not self._idle.acquire(blocking=False):
                self._add_thread()

    def _add_thread(self) -> None:
        name = f"gem-vector-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            if self._tasks.empty():
                self._idle.release()
            task = self._tasks.get()
            if task is None:
                return
            self._perform(*task)

    def close(self) -> None:
        """End the threads after their current steps, and close the slots."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        super().close()
