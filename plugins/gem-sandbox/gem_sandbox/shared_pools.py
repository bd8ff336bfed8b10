"""Pools of processes that equal sandboxes of one host process share."""

import atexit
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

__all__ = ["Pool", "SharedPools", "shared_pools"]


class Pool(Protocol):
    """A pool of processes that can be shared."""

    def close(self) -> None:
        """End all processes."""

    def forget(self) -> None:
        """Start empty in a forked process; the processes belong to its parent."""


P = TypeVar("P", bound=Pool)


class SharedPools:
    """The pools of this process by key; equal sandboxes have equal keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[Hashable, Any] = {}
        self._users: Counter[Hashable] = Counter()
        self._released: deque[Hashable] = deque()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forget)

    def lease(self, key: Hashable, make: Callable[[], P]) -> P:
        """Return the pool of a key, made on first use; each lease needs one ``release``."""
        with self._lock:
            if key not in self._pools:
                self._pools[key] = make()
            self._users[key] += 1
            pool: P = self._pools[key]
        self._close_unused()
        return pool

    def release(self, key: Hashable) -> None:
        """Close the pool of a key unless another sandbox has leased it too.

        The garbage collector may call this at any point, also while this thread holds the lock: so
        it does not wait for the lock. Whoever holds it closes the pool afterwards.
        """
        self._released.append(key)
        self._close_unused()

    def _close_unused(self) -> None:
        """Close the pools that nobody uses any more, without the lock."""
        while self._released and self._lock.acquire(blocking=False):
            try:
                pools = self._take_unused()
            finally:
                self._lock.release()
            for pool in pools:
                pool.close()

    def _take_unused(self) -> list[Any]:
        pools = []
        while self._released:
            key = self._released.popleft()
            self._users[key] -= 1
            if self._users[key] <= 0 and key in self._pools:
                pools.append(self._pools.pop(key))
        return pools

    def close(self) -> None:
        """Close all pools."""
        for pool in list(self._pools.values()):
            pool.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for pool in self._pools.values():
            pool.forget()


shared_pools = SharedPools()
