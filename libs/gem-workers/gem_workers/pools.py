"""Pools: workers, in this or other machines, that call functions with a deadline.

A pool is what rollouts, evaluation and training play environments in. ``WorkerPool`` is one; a
plugin registers another with the kind ``POOLS``, and ``gem-core run ... executor=ID`` uses it.
"""

from typing import Any, Protocol, runtime_checkable

from gem_core.specs import Kind, Spec

__all__ = ["POOLS", "Last", "Pool"]


@runtime_checkable
class Pool(Protocol):
    """Calls functions in workers, each call with a deadline.

    A worker keeps what the modules of its functions keep. Any worker may get any call, and a call
    whose worker is lost may be repeated, so a function must depend on its arguments alone.
    """

    def call(self, target: str, *args: Any, deadline: float) -> Any:
        """Call a function in a worker and return its result; see ``WorkerPool.call``."""

    async def call_async(self, target: str, *args: Any, deadline: float) -> Any:
        """Do the same as ``call``; if it is cancelled, its worker is killed."""

    def shared(self, blob: bytes) -> Any:
        """Return an argument to pass instead of bytes that many workers are sent."""

    def close(self) -> None:
        """End all workers; may be called twice."""


POOLS: Kind[Spec] = Kind(
    id="pools",
    name="pool",
    description="pools of workers that play environments",
    group="executor",
)
"""Entry points return a ``Pool``."""


class Last:
    """A result after which its worker is replaced, for example because a thread hangs in it.

    Args:
        value: What the caller gets.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
