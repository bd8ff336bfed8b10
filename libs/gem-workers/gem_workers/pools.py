"""Pools: executors whose workers also call functions, each call with a deadline.

Vectors run in the workers of a pool, as in any executor; rollouts, evaluation and training play
episodes in them. ``WorkerPool`` is one. A plugin registers another as an executor, and
``gem-core run ... executor=ID`` uses it.
"""

from typing import Any, Protocol, runtime_checkable

from gem_core.vector.executor import Executor

__all__ = ["Last", "Pool"]


@runtime_checkable
class Pool(Executor, Protocol):
    """An executor that calls functions in its workers, each call with a deadline.

    A worker keeps what the modules of its functions keep. Any worker may get any call, and a call
    whose worker is lost may be repeated, so a function must depend on its arguments alone.
    """

    def call(self, target: str, *args: Any, deadline: float) -> Any:
        """Call a function in a worker and return its result; see ``WorkerPool.call``."""

    async def call_async(self, target: str, *args: Any, deadline: float) -> Any:
        """Do the same as ``call``; if it is cancelled, its worker is killed."""

    def shared(self, blob: bytes) -> Any:
        """Return an argument to pass instead of bytes that many workers are sent."""


class Last:
    """A result after which its worker is replaced, for example because a thread hangs in it.

    Args:
        value: What the caller gets.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
