"""Runs one episode: here, or in a thread where a step blocks; and ends it when its time is up."""

import asyncio
import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Final

from gem_core.maybe_async import is_awaitable
from gem_core.vector.slot import FAULTS
from gem_rollout.episode import Episode, Phase
from gem_rollout.threads import Threads

__all__ = ["Runner"]

_ENDED: Final = object()


class Runner:
    """Runs the phases of episodes in the running event loop.

    Args:
        threads: For episodes whose environment blocks.
        look: Seconds after which a thread's deadline is looked at again, as only the thread knows
            when a turn begins; None to wait for the deadline that is known.
    """

    def __init__(self, threads: Threads, look: float | None) -> None:
        self._threads = threads
        self._look = math.inf if look is None else look
        self.stopping = False
        """Whether episodes are to be cut where they await something next."""

    async def run(self, episode: Episode, *phases: Phase) -> bool:
        """Run phases of an episode; what they await is awaited here.

        Returns:
            False if the episode was left behind in a thread, which then closes its environment and
            its agent when the step that it is in returns.
        """
        steps = episode.run(*phases)
        resume: Callable[[], Any] = functools.partial(next, steps)
        while True:
            if episode.env.blocking:
                value = await self._advance_in_thread(episode, steps, resume)
                if value is None:
                    return False
            else:
                value = _advance(steps, resume)
            if value is _ENDED:
                return True
            try:
                result = await (value if episode.until == math.inf else _in_time(value, episode))
            except FAULTS as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                resume = functools.partial(steps.throw, error)
            else:
                resume = functools.partial(steps.send, result)
            if self.stopping:  # an agent may have ignored that it was cancelled
                raise asyncio.CancelledError

    async def _advance_in_thread(
        self, episode: Episode, steps: Generator[Any, Any, None], resume: Callable[[], Any]
    ) -> Any:
        """Return what ``_advance`` does; None if its thread was left behind at a deadline."""
        stopped = threading.Event()
        running = self._threads.run(functools.partial(_advance, steps, resume, stopped))
        try:
            while not running.done():
                now = time.perf_counter()
                if now > episode.until and self._leave(running, stopped, episode, steps):
                    return None
                left = min(self._look, max(0.0, episode.until - now) + 0.001)
                await asyncio.wait([running], timeout=None if left == math.inf else left)
        except asyncio.CancelledError:
            # The environment is going to be closed: not while a thread is in it.
            stopped.set()
            left = max(0.0, episode.until - time.perf_counter())
            await asyncio.wait([running], timeout=None if left == math.inf else left)
            if running.done():
                _close_unused(running.result())
            else:
                self._leave(running, stopped, episode, steps)
            raise
        return running.result()

    def _leave(
        self,
        running: "asyncio.Future[Any]",
        stopped: threading.Event,
        episode: Episode,
        steps: Generator[Any, Any, None],
    ) -> bool:
        """Leave a thread behind; False if it has just returned."""

        def afterwards(value: Any) -> None:
            _close_unused(value)
            with contextlib.ExitStack() as stack:
                stack.callback(episode.env.close)
                stack.callback(episode.agent.close)
                stack.callback(steps.close)

        stopped.set()
        if not self._threads.abandon(running, afterwards):
            return False
        episode.leave()
        return True


async def _in_time(value: Any, episode: Episode) -> Any:
    """Await a value until the episode's time is up."""
    try:
        async with asyncio.timeout(max(0.0, episode.until - time.perf_counter())) as limit:
            result = await value
    except TimeoutError:
        if limit.expired():
            raise episode.overdue() from None
        raise
    if time.perf_counter() > episode.until:  # it ignored that it was cancelled
        raise episode.overdue()
    return result


def _advance(
    steps: Generator[Any, Any, None],
    resume: Callable[[], Any],
    stopped: threading.Event | None = None,
) -> Any:
    """Run an episode up to its next awaitable, which is returned, or to its end."""
    try:
        value = resume()
        while not is_awaitable(value) and not (stopped and stopped.is_set()):
            value = steps.send(value)
    except StopIteration:
        return _ENDED
    return value


def _close_unused(value: Any) -> None:
    if asyncio.iscoroutine(value):
        value.close()
