"""Pools of processes that equal sandboxes of one host process share."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from gem_core.lifetimes import Lock

__all__ = ["Pool", "SharedPools", "shared_pools"]


class Pool(Protocol):
    """A pool of processes that can be shared."""

    def close(self) -> None:
        """End all processes, within some seconds; the pool starts no other."""

    def forget(self) -> None:
        """Close, in a fork, what was inherited; the processes belong to the parent."""


P = TypeVar("P", bound=Pool)


class SharedPools:
    """The pools of this process by key; equal sandboxes have equal keys. A fork has none."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pools: dict[Hashable, Any] = {}
        self._users: Counter[Hashable] = Counter()
        os.register_at_fork(after_in_child=self._forget)

    def lease(self, key: Hashable, make: Callable[[], P]) -> P:
        """Return the pool of a key; each lease needs one ``release``, by a ``Lifetime``.

        Args:
            key: The key.
            make: Makes the pool, whose processes start when they are needed; what it makes is
                dropped if there is a pool already.
        """
        made = make()
        with self._lock:
            pool: P = self._pools.setdefault(key, made)
            self._users[key] += 1
        return pool

    def release(self, key: Hashable) -> None:
        """Close the pool of a key unless another sandbox has leased it too."""
        with self._lock:
            self._users[key] -= 1
            pool = None if self._users[key] else self._pools.pop(key)
        if pool is not None:
            pool.close()

    def _forget(self) -> None:
        pools, self._pools = self._pools, {}
        self._users.clear()
        for pool in pools.values():
            with contextlib.suppress(Exception):  # another thread was changing it
                pool.forget()


shared_pools = SharedPools()
