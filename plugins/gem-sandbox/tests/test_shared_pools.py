"""Pools that sandboxes share are closed with the last of them."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

from gem_core.lifetimes import Lock
from gem_sandbox.shared_pools import SharedPools


class Pool:
    is_closed = is_forgotten = False

    def close(self) -> None:
        self.is_closed = True

    def forget(self) -> None:
        self.is_forgotten = True


@contextlib.contextmanager
def held_by_another_thread(lock: Lock) -> Iterator[None]:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_pool_is_closed_when_the_last_lease_ends() -> None:
    pools, pool = SharedPools(), Pool()
    assert pools.lease("key", lambda: pool) is pool
    assert pools.lease("key", Pool) is pool
    pools.release("key")
    assert not pool.is_closed
    pools.release("key")
    assert pool.is_closed
    assert pools.lease("key", Pool) is not pool


def test_a_fork_has_no_pools_and_closes_what_it_inherited() -> None:
    pools, pool = SharedPools(), Pool()
    pools.lease("key", lambda: pool)
    with held_by_another_thread(pools._lock):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            is_right = pools.lease("key", Pool) is not pool and pool.is_forgotten
            os._exit(0 if is_right and not pool.is_closed else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert pools.lease("key", Pool) is pool
    assert not pool.is_forgotten
