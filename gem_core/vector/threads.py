"""Runs environments in threads: for steps that wait, for a network or a process."""

import contextlib
import queue
import threading
import time
from collections.abc import Iterable
from typing import Any

from gem_core.errors import ConfigError
from gem_core.vector.executor import (
    CLOSE_SECONDS,
    QueueExecutor,
    Request,
    check_closed,
    warn_of_hanging,
)
from gem_core.vector.slot import Fault, perform

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
        self._busy: set[int] = set()
        self._is_closing = False
        self._closed: list[Any] = []

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
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        while True:
            if self._tasks.empty():
                self._idle.release()
            task = self._tasks.get()
            if task is None:
                return
            index = task[0]
            self._busy.add(index)
            try:
                self._perform(*task)
            except BaseException as error:  # noqa: BLE001 - somebody waits for an answer
                self._results.put((index, Fault(error)))
            self._busy.discard(index)
            if self._is_closing:
                self._close_slot(index)

    def close(self) -> None:
        """End the threads after their current steps, and close the slots.

        A step has ``CLOSE_SECONDS`` to end, and so has the closing of the environments. What takes
        longer is left to its thread, with a warning; the environment is closed after its step.
        """
        self._is_closing = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)
        if not _join(self._threads):
            warn_of_hanging("A step of an environment")
        self._close_loop()
        idle = [index for index in self._slots if index not in self._busy]
        if not _join([self._closer(index) for index in idle]):
            warn_of_hanging("The closing of an environment")
        check_closed(self._closed)

    def _closer(self, index: int) -> threading.Thread:
        thread = threading.Thread(target=self._close_slot, args=(index,), daemon=True)
        thread.start()
        return thread

    def _close_slot(self, index: int) -> None:
        slot = self._slots.pop(index, None)  # its step may end meanwhile
        if slot is not None:
            self._closed.append(perform(slot, "close", None))


def _join(threads: Iterable[threading.Thread]) -> bool:
    """Wait for threads; return whether all of them have ended in time."""
    end = time.monotonic() + CLOSE_SECONDS
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            return False
    return True
