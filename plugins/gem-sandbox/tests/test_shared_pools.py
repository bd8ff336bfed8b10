"""Pools that sandboxes share are closed with the last of them, whoever ends it and when."""

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from gem_sandbox.shared_pools import SharedPools


class Pool:
    is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def forget(self) -> None:
        pass


class Owner:
    """Something with a lease that only the garbage collector ends."""

    def __init__(self, pools: SharedPools, pool: Pool) -> None:
        pools.lease("owner's", lambda: pool)
        weakref.finalize(self, pools.release, "owner's")
        self.cycle = self


def lease_in_a_thread(pools: SharedPools, make: Callable[[], Pool]) -> bool:
    """Return whether a lease ends in time."""
    thread = threading.Thread(target=pools.lease, args=("another", make), daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


def test_a_pool_is_closed_when_the_last_lease_ends() -> None:
    pools, pool = SharedPools(), Pool()
    assert pools.lease("key", lambda: pool) is pool
    assert pools.lease("key", Pool) is pool
    pools.release("key")
    assert not pool.is_closed
    pools.release("key")
    assert pool.is_closed
    assert pools.lease("key", Pool) is not pool


@pytest.mark.slow
@pytest.mark.parametrize("collects", ["the thread that leases", "another thread"])
def test_a_sandbox_that_is_collected_during_another_lease_is_closed_after_it(collects: str) -> None:
    pools, pool = SharedPools(), Pool()
    Owner(pools, pool)

    def make() -> Pool:
        if collects == "another thread":
            thread = threading.Thread(target=gc.collect, daemon=True)
            thread.start()
            thread.join(10)
        else:
            gc.collect()
        return Pool()

    assert lease_in_a_thread(pools, make), "the lease waits for itself"
    assert pool.is_closed
